//! The sequence lock: a reader gets records that were written, whole, never an older one again.

use check::{Shape, Subject, Violation, WriteMode};
use fabric::{Arena, Gone, HostAtomics, Lines, Program, Seat};
use sync::seqlock::{SeqLock, SeqReader, SeqWriter};

/// Host 0 writes records, host 1 reads.
#[derive(Debug)]
pub struct Record {
    arena: Arena,
    lock: SeqLock,
    rounds: u64,
    writes: WriteMode,
}

/// Words of a record: two lines.
const WORDS: usize = 9;

impl Record {
    /// This many writes and reads of records that span `lines` lines.
    pub fn new(rounds: u64, lines: usize, writes: WriteMode) -> Self {
        let mut arena = Arena::new();
        let words = if lines == 1 { 2 } else { WORDS };
        Self {
            lock: SeqLock::lay_out(&mut arena, "record", words),
            arena,
            rounds,
            writes,
        }
    }

    fn words(&self) -> usize {
        self.lock.record().len()
    }
}

/// First and last word of each line: what can tear. The others are copies of these.
fn distinct(words: usize, value: u64) -> Vec<u64> {
    vec![value; words]
}

impl Program for Record {
    /// Version and record of each read.
    type Out = Result<Vec<(u64, Vec<u64>)>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut reads = Vec::new();
        if seat.host == 0 {
            let mut writer = SeqWriter::new(self.lock);
            for round in 1..=self.rounds {
                writer.write(port, &distinct(self.words(), round));
            }
        } else {
            let reader = SeqReader::new(self.lock);
            for _ in 0..self.rounds {
                let mut record = distinct(self.words(), 0);
                let version = reader.read(port, &mut record)?;
                reads.push((version, record));
            }
        }
        Ok(reads)
    }
}

impl Subject for Record {
    fn name(&self) -> String {
        let lines = match self.lock.record().lines().count() {
            1 => "-1-line",
            _ => "",
        };
        format!("seqlock{lines}{}", crate::suffix(self.writes))
    }

    fn shape(&self) -> Shape {
        Shape::software(2, 1, self.writes)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn rounds(&self) -> u32 {
        self.rounds as u32
    }

    fn validated(&self) -> Vec<Lines> {
        vec![self.lock.record().lines()]
    }

    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        let reads = out
            .as_ref()
            .map_err(|gone| Violation::wrong(gone.to_string()))?;
        let mut last = 0;
        for (version, record) in reads {
            if *record != distinct(self.words(), version / 2) {
                return Err(Violation::torn(format!(
                    "the record of version {version} is {record:?}"
                )));
            }
            if *version < last {
                return Err(Violation::stale(format!(
                    "version {version} was read after version {last}"
                )));
            }
            last = *version;
        }
        Ok(())
    }
}
