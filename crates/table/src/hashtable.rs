//! What a hash table that hosts share costs.
//!
//! *Kernel.* Every lane does `operations` operations of a YCSB mix on one table, as fast as it can.
//! Before the first repetition the table is filled, except for `mix = load`, which fills it.
//!
//! *Sharing.* Decided by `sharing`: see [`Sharing`]. With locks that need a server, the last
//! lane of the last host serves all of them and asks for nothing.
//!
//! *Maintenance an operation.* Given with each operation of [`Handle`]; the census counts it.
//!
//! *Metrics.* `throughput_per_s`: operations of all lanes, over the time of the slowest.
//! `op_ns`, and `read_ns`, `update_ns`, `insert_ns`, `modify_ns` by operation: from asking to
//! knowing; of a batch, that of the batch. The clock is read for up to ten thousand operations a
//! lane.
//!
//! *Verified.* Each value says by whom it was written, when and under which key, in every word:
//! reads check what they get, the end checks every entry, that none is missing, doubled or strange.
//! Of `checked_keys` keys, the most popular ones, every operation is recorded with its times, and
//! the histories must be linearizable.

use fabric::{Arena, Gone, HostAtomics, HostSlice, Pod, Seat, Slice, Ticks, wait_until};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sync::Arrival;
use sync::lock::{Algorithm, Lock, LockVisitor};
use workload::{Gather, Mismatch, Outcome, Series, Verified, Worker, Workload};

use crate::client::{Client, MOST_INSERTS, Mix, Op, Placement, key};
use crate::draw::{Distribution, Draw};
use crate::error::TableError;
use crate::handle::Handle;
use crate::history::EVENT_WORDS;
use crate::layout::Table;
use crate::recorder::{Recorder, linearizable};
use crate::section::Change;
use crate::shape::{Config, MAX_BATCH, MAX_VALUE_WORDS, Sharing};

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// What is asked for.
    pub mix: Mix,
    /// How often which entry.
    pub distribution: Distribution,
    /// Skew of `zipf`, and of the recency in mix D: 0 to 1, both excluded.
    pub theta: f64,
    /// Whether popular entries are strewn over all.
    pub scrambled: bool,
    /// Whose entries a lane asks for.
    pub placement: Placement,
    /// How hosts share the table.
    pub sharing: Sharing,
    /// Which lock, where there are locks.
    pub lock: Algorithm,
    /// The most locks.
    pub locks: u32,
    /// Buckets of a group, a power of two.
    pub group_buckets: u32,
    /// Bytes of a value, a multiple of 8 up to 1024.
    pub value_bytes: u32,
    /// Entries.
    pub entries: u64,
    /// Hosts that ask, the first ones; the others only serve. 0: all.
    pub clients: u32,
    /// Operations of a lane in a repetition; `load` does as many as there are entries.
    pub operations: u32,
    /// Changes that a lane asks for together; 1 where sharing is not partitioned.
    pub batch: u32,
    /// `hot-set`: the share of operations that goes to the hot entries (YCSB: 0.8).
    pub hot_operations: f64,
    /// `hot-set`: the share of entries that is hot (YCSB: 0.2).
    pub hot_entries: f64,
    /// Values that a lane keeps where sharing is `cached`.
    pub cached_values: u32,
    /// Keys whose histories are checked.
    pub checked_keys: u32,
    /// Whether a fence means arrival on this pod; posted pods need `confirm`.
    pub arrival: Arrival,
}

impl Default for Params {
    fn default() -> Self {
        let config = Config::of(1, 1);
        Self {
            mix: Mix::default(),
            distribution: Distribution::default(),
            theta: 0.99,
            scrambled: true,
            placement: Placement::default(),
            sharing: config.sharing,
            lock: config.lock,
            locks: 256,
            group_buckets: config.group_buckets,
            value_bytes: 8,
            entries: 10_000,
            clients: 0,
            operations: 1_000,
            batch: 1,
            hot_operations: 0.8,
            hot_entries: 0.2,
            cached_values: config.cached_values,
            checked_keys: 4,
            arrival: config.arrival,
        }
    }
}

