//! What a lane has seen, by its clock, is never before it was done, but for the clock's error.

use fabric::{
    Across, Arena, Discipline, HostAtomics, HostShared, NoWatch, Pod, Program, Ptr, Seat, Setting,
    Substrate,
};
use sim::{Sim, pod};

/// Lane 0 writes a word that lane 1 has just read and reads again behind a store: that store waits
/// for its line, of another host's, when the load is long done.
struct Behind {
    word: Ptr<u64>,
    far: Ptr<u64>,
    local: HostShared<u64>,
    /// Cycles until the write.
    delay: u32,
    /// Whether the word is read as part of an atomic instruction.
    atomically: bool,
}

/// The value that lane 1 has read, and when; of lane 0 when it began to write.
struct Seen {
    value: u64,
    at_ns: f64,
    error_ns: f64,
}

impl Program for Behind {
    type Out = Seen;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Seen {
        port.load(self.word);
        let mut value = 0;
        let clock = port.clock();
        let at;
        if seat.lane == 0 {
            port.work(self.delay);
            at = port.now();
            port.store(self.word, 1);
            port.atomic_store(self.local, 1u64);
        } else {
            port.work(2_000);
            port.store(self.far, 1);
            value = if self.atomically {
                port.atomic_load(self.local)
            } else {
                port.load(self.word)
            };
            at = port.now();
        }
        let Across::Comparable { error_ns } = clock.across_hosts else {
            panic!("simulated clocks are all the same")
        };
        let at_ns = clock.span_ns(fabric::Ticks(0), at);
        Seen {
            value,
            at_ns,
            error_ns,
        }
    }
}

#[test]
fn a_load_behind_a_store_sees_nothing_before_its_time() {
    // A history of two lanes once had a read end 70 ns before the update that it saw began.
    let mut seen = 0;
    for (step, atomically) in (0..60).flat_map(|step| [(step, false), (step, true)]) {
        let mut arena = Arena::new();
        let program = Behind {
            word: arena.word("test.word"),
            far: arena.word("test.far"),
            local: arena.host_shared("test.local", 1).at(0),
            delay: 1_000 + 40 * step,
            atomically,
        };
        let setting = Setting {
            pod: Pod::new(2, 2),
            discipline: Discipline::DEFAULT,
            host_bytes: 64,
        };
        let file = pod::load("sc26-four-host").expect("built in");
        let out = Sim::new(file, setting.pod).run(&setting, &NoWatch, &program);
        let (writer, reader) = (&out[0].1, &out[1].1);
        seen += reader.value;
        assert!(
            reader.value == 0 || reader.at_ns + reader.error_ns >= writer.at_ns,
            "delay {}: written from {} ns on, read until {} ns",
            program.delay,
            writer.at_ns,
            reader.at_ns
        );
    }
    assert!((10..110).contains(&seen), "{seen} of 120 times read");
}
