//! What a large pod takes on the machine that simulates it.
//!
//! A host's copy of a line costs a bit while it equals what the device holds, so that 64 hosts on
//! one region cost little more than the region. With 64 bytes a copy, 64 hosts that read 1 GiB
//! would take 64 GiB.

use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, Slice, Substrate,
};
use sim::pod::PodFile;
use sim::{Sim, pod};

/// Every lane writes its share of the words and publishes it, then reads the shares of some others,
/// whose lines its host then holds.
struct Sweep {
    words: Slice<u64>,
    pod: Pod,
    /// How many.
    peers: usize,
}

/// Words published at once: a page.
const CHUNK: usize = 512;

/// Cycles after which the last lane has published: 0.4 s.
const SETTLED: u32 = 1_000_000_000;

impl Sweep {
    fn share(&self, lane: usize) -> Slice<u64> {
        let lanes = (self.pod.hosts * self.pod.lanes) as usize;
        let lane = lane % lanes;
        let lines = self.words.len() / 8;
        let (from, to) = (lines * lane / lanes, lines * (lane + 1) / lanes);
        self.words.range(8 * from, 8 * to)
    }
}

impl Program for Sweep {
    /// The sum of the words that it read, one a line.
    type Out = u64;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> u64 {
        let own = (seat.host * self.pod.lanes + seat.lane) as usize;
        let mine = self.share(own);
        for from in (0..mine.len()).step_by(CHUNK) {
            let chunk = mine.range(from, (from + CHUNK).min(mine.len()));
            // Serves the peers' loads below.
            port.write_published(chunk.start(), &[1; CHUNK][..chunk.len()]);
        }
        port.work(SETTLED);
        let mut sum = 0u64;
        for peer in 1..=self.peers {
            let theirs = self.share(own + peer * self.pod.lanes as usize);
            // Serves the loads below: the stream of stores above ran ahead into a peer's share.
            port.observe(theirs.lines());
            for index in (0..theirs.len()).step_by(8) {
                sum += port.load(theirs.at(index));
            }
        }
        sum
    }
}

/// Sweeps `bytes` of region; checks that every line is read as it was written.
fn sweep(file: &PodFile, pod: Pod, bytes: u64, peers: usize) {
    let words = Arena::new().slice("footprint.words", bytes as usize / 8);
    let setting = Setting {
        pod,
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
    };
    let program = Sweep { words, pod, peers };
    let sums = Sim::new(file.clone(), pod).run(&setting, &NoWatch, &program);
    let read: u64 = sums.iter().map(|(_, sum)| sum).sum();
    assert_eq!(read, bytes / 64 * peers as u64);
}

/// Bytes of memory that this process has had at most.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let kib = peak.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.expect("the kernel reports a peak in KiB") << 10
}

/// As "1 GiB of region in 4 GiB of memory", small enough for every run of the tests: besides, each
/// host has its caches' tags (4 bytes a line) and its lane's stack, which a small region does not
/// outweigh.
#[test]
fn a_region_that_every_host_reads_takes_at_most_four_times_its_size() {
    let pod = Pod::new(64, 1);
    let mut file = pod::load("sc26-four-host").expect("built in");
    (file.cache[1].size_bytes, file.cache[2].size_bytes) = (256 << 10, 2 << 20);
    let before = peak();
    let region = 1 << 20;
    sweep(&file, pod, region, 63);
    let tags = file.cache.iter().map(|level| level.size_bytes / 16);
    let host = tags.sum::<u64>() + STACK_BYTES;
    let grown = peak() - before;
    let most = 4 * region + 64 * host;
    assert!(grown <= most, "{} KiB, not {}", grown >> 10, most >> 10);
}

/// Touched of a lane's stack, in whole pages, with what it keeps beside.
const STACK_BYTES: u64 = 48 << 10;
