//! `dsmark host`: one host process. Its configuration comes on standard input, its frames go to
//! standard output.

use crate::failure::Failure;
use crate::job;

pub(crate) fn host() -> Result<(), Failure> {
    job::serve_host()
}