impl Params {
    fn config(&self, pod: Pod) -> Config {
        let lanes = u64::from(pod.hosts * pod.lanes);
        let inserted = if self.mix == Mix::D {
            lanes * (u64::from(self.operations) / MOST_INSERTS + 1)
        } else {
            0
        };
        Config {
            entries: self.entries + inserted,
            value_words: self.value_bytes as usize / 8,
            group_buckets: self.group_buckets,
            sharing: self.sharing,
            lock: self.lock,
            locks: self.locks,
            arrival: self.arrival,
            cached_values: self.cached_values,
        }
    }

    fn draw(&self) -> Draw {
        let hot = (self.hot_operations, self.hot_entries);
        Draw::new(
            self.distribution,
            self.entries,
            self.theta,
            self.scrambled,
            hot,
        )
    }

    /// Hosts that ask.
    fn clients(&self, pod: Pod) -> u32 {
        match self.clients {
            0 => pod.hosts,
            clients => clients,
        }
    }

    fn is_served(&self, pod: Pod) -> bool {
        self.config(pod).uses_locks(pod) && self.lock.is_served()
    }

    /// Events that a lane may record in a repetition: every one, up to the most.
    fn events(&self) -> usize {
        match (self.checked_keys, self.mix) {
            (0, _) | (_, Mix::Load) => 0,
            _ => MAX_EVENTS.min(2 * self.operations as usize),
        }
    }
}

/// Events that a lane records in a repetition at most.
const MAX_EVENTS: usize = 4_096;
/// Operations of a lane and repetition that are timed at most.
const MAX_TIMED: usize = 10_000;
/// Batches between two signs of life: some milliseconds natively.
const TELL_EVERY: usize = 16_384;
/// The most locks that one lane serves: each look at one is a round trip to the device.
const MAX_SERVED: u32 = 64;

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    table: Table,
    /// How many phases each lane has done.
    done: Vec<Slice<u64>>,
    /// Of each lane: its span, strange values that it has read, events, when it stopped to record
    /// them, and the events.
    seen: Gather,
    /// Repetitions that lane 0 of host 0 has looked through, and those in which it found something.
    verdict: HostSlice<u64>,
}

/// Words before the events.
const SEEN: usize = 4;

/// The workload.
#[derive(Debug)]
pub struct Hashtable;

impl Workload for Hashtable {
    const NAME: &'static str = "hashtable";
    const ABOUT: &'static str = "what a hash table costs that hosts share, by YCSB's mixes";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let lanes = pod.hosts * pod.lanes;
        let words = SEEN + params.events() * EVENT_WORDS;
        Layout {
            table: Table::lay_out(arena, "hashtable", pod, &params.config(pod)),
            done: arena.per_host("hashtable.done", lanes, 1),
            seen: Gather::lay_out(arena, "hashtable.seen", lanes, words),
            verdict: arena.host_shared("hashtable.verdict", 2),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        if !params.value_bytes.is_multiple_of(8) {
            let bytes = params.value_bytes;
            return Err(format!("value_bytes = {bytes}: use a multiple of 8"));
        }
        params.config(pod).check(pod)?;
        if params.theta <= 0.0 || params.theta >= 1.0 {
            return Err(format!(
                "theta = {}: use more than 0, less than 1",
                params.theta
            ));
        }
        for (name, share) in [
            ("hot_operations", params.hot_operations),
            ("hot_entries", params.hot_entries),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{name} = {share}: use 0 to 1"));
            }
        }
        if params.clients > pod.hosts || params.clients > 0 && params.mix == Mix::Load {
            return Err(format!(
                "clients = {}: use 0 (all) to {} hosts; a load takes all",
                params.clients, pod.hosts
            ));
        }
        if params.operations == 0 {
            return Err("operations = 0: use 1 or more".into());
        }
        if params.placement == Placement::Remote && pod.hosts == 1 {
            return Err("placement = remote: use --hosts 2 or more".into());
        }
        let batches = params.sharing == Sharing::Partitioned;
        if params.batch == 0 || params.batch > if batches { MAX_BATCH } else { 1 } {
            let most = if batches { MAX_BATCH } else { 1 };
            return Err(format!(
                "batch = {}: use 1 to {most} (more than 1 where sharing = partitioned)",
                params.batch
            ));
        }
        if params.is_served(pod) && params.locks > MAX_SERVED {
            return Err(format!(
                "locks = {}: one lane serves all locks of {}; use 1 to {MAX_SERVED}",
                params.locks, params.lock
            ));
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let lane = Lane {
            worker,
            layout,
            params,
            client: client(worker, layout, params),
        };
        lane.prepare()?;
        let outcome = lane.phase()?;
        worker.line_up()?;
        if worker.seat().leads_pod() {
            return Ok(lane.look_through(outcome));
        }
        Ok(outcome)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        let (port, seat) = (worker.port(), worker.seat());
        if !seat.leads_pod() {
            return Ok(Verified::Nothing);
        }
        let looked = port.atomic_load(layout.verdict.at(0));
        let wrong = port.atomic_load(layout.verdict.at(1));
        if looked < u64::from(repetitions) || wrong > 0 {
            return Err(Mismatch {
                what: "values read, and histories of checked keys".into(),
                expected: format!("{repetitions} repetitions without a strange one"),
                found: format!("{looked} looked through, {wrong} strange"),
            });
        }
        let client = client(worker, layout, params);
        let entries = verify_entries(worker, &client, repetitions)?;
        Ok(Verified::Answer(json!({ "entries": entries })))
    }
}

