//! The table against `HashMap`: operations of several hosts in one known order, on a simulated pod
//! whose caches lie.
//!
//! A table of few, small groups, so that homes overflow, keys lie elsewhere, and groups fill up.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;

use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Ptr, Seat, Setting, Substrate,
    wait_until,
};
use proptest::prelude::*;
use sim::{Sim, pod};
use sync::lock::Algorithm;
use table::{Config, Handle, Sharing, Table, TableError};

const KEYS: u64 = 40;

#[derive(Clone, Debug)]
struct Step {
    host: u32,
    key: u64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Get,
    Insert(Vec<u64>),
    Update(Vec<u64>),
    Upsert(Vec<u64>),
    Remove,
    Iterate,
}

/// What an operation said.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    Value(Option<Vec<u64>>),
    WasThere(bool),
    Entries(Vec<(u64, Vec<u64>)>),
    Refused(TableError),
}

struct Turns {
    pod: Pod,
    table: Table,
    /// How many steps have been taken: written by whoever took the last one.
    taken: Ptr<u64>,
    steps: Vec<Step>,
}

impl Program for Turns {
    type Out = Vec<(usize, Said)>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut said = Vec::new();
        let mut handle = Handle::open(&self.table, port, seat);
        for (number, step) in self.steps.iter().enumerate() {
            let acts = step.host == seat.host && seat.lane == 0;
            let turn = number as u64 + u64::from(!acts);
            wait_until(port, || {
                handle.serve().unwrap();
                port.observe(self.taken.line());
                (port.load(self.taken) >= turn).then_some(())
            })
            .unwrap();
            if !acts {
                continue;
            }
            said.push((number, take(&mut handle, step)));
            port.observe(self.taken.line());
            port.store(self.taken, number as u64 + 1);
            port.publish(self.taken.line());
        }
        handle.close();
        said
    }
}

fn take<P: HostAtomics>(handle: &mut Handle<'_, P>, step: &Step) -> Said {
    let key = step.key;
    let refused = |done: Result<bool, TableError>| done.map_or_else(Said::Refused, Said::WasThere);
    match &step.what {
        What::Get => {
            let mut value = [0; 16];
            let found = handle.get(key, &mut value);
            found.map_or_else(Said::Refused, |words| {
                Said::Value(words.map(|words| value[..words].to_vec()))
            })
        }
        What::Insert(value) => refused(handle.insert(key, value).map(|()| false)),
        What::Update(value) => refused(handle.update(key, value)),
        What::Upsert(value) => refused(handle.upsert(key, value)),
        What::Remove => refused(handle.remove(key)),
        What::Iterate => {
            let mut entries = Vec::new();
            handle
                .for_each(|key, value| entries.push((key, value.to_vec())))
                .unwrap();
            entries.sort();
            Said::Entries(entries)
        }
    }
}

/// What a `HashMap` says, given that a full group is full.
fn expected(map: &mut HashMap<u64, Vec<u64>>, step: &Step, table: &Table, words: usize) -> Said {
    let key = step.key;
    let there = map.contains_key(&key);
    if key == 0 && !matches!(step.what, What::Iterate) {
        return Said::Refused(TableError::Reserved { key });
    }
    if let What::Insert(value) | What::Update(value) | What::Upsert(value) = &step.what {
        if value.is_empty() || value.len() > words {
            let words_given = value.len();
            return Said::Refused(TableError::Oversized {
                words: words_given,
                capacity: words,
            });
        }
        let adds = !there && !matches!(step.what, What::Update(_));
        let group = table.group_of(key);
        let slots = 4 * table::SLOTS as u64;
        if adds
            && map
                .keys()
                .filter(|&&key| table.group_of(key) == group)
                .count() as u64
                == slots
        {
            return Said::Refused(TableError::Full { key, slots });
        }
    }
    match &step.what {
        What::Get => Said::Value(map.get(&key).cloned()),
        What::Insert(_) if there => Said::Refused(TableError::Duplicate { key }),
        What::Update(_) if !there => Said::WasThere(false),
        What::Insert(value) | What::Update(value) | What::Upsert(value) => {
            Said::WasThere(map.insert(key, value.clone()).is_some())
        }
        What::Remove => Said::WasThere(map.remove(&key).is_some()),
        What::Iterate => {
            let mut entries: Vec<_> = map.clone().into_iter().collect();
            entries.sort();
            Said::Entries(entries)
        }
    }
}

