//! What is checked: a program with its pod, and what its author says about it.

use std::panic::Location;

use fabric::{Arena, Discipline, Lines, Program, Ptr, Seat, Word};
use model::{Access, Memory, Shape};

use crate::finding::Kind;
use crate::search::Bounds;

/// When a wait whose turns read the clock may end by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timeouts {
    /// Never: the clock stands still.
    #[default]
    Never,
    /// At any pause.
    Anytime,
    /// Only when nobody can go on otherwise: patience, and that with a silent host, is long against
    /// everything that happens by itself.
    Last,
}

/// A program under check. One for a lock of your own takes some thirty lines: see
/// `examples/check_my_lock.rs`.
pub trait Subject: Program<Out: PartialEq> {
    /// `lock/mine`: what the command lists it as.
    fn name(&self) -> String;

    /// Hosts, lanes, coherence, and what a fence means.
    fn shape(&self) -> Shape;

    /// The layout of its region, for names of lines in findings.
    fn arena(&self) -> &Arena;

    /// How lines travel.
    fn discipline(&self) -> Discipline {
        Discipline::DEFAULT
    }

    /// How far to search where nothing else is asked for.
    fn bounds(&self) -> Bounds {
        Bounds::default()
    }

    /// How often each lane uses what is checked, its lines again from the second time on. An
    /// operation that one round does not need may be needed by the next.
    fn rounds(&self) -> u32 {
        1
    }

    /// Words that stand in the region before anything runs, by offset; zero otherwise.
    fn preset(&self) -> Vec<(Ptr<u64>, u64)> {
        Vec::new()
    }

    /// Lines whose reads the program validates itself, as the payload of a sequence lock: a stale
    /// value read there is no finding by itself.
    fn validated(&self) -> Vec<Lines> {
        Vec::new()
    }

    /// Whether any host may crash at any step. The survivors must end.
    fn survives_crashes(&self) -> bool {
        false
    }

    /// Whether a wait may end because its deadline has passed.
    fn has_deadlines(&self) -> bool {
        false
    }

    /// When a wait that reads the clock may end by time, and when a crashed host is missed.
    fn timeouts(&self) -> Timeouts {
        Timeouts::Never
    }

    /// Whether a delay, which is a wait that looks at nothing but the clock, takes longer than any
    /// lane on its way from one wait, section or end to the next: what timed algorithms assume.
    fn is_timely(&self) -> bool {
        false
    }

    /// Whether a lane serves the others for ever: a run is over once all others have ended and it
    /// waits.
    fn serves(&self, seat: Seat) -> bool {
        let _ = seat;
        false
    }

    /// What must be found, one of these: of a program that is wrong on its pod, and is there to
    /// show it.
    fn expects(&self) -> Vec<Kind> {
        Vec::new()
    }

    /// Whether each maintenance operation is to be left out in turn. Not of a larger variant of a
    /// subject whose twins are tried already.
    fn has_twins(&self) -> bool {
        true
    }

    /// Whether what one lane brought back is right.
    ///
    /// # Errors
    /// What is wrong with it.
    fn verdict(&self, seat: Seat, out: &Self::Out) -> Result<(), Violation> {
        let _ = (seat, out);
        Ok(())
    }

    /// Whether the end is right: every lane has ended or crashed, everything has drained.
    ///
    /// # Errors
    /// What is wrong with it.
    fn judge(&self, end: &End<'_, Self::Out>) -> Result<(), Violation> {
        let _ = end;
        Ok(())
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct End<'a, Out> {
    /// What each lane brought back, by seat; nothing from a lane that crashed or that serves.
    pub outs: Vec<Option<&'a Out>>,
    /// By seat, of a lane that crashed: the sections that it was inside of.
    pub died: Vec<Option<Vec<u32>>>,
    pub(crate) memory: &'a Memory,
}

impl<Out> End<'_, Out> {
    /// What a word holds at last: what a host would read that observes.
    pub fn word<T: Word>(&self, at: Ptr<T>) -> T {
        T::from_bits(self.memory.in_the_end(Access::of(at)))
    }
}

/// What is wrong, in the words of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its kind.
    pub kind: Kind,
    /// A clause: "the counter is 1 after 2 increments".
    pub what: String,
    /// The source line that noticed.
    pub noticed: &'static Location<'static>,
}

impl Violation {
    /// A violation that is noticed here.
    #[track_caller]
    pub fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
            noticed: Location::caller(),
        }
    }

    /// Words of one record that never stood together.
    #[track_caller]
    pub fn torn(what: impl Into<String>) -> Self {
        Self::new(Kind::Torn, what)
    }

    /// A value older than what the program had to know.
    #[track_caller]
    pub fn stale(what: impl Into<String>) -> Self {
        Self::new(Kind::StaleRead, what)
    }

    /// An update that another one undid.
    #[track_caller]
    pub fn lost_update(what: impl Into<String>) -> Self {
        Self::new(Kind::LostUpdate, what)
    }

    /// Anything else.
    #[track_caller]
    pub fn wrong(what: impl Into<String>) -> Self {
        Self::new(Kind::Wrong, what)
    }
}

/// `Err` unless the two are equal.
///
/// # Errors
/// A violation of this kind that names both.
#[track_caller]
pub fn expect_equal<T: PartialEq + std::fmt::Debug>(
    kind: Kind,
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), Violation> {
    if found == expected {
        return Ok(());
    }
    Err(Violation::new(
        kind,
        format!("{what} is {found:?}, not {expected:?}"),
    ))
}
