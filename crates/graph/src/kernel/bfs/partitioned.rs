//! `partitioned`: owners and mailboxes.
//!
//! *Kernel.* Level-synchronous, top-down. A host goes through its own vertices of the frontier
//! only. What they reach of its own it takes; for what others own it sends the owner a message,
//! target and parent in one word, once for each target and search.
//!
//! *Sharing.* Each host has an outbox with a section for each other host; two, that levels use in
//! turn. Its lanes take a line of a section at a time, so that a line has one writing lane.
//!
//! *Maintenance a level.* A publish of a lane's share of the lines that were filled, and of the
//! line that says how many; an observe of what others sent here; 1 barrier. The tree is published
//! once, at the end.

use std::ops::Range;

use fabric::{Arena, Gone, HostAtomics, HostShared, HostSlice, Pod, Private, Slice, View};

use super::search::{NONE, Search};
use crate::kernel::bits;
use crate::kernel::crew::{Phase, SUMS};
use crate::kernel::split::{lines_of, words_of};

/// Messages of a line.
const PER_LINE: usize = 8;

/// No message: the rest of a line that was not filled.
const EMPTY: u64 = u64::MAX;

/// Counters that levels use in turn; as in the crew's.
const TURNS: usize = 4;

/// Outboxes.
#[derive(Clone, Debug)]
pub(super) struct Mail {
    boxes: [Vec<Slice<u64>>; 2],
    /// Lines filled, by sender and receiver.
    counts: [Vec<Slice<u64>>; 2],
    /// Lines handed out in a level, by receiver.
    taken: HostSlice<u64>,
    /// Which vertices of other hosts were sent already.
    sent: HostSlice<u64>,
}

impl Mail {
    pub(super) fn lay_out(arena: &mut Arena, pod: Pod, vertices: usize) -> Self {
        let hosts = pod.hosts as usize;
        // A section has a message for each vertex of its receiver, and a line a lane that is not
        // full; each starts a line.
        let words = vertices + hosts * (pod.lanes as usize + 1) * PER_LINE;
        let boxes = |arena: &mut Arena, name: &str| arena.per_host(name, pod.hosts, words);
        let counts = |arena: &mut Arena, name: &str| arena.per_host(name, pod.hosts, hosts);
        Self {
            boxes: [boxes(arena, "bfs.box.even"), boxes(arena, "bfs.box.odd")],
            counts: [
                counts(arena, "bfs.count.even"),
                counts(arena, "bfs.count.odd"),
            ],
            taken: arena.host_shared("bfs.taken", TURNS * hosts),
            sent: arena.host_shared("bfs.sent", vertices.div_ceil(64)),
        }
    }
}

/// What a lane has begun of a section: messages of its line.
#[derive(Clone, Copy)]
struct Pen {
    next: usize,
    end: usize,
}

