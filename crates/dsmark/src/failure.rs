//! How a command fails: exit status 1 for a measured failure, 2 for bad usage.

use std::fmt;
use std::io::{Write, stderr};
use std::process::ExitCode;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for cannot be done; nothing was measured.
    Usage(anyhow::Error),
    /// Something was measured, and it failed or was cut short.
    Measured(String),
    /// The same at a host whose story host 0 has: the run's exit status is host 0's. A launcher
    /// ends a job whose process fails, host 0 before it has saved what was measured.
    Told(String),
}

impl Failure {
    /// Bad usage, in one sentence.
    pub(crate) fn usage(what: impl fmt::Display) -> Self {
        Self::Usage(anyhow::anyhow!("{what}"))
    }

    /// An error that came after measuring.
    pub(crate) fn after(error: impl Into<anyhow::Error>) -> Self {
        Self::Measured(sentence(&error.into()))
    }

    /// Why, in one sentence.
    pub(crate) fn what(&self) -> String {
        match self {
            Self::Usage(error) => sentence(error),
            Self::Measured(what) | Self::Told(what) => what.clone(),
        }
    }

    /// The same, of one of several hosts.
    pub(crate) fn of_host(self, host: u32) -> Self {
        let named = |what: String| format!("host {host}: {what}");
        match self {
            Self::Usage(error) => Self::usage(named(sentence(&error))),
            Self::Measured(what) => Self::Measured(named(what)),
            Self::Told(what) => Self::Told(named(what)),
        }
    }

    /// Says why on standard error.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Usage(error) => {
                say(&sentence(&error));
                ExitCode::from(2)
            }
            Self::Measured(what) => {
                say(&what);
                ExitCode::from(1)
            }
            Self::Told(what) => {
                say(&what);
                ExitCode::SUCCESS
            }
        }
    }
}

/// An error with its causes, less those that its own text tells already.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Where standard error is closed the exit status must do.
fn say(why: &str) {
    let _ = writeln!(stderr(), "dsmark: {why}");
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Usage(error.into())
    }
}
