//! How a command fails: exit status 1 for a measured failure, 2 for bad usage.

use std::fmt;
use std::process::ExitCode;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for cannot be done; nothing was measured.
    Usage(anyhow::Error),
    /// Something was measured, and it failed or was cut short.
    Measured(String),
}

impl Failure {
    /// Bad usage, in one sentence.
    pub(crate) fn usage(what: impl fmt::Display) -> Self {
        Self::Usage(anyhow::anyhow!("{what}"))
    }

    /// Says why on standard error.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Usage(error) => {
                eprintln!("dsmark: {error:#}");
                ExitCode::from(2)
            }
            Self::Measured(what) => {
                eprintln!("dsmark: {what}");
                ExitCode::from(1)
            }
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Usage(error.into())
    }
}