impl<P: HostAtomics> Search<'_, P> {
    fn mail(&self) -> &Mail {
        self.layout.mail.as_ref().expect("this variant laid it out")
    }

    /// Where the section for `receiver` starts in every outbox.
    fn section(&self, receiver: usize) -> usize {
        let lanes = self.crew.pod().lanes as usize;
        // Owners' vertices start at multiples of 64.
        self.split.of(receiver).start.next_multiple_of(PER_LINE) + receiver * (lanes + 1) * PER_LINE
    }

    pub(super) fn run_partitioned(&mut self, source: usize) -> Result<(), Gone> {
        let (port, hosts) = (self.port, self.crew.pod().hosts as usize);
        for word in self.crew.share(&self.words(), 1) {
            bits::take(port, self.mail().sent, word);
        }
        if self.crew.leads_host() {
            for counter in 0..TURNS * hosts {
                port.atomic_store(self.mail().taken.at(counter), 0u64);
            }
        }
        let mut asked = port.private(self.words().len(), 0u64);
        self.start(source)?;
        let mut level = 0;
        loop {
            let own = self.expand(level, &mut asked)?;
            // All lanes of this host have written their messages.
            self.crew.lanes_meet()?;
            let sent = self.send(level);
            let mut sums = [0; SUMS];
            (sums[0], sums[1]) = (own, sent);
            let [own, sent, ..] = self.crew.sum(sums)?;
            if own + sent == 0 {
                break;
            }
            self.receive(level);
            // All lanes of this host have claimed.
            self.crew.lanes_meet()?;
            for word in words_of(&self.crew.share(&self.mine, 64)) {
                let new = bits::take(port, self.layout.claimed, word);
                port.store(self.front.at(word), new);
            }
            self.crew.took(Phase::Compute);
            // The frontier is whole before any lane of this host reads it.
            self.crew.lanes_meet()?;
            level += 1;
        }
        self.publish_tree();
        Ok(())
    }

    /// Goes through this host's frontier; how many of its own vertices it reached.
    fn expand(&mut self, level: usize, asked: &mut impl Private<u64>) -> Result<u64, Gone> {
        let port = self.port;
        let mut pens = vec![Pen { next: 0, end: 0 }; self.crew.pod().hosts as usize];
        let (mut own, words) = (0, words_of(&self.mine));
        self.each_of_front(&words, |from| {
            for at in self.outgoing.of(from) {
                let to = self.outgoing.targets.get(at) as usize;
                if self.mine.contains(&to) {
                    own += u64::from(self.take(to, from));
                } else {
                    let (word, bit) = (to / 64, 1 << (to % 64));
                    let known = asked.get(word);
                    if known & bit == 0 {
                        asked.set(word, known | bit);
                        if bits::claim(port, self.mail().sent, to) {
                            self.write(level, &mut pens, to, from);
                        }
                    }
                }
            }
        })?;
        for (receiver, pen) in pens.iter().enumerate() {
            for at in pen.next..pen.end {
                port.store(self.outbox(level, receiver).at(at), EMPTY);
            }
        }
        self.crew.took(Phase::Compute);
        Ok(own)
    }

    /// Takes a vertex of this host, if it is new.
    #[inline(always)]
    fn take(&self, vertex: usize, parent: usize) -> bool {
        if self.port.load_overlapped(self.layout.parents.at(vertex)) != NONE {
            return false;
        }
        self.adopt(vertex, parent);
        bits::claim(self.port, self.layout.claimed, vertex)
    }

    /// This host's outbox from the section for `receiver` on.
    fn outbox(&self, level: usize, receiver: usize) -> Slice<u64> {
        let all = self.mail().boxes[level % 2][self.crew.host()];
        all.range(self.section(receiver), all.len())
    }

    fn counter(&self, level: usize, receiver: usize) -> HostShared<u64> {
        let hosts = self.crew.pod().hosts as usize;
        self.mail().taken.at(level % TURNS * hosts + receiver)
    }

    fn write(&self, level: usize, pens: &mut [Pen], to: usize, from: usize) {
        let receiver = self.split.owner(to);
        let pen = &mut pens[receiver];
        if pen.next == pen.end {
            let line = self.port.fetch_add(self.counter(level, receiver), 1u64);
            pen.next = line as usize * PER_LINE;
            pen.end = pen.next + PER_LINE;
        }
        let message = (from as u64) << 32 | to as u64;
        self.port
            .store(self.outbox(level, receiver).at(pen.next), message);
        pen.next += 1;
    }

    /// Publishes this lane's share of what was written, and says how much there is; lines that this
    /// lane published.
    fn send(&mut self, level: usize) -> u64 {
        let (port, hosts) = (self.port, self.crew.pod().hosts as usize);
        let mut lines = 0;
        for receiver in 0..hosts {
            let filled: u64 = port.atomic_load(self.counter(level, receiver));
            let share = self.crew.share(&(0..filled as usize), 1);
            if !share.is_empty() {
                let words = share.start * PER_LINE..share.end * PER_LINE;
                // Serves the receiver's loads after the barrier.
                port.publish(lines_of(self.outbox(level, receiver), &words));
                lines += share.len() as u64;
            }
            if self.crew.leads_host() {
                let counts = self.mail().counts[level % 2][self.crew.host()];
                port.store(counts.at(receiver), filled);
                port.atomic_store(self.counter(level + 2, receiver), 0u64);
            }
        }
        if self.crew.leads_host() {
            let counts = self.mail().counts[level % 2][self.crew.host()];
            // Likewise.
            port.publish(counts.lines());
        }
        self.crew.took(Phase::Publish);
        lines
    }

    /// Takes what the other hosts sent here, this lane its share.
    fn receive(&mut self, level: usize) {
        let (port, host) = (self.port, self.crew.host());
        for sender in (0..self.crew.pod().hosts as usize).filter(|&sender| sender != host) {
            let counts = self.mail().counts[level % 2][sender];
            let count = counts.at(host);
            // Serves the load below: that of two levels ago may be here.
            port.observe(count.line());
            let filled = port.load(count) as usize;
            let Range { start, end } = self.crew.share(&(0..filled), 1);
            let section = self.section(host);
            let words = section + start * PER_LINE..section + end * PER_LINE;
            let outbox = self.mail().boxes[level % 2][sender];
            // Serves the loads below, likewise.
            port.observe(lines_of(outbox, &words));
            self.crew.took(Phase::Observe);
            for at in words {
                let message = port.load_overlapped(outbox.at(at));
                if message != EMPTY {
                    let (to, from) = (message as u32 as usize, (message >> 32) as usize);
                    self.take(to, from);
                }
            }
            self.crew.took(Phase::Compute);
        }
    }
}
