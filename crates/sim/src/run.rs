//! Running a program: one coroutine a lane, the earliest goes on.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, ScopedCoroutine, ScopedCoroutineRef};
use fabric::{Pod, Program, Seat, Setting, Substrate, Watch};

use crate::agenda::NEVER;
use crate::pod::PodFile;
use crate::port::SimPort;
use crate::record::{Attribution, Recorder};
use crate::verbs::{Turn, Verbs};
use crate::world::World;

/// Bytes of a lane's stack: workloads keep messages of tens of kilobytes there.
const STACK_BYTES: usize = 256 * 1024;

/// Where lanes begin in their stacks: so many places, so far apart, make a page.
const STACK_COLOURS: usize = 16;
const STACK_STEP_BYTES: usize = 208;

/// Simulated milliseconds without any change that a waiting lane could see: longer than any
/// timeout of the suite (hosts are given up after 5 s), so whoever still waits then waits for ever.
const STALL_MS: u64 = 60_000;

/// A pod in simulated time.
///
/// Each [`run`](Substrate::run) starts at time 0 with a region of zeroes and empty caches.
pub struct Sim {
    file: PodFile,
    pod: Pod,
    seed: u64,
    region_bytes: Option<u64>,
    run_ahead: bool,
    recording: bool,
    stall_ms: u64,
    /// Kept between runs: mapping a stack costs more than many a trial's lane.
    stacks: Mutex<Vec<DefaultStack>>,
    attribution: Mutex<Option<Attribution>>,
    simulated_ns: Mutex<f64>,
}

impl Sim {
    /// Hosts and lanes of `pod` with the constants of `file`; `pod` may be larger than the file's.
    pub fn new(file: PodFile, pod: Pod) -> Self {
        Self {
            file,
            pod,
            seed: 1,
            region_bytes: None,
            run_ahead: true,
            recording: false,
            stall_ms: STALL_MS,
            stacks: Mutex::default(),
            attribution: Mutex::default(),
            simulated_ns: Mutex::default(),
        }
    }

    /// Where jitter starts from.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Bytes of the region: an access beyond them is a forged pointer, and panics.
    #[must_use]
    pub fn region_bytes(self, bytes: u64) -> Self {
        Self {
            region_bytes: Some(bytes),
            ..self
        }
    }

    /// The slow reference: every operation waits for its turn in the whole pod. Same results.
    #[must_use]
    pub fn reference(self) -> Self {
        Self {
            run_ahead: false,
            ..self
        }
    }

    /// Records where time goes, for [`attribution`](Self::attribution): some 50 bytes for each
    /// operation that leaves a host.
    #[must_use]
    pub fn recording(self) -> Self {
        Self {
            recording: true,
            ..self
        }
    }

    /// How long a pod may do nothing but wait, in simulated milliseconds, until its waits end.
    #[must_use]
    pub fn stall_limit_ms(self, ms: u64) -> Self {
        Self {
            stall_ms: ms,
            ..self
        }
    }

    /// The constants.
    pub fn file(&self) -> &PodFile {
        &self.file
    }

    /// Hosts and lanes.
    pub fn pod(&self) -> Pod {
        self.pod
    }

    /// Where the time of the last run went, if it was recorded; given once.
    ///
    /// # Panics
    /// If a run on another thread panicked while it stored one.
    pub fn attribution(&self) -> Option<Attribution> {
        self.attribution
            .lock()
            .expect("nothing panics under it")
            .take()
    }

    /// When the last lane of the last run ended.
    ///
    /// # Panics
    /// If a run on another thread panicked while it stored it.
    pub fn simulated_ns(&self) -> f64 {
        *self.simulated_ns.lock().expect("nothing panics under it")
    }

    fn world(&self, setting: &Setting) -> World {
        let mut world = World::new(&self.file, setting.pod, setting.discipline, self.seed);
        world.run_ahead = self.run_ahead;
        world.stall_limit = self.stall_ms.saturating_mul(1_000_000_000);
        if let Some(bytes) = self.region_bytes {
            world.region_lines = (bytes / 64).min(u64::from(world.region_lines)) as u32;
        }
        for host in &mut world.hosts {
            host.memory.allocate(setting.host_bytes);
        }
        if self.recording {
            let lanes = world.lanes.len();
            let recorder = Recorder::new(lanes, setting.pod.lanes as usize);
            world.recorder = Some(Box::new(recorder));
        }
        world
    }

    fn take_stacks(&self, count: usize) -> Vec<DefaultStack> {
        let mut stacks = {
            let mut pool = self.stacks.lock().expect("nothing panics under it");
            std::mem::take(&mut *pool)
        };
        while stacks.len() < count {
            let stack = DefaultStack::new(STACK_BYTES);
            stacks.push(stack.unwrap_or_else(|error| {
                panic!("cannot map the stack of lane {}: {error}", stacks.len())
            }));
        }
        stacks
    }

    fn keep(&self, mut world: World, stacks: Vec<DefaultStack>) {
        *self.stacks.lock().expect("nothing panics under it") = stacks;
        world.unseat();
        let end = world.lanes.iter().map(|lane| lane.turn()).max();
        *self.simulated_ns.lock().expect("nothing panics under it") = end.unwrap_or(0) as f64 / 1e3;
        if let Some(recorder) = world.recorder {
            let mut kept = self.attribution.lock().expect("nothing panics under it");
            *kept = Some(recorder.finish());
        }
    }
}

