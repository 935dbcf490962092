//! What a host process tells its launcher: one JSON object a line on its standard output.

use fabric::Gone;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sync::heart::INTERRUPTED;

use crate::trial::LaneReport;

/// One message of a host process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "kebab-case")]
pub enum Frame {
    /// It has opened the region.
    Hello {
        /// Machine, region, clock, pins: for `hosts/<id>.json`.
        machine: Value,
    },
    /// What it is about to run; the hosts of several launchers compare it.
    Effective {
        /// See [`Effective`](crate::agree::Effective).
        effective: crate::agree::Effective,
    },
    /// All hosts are about to run the same.
    Agreed {
        /// Machines that they are on.
        machines: u32,
        /// Whether lanes outnumber CPUs on one of them.
        oversubscribed: bool,
    },
    /// It has joined the run.
    Joined {
        /// The run's cookie.
        cookie: u64,
    },
    /// Host 0 has done another repetition, or a part of a long one.
    Progress {
        /// Of which trial.
        trial: u32,
        /// How many so far, warm-up included, and the share of the one under way.
        repetition: f64,
    },
    /// A trial is over on this host, well or not.
    Trial {
        /// Which.
        trial: u32,
        /// One report a lane.
        lanes: Vec<LaneReport>,
    },
    /// Nothing follows.
    Bye {
        /// Why it left early, or what was wrong; none if all was well.
        failure: Option<Failure>,
    },
}

/// What went wrong, as one host sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// In a sentence.
    pub what: String,
    /// Whose doing it was.
    pub blame: Blame,
}

/// Whose doing a failure is. When a host dies every other fails too: the launcher tells the story
/// of the one that knows most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// It follows from another host's failure, and that host knows more.
    Another,
    /// A host fell silent, which cannot speak for itself.
    Silence,
    /// This host's own, or everyone's: interrupted, refused, out of time.
    Own,
    /// An answer was wrong: a result, which stands in its row; the run goes on.
    Answer,
}

/// What helps against a deadline, which is a plan's, or its command line's.
const MORE_TIME: &str = "give it more with --deadline SECONDS or the plan's deadline_seconds";

impl From<Gone> for Failure {
    fn from(gone: Gone) -> Self {
        let (what, blame) = match gone {
            Gone::Teardown { why: INTERRUPTED } => ("interrupted by a signal".into(), Blame::Own),
            Gone::Teardown { .. } => (gone.to_string(), Blame::Another),
            Gone::LostHost { .. } => (gone.to_string(), Blame::Silence),
            Gone::Deadline { .. } => (format!("{gone}: {MORE_TIME}"), Blame::Own),
        };
        Self { what, blame }
    }
}
