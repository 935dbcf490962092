//! Running one lane of a subject from its start, fed with answers.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use fabric::{Seat, Tapped};
use model::{Memory, Shape};

use crate::port::{FarEnough, Label, LaneClock, LanePort, Oracle};
use crate::subject::{End, Subject, Violation};

/// How a run of a lane stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    FarEnough,
    /// It brought something back: an index for [`Lanes::verdict`].
    Ended(u32),
    Panicked(String),
}

/// How a lane ended, when everything did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaneEnd {
    /// It brought something back: an index.
    Out(u32),
    /// It serves the others and was in a wait.
    Serving,
    /// Its host crashed while it was inside of these sections.
    Died(Vec<u32>),
}

/// The lanes of a subject, whatever its type.
pub(crate) trait Lanes {
    /// Runs a lane until its oracle has no answer, or to its end.
    fn run(&self, lane: usize, oracle: &dyn Oracle) -> Stop;
    /// Whether two lanes' results are equal.
    fn same(&self, one: u32, other: u32) -> bool;
    /// What the subject says about one lane's result.
    fn verdict(&self, lane: usize, out: u32) -> Result<(), Violation>;
    /// What it says about the end.
    fn judge(&self, ends: &[LaneEnd], memory: &Memory) -> Result<(), Violation>;
}

/// A subject, and everything that its lanes ever brought back.
pub(crate) struct Runner<'s, S: Subject> {
    subject: &'s S,
    shape: Shape,
    region_bytes: u64,
    outs: RefCell<Vec<S::Out>>,
}

impl<'s, S: Subject> Runner<'s, S> {
    pub(crate) fn new(subject: &'s S) -> Self {
        Self {
            subject,
            shape: subject.shape(),
            region_bytes: subject.arena().region_bytes(),
            outs: RefCell::default(),
        }
    }

    /// Lends an end.
    pub(crate) fn with_end<R>(
        &self,
        ends: &[LaneEnd],
        memory: &Memory,
        f: impl FnOnce(&End<'_, S::Out>) -> R,
    ) -> R {
        let all = self.outs.borrow();
        let out = |end: &LaneEnd| match end {
            LaneEnd::Out(out) => Some(&all[*out as usize]),
            LaneEnd::Serving | LaneEnd::Died(_) => None,
        };
        let died = |end: &LaneEnd| match end {
            LaneEnd::Died(inside) => Some(inside.clone()),
            LaneEnd::Out(_) | LaneEnd::Serving => None,
        };
        f(&End {
            outs: ends.iter().map(out).collect(),
            died: ends.iter().map(died).collect(),
            memory,
        })
    }
}

/// The seat of a lane, lanes numbered host by host.
pub(crate) fn seat(shape: Shape, lane: usize) -> Seat {
    Seat {
        host: shape.host(lane) as u32,
        lane: lane as u32 % shape.lanes,
    }
}

impl<S: Subject> Lanes for Runner<'_, S> {
    fn run(&self, lane: usize, oracle: &dyn Oracle) -> Stop {
        let label = Label::default();
        let port = LanePort {
            coherence: self.shape.coherence,
            discipline: self.subject.discipline(),
            region_bytes: self.region_bytes,
            label: &label,
            clock: LaneClock::default(),
            oracle,
        };
        let ended = quietly(|| {
            self.subject
                .lane(seat(self.shape, lane), &Tapped::new(&port, &label))
        });
        match ended {
            Ok(out) => {
                let mut outs = self.outs.borrow_mut();
                outs.push(out);
                Stop::Ended(outs.len() as u32 - 1)
            }
            Err(None) => Stop::FarEnough,
            Err(Some(message)) => Stop::Panicked(message),
        }
    }

    fn same(&self, one: u32, other: u32) -> bool {
        let outs = self.outs.borrow();
        outs[one as usize] == outs[other as usize]
    }

    fn verdict(&self, lane: usize, out: u32) -> Result<(), Violation> {
        let outs = self.outs.borrow();
        self.subject
            .verdict(seat(self.shape, lane), &outs[out as usize])
    }

    fn judge(&self, ends: &[LaneEnd], memory: &Memory) -> Result<(), Violation> {
        self.with_end(ends, memory, |end| self.subject.judge(end))
    }
}

thread_local! {
    /// The message of a panic inside a lane, while one runs on this thread.
    static HEARD: RefCell<Option<String>> = const { RefCell::new(None) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`; a panic is its message, without one on the terminal; nothing if its oracle stopped it.
fn quietly<R>(f: impl FnOnce() -> R) -> Result<R, Option<String>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if INSIDE.get() {
                HEARD.set(Some(told(info)));
            } else {
                before(info);
            }
        }));
    });
    INSIDE.set(true);
    let ended = catch_unwind(AssertUnwindSafe(f));
    INSIDE.set(false);
    ended.map_err(|payload| {
        let heard = HEARD.take();
        match payload.downcast_ref::<FarEnough>() {
            Some(_) => None,
            None => heard.or_else(|| Some("a panic without a message".to_owned())),
        }
    })
}

fn told(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload();
    let text = what.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| what.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "no message".to_owned());
    match info.location() {
        Some(at) => format!("{text} (at {at})"),
        None => text,
    }
}
