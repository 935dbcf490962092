//! A finding's token: what replays it, on the same build only.
//!
//! `NAME:BUILD:CHOICES`. A choice is the number of a move among all that are possible in its state,
//! `~` and the number of its outcome where it has several, `*` and a count where it repeats. BUILD
//! is a hash of what the lanes do on the way, with their source lines, and of the version: a
//! program that has changed there is refused, not misread.

use std::fmt::Write as _;
use std::hash::Hasher as _;

use thiserror::Error;

use crate::machine::Machine;
use crate::script::NONE;
use crate::search::{Path, Taken};
use crate::state::{Fault, State};

/// Why a token was not replayed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// It is no token.
    #[error("{token:?} is no token: {why}; copy the whole line that follows `token`")]
    Malformed {
        /// What was given.
        token: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It belongs to another subject.
    #[error("this is a token of {theirs}, not of {own}; replay it there")]
    OtherSubject {
        /// Whose it is.
        theirs: String,
        /// Who was asked.
        own: String,
    },
    /// It was made by another build.
    #[error(
        "this is a token of build {theirs} of {name}, and here it leads to build {own}: what its \
         lanes do has changed, or the token is damaged; copy the whole line that follows `token`, \
         or check again to get one of this build"
    )]
    OtherBuild {
        /// The subject.
        name: String,
        /// The token's build.
        theirs: String,
        /// This one.
        own: String,
    },
    /// The same build, and yet nothing is wrong.
    #[error(
        "the token was followed to its end and nothing is wrong: report this as a fault of \
         the checker"
    )]
    NoFinding,
}

/// The name in a token.
pub fn subject_of(token: &str) -> Option<&str> {
    token.split_once(':').map(|(name, _)| name)
}

/// The numbers of a path.
fn write(numbers: &[(usize, u16)]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < numbers.len() {
        let run = numbers[at..]
            .iter()
            .take_while(|n| **n == numbers[at])
            .count();
        let (index, inner) = numbers[at];
        let separator = if text.is_empty() { "" } else { "." };
        let _ = write!(text, "{separator}{index}");
        if inner > 0 {
            let _ = write!(text, "~{inner}");
        }
        if run > 1 {
            let _ = write!(text, "*{run}");
        }
        at += run;
    }
    text
}

fn read(text: &str) -> Option<Vec<(usize, u16)>> {
    let mut numbers = Vec::new();
    for part in text.split('.').filter(|part| !part.is_empty()) {
        let (choice, count) = part.split_once('*').unwrap_or((part, "1"));
        let (index, inner) = choice.split_once('~').unwrap_or((choice, "0"));
        let number = (index.parse().ok()?, inner.parse().ok()?);
        let count: usize = count.parse().ok().filter(|count| *count <= 1 << 20)?;
        numbers.extend(std::iter::repeat_n(number, count));
    }
    Some(numbers)
}

impl Machine<'_> {
    /// The token of a path.
    pub(crate) fn token(&mut self, name: &str, path: &Path) -> String {
        let mut numbers = Vec::new();
        let Ok(mut state) = self.start() else {
            return format!("{name}:{}:", self.build(name, None));
        };
        for &taken in path {
            let moves = self.every_move(&state);
            let index = moves.iter().position(|it| *it == taken.chosen);
            numbers.push((
                index.expect("a move that was taken is possible"),
                taken.inner,
            ));
            // The last one is the finding.
            let _ = self.follow(&mut state, taken);
        }
        let build = self.build(name, Some(&state));
        format!("{name}:{build}:{}", write(&numbers))
    }

    /// The path of a token.
    pub(crate) fn path_of(&mut self, name: &str, token: &str) -> Result<(Path, Fault), TokenError> {
        let malformed = |why| TokenError::Malformed {
            token: token.to_owned(),
            why,
        };
        let mut parts = token.trim().splitn(3, ':');
        let mut part = || parts.next().ok_or_else(|| malformed("it has three parts"));
        let (subject, build, choices) = (part()?, part()?, part()?);
        if subject != name {
            return Err(TokenError::OtherSubject {
                theirs: subject.to_owned(),
                own: name.to_owned(),
            });
        }
        let numbers = read(choices).ok_or_else(|| malformed("its third part are numbers"))?;
        let other = |own| TokenError::OtherBuild {
            name: name.to_owned(),
            theirs: build.to_owned(),
            own,
        };
        let mut state = match self.start() {
            Ok(state) => state,
            Err(fault) => return Ok((Vec::new(), fault)),
        };
        let (mut path, mut fault) = (Vec::new(), None);
        for (index, inner) in numbers {
            let moves = self.every_move(&state);
            let chosen = moves.get(index).filter(|_| fault.is_none()).copied();
            let own = self.build(name, Some(&state));
            let taken = Taken {
                chosen: chosen.ok_or_else(|| other(own))?,
                inner,
            };
            fault = self.follow(&mut state, taken).err();
            path.push(taken);
        }
        let own = self.build(name, Some(&state));
        if own != build {
            return Err(other(own));
        }
        let fault = fault.or_else(|| self.at_the_end(&state));
        fault
            .map(|fault| (path, fault))
            .ok_or(TokenError::NoFinding)
    }

    /// What is wrong in the last state of a path: an end, or nobody can go on.
    pub(crate) fn at_the_end(&mut self, state: &State) -> Option<Fault> {
        let mut certain = Vec::new();
        state.memory.certain_steps(&mut certain);
        if self.is_over(state) {
            return self.judge(state).err();
        }
        let mut answers = Vec::new();
        let goes_on = (0..state.lanes.len()).any(|lane| {
            self.answers(state, lane, &mut answers);
            self.late_answers(state, lane, &mut answers);
            self.is_ready(state, lane)
        });
        if goes_on || !answers.is_empty() || !certain.is_empty() {
            // A livelock shows in the graph of states, not in one.
            return Some(crate::search::livelock());
        }
        Some(self.stuck(state))
    }

    /// A hash of what the lanes have done.
    fn build(&self, name: &str, state: Option<&State>) -> String {
        let mut hash = fnv::FnvHasher::default();
        hash.write(env!("CARGO_PKG_VERSION").as_bytes());
        hash.write(name.as_bytes());
        let lanes = state.map_or(&[][..], |state| &state.lanes);
        for (lane, at) in lanes.iter().enumerate() {
            let mut node = at.node;
            while node != NONE {
                if let Some(op) = self.script.op(lane, node) {
                    hash.write(op.caller.to_string().as_bytes());
                    hash.write(format!("{:?}", op.ask).as_bytes());
                }
                node = self.script.node(lane, node).parent;
            }
        }
        format!("{:016x}", hash.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_being_written() {
        let numbers = vec![(0, 0), (0, 0), (0, 0), (12, 1), (3, 0), (0, 0)];
        assert_eq!(write(&numbers), "0*3.12~1.3.0");
        assert_eq!(read("0*3.12~1.3.0"), Some(numbers));
        assert_eq!(read(""), Some(Vec::new()));
        assert_eq!(read("1.x"), None);
    }
}
