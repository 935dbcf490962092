//! The reader-writer lock: what a reader sees inside was written whole, by one writer.

use check::{Bounds, Shape, Subject, Violation};
use fabric::{Arena, HostAtomics, Lines, Mark, Program, Seat, Slice};
use sync::Patience;
use sync::lock::{BakeryFastPath, Member, NotAcquired, ReadWrite, Reader};

use crate::setting::Setting;

/// Host 0 writes, the others read: two words in two lines, equal whenever nobody writes. On the
/// second round they change parts.
#[derive(Debug)]
pub struct Readers {
    arena: Arena,
    lock: ReadWrite<BakeryFastPath>,
    words: Vec<Slice<u64>>,
    setting: Setting,
}

impl Readers {
    /// `lock/read-write` on this pod.
    pub fn new(setting: Setting) -> Self {
        let mut arena = Arena::new();
        Self {
            lock: ReadWrite::lay_out(&mut arena, "lock", &setting.options()),
            words: arena.per_host("word", 2, 1),
            arena,
            setting,
        }
    }

    fn read<P: HostAtomics>(&self, port: &P) -> (u64, u64) {
        let (one, other) = (self.words[0].start(), self.words[1].start());
        // Serves both loads: another host may have written since.
        port.observe_each(&[one.line(), other.line()]);
        (port.load(one), port.load(other))
    }

    fn write<P: HostAtomics>(&self, port: &P) {
        let (value, _) = self.read(port);
        for word in &self.words {
            port.store(word.start(), value + 1);
            // Before the lock is given up: whoever gets it next finds the word at the device.
            port.post(word.lines());
        }
    }
}

impl Program for Readers {
    /// What was read, each time.
    type Out = Result<Vec<(u64, u64)>, NotAcquired>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let (mut me, reader) = (Member::new(seat.host), Reader::new(seat.host));
        let mut seen = Vec::new();
        for round in 0..self.setting.rounds {
            if (u64::from(seat.host) + round).is_multiple_of(2) {
                self.lock.write(port, &mut me, Patience::Endless)?;
                port.mark(Mark::Enter(0));
                self.write(port);
                port.mark(Mark::Leave(0));
                self.lock.end_write(port, &mut me)?;
            } else {
                self.lock.read(port, &reader, Patience::Endless)?;
                seen.push(self.read(port));
                self.lock.end_read(port, &reader);
            }
        }
        Ok(seen)
    }
}

impl Subject for Readers {
    fn name(&self) -> String {
        format!("lock/read-write{}", self.setting.suffix())
    }

    fn shape(&self) -> Shape {
        self.setting.shape(0)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn validated(&self) -> Vec<Lines> {
        self.setting.registers(&self.arena, "lock", 0)
    }

    fn bounds(&self) -> Bounds {
        self.setting.bounds()
    }

    fn rounds(&self) -> u32 {
        self.setting.rounds as u32
    }

    fn has_twins(&self) -> bool {
        self.setting.has_twins()
    }

    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        let seen = out
            .as_ref()
            .map_err(|gone| Violation::wrong(gone.to_string()))?;
        match seen.iter().find(|(one, other)| one != other) {
            None => Ok(()),
            Some(both) => Err(Violation::torn(format!(
                "a reader saw {both:?} where every writer writes both words alike"
            ))),
        }
    }
}
