//! Peterson's lock and the sequence lock in simulated time: what they cost, and that they hold.
//!
//! That they hold on every schedule is the checker's to say; a simulator takes one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use fabric::{
    Arena, Census, Count, Discipline, Gone, HostAtomics, NoWatch, Pod, Port, Program, Ptr, Seat,
    Setting, Substrate, Tapped,
};
use sim::{Sim, pod};
use sync::{Contender, Peterson, SeqLock, SeqReader, SeqWriter};

fn run<G: Program>(hosts: u32, discipline: Discipline, program: &G) -> Vec<G::Out> {
    let setting = Setting {
        pod: Pod::new(hosts, 1),
        discipline,
        host_bytes: 0,
    };
    let name = if discipline == Discipline::NONE {
        "coherent-four-host"
    } else {
        "sc26-four-host"
    };
    let sim = Sim::new(pod::load(name).unwrap(), setting.pod);
    let outs = sim.run(&setting, &NoWatch, program);
    outs.into_iter().map(|(_, out)| out).collect()
}

/// What `act` asked of the memory.
fn census<P: Port>(port: &P, act: impl FnOnce(&Tapped<'_, P, Count>)) -> Census {
    let count = Count::default();
    act(&Tapped::new(port, &count));
    count.census()
}

/// Both hosts increment one counter in the region, each `rounds` times.
struct Increments {
    lock: Peterson,
    counter: Ptr<u64>,
    rounds: u64,
}

impl Increments {
    fn new(rounds: u64) -> Self {
        let mut arena = Arena::new();
        Self {
            lock: Peterson::lay_out(&mut arena, "test.lock"),
            counter: arena.word("test.counter"),
            rounds,
        }
    }
}

impl Program for Increments {
    /// The last value written.
    type Out = Result<u64, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut lock = Contender::new(self.lock, seat.host);
        let mut value = 0;
        for _ in 0..self.rounds {
            lock.acquire(port)?;
            port.observe(self.counter.line());
            value = port.load(self.counter) + 1;
            port.store(self.counter, value);
            port.post(self.counter.line());
            lock.release(port);
        }
        Ok(value)
    }
}

#[test]
fn no_increment_is_lost() {
    for discipline in [Discipline::DEFAULT, Discipline::NONE] {
        let last = run(2, discipline, &Increments::new(50));
        let last = last.into_iter().map(Result::unwrap).max();
        assert_eq!(last, Some(100), "{discipline}");
    }
}

/// One host alone takes the lock and leaves it.
struct Uncontended(Peterson);

impl Program for Uncontended {
    type Out = [Census; 2];

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> [Census; 2] {
        let mut lock = Contender::new(self.0, seat.host);
        [
            census(port, |port| lock.acquire(port).unwrap()),
            census(port, |port| lock.release(port)),
        ]
    }
}

/// The documented costs: 2 confirms (a publish and an observe each) and 2 observes; 1 post.
#[test]
fn an_uncontended_peterson_lock_costs_what_it_says() {
    let lock = Peterson::lay_out(&mut Arena::new(), "test.lock");
    let [acquire, release] = run(1, Discipline::DEFAULT, &Uncontended(lock))[0];
    assert_eq!((acquire.publishes, acquire.observes), (2, 2 + 2));
    assert_eq!((acquire.lines_published, acquire.lines_observed), (2, 4));
    assert_eq!((acquire.fences.full, acquire.fences.store), (6, 0));
    assert_eq!((release.publishes, release.observes), (1, 0));
    assert_eq!((release.fences.full, release.fences.store), (0, 1));
}

const WORDS: usize = 20;

/// Host 0 writes `records` records, each of one number; the others read until they see the last.
struct Records {
    lock: SeqLock,
    records: u64,
}

impl Records {
    fn new(records: u64) -> Self {
        let lock = SeqLock::lay_out(&mut Arena::new(), "test.record", WORDS);
        Self { lock, records }
    }
}

impl Program for Records {
    /// The versions and records read.
    type Out = Vec<(u64, Vec<u64>)>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut read = Vec::new();
        if seat.host == 0 {
            let mut writer = SeqWriter::new(self.lock);
            for number in 1..=self.records {
                writer.write(port, &[number; WORDS]);
                port.work(3_000);
            }
            return read;
        }
        let reader = SeqReader::new(self.lock);
        let mut words = [0; WORDS];
        while read
            .last()
            .is_none_or(|(version, _)| *version < 2 * self.records)
        {
            let version = reader.read(port, &mut words).unwrap();
            read.push((version, words.to_vec()));
            // A loop of its own around reads that succeed: nothing else lets time pass in it.
            port.pause().unwrap();
        }
        read
    }
}

#[test]
fn readers_see_whole_records_in_order() {
    for discipline in [Discipline::DEFAULT, Discipline::NONE] {
        let outs = run(3, discipline, &Records::new(40));
        for read in &outs[1..] {
            assert!(read.is_sorted_by_key(|(version, _)| *version));
            for (version, words) in read {
                assert_eq!(words, &vec![version / 2; WORDS], "{discipline}");
            }
        }
    }
}

/// Host 0 writes between the first and the second of host 1's three reads.
struct Costs(SeqLock);

impl Program for Costs {
    type Out = Vec<Census>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Vec<Census> {
        // Cycles: longer than a read or a write takes by far.
        let long = 100_000;
        if seat.host == 0 {
            port.work(long);
            let mut writer = SeqWriter::new(self.0);
            return vec![census(port, |port| writer.write(port, &[1; WORDS]))];
        }
        let (reader, mut words) = (SeqReader::new(self.0), [0; WORDS]);
        let mut read = |version| {
            census(port, |port| {
                assert_eq!(reader.read(port, &mut words), Ok(version));
            })
        };
        let first = read(0);
        port.work(2 * long);
        vec![first, read(2), read(2)]
    }
}

/// The documented costs. A record of 20 words has 3 lines.
#[test]
fn a_sequence_lock_costs_what_it_says() {
    let lock = SeqLock::lay_out(&mut Arena::new(), "test.record", WORDS);
    let costs = run(2, Discipline::DEFAULT, &Costs(lock));
    let write = costs[0][0];
    assert_eq!((write.publishes, write.lines_published), (3, 5));
    assert_eq!((write.fences.store, write.fences.full), (3, 0));
    for (read, observes) in costs[1].iter().zip([2, 4, 2]) {
        assert_eq!((read.publishes, read.observes), (0, observes));
        assert_eq!(read.lines_observed, 2 * observes);
    }
}
