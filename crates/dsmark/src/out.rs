//! Standard output: where a command's data goes.

use std::io::{ErrorKind, Write, stdout};

use crate::failure::Failure;

/// Writes `text` to standard output. A reader that has closed the pipe, as `head` does, has what it
/// wants: that is no failure.
///
/// # Errors
/// Anything else that keeps data from its reader, as a full file system.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Measured(format!(
            "cannot write to standard output: {error}; free space where it goes, or name --out"
        ))),
        _ => Ok(()),
    }
}
