//! The hash table: what is read was written, whole, and nothing that was put is lost. [`dying`]
//! lets hosts die.

pub mod dying;

use check::{End, Kind, Shape, Subject, Violation, WriteMode};
use fabric::{Arena, HostAtomics, Lines, Pod, Program, Seat};
use table::{Config, Handle, Sharing, Table, TableError};

const HOSTS: u32 = 2;

/// Host 0 owns a key and changes its value; host 1 reads it.
#[derive(Debug)]
pub struct Owned {
    arena: Arena,
    table: Table,
    key: u64,
    words: usize,
    rounds: u64,
    writes: WriteMode,
}

fn lay_out(config: Config) -> (Arena, Table) {
    let config = Config {
        group_buckets: 1,
        locks: 1,
        ..config
    };
    let mut arena = Arena::new();
    let table = Table::lay_out(&mut arena, "table", Pod::new(HOSTS, 1), &config);
    (arena, table)
}

impl Owned {
    /// This many values of this many words: one lies beside its key, more lie elsewhere.
    ///
    /// # Panics
    /// If the hash gave host 0 no key.
    pub fn new(rounds: u64, words: usize, writes: WriteMode) -> Self {
        let (arena, table) = lay_out(Config {
            sharing: Sharing::Partitioned,
            ..Config::of(1, words)
        });
        let key = (1..=u64::from(u16::MAX)).find(|&key| table.owner(key) == 0);
        Self {
            key: key.expect("a hash gives each host a share of so many keys"),
            arena,
            table,
            words,
            rounds,
            writes,
        }
    }
}

impl Program for Owned {
    /// What each read found.
    type Out = Result<Vec<Option<Vec<u64>>>, TableError>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut handle = Handle::open(&self.table, port, seat);
        let mut reads = Vec::new();
        for round in 1..=self.rounds {
            if seat.host == 0 {
                handle.upsert(self.key, &vec![round; self.words])?;
            } else {
                let mut value = vec![0; self.words];
                let found = handle.get(self.key, &mut value)?;
                reads.push(found.map(|_| value));
            }
        }
        Ok(reads)
    }
}

impl Subject for Owned {
    fn name(&self) -> String {
        let elsewhere = if self.words == 1 { "" } else { "-record" };
        format!("table/partitioned{elsewhere}{}", crate::suffix(self.writes))
    }

    fn shape(&self) -> Shape {
        Shape::software(HOSTS, 1, self.writes)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn rounds(&self) -> u32 {
        self.rounds as u32
    }

    fn validated(&self) -> Vec<Lines> {
        self.table.validated().to_vec()
    }

    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        let reads = out
            .as_ref()
            .map_err(|error| Violation::wrong(error.to_string()))?;
        let mut last = 0;
        for found in reads {
            let value = found.clone().unwrap_or_else(|| vec![0; self.words]);
            if value.iter().any(|&word| word != value[0]) {
                return Err(Violation::torn(format!("a value read is {value:?}")));
            }
            if value[0] < last {
                let older = format!("value {} was read after value {last}", value[0]);
                return Err(Violation::stale(older));
            }
            last = value[0];
        }
        Ok(())
    }
}

/// Both hosts put a key each into one bucket, under its lock.
#[derive(Debug)]
pub struct Locked {
    arena: Arena,
    table: Table,
    keys: Vec<u64>,
    writes: WriteMode,
}

impl Locked {
    /// With this way to share.
    pub fn new(writes: WriteMode) -> Self {
        let (arena, table) = lay_out(Config {
            sharing: Sharing::Seqlock,
            ..Config::of(1, 1)
        });
        let home = table.home_of(1);
        let same = (1..).filter(|&key| table.home_of(key) == home);
        Self {
            keys: same.take(HOSTS as usize).collect(),
            arena,
            table,
            writes,
        }
    }
}

impl Program for Locked {
    type Out = Result<(), TableError>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut handle = Handle::open(&self.table, port, seat);
        handle.insert(self.keys[seat.host as usize], &[u64::from(seat.host) + 1])
    }
}

impl Subject for Locked {
    fn name(&self) -> String {
        format!("table/seqlock{}", crate::suffix(self.writes))
    }

    fn shape(&self) -> Shape {
        Shape::software(HOSTS, 1, self.writes)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn validated(&self) -> Vec<Lines> {
        self.table.validated().to_vec()
    }

    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        out.map_err(|error| Violation::wrong(error.to_string()))
    }

    fn judge(&self, end: &End<'_, Self::Out>) -> Result<(), Violation> {
        let line = self.table.validated()[0].first();
        let words = line
            .start()
            .slice(self.table.validated()[0].count() as usize * 8);
        let there: Vec<u64> = (0..words.len())
            .map(|word| end.word(words.at(word)))
            .collect();
        match self.keys.iter().find(|key| !there.contains(key)) {
            None => Ok(()),
            Some(key) => Err(Violation::new(
                Kind::LostUpdate,
                format!("key {key} was put under the lock and is not there"),
            )),
        }
    }
}