impl Substrate for Sim {
    fn starts_blank(&self) -> bool {
        true
    }

    fn run<G: Program, W: Watch>(
        &self,
        setting: &Setting,
        watch: &W,
        program: &G,
    ) -> Vec<(Seat, G::Out)> {
        let seats: Vec<Seat> = setting.pod.seats().collect();
        let world = RefCell::new(self.world(setting));
        let mut stacks = self.take_stacks(seats.len());
        let body = |id: usize, turn: &Turn| {
            let world = &world;
            let verbs = Verbs { world, turn, id };
            let port = SimPort::new(verbs, watch, seats[id]);
            let mut out = None;
            // Pages that follow each other may be as alike as their beginnings.
            deeper((id + id / STACK_COLOURS) % STACK_COLOURS, &mut || {
                out = Some(program.lane(seats[id], &port));
            });
            // What it asked for last counts, though it waited for nothing.
            drop(verbs.done());
            out.expect("a lane that is unwound does not get here")
        };
        let mut outs = Vec::new();
        let mut spare = stacks.iter_mut();
        let drive = &mut |lanes: Vec<Lane<'_, '_, G::Out>>| outs = interleave(&world, lanes);
        nest(seats.len(), &mut spare, &body, Vec::new(), drive);
        self.keep(world.into_inner(), stacks);
        let ended: Vec<_> = seats.into_iter().zip(outs).collect();
        if let Some((seat, _)) = ended.iter().find(|(_, end)| matches!(end, Some(Err(_)))) {
            let seat = *seat;
            let panicked = ended
                .into_iter()
                .find_map(|(_, end)| end.and_then(Result::err));
            propagate(seat, panicked.expect("found just above"));
        }
        let finished = ended
            .into_iter()
            .filter_map(|(seat, end)| Some((seat, end?.ok()?)));
        finished.collect()
    }
}

/// What became of a lane: its result, its panic, or nothing where another's panic ended it.
type End<R> = Option<Result<R, Box<dyn Any + Send>>>;

type Lane<'a, 's, R> = ScopedCoroutineRef<'a, (), (), R, &'s mut DefaultStack>;

/// Runs a lane deeper in its stack by so many steps.
///
/// All stacks end at the end of a page, where this machine's caches have a few places for all of
/// them: side by side there, hundreds of lanes would drive each other's frames out.
#[inline(never)]
fn deeper(steps: usize, lane: &mut dyn FnMut()) {
    let between = black_box([0u8; STACK_STEP_BYTES]);
    if steps == 0 {
        lane();
    } else {
        deeper(steps - 1, lane);
    }
    black_box(between);
}

/// Resumes the earliest lane until all have ended, or one has panicked.
fn interleave<R>(world: &RefCell<World>, mut lanes: Vec<Lane<'_, '_, R>>) -> Vec<End<R>> {
    let mut ends: Vec<End<R>> = lanes.iter().map(|_| None).collect();
    let running = Cell::new(0);
    let all = catch_unwind(AssertUnwindSafe(|| {
        loop {
            let next = world.borrow_mut().next_program();
            let Some(id) = next else { break };
            running.set(id);
            if let CoroutineResult::Return(out) = lanes[id].resume(()) {
                ends[id] = Some(Ok(out));
                world.borrow_mut().leave();
            }
        }
    }));
    let mut world = world.borrow_mut();
    match all {
        Ok(()) => world.arrive_until(NEVER),
        Err(panic) => {
            ends[running.get()] = Some(Err(panic));
            // The other lanes unwind when their scopes end: nobody is there to wait for.
            world.tear_down();
        }
    }
    ends
}

/// A scope is the only safe way to a coroutine that borrows, so that many lanes are as many scopes
/// inside each other; their references are reborrowed for the innermost, where all are at hand.
fn nest<'s, R>(
    more: usize,
    stacks: &mut std::slice::IterMut<'s, DefaultStack>,
    body: &dyn Fn(usize, &Turn) -> R,
    lanes: Vec<Lane<'_, 's, R>>,
    drive: &mut dyn FnMut(Vec<Lane<'_, 's, R>>),
) {
    if more == 0 {
        return drive(lanes);
    }
    let id = lanes.len();
    let stack = stacks.next().expect("one was taken for each lane");
    let lane = ScopedCoroutine::with_stack(stack, move |turn: &Turn, ()| body(id, turn));
    lane.scope(|mut lane| {
        let mut lanes: Vec<Lane<'_, 's, R>> = lanes;
        lanes.push(lane.as_mut());
        nest(more - 1, stacks, body, lanes, drive);
    });
}

/// A lane's panic goes on in the caller, with the lane's name where it is text.
fn propagate(seat: Seat, panic: Box<dyn Any + Send>) -> ! {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    match text.or_else(|| panic.downcast_ref::<String>().cloned()) {
        Some(text) => panic!("host {} lane {}: {text}", seat.host, seat.lane),
        None => resume_unwind(panic),
    }
}
