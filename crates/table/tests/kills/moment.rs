//! The moment at which a host is killed: found by stopping all of them again and again.

use std::process::Child;

use fabric::{HostAtomics, Port, Program, Seat, SplitMix64};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use table::{Repaired, Sharing};

use crate::owner_of;
use crate::place::{Bed, Layout};

/// What the dead host is to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment {
    /// A bucket in mid-change.
    Busy,
    /// A key that lies elsewhere than at home, or did until now, which its home does not know.
    Miscounted,
}

/// Who was in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) host: u32,
    pub(crate) bucket: u64,
    /// How often all were stopped before.
    pub(crate) looks: u64,
}

/// Looks at most this often: a writer is in one of the two moments about once in a hundred looks.
const MOST_LOOKS: u64 = 1_000_000;
/// Loads between two looks, at most.
const STRIDE: u64 = 4096;

/// Stops all hosts in one of whom the moment has come; the others go on.
pub(crate) fn hunt(bed: &Bed, children: &[Child], moment: Moment, seed: u64) -> Seen {
    let hunt = Hunt {
        layout: &bed.layout,
        hosts: children.iter().map(Pid::from_child).collect(),
        moment,
        seed,
    };
    bed.run(0, &hunt)
}

struct Hunt<'l> {
    layout: &'l Layout,
    hosts: Vec<Pid>,
    moment: Moment,
    seed: u64,
}

impl Program for Hunt<'_> {
    type Out = Seen;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> Seen {
        let mut random = SplitMix64::new(self.seed);
        for looks in 0..MOST_LOOKS {
            self.let_run(port, &mut random);
            self.stop();
            let found = self.layout.table.inspect(port);
            let victim = self.victim(&found);
            for (host, &pid) in (0..).zip(&self.hosts) {
                if victim.is_none_or(|(victim, _)| victim != host) {
                    kill_process(pid, Signal::CONT).unwrap();
                }
            }
            if let Some((host, bucket)) = victim {
                return Seen {
                    host,
                    bucket,
                    looks,
                };
            }
        }
        panic!("nobody was in {:?} at {MOST_LOOKS} looks", self.moment);
    }
}

impl Hunt<'_> {
    /// Until somebody has done something, and a random while: not always at the same point of it.
    fn let_run<P: Port>(&self, port: &P, random: &mut SplitMix64) {
        let done = |port: &P| -> u64 {
            let reports = self.layout.reports.iter();
            reports.map(|report| port.load(report.at(0))).sum()
        };
        let before = done(port);
        while done(port) == before {
            std::thread::yield_now();
        }
        for _ in 0..random.below(STRIDE) {
            std::hint::black_box(done(port));
        }
    }

    fn stop(&self) {
        for &pid in &self.hosts {
            kill_process(pid, Signal::STOP).unwrap();
        }
        for &pid in &self.hosts {
            let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED)
                .unwrap()
                .expect("nobody asked not to wait");
            assert!(status.stopped(), "a host ended by itself: {status:?}");
        }
    }

    /// The host that the moment has come for, and which bucket says so.
    fn victim(&self, found: &Repaired) -> Option<(u32, u64)> {
        let (bucket, host) = match self.moment {
            Moment::Busy => *found.busy.first()?,
            Moment::Miscounted => {
                let home = *found.miscounted.first()?;
                (home, self.at(found, home)?)
            }
        };
        // One at a time: the others go on, and finish what they are at.
        let alone = found.busy.len() + found.miscounted.len() == 1;
        alone.then_some((host, bucket))
    }

    /// Who is in a bucket's group, if there is no doubt.
    fn at(&self, found: &Repaired, bucket: u64) -> Option<u32> {
        let group = bucket / crate::place::GROUP;
        if self.layout.sharing == Sharing::Partitioned {
            return owner_of(&self.layout.table, &self.layout.keys, group);
        }
        let mut there = found.left.iter().filter(|left| left.group == group);
        let first = there.next()?;
        there.next().is_none().then_some(first.host)
    }
}
