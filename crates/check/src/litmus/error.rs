//! What can be wrong with a litmus file.

use thiserror::Error;

/// A file that is no litmus test: which file, which key, and what would be right.
#[derive(Debug, Error)]
pub enum LitmusError {
    /// Not TOML, or not with these keys.
    #[error("{file}: {error}; the keys stand in `check::litmus`")]
    Toml {
        /// Which file.
        file: String,
        /// What the parser says, with its place.
        error: Box<toml::de::Error>,
    },
    /// The name is not the file's.
    #[error("{file}: name = {name:?}: call it as the file, or the file as it")]
    Name {
        /// Which file.
        file: String,
        /// What it says.
        name: String,
    },
    /// An instruction that nobody knows.
    #[error(
        "{file}: threads: {text:?} is no instruction: write `x = 1`, `r0 = x`, `nt x = 1`, \
         `line x = 1`, `flush x`, `clflush x`, `clwb x`, `sfence`, `lfence` or `mfence`, \
         with a word of `lines`"
    )]
    Instruction {
        /// Which file.
        file: String,
        /// What it says.
        text: String,
    },
    /// A head of a column that names no host.
    #[error("{file}: threads: the head {text:?}: write `host 0`, hosts counted from 0 without gap")]
    Head {
        /// Which file.
        file: String,
        /// What it says.
        text: String,
    },
    /// A row of another width.
    #[error("{file}: threads: {row:?} has {found} columns, the head {expected}: add or drop a `|`")]
    Columns {
        /// Which file.
        file: String,
        /// The row.
        row: String,
        /// Its columns.
        found: usize,
        /// The head's.
        expected: usize,
    },
    /// A name that is used twice, or is missing.
    #[error("{file}: {key}: {name:?} {what}")]
    Word {
        /// Which file.
        file: String,
        /// Under which key.
        key: &'static str,
        /// What it is called.
        name: String,
        /// What is wrong with it, and the remedy.
        what: &'static str,
    },
    /// A condition or a row of values that does not fit the outcome.
    #[error("{file}: {key}: {text:?} does not fit the outcome {labels:?}: {remedy}")]
    Outcome {
        /// Which file.
        file: String,
        /// Under which key.
        key: &'static str,
        /// What it says.
        text: String,
        /// What it should fit.
        labels: String,
        /// What would be right.
        remedy: &'static str,
    },
    /// Write modes that are unknown, missing or said twice.
    #[error("{file}: sets: writes: {what}")]
    Modes {
        /// Which file.
        file: String,
        /// What is wrong, and the remedy.
        what: String,
    },
}
