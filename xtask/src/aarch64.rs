//! Everything but `native` compiles for a second architecture.
//!
//! Most machines have no standard library for it. `rustup target add aarch64-unknown-linux-gnu`
//! brings one; where that is not to be had, a distribution's `rustc` package, unpacked with the
//! arm64 package of the same version's standard library into one directory, does as well: point
//! `RUSTC` at it, cargo and this command follow. No linker for the target is needed, because
//! `cargo check` of library code links nothing but build scripts and procedural macros.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// What came of the check.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It compiles.
    Checked,
    /// It does not; the compiler said why on standard error.
    Failed,
    /// This machine cannot tell, for the reason given.
    NotChecked(String),
}

/// Runs `cargo check` for aarch64 on every crate but `native`.
///
/// # Errors
/// If `rustc` or `cargo` cannot be started.
pub fn check(root: &Path) -> Result<Outcome> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let libraries = target_libdir(&rustc)?;
    if !has_core(&libraries) {
        return Ok(Outcome::NotChecked(format!(
            "no standard library for {TARGET} in {} (remedy: rustup target add {TARGET}, or set \
             RUSTC to a rustc that has it)",
            libraries.display()
        )));
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let status = Command::new(&cargo)
        .current_dir(root)
        .args(["check", "--locked", "--workspace", "--target", TARGET])
        .args(["--exclude", "native", "--exclude", "xtask"])
        .status()
        .with_context(|| format!("cannot start {}", cargo.display()))?;
    Ok(if status.success() {
        Outcome::Checked
    } else {
        Outcome::Failed
    })
}

fn target_libdir(rustc: &OsString) -> Result<PathBuf> {
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .with_context(|| format!("cannot start {}", rustc.display()))?;
    ensure!(
        output.status.success(),
        "{} does not know the target {TARGET}: {}",
        rustc.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    ))
}

fn has_core(libraries: &Path) -> bool {
    fs::read_dir(libraries).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_libcore_is_no_standard_library() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!has_core(&directory.path().join("absent")));
        assert!(!has_core(directory.path()));
        fs::write(directory.path().join("libcore-0123.rmeta"), "").unwrap();
        assert!(has_core(directory.path()));
    }
}
