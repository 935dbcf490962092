//! What the lanes of a hash-table workload ask for: YCSB's mixes.

use fabric::{Pod, Seat, SplitMix64};
use serde::{Deserialize, Serialize};

use crate::draw::Draw;
use crate::layout::Table;

/// YCSB's core workloads (Cooper et al., `SoCC` 2010), but for E, which scans in the order of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// Half reads, half updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Reads.
    #[default]
    C,
    /// 95 % reads of what is new, 5 % inserts.
    D,
    /// Half reads, half reads with an update of what was read.
    F,
    /// Inserts into an empty table.
    Load,
}

/// Whose part of the table a lane works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Its own host's.
    Local,
    /// Another host's.
    Remote,
    /// Any.
    #[default]
    Mixed,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Read(u64),
    Update(u64),
    Insert(u64),
    Modify(u64),
}

impl Op {
    /// Whether another is of the same kind.
    pub(crate) fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    pub(crate) fn key(self) -> u64 {
        match self {
            Self::Read(key) | Self::Update(key) | Self::Insert(key) | Self::Modify(key) => key,
        }
    }
}

/// Inserts are at most one in this many operations of mix D, so that the table can be laid out for
/// them: twice what they are on average.
pub(crate) const MOST_INSERTS: u64 = 10;

/// What decides the operations of every lane.
pub(crate) struct Client<'a> {
    pub(crate) table: &'a Table,
    pub(crate) pod: Pod,
    pub(crate) draw: Draw,
    pub(crate) mix: Mix,
    pub(crate) placement: Placement,
    pub(crate) entries: u64,
    pub(crate) operations: u64,
    /// Hosts that ask; the others only serve.
    pub(crate) hosts: u32,
    pub(crate) seed: u64,
}

/// The key of entry `index`.
pub(crate) fn key(index: u64) -> u64 {
    index + 1
}

impl Client<'_> {
    /// The operations of a lane in a repetition; the same wherever they are computed.
    pub(crate) fn operations(&self, seat: Seat, repetition: u32) -> Vec<Op> {
        if self.mix == Mix::Load {
            return self.load(seat);
        }
        if seat.host >= self.hosts {
            return Vec::new();
        }
        let lane = u64::from(self.table.lane(seat));
        let mut random = SplitMix64::of_lane(self.seed ^ u64::from(repetition) << 32, lane);
        let mut inserted = Vec::new();
        let operation = |_| self.operation(seat, &mut random, &mut inserted);
        (0..self.operations).map(operation).collect()
    }

    fn operation(&self, seat: Seat, random: &mut SplitMix64, inserted: &mut Vec<u64>) -> Op {
        let reads = match self.mix {
            Mix::A | Mix::F => 0.5,
            Mix::B | Mix::D => 0.95,
            Mix::C | Mix::Load => 1.0,
        };
        let read = random.unit() < reads;
        if self.mix == Mix::D {
            return self.latest(seat, read, random, inserted);
        }
        let key = self.placed(seat, random);
        match self.mix {
            _ if read => Op::Read(key),
            Mix::F => Op::Modify(key),
            _ => Op::Update(key),
        }
    }

    /// Mix D: a lane reads what it has inserted lately, then what was there before.
    fn latest(
        &self,
        seat: Seat,
        read: bool,
        random: &mut SplitMix64,
        inserted: &mut Vec<u64>,
    ) -> Op {
        let new = inserted.len() as u64;
        if read || new >= self.operations / MOST_INSERTS {
            let back = self.draw.recency(random);
            return Op::Read(match new.checked_sub(back + 1) {
                Some(index) => inserted[index as usize],
                None => key(self.entries - 1 - (back - new).min(self.entries - 1)),
            });
        }
        let lanes = u64::from(self.pod.hosts * self.pod.lanes);
        let mut next = match inserted.last() {
            Some(last) => last + lanes,
            None => key(self.entries) + u64::from(self.table.lane(seat)),
        };
        while !self.fits(seat, next) {
            next += lanes;
        }
        inserted.push(next);
        Op::Insert(next)
    }

    fn placed(&self, seat: Seat, random: &mut SplitMix64) -> u64 {
        // With H hosts H draws are enough on average; a host without any entry takes what comes.
        for _ in 0..64 * self.pod.hosts {
            let drawn = key(self.draw.draw(random));
            if self.fits(seat, drawn) {
                return drawn;
            }
        }
        key(self.draw.draw(random))
    }

    fn fits(&self, seat: Seat, key: u64) -> bool {
        let owner = self.table.owner(key);
        match self.placement {
            Placement::Local => owner == seat.host,
            Placement::Remote => owner != seat.host,
            Placement::Mixed => true,
        }
    }

    /// Each entry once, by one lane.
    fn load(&self, seat: Seat) -> Vec<Op> {
        let (hosts, lanes) = (u64::from(self.pod.hosts), u64::from(self.pod.lanes));
        let all = hosts * lanes;
        let number = u64::from(self.table.lane(seat));
        let mine = |index: &u64| match self.placement {
            Placement::Mixed => true,
            Placement::Local => self.loads(seat, *index, 0),
            Placement::Remote => self.loads(seat, *index, 1),
        };
        let range = match self.placement {
            Placement::Mixed => self.entries * number / all..self.entries * (number + 1) / all,
            _ => 0..self.entries,
        };
        range
            .filter(mine)
            .map(|index| Op::Insert(key(index)))
            .collect()
    }

    /// Whether the lane at `seat` loads an entry whose owner is `distance` hosts before its own.
    fn loads(&self, seat: Seat, index: u64, distance: u32) -> bool {
        let owner = self.table.owner(key(index));
        (owner + distance) % self.pod.hosts == seat.host
            && index % u64::from(self.pod.lanes) == u64::from(seat.lane)
    }
}
