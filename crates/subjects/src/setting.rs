//! The pod that a primitive is checked on, and how often each host uses it.

use check::{Bounds, Shape, WriteMode};
use fabric::{Arena, Coherence, Discipline, LINE_BYTES, Line, Lines, Pod, Space};
use sync::Arrival;
use sync::lock::Options;

/// Hosts, lanes, rounds, and what the pod's fences and caches are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Hosts that use the primitive.
    pub hosts: u32,
    /// Lanes of each.
    pub lanes: u32,
    /// How often each lane uses it.
    pub rounds: u64,
    /// What a fence means.
    pub writes: WriteMode,
    /// Whether hardware keeps the hosts' caches equal.
    pub coherence: Coherence,
    /// Whether the primitive reads back what it decides by.
    pub arrival: Arrival,
}

impl Setting {
    /// Two hosts of one lane, twice each: the least at which lines are used again.
    pub const TWICE: Self = Self {
        hosts: 2,
        lanes: 1,
        rounds: 2,
        writes: WriteMode::Synchronous,
        coherence: Coherence::Software,
        arrival: Arrival::Fence,
    };

    /// This many hosts, once each.
    pub fn once(hosts: u32) -> Self {
        Self {
            hosts,
            rounds: 1,
            ..Self::TWICE
        }
    }

    /// The same on a posted pod, with lines read back where that matters.
    #[must_use]
    pub fn posted(self) -> Self {
        Self {
            writes: WriteMode::Posted,
            arrival: Arrival::Confirm,
            ..self
        }
    }

    /// The same on a posted pod, as if a fence meant arrival.
    #[must_use]
    pub fn unconfirmed(self) -> Self {
        Self {
            arrival: Arrival::Fence,
            ..self.posted()
        }
    }

    /// The same where hardware keeps the pod coherent.
    #[must_use]
    pub fn coherent(self) -> Self {
        Self {
            coherence: Coherence::Hardware,
            ..self
        }
    }

    /// The same with this many lanes a host.
    #[must_use]
    pub fn lanes(self, lanes: u32) -> Self {
        Self { lanes, ..self }
    }

    /// The pod of those that use the primitive.
    pub fn pod(&self) -> Pod {
        Pod::new(self.hosts, self.lanes)
    }

    /// What `sync` lays a lock or an atomic out for.
    pub fn options(&self) -> Options {
        Options {
            arrival: self.arrival,
            ..Options::of(self.pod())
        }
    }

    /// How lines travel.
    pub fn discipline(&self) -> Discipline {
        match self.coherence {
            Coherence::Hardware => Discipline::NONE,
            Coherence::Software if self.hosts == 1 => Discipline::NONE,
            Coherence::Software => Discipline::DEFAULT,
        }
    }

    /// The memory of this pod with `servers` hosts besides.
    pub fn shape(&self, servers: u32) -> Shape {
        let shape = Shape::software(self.hosts + servers, self.lanes, self.writes);
        match self.coherence {
            Coherence::Software => shape,
            Coherence::Hardware => shape.coherent(),
        }
    }

    /// How far to search where there are too many states: a stale line takes one environment move
    /// to come and one to stay, most faults two pre-emptions; three hosts leave room for one and
    /// two.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            environment: Some(if self.hosts * self.lanes > 2 { 1 } else { 2 }),
            preemptions: Some(2),
            ..Bounds::default()
        }
    }

    /// The lines of a primitive, of all that are called `name...`, where several are looked at
    /// together. Loads of one look have no order among each other (`sync`'s boards say so), so one
    /// may be older than what another one tells; the primitives are made for that, and what an old
    /// value does to them shows in who gets in.
    pub fn registers(&self, arena: &Arena, name: &str, servers: u32) -> Vec<Lines> {
        if self.hosts + servers <= 2 {
            return Vec::new();
        }
        let entries = arena.entries().iter();
        let own = entries.filter(|it| it.space == Space::Region && it.name.starts_with(name));
        own.map(|it| {
            let lines = (it.len * it.word_bytes).div_ceil(LINE_BYTES);
            Lines::from_first(Line(it.offset / LINE_BYTES), lines)
        })
        .collect()
    }

    /// Whether each maintenance operation is left out in turn: a larger pod's twins would only show
    /// what two lanes' do.
    pub fn has_twins(&self) -> bool {
        self.hosts * self.lanes <= 2
    }

    /// What it adds to a name: `-3-hosts@posted`, nothing for two hosts of a synchronous pod.
    pub fn suffix(&self) -> String {
        let hosts = match self.hosts {
            1 => "-1-host".into(),
            2 => String::new(),
            hosts => format!("-{hosts}-hosts"),
        };
        let lanes = match self.lanes {
            1 => String::new(),
            lanes => format!("-{lanes}-lanes"),
        };
        let coherent = match self.coherence {
            Coherence::Hardware => "@coherent",
            Coherence::Software => "",
        };
        let writes = match self.writes {
            WriteMode::Synchronous => String::new(),
            writes => format!("@{writes}"),
        };
        format!("{hosts}{lanes}{coherent}{writes}")
    }
}