fn client<'a, P: HostAtomics>(
    worker: &Worker<'_, P>,
    layout: &'a Layout,
    params: &Params,
) -> Client<'a> {
    Client {
        table: &layout.table,
        pod: worker.pod(),
        draw: params.draw(),
        mix: params.mix,
        placement: params.placement,
        entries: params.entries,
        operations: u64::from(params.operations),
        hosts: params.clients(worker.pod()),
        seed: worker.seed(),
    }
}

/// The value with which `key` is filled or overwritten by the writer `id`.
fn value(id: u64, key: u64) -> [u64; MAX_VALUE_WORDS] {
    let mut words = [id; MAX_VALUE_WORDS];
    for (index, word) in words.iter_mut().enumerate().skip(1) {
        *word = derived(id, key, index);
    }
    words
}

/// Word `index` of such a value (Fibonacci hashing, Knuth vol. 3, 6.4).
fn derived(id: u64, key: u64, index: usize) -> u64 {
    (id ^ key.rotate_left(32))
        .wrapping_add(index as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Whether a value is one that somebody wrote under this key, whole.
fn is_whole(key: u64, words: &[u64]) -> bool {
    let id = words[0];
    id != 0
        && words
            .iter()
            .enumerate()
            .skip(1)
            .all(|(index, &word)| word == derived(id, key, index))
}

/// Looks at every entry; how many there are.
fn verify_entries<P: HostAtomics>(
    worker: &Worker<'_, P>,
    client: &Client<'_>,
    repetitions: u32,
) -> Result<u64, Mismatch> {
    let last = repetitions.saturating_sub(1);
    let mut inserted: Vec<u64> = Vec::new();
    if client.mix == Mix::D {
        for seat in worker.pod().seats() {
            let ops = client.operations(seat, last).into_iter();
            inserted.extend(ops.filter_map(|op| match op {
                Op::Insert(key) => Some(key),
                _ => None,
            }));
        }
        inserted.sort_unstable();
    }
    let expected = client.entries + inserted.len() as u64;
    let mut seen = vec![false; client.entries as usize + inserted.len()];
    let mut strange = None;
    let mut handle = Handle::open(client.table, worker.port(), worker.seat());
    let all = handle.for_each(|found, words| {
        let index = if found <= key(client.entries - 1) {
            Some(found as usize - 1)
        } else {
            let at = inserted.binary_search(&found).ok();
            at.map(|at| client.entries as usize + at)
        };
        let right = index.is_some_and(|index| !std::mem::replace(&mut seen[index], true));
        if !right || !is_whole(found, words) {
            strange = Some(found);
        }
    });
    let mismatch = |what: &str, found: String| Mismatch {
        what: what.to_owned(),
        expected: format!("{expected} entries, each whole, each once"),
        found,
    };
    all.map_err(|error| mismatch("the table's entries", error.to_string()))?;
    if let Some(key) = strange {
        return Err(mismatch(
            "an entry",
            format!("key {key:#x} is strange, torn or doubled"),
        ));
    }
    let entries = seen.iter().filter(|&&seen| seen).count() as u64;
    if entries != expected {
        return Err(mismatch("the table's entries", entries.to_string()));
    }
    Ok(entries)
}

/// One lane in one repetition.
struct Lane<'a, 'w, P> {
    worker: &'a Worker<'w, P>,
    layout: &'a Layout,
    params: &'a Params,
    client: Client<'a>,
}

impl<P: HostAtomics> Lane<'_, '_, P> {
    fn open(&self) -> Handle<'_, P> {
        Handle::open(&self.layout.table, self.worker.port(), self.worker.seat())
    }

    fn number(&self, seat: Seat) -> u32 {
        seat.host * self.worker.pod().lanes + seat.lane
    }

    /// The lane that serves locks, if they are served.
    fn is_server(&self) -> bool {
        let pod = self.worker.pod();
        let last = pod.hosts * pod.lanes - 1;
        self.params.is_served(pod) && self.number(self.worker.seat()) == last
    }

    /// Brings the table into the state in which a repetition finds it. Aside: it belongs to the
    /// experiment.
    fn prepare(&self) -> Result<(), Gone> {
        let entries = self.params.entries;
        self.worker.port().aside(|_| {
            let mut handle = self.open();
            let done = match (self.params.mix, self.worker.repetition()) {
                (Mix::Load, 0) => Ok(()),
                (Mix::Load, _) => handle.retain(|_| false),
                (_, 0) => handle.fill((0..entries).map(key), |key| value(key, key)),
                (Mix::D, _) => handle.retain(|found| found <= key(entries - 1)),
                _ => Ok(()),
            };
            must(done)
        })
    }

    /// What is measured.
    fn phase(&self) -> Result<Outcome, Gone> {
        let seat = self.worker.seat();
        let is_server = self.is_server();
        let ops = if is_server {
            Vec::new()
        } else {
            self.client.operations(seat, self.worker.repetition())
        };
        let mut recorder = self.recorder(ops.len());
        // While nobody acquires: what has been asked so far has been given up.
        let desks = is_server.then(|| self.desks());
        self.worker.line_up()?;
        if let Some(desks) = desks {
            self.serve_locks(desks)?;
            return Ok(Outcome::default());
        }
        let port = self.worker.port();
        let mut handle = self.open();
        let start = port.now();
        for (number, chunk) in ops.chunks(self.params.batch as usize).enumerate() {
            let first = number * self.params.batch as usize;
            self.ask(&mut handle, &mut recorder, first, chunk)?;
            if number % TELL_EVERY == TELL_EVERY - 1 {
                self.worker.tell(first as f64 / ops.len() as f64)?;
            }
        }
        let span = port.now().0 - start.0;
        self.serve_others(&mut handle)?;
        handle.close();
        self.layout
            .seen
            .put(port, self.number(seat), &recorder.words(span));
        Ok(Outcome {
            series: recorder.series(),
            operations: ops.len() as u64,
        })
    }

    fn recorder(&self, operations: usize) -> Recorder {
        let checked = u64::from(self.params.checked_keys).min(self.params.entries);
        let keys = (0..checked).map(|rank| key(self.client.draw.entry(rank)));
        let seat = self.worker.seat();
        let first_client = self.number(seat) * MAX_BATCH;
        Recorder::new(
            self.worker.port().clock(),
            keys.collect(),
            (seat.host, first_client),
            self.params.events(),
            operations.div_ceil(MAX_TIMED).max(1),
        )
    }

    /// Does a few operations, of which the changes together.
    fn ask(
        &self,
        handle: &mut Handle<'_, P>,
        recorder: &mut Recorder,
        first: usize,
        ops: &[Op],
    ) -> Result<(), Gone> {
        if self.params.batch == 1 {
            return self.ask_one(handle, recorder, first, ops[0]);
        }
        let mut room = [0; MAX_VALUE_WORDS];
        let asked = |op: Op| {
            ops.iter()
                .enumerate()
                .filter(move |(_, other)| op.is_like(**other))
        };
        for (slot, &op) in asked(Op::Modify(0)) {
            self.read(handle, recorder, first + slot, op, slot as u32, &mut room)?;
        }
        self.change_together(handle, recorder, first, ops)?;
        // After the changes: what mix D reads may have been inserted just now.
        for (slot, &op) in asked(Op::Read(0)) {
            self.read(handle, recorder, first + slot, op, slot as u32, &mut room)?;
        }
        Ok(())
    }

    fn change_together(
        &self,
        handle: &mut Handle<'_, P>,
        recorder: &mut Recorder,
        first: usize,
        ops: &[Op],
    ) -> Result<(), Gone> {
        let port = self.worker.port();
        let words = self.params.value_bytes as usize / 8;
        let changing = ops
            .iter()
            .enumerate()
            .filter(|(_, op)| !op.is_like(Op::Read(0)));
        let values: Vec<_> = changing
            .map(|(slot, &op)| (slot, op, value(self.id(first + slot), op.key())))
            .collect();
        let changes: Vec<_> = values
            .iter()
            .map(|(_, op, value)| (op.key(), change_of(*op, &value[..words])))
            .collect();
        let start = port.now();
        let mut done = Vec::with_capacity(changes.len());
        handle.change_all(&changes, |index, outcome| done.push((index, outcome)));
        let end = port.now();
        for (index, outcome) in done {
            let (slot, op, value) = &values[index];
            let outcome = must(outcome)?;
            recorder.changed(
                first + slot,
                (*slot as u32, *op),
                value[0],
                outcome,
                (start, end),
            );
        }
        Ok(())
    }

    fn ask_one(
        &self,
        handle: &mut Handle<'_, P>,
        recorder: &mut Recorder,
        number: usize,
        op: Op,
    ) -> Result<(), Gone> {
        let port = self.worker.port();
        let timed = recorder.times(number, op.key());
        let start = if timed { port.now() } else { Ticks(0) };
        let mut room = [0; MAX_VALUE_WORDS];
        if let Op::Read(_) | Op::Modify(_) = op {
            self.read(handle, recorder, number, op, 0, &mut room)?;
            if let Op::Read(_) = op {
                return Ok(());
            }
        }
        let words = self.params.value_bytes as usize / 8;
        let id = self.id(number);
        let value = value(id, op.key());
        let between = if timed { port.now() } else { Ticks(0) };
        let outcome = must(handle.change(op.key(), change_of(op, &value[..words])))?;
        if timed {
            let end = port.now();
            recorder.changed(number, (0, op), id, outcome, (between, end));
            if let Op::Modify(_) = op {
                recorder.modified(number, (start, end));
            }
        }
        Ok(())
    }

    fn read(
        &self,
        handle: &mut Handle<'_, P>,
        recorder: &mut Recorder,
        number: usize,
        op: Op,
        slot: u32,
        room: &mut [u64; MAX_VALUE_WORDS],
    ) -> Result<(), Gone> {
        let (port, key) = (self.worker.port(), op.key());
        let timed = recorder.times(number, key);
        let start = if timed { port.now() } else { Ticks(0) };
        let words = must(handle.get(key, room))?;
        let end = if timed { port.now() } else { Ticks(0) };
        // Every key that is asked for is there.
        let whole = words.is_some_and(|words| is_whole(key, &room[..words]));
        recorder.strange += u64::from(!whole);
        if timed {
            let seen = words.map(|_| room[0]);
            recorder.read(number, (slot, op), seen, (start, end));
        }
        Ok(())
    }

    /// Says who writes: lane, repetition, operation. Entries are filled by smaller numbers.
    fn id(&self, number: usize) -> u64 {
        let lane = u64::from(self.number(self.worker.seat())) + 1;
        lane << 48 | u64::from(self.worker.repetition() & 0xffff) << 32 | number as u64
    }

    /// Says that this lane is done, and serves the others until all are.
    fn serve_others(&self, handle: &mut Handle<'_, P>) -> Result<(), Gone> {
        let port = self.worker.port();
        let mine = self.layout.done[self.number(self.worker.seat()) as usize];
        port.aside(|port| {
            // A plain store: this lane looks at its own line as well.
            port.store(mine.start(), u64::from(self.worker.repetition()) + 1);
            // Serves the looks of those who serve.
            port.publish(mine.lines());
        });
        wait_until(port, || match handle.serve() {
            Err(TableError::Gone(gone)) => Some(Err(gone)),
            _ => self.all_done().then_some(Ok(())),
        })?
    }

    fn all_done(&self) -> bool {
        let lanes = self.layout.done.len() - usize::from(self.params.is_served(self.worker.pod()));
        self.worker.port().aside(|port| {
            for line in &self.layout.done[..lanes] {
                // Serves the load below, anew for each look.
                port.observe(line.lines());
                if port.load(line.start()) <= u64::from(self.worker.repetition()) {
                    return false;
                }
            }
            true
        })
    }

    fn desks(&self) -> Vec<sync::Desk> {
        let locks = self.layout.table.locks().iter();
        locks
            .map(|lock| lock.visit(Desk(self.worker.port())))
            .collect()
    }

    /// Serves every lock until all clients are done.
    fn serve_locks(&self, mut desks: Vec<sync::Desk>) -> Result<(), Gone> {
        let port = self.worker.port();
        let locks = self.layout.table.locks();
        wait_until(port, || {
            for (lock, desk) in locks.iter().zip(&mut desks) {
                lock.visit(Serve(port, desk));
            }
            self.all_done().then_some(())
        })
    }

    /// Lanes that ask, of those that are not servers.
    fn askers(&self, lanes: usize) -> usize {
        let pod = self.worker.pod();
        lanes.min((self.params.clients(pod) * pod.lanes) as usize)
    }

    /// Brings together what all lanes have seen: throughput, strange values, histories.
    fn look_through(&self, mut outcome: Outcome) -> Outcome {
        let port = self.worker.port();
        let words = SEEN + self.params.events() * EVENT_WORDS;
        let seen = self.layout.seen.get(port, words);
        let clients = seen.len() - usize::from(self.params.is_served(self.worker.pod()));
        let seen = &seen[..clients];
        let longest = seen.iter().map(|words| words[0]).max().unwrap_or(0);
        let seconds = port.clock().span_ns(Ticks(0), Ticks(longest)) / 1e9;
        let operations = match self.params.mix {
            Mix::Load => self.params.entries,
            _ => u64::from(self.params.operations) * self.askers(clients) as u64,
        };
        let rate = operations as f64 / seconds;
        let series = Series::of("throughput_per_s", "1/s", vec![rate]);
        outcome.series.push(series);
        let strange: u64 = seen.iter().map(|words| words[1]).sum();
        let wrong = strange + u64::from(!linearizable(seen, &port.clock()));
        port.aside(|port| {
            port.fetch_add(self.layout.verdict.at(0), 1);
            port.fetch_add(self.layout.verdict.at(1), wrong);
        });
        outcome
    }
}

fn change_of(op: Op, value: &[u64]) -> Change<'_> {
    match op {
        Op::Insert(_) => Change::Insert(value),
        _ => Change::Update(value),
    }
}

/// The operations of this workload fail only with the run: keys are right and the table is large
/// enough.
fn must<T>(done: Result<T, TableError>) -> Result<T, Gone> {
    done.map_err(|error| match error {
        TableError::Gone(gone) => gone,
        error => panic!("{error}"),
    })
}

struct Desk<'p, P>(&'p P);

impl<P: HostAtomics> LockVisitor for Desk<'_, P> {
    type Out = sync::Desk;

    fn visit<L: Lock>(self, lock: &L) -> sync::Desk {
        self.0.aside(|port| lock.desk(port))
    }
}

struct Serve<'p, P>(&'p P, &'p mut sync::Desk);

impl<P: HostAtomics> LockVisitor for Serve<'_, P> {
    type Out = ();

    fn visit<L: Lock>(self, lock: &L) {
        lock.serve(self.0, self.1);
    }
}
