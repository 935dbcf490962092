//! One line a participant, written by it alone and read by all: what most algorithms are made of.
//!
//! A line carries one word that says everything its owner has to say, so that one publish says it
//! and no reader sees half of it. Lines are two apart ([`Arena::per_host`]): the adjacent-line
//! prefetcher of one participant must not revive a stale copy of its neighbour's line.
//!
//! An observed look at a board is a read of atomic registers: each load returns what the device
//! held at some moment between that line's flush and the load, and the device is one copy. The
//! loads of one batched look have no common moment and no order among each other; an algorithm that
//! needs one looks twice.

use fabric::{Arena, Discipline, Line, MAX_HOSTS, Mark, Port, Ptr, Slice};

/// Whether a fence tells that a published line is at the device: the pod's property.
///
/// Algorithms that write a line and decide by what another line then says (Dekker's pattern) must
/// know that their write has arrived before they read. Message passing does not care.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// It does: a full fence is enough. Synchronous pods.
    #[default]
    Fence,
    /// It does not: the line is read back behind its own write (`Port::confirm`). Posted pods.
    Confirm,
}

impl Arrival {
    /// Stores `value` and has it at the device before whatever this lane loads next. Only for lines
    /// that this lane's host alone writes and never loads.
    ///
    /// Cost: 1 publish; with [`Arrival::Confirm`] 1 observe of the same line besides.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn announce<P: Port>(self, port: &P, at: Ptr<u64>, value: u64) {
        if self == Self::Fence && port.discipline() != Discipline::NONE {
            // Serves the others' looks; the full fence keeps this lane's next load behind it.
            port.write_published(at, &[value]);
        } else {
            // A plain store: what is read back was in the cache, where a store around the caches
            // might stay (rule 8 of the model).
            port.store(at, value);
            self.settle(port, at.line());
        }
    }

    /// Has what this lane stored in `line` at the device before whatever it loads next. Cost: as
    /// [`announce`](Self::announce).
    #[inline(always)]
    #[track_caller]
    pub(crate) fn settle<P: Port>(self, port: &P, line: Line) {
        if self == Self::Fence && port.discipline() != Discipline::NONE {
            // Serves the others' looks, and this lane's next load, which must be later.
            port.publish(line);
        } else {
            // Likewise. On a coherent pod it is a full fence: store buffers exist there too.
            port.confirm(line);
        }
    }
}

/// The lines.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    lines: Vec<Slice<u64>>,
}

impl Board {
    /// One line for each of `participants`.
    ///
    /// # Panics
    /// If there are more than [`MAX_HOSTS`].
    pub(crate) fn lay_out(arena: &mut Arena, name: &str, participants: u32) -> Self {
        assert!(
            (1..=MAX_HOSTS).contains(&participants),
            "{name}: {participants} participants; use 1 to {MAX_HOSTS}"
        );
        Self {
            lines: arena.per_host(name, participants, 1),
        }
    }

    pub(crate) fn participants(&self) -> u32 {
        self.lines.len() as u32
    }

    #[inline(always)]
    pub(crate) fn word(&self, who: u32) -> Ptr<u64> {
        self.lines[who as usize].start()
    }

    /// A message: ordered after what this lane wrote before, and before what it writes next.
    /// Cost: 1 publish.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn post<P: Port>(&self, port: &P, who: u32, value: u64) {
        // Serves the others' looks at this line. Whoever sees it also sees what was posted before.
        port.write_posted(self.word(who), &[value]);
    }

    /// Looks at one line. Cost: 1 observe.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn look<P: Port>(&self, port: &P, who: u32) -> u64 {
        // Serves the load below, anew for each look.
        port.observe(self.word(who).line());
        port.load(self.word(who))
    }

    /// The lines of those that `wanted` names.
    #[inline(always)]
    pub(crate) fn watch(&self, wanted: impl Fn(u32) -> bool) -> Watched<'_> {
        let mut watched = Watched {
            board: self,
            who: [0; MAX_HOSTS as usize],
            lines: [Line(0); MAX_HOSTS as usize],
            count: 0,
        };
        for who in 0..self.participants() {
            if wanted(who) {
                watched.who[watched.count] = who;
                watched.lines[watched.count] = self.word(who).line();
                watched.count += 1;
            }
        }
        watched
    }

    /// The lines of all but `me`.
    #[inline(always)]
    pub(crate) fn watch_others(&self, me: u32) -> Watched<'_> {
        self.watch(|who| who != me)
    }
}

/// Lines that somebody still waits for.
#[derive(Clone, Debug)]
pub(crate) struct Watched<'b> {
    board: &'b Board,
    who: [u32; MAX_HOSTS as usize],
    lines: [Line; MAX_HOSTS as usize],
    count: usize,
}

impl Watched<'_> {
    /// Looks at all lines that are left and strikes off those of which `done` says so; true when
    /// none is left. Cost: 1 observe of all of them, so one wait.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn look<P: Port>(
        &mut self,
        port: &P,
        mut done: impl FnMut(u32, u64) -> bool,
    ) -> bool {
        port.mark(Mark::Carries(self.members()));
        // Serves the loads below: k flushes, one fence.
        port.observe_each(&self.lines[..self.count]);
        let mut index = 0;
        let mut left = 0;
        while index < self.count {
            let (who, line) = (self.who[index], self.lines[index]);
            if !done(who, port.load(self.board.word(who))) {
                self.who[left] = who;
                self.lines[left] = line;
                left += 1;
            }
            index += 1;
        }
        self.count = left;
        port.mark(Mark::Carries(self.members()));
        left == 0
    }

    /// Looks once at all lines and keeps them. Cost: 1 observe of all of them.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn scan<P: Port>(&mut self, port: &P, mut see: impl FnMut(u32, u64)) {
        self.look(port, |who, word| {
            see(who, word);
            false
        });
    }

    /// Those that are left, one bit each: all that a wait remembers of its looks.
    fn members(&self) -> u64 {
        let left = self.who[..self.count].iter();
        left.fold(0, |members, who| members | 1 << who)
    }

    /// One of those still waited for.
    pub(crate) fn first(&self) -> Option<u32> {
        (self.count > 0).then(|| self.who[0])
    }
}
