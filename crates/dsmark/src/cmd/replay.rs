//! `dsmark replay`: the same finding again.

use check::Options;

use crate::cmd::check::named;
use crate::failure::Failure;
use crate::out::print;

pub(crate) fn replay(token: &str) -> Result<(), Failure> {
    let name = check::subject_of(token).unwrap_or(token);
    let subject = named(name)?;
    let mut replayed = None;
    subject.with(Options::default(), &mut |checker| {
        replayed = Some(checker.replay(token));
    });
    let finding = replayed.expect("a subject calls what it is given")?;
    print(&format!("{finding}\n"))?;
    Err(Failure::Measured(format!("{name} fails as it did")))
}
