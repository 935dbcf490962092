//! Hosts that die at any step of an operation on a table.
//!
//! Any host may stop, with each of its dirty lines lost or written back. Those that live have
//! patience, and it is long: it is over only when nobody can go on otherwise. Every image of the
//! region that such a run may end with can be mended: a test does so.

use check::{Bounds, End, Shape, Subject, Timeouts, Violation, WriteMode};
use fabric::{Arena, Gone, HostAtomics, Lines, Program, Seat};
use table::{Handle, Sharing, Table, TableError};

use super::{HOSTS, lay_out};

/// Words of a value: the last lies in a line of its own.
pub const WORDS: usize = 2;

/// Each host puts a value for its key, as often as there are rounds; host 1 then reads host 0's.
/// Both keys lie in one bucket where the table has locks, and have an owner each where it has none.
#[derive(Debug)]
pub struct Dying {
    arena: Arena,
    table: Table,
    keys: Vec<u64>,
    sharing: Sharing,
    rounds: u64,
    writes: WriteMode,
}

/// What a host that lived has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lived {
    /// The round of its last change that was made.
    pub made: u64,
    /// What it read of the other's key.
    pub read: Option<Vec<u64>>,
    /// Whether it has waited in vain.
    pub held: bool,
}

impl Dying {
    /// With this way to share.
    pub fn new(sharing: Sharing, rounds: u64, writes: WriteMode) -> Self {
        let (arena, table) = lay_out(table::Config {
            sharing,
            ..table::Config::of(1, WORDS)
        });
        let keys = if sharing == Sharing::Partitioned {
            let of = |host| (1..=u64::from(u16::MAX)).find(|&key| table.owner(key) == host);
            (0..HOSTS).filter_map(of).collect()
        } else {
            let home = table.home_of(1);
            let same = (1..).filter(|&key| table.home_of(key) == home);
            same.take(HOSTS as usize).collect()
        };
        Self {
            arena,
            table,
            keys,
            sharing,
            rounds,
            writes,
        }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Each host's key.
    pub fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// How hosts share it.
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Every word of the region that is not zero in the end, by its offset.
    pub fn image(&self, end: &End<'_, <Self as Program>::Out>) -> Vec<(u64, u64)> {
        let offsets = (0..self.arena.region_bytes()).step_by(8);
        let words = offsets.filter_map(|offset| {
            let at = self.arena.resolve::<u64>(offset)?;
            Some((offset, end.word(at)))
        });
        words.filter(|&(_, word)| word != 0).collect()
    }
}

/// Nothing, if a dead host was waited for: patience was over, or somebody has missed it.
fn in_vain<T>(done: Result<T, TableError>) -> Result<Option<T>, TableError> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(TableError::Held { .. } | TableError::Gone(Gone::LostHost { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Program for Dying {
    type Out = Result<Lived, TableError>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut handle = Handle::open(&self.table, port, seat);
        handle.set_patience(Some(1.0));
        let mut lived = Lived {
            made: 0,
            read: None,
            held: false,
        };
        let mine = self.keys[seat.host as usize];
        for round in 1..=self.rounds {
            match in_vain(handle.upsert(mine, &[round; WORDS]))? {
                Some(_) => lived.made = round,
                None => lived.held = true,
            }
        }
        if seat.host == 1 {
            let mut value = vec![0; WORDS];
            match in_vain(handle.get(self.keys[0], &mut value))? {
                Some(found) => lived.read = found.map(|_| value),
                None => lived.held = true,
            }
        }
        handle.close();
        Ok(lived)
    }
}

impl Subject for Dying {
    fn name(&self) -> String {
        let sharing = match self.sharing {
            Sharing::Partitioned => "partitioned",
            Sharing::BucketLocks => "bucket-locks",
            Sharing::Seqlock => "seqlock",
            Sharing::Cached => "cached",
        };
        format!("table/{sharing}-dying{}", crate::suffix(self.writes))
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

    /// One crash, at any step, and nothing else that need not happen: what the memory may do
    /// besides is the other subjects', and so is how hosts come between each other.
    fn bounds(&self) -> Bounds {
        Bounds {
            environment: Some(1),
            preemptions: Some(1),
            ..Bounds::default()
        }
    }

    fn survives_crashes(&self) -> bool {
        true
    }

    fn timeouts(&self) -> Timeouts {
        Timeouts::Last
    }

    fn has_twins(&self) -> bool {
        false
    }

    fn judge(&self, end: &End<'_, Self::Out>) -> Result<(), Violation> {
        let died = end.died.iter().any(Option::is_some);
        for out in end.outs.iter().flatten() {
            let lived = out
                .as_ref()
                .map_err(|error| Violation::wrong(error.to_string()))?;
            if let Some(value) = lived.read.as_ref()
                && value.iter().any(|&word| word != value[0])
            {
                return Err(Violation::torn(format!("a value read is {value:?}")));
            }
            if !died && (lived.held || lived.made != self.rounds) {
                return Err(Violation::wrong(format!(
                    "nobody died, and a host ended with {lived:?}"
                )));
            }
        }
        Ok(())
    }
}
