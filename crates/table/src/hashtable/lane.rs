//! One lane of the workload in one repetition.

use fabric::{Gone, HostAtomics, Seat, Ticks, wait_until};
use sync::lock::{Lock, LockVisitor};
use workload::{Outcome, Series, Worker};

use super::params::Params;
use super::verify::{is_whole, value};
use super::{Layout, SEEN};
use crate::client::{Client, Mix, Op, key};
use crate::error::TableError;
use crate::handle::Handle;
use crate::history::EVENT_WORDS;
use crate::recorder::{Recorder, linearizable};
use crate::section::Change;
use crate::shape::{MAX_BATCH, MAX_VALUE_WORDS};

/// Operations of a lane and repetition that are timed at most.
const MAX_TIMED: usize = 10_000;
/// Batches between two signs of life: some milliseconds natively.
const TELL_EVERY: usize = 16_384;

/// One lane in one repetition.
pub(super) struct Lane<'a, 'w, P> {
    pub(super) worker: &'a Worker<'w, P>,
    pub(super) layout: &'a Layout,
    pub(super) params: &'a Params,
    pub(super) client: Client<'a>,
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
    pub(super) fn prepare(&self) -> Result<(), Gone> {
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
    pub(super) fn phase(&self) -> Result<Outcome, Gone> {
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
    pub(super) fn look_through(&self, mut outcome: Outcome) -> Outcome {
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
