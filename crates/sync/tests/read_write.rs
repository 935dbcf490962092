//! The reader-writer lock on simulated pods: readers never see half of what a writer writes, and
//! are in together when no writer is.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Dice, run, simulated};
use fabric::{Arena, Count, HostAtomics, Program, Ptr, Seat, Tapped, Ticks};
use sync::Patience;
use sync::lock::{BakeryFastPath, Member, NotAcquired, Options, ReadWrite, Reader};

const ROUNDS: u64 = 15;

/// Hosts 0 and 1 write two words in two lines, always the same; the others read both.
struct Pairs {
    lock: ReadWrite<BakeryFastPath>,
    words: [Ptr<u64>; 2],
    seed: u64,
}

impl Pairs {
    fn new(seed: u64) -> (Self, Arena) {
        let (_, pod, _, arrival) = simulated("sc26-four-host", 1);
        let mut arena = Arena::new();
        let options = Options {
            arrival,
            ..Options::of(pod)
        };
        let lock = ReadWrite::lay_out(&mut arena, "test.lock", &options);
        let words = [0, 1].map(|word| arena.aligned(format!("test.{word}"), 1, 128).start());
        (Self { lock, words, seed }, arena)
    }

    fn read<P: HostAtomics>(&self, port: &P) -> [u64; 2] {
        port.observe_each(&self.words.map(Ptr::line));
        self.words.map(|word| port.load(word))
    }
}

/// When a lane was in, by the pod's clock.
type Inside = Vec<(u64, u64)>;

impl Program for Pairs {
    type Out = Inside;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Inside {
        let mut dice = Dice::new(self.seed, seat);
        let (mut me, reader) = (Member::new(seat.host), Reader::new(seat.host));
        let mut inside = Vec::new();
        for _ in 0..ROUNDS {
            port.work(dice.roll(20_000) as u32);
            if seat.host < 2 {
                self.lock.write(port, &mut me, Patience::Endless).unwrap();
                let start = port.now();
                let [first, second] = self.read(port);
                assert_eq!(first, second, "{seat:?}");
                for word in self.words {
                    port.store(word, first + 1);
                    port.post(word.line());
                    port.work(dice.roll(2_000) as u32);
                }
                inside.push((start.0, port.now().0));
                self.lock.end_write(port, &mut me).unwrap();
            } else {
                self.lock.read(port, &reader, Patience::Endless).unwrap();
                let start = port.now();
                let [first, second] = self.read(port);
                port.work(dice.roll(2_000) as u32);
                inside.push((start.0, port.now().0));
                self.lock.end_read(port, &reader);
                assert_eq!(first, second, "{seat:?}");
            }
        }
        inside
    }
}

fn meet(a: &Inside, b: &Inside) -> bool {
    let overlap = |&(from, to): &(u64, u64)| b.iter().any(|other| other.0 < to && from < other.1);
    a.iter().any(overlap)
}

#[test]
fn writers_are_alone_and_readers_are_not() {
    let (sim, pod, discipline, _) = simulated("sc26-four-host", 1);
    let mut together = 0;
    for seed in 0..8 {
        let (pairs, arena) = Pairs::new(seed);
        let out = run(&sim, pod, discipline, arena.host_bytes(), &pairs);
        let inside: Vec<_> = out.into_iter().map(|(_, inside)| inside).collect();
        for writer in 0..2 {
            for other in (0..4).filter(|&other| other != writer) {
                assert!(
                    !meet(&inside[writer], &inside[other]),
                    "{writer} and {other}"
                );
            }
        }
        together += u64::from(meet(&inside[2], &inside[3]));
    }
    assert!(together > 0, "no two readers were ever in at once");
}

/// Host 0 reads and never leaves; host 1 wants to write; then host 2 reads.
struct Stuck(Pairs);

impl Program for Stuck {
    type Out = Option<NotAcquired>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Option<NotAcquired> {
        let (lock, count) = (&self.0.lock, Count::default());
        let counted = Tapped::new(port, &count);
        let (mut me, reader) = (Member::new(seat.host), Reader::new(seat.host));
        match seat.host {
            0 => {
                lock.read(&counted, &reader, Patience::Endless).unwrap();
                let census = count.census();
                assert_eq!((census.publishes, census.lines_observed), (1, 1));
                None
            }
            1 => {
                port.work(50_000);
                let patience = Patience::for_ns(port, 50_000.0);
                lock.write(port, &mut me, patience).err()
            }
            2 => {
                // After the writer has given up.
                port.work(500_000);
                let patience = Patience::Until(Ticks(port.now().0 + 100_000_000));
                lock.read(port, &reader, patience).err()
            }
            _ => None,
        }
    }
}

#[test]
fn a_writer_that_gives_up_lets_readers_in_again() {
    let (sim, pod, discipline, _) = simulated("sc26-four-host", 1);
    let (pairs, arena) = Pairs::new(0);
    let out = run(&sim, pod, discipline, arena.host_bytes(), &Stuck(pairs));
    let timed_out = NotAcquired::TimedOut {
        waited_for: Some(0),
        queued: false,
    };
    assert_eq!(out[1].1, Some(timed_out));
    assert_eq!(out[2].1, None);
}