fn steps(words: usize) -> impl Strategy<Value = Vec<Step>> {
    let value = prop::collection::vec(any::<u64>(), 0..=words + 1);
    let what = prop_oneof![
        4 => Just(What::Get),
        6 => value.clone().prop_map(What::Insert),
        3 => value.clone().prop_map(What::Update),
        3 => value.prop_map(What::Upsert),
        3 => Just(What::Remove),
        1 => Just(What::Iterate),
    ];
    let step = (0..3u32, 0..KEYS, what).prop_map(|(host, key, what)| Step { host, key, what });
    prop::collection::vec(step, 1..120)
}

fn hold(config: &Config, hosts: u32, lanes: u32, mut steps: Vec<Step>) {
    let pod = Pod::new(hosts, lanes);
    for step in &mut steps {
        step.host %= hosts;
    }
    let mut arena = Arena::new();
    let table = Table::lay_out(&mut arena, "t", pod, config);
    let taken = arena.word("turns.taken");
    let setting = Setting {
        pod,
        discipline: if hosts == 1 {
            Discipline::NONE
        } else {
            Discipline::DEFAULT
        },
        host_bytes: arena.host_bytes(),
    };
    let program = Turns {
        pod,
        table,
        taken,
        steps,
    };
    let sim = Sim::new(pod::load("sc26-four-host").unwrap(), pod).stall_limit_ms(20);
    let mut said: Vec<_> = sim
        .run(&setting, &NoWatch, &program)
        .into_iter()
        .flat_map(|(_, said)| said)
        .collect();
    said.sort_by_key(|(number, _)| *number);
    assert_eq!(said.len(), program.steps.len());
    let mut map = HashMap::new();
    for ((number, said), step) in said.iter().zip(&program.steps) {
        let expected = expected(&mut map, step, &program.table, config.value_words);
        assert_eq!(
            *said, expected,
            "step {number}: {step:?} of {:?}",
            program.pod
        );
    }
}

fn small(sharing: Sharing, value_words: usize) -> Config {
    Config {
        group_buckets: 4,
        locks: 3,
        cached_values: 4,
        sharing,
        ..Config::of(18, value_words)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(24)
    })]

    #[test]
    fn one_host(steps in steps(1), lanes in 1..3u32) {
        hold(&small(Sharing::Seqlock, 1), 1, lanes, steps);
    }

    #[test]
    fn one_host_with_long_values(steps in steps(15)) {
        hold(&small(Sharing::Partitioned, 15), 1, 1, steps);
    }

    #[test]
    fn partitioned(steps in steps(1), lanes in 1..3u32) {
        hold(&small(Sharing::Partitioned, 1), 3, lanes, steps);
    }

    #[test]
    fn partitioned_with_long_values(steps in steps(15)) {
        hold(&small(Sharing::Partitioned, 15), 2, 1, steps);
    }

    #[test]
    fn bucket_locks(steps in steps(3), lock in 0..11usize) {
        let usable = |lock: &&Algorithm| !lock.is_served() && !lock.is_hardware();
        let usable: Vec<_> = Algorithm::ALL.iter().filter(usable).collect();
        let lock = *usable[lock % usable.len()];
        hold(&Config { lock, ..small(Sharing::BucketLocks, 3) }, 3, 1, steps);
    }

    #[test]
    fn seqlock(steps in steps(1), lanes in 1..3u32) {
        hold(&small(Sharing::Seqlock, 1), 3, lanes, steps);
    }

    #[test]
    fn seqlock_with_long_values(steps in steps(15)) {
        hold(&small(Sharing::Seqlock, 15), 3, 1, steps);
    }

    #[test]
    fn cached(steps in steps(15)) {
        hold(&small(Sharing::Cached, 15), 3, 1, steps);
    }
}
