//! What it costs to get and give back memory of the pool.
//!
//! *Kernel.* Every lane allocates `blocks` blocks of random sizes and marks them; hands a share
//! `remote_share` of them to the next lane of the pod, which frees them, and frees the others
//! itself. Then all collect what has come home.
//!
//! *Sharing.* Each lane keeps an arena of its own (crate `sync`, `alloc`); headers and blocks have
//! one writer at a time. The hand-over is a list of blocks a lane, between two barriers, outside
//! the census.
//!
//! *Maintenance an operation.* An operation is an allocation or a free: 1 publish; 1 for seven if a
//! block of another arena is freed.
//!
//! *Metrics.* `allocate_ns`, `free_ns`, `remote_free_ns`; `throughput_per_s`: operations of all
//! lanes over the time of the slowest, barriers excluded.
//!
//! *Verified.* Every block carries its owner's mark in its first and last word until it is freed,
//! so blocks that overlap are noticed; in the end nothing is out.

use fabric::{Arena, Gone, HostAtomics, HostSlice, Pod, SplitMix64, Ticks};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sync::alloc::{AllocError, Allocator, Block, Moved, Pool, SLAB_LINES};
use workload::{Gather, Mismatch, Outcome, Series, Verified, Worker, Workload};

const LINE_BYTES: u64 = 64;
/// What a ring carries without being emptied: 64 messages of seven, of which less than half may be
/// taken already.
const MAX_REMOTE: usize = 32 * 7;

/// Its knobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Params {
    /// Blocks that a lane allocates in a repetition.
    pub blocks: u32,
    /// The smallest block, in bytes.
    pub min_bytes: u32,
    /// The largest block, in bytes; sizes are spread evenly between.
    pub max_bytes: u32,
    /// Share of the blocks that another lane frees, 0 to 1.
    pub remote_share: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            blocks: 200,
            min_bytes: 64,
            max_bytes: 1024,
            remote_share: 0.25,
        }
    }
}

impl Params {
    /// Slabs in which the blocks fit whatever their sizes, with a partly used one for each class.
    fn slabs(&self) -> u32 {
        let lines = u64::from(self.max_bytes)
            .div_ceil(LINE_BYTES)
            .next_power_of_two();
        let all = u64::from(self.blocks) * lines;
        all.div_ceil(u64::from(SLAB_LINES)) as u32 + sync::alloc::CLASSES as u32
    }

    fn remote(&self) -> usize {
        (f64::from(self.blocks) * self.remote_share).round() as usize
    }
}

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    pool: Pool,
    /// What each lane hands to the next.
    handed: Gather,
    spans: Gather,
    /// Of each lane of this host: messages of its rings, to and from every keeper.
    moved: HostSlice<u64>,
    /// Repetitions of all lanes of this host, and marks that were not as they were left.
    verdict: HostSlice<u64>,
}

/// The workload.
#[derive(Debug)]
pub struct Alloc;

impl Workload for Alloc {
    const NAME: &'static str = "alloc";
    const ABOUT: &'static str = "what it costs to allocate and free memory of the pool";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let lanes = pod.hosts * pod.lanes;
        Layout {
            // First, so that `dsmark region show` finds it behind the control lines.
            pool: Pool::lay_out(arena, "alloc.pool", lanes, params.slabs()),
            handed: Gather::lay_out(arena, "alloc.handed", lanes, params.remote().max(1)),
            spans: Gather::lay_out(arena, "alloc.span", lanes, 1),
            moved: arena.host_shared("alloc.moved", (pod.lanes * lanes * 2) as usize),
            verdict: arena.host_shared("alloc.verdict", 2),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        let most = u64::from(SLAB_LINES) * LINE_BYTES;
        let (min, max) = (params.min_bytes, params.max_bytes);
        if min == 0 || min > max || u64::from(max) > most {
            return Err(format!(
                "min_bytes = {min}, max_bytes = {max}: use 1 to {most}, the first not above the \
                 second"
            ));
        }
        if !(0.0..=1.0).contains(&params.remote_share) {
            return Err(format!(
                "remote_share = {}: use 0 to 1",
                params.remote_share
            ));
        }
        if params.remote() > MAX_REMOTE {
            return Err(format!(
                "remote_share = {} of {} blocks: a lane hands over {MAX_REMOTE} at most",
                params.remote_share, params.blocks
            ));
        }
        if params.blocks == 0 {
            return Err("blocks = 0: use 1 or more".into());
        }
        let lanes = pod.hosts * pod.lanes;
        if lanes > fabric::MAX_HOSTS {
            return Err(format!(
                "{lanes} lanes keep arenas: use {} at most",
                fabric::MAX_HOSTS
            ));
        }
        Ok(())
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let mut lane = Lane::open(worker, layout, params);
        worker.line_up()?;
        let blocks = lane.allocate()?;
        let (handed, kept) = blocks.split_at(params.remote());
        lane.hand_over(handed);
        worker.line_up()?;
        lane.free(kept, false)?;
        let taken_over = lane.taken_over();
        lane.free(&taken_over, true)?;
        worker.line_up()?;
        lane.collect()?;
        let outcome = lane.close();
        worker.line_up()?;
        Ok(with_throughput(worker, layout, params, outcome))
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        _: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        let (port, seat) = (worker.port(), worker.seat());
        if !seat.leads_host() {
            return Ok(Verified::Nothing);
        }
        let expected = u64::from(repetitions * worker.pod().lanes);
        let done = port.atomic_load(layout.verdict.at(0));
        let wrong = port.atomic_load(layout.verdict.at(1));
        if (done, wrong) != (expected, 0) {
            return Err(Mismatch {
                what: "marks in blocks".into(),
                expected: format!("{expected} passes without a wrong one"),
                found: format!("{done} passes, {wrong} wrong"),
            });
        }
        let state = layout.pool.state(port);
        let out: u64 = state.iter().map(|arena| arena.blocks).sum();
        if out != 0 {
            return Err(Mismatch {
                what: "blocks that are out after all were freed".into(),
                expected: "0".into(),
                found: format!("{out}: {state:?}"),
            });
        }
        Ok(Verified::Answer(json!({ "blocks": out })))
    }
}

fn with_throughput<P: HostAtomics>(
    worker: &Worker<'_, P>,
    layout: &Layout,
    params: &Params,
    mut outcome: Outcome,
) -> Outcome {
    if worker.seat().leads_pod() {
        let port = worker.port();
        let spans = layout.spans.get(port, 1);
        let longest = spans.iter().map(|span| span[0]).max().unwrap_or(0);
        let seconds = port.clock().span_ns(Ticks(0), Ticks(longest)) / 1e9;
        let operations = 2.0 * f64::from(params.blocks) * spans.len() as f64;
        let rate = vec![operations / seconds];
        outcome
            .series
            .push(Series::of("throughput_per_s", "1/s", rate));
    }
    outcome
}

/// One lane in one repetition.
struct Lane<'a, 'w, P> {
    worker: &'a Worker<'w, P>,
    layout: &'a Layout,
    params: &'a Params,
    allocator: Allocator<'a>,
    random: SplitMix64,
    times: [Vec<f64>; 3],
    span: u64,
    wrong: u64,
}

impl<'a, 'w, P: HostAtomics> Lane<'a, 'w, P> {
    fn open(worker: &'a Worker<'w, P>, layout: &'a Layout, params: &'a Params) -> Self {
        let (port, seat) = (worker.port(), worker.seat());
        let me = seat.host * worker.pod().lanes + seat.lane;
        let lanes = (worker.pod().hosts * worker.pod().lanes) as usize;
        let word = |index: usize| {
            let at = seat.lane as usize * 2 * lanes + index;
            port.atomic_load(layout.moved.at(at))
        };
        let moved = Moved {
            sent: (0..lanes).map(word).collect(),
            taken: (lanes..2 * lanes).map(word).collect(),
        };
        if seat.leads_pod() {
            port.aside(|port| layout.pool.announce(port));
        }
        let repetition = u64::from(worker.repetition());
        Self {
            worker,
            layout,
            params,
            allocator: port.aside(|port| Allocator::open(&layout.pool, port, me, &moved)),
            random: SplitMix64::of_lane(worker.seed() ^ repetition << 32, me.into()),
            times: Default::default(),
            span: 0,
            wrong: 0,
        }
    }

    fn me(&self) -> u32 {
        self.worker.seat().host * self.worker.pod().lanes + self.worker.seat().lane
    }

    /// What a block of lane `owner` carries: it differs from block to block and time to time.
    fn mark(&self, owner: u32, block: Block) -> u64 {
        let turn = (u64::from(self.worker.repetition()) << 8) | (u64::from(owner) + 1);
        block.token().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ turn
    }

    fn allocate(&mut self) -> Result<Vec<Block>, Gone> {
        let port = self.worker.port();
        let spread = u64::from(self.params.max_bytes - self.params.min_bytes) + 1;
        let mut blocks = Vec::with_capacity(self.params.blocks as usize);
        for _ in 0..self.params.blocks {
            let bytes = u64::from(self.params.min_bytes) + self.random.below(spread);
            let start = port.now();
            let block = must(self.allocator.allocate(port, bytes))?;
            self.time(0, start);
            blocks.push(block);
        }
        for &block in &blocks {
            let (words, mark) = (block.words(), self.mark(self.me(), block));
            port.aside(|port| {
                port.store(words.at(0), mark);
                port.store(words.at(words.len() - 1), mark);
                // Serves the loads of whoever frees it.
                port.publish(words.lines());
            });
        }
        Ok(blocks)
    }

    fn time(&mut self, metric: usize, start: Ticks) {
        let end = self.worker.port().now();
        self.span += end.0 - start.0;
        let ns = self.worker.port().clock().span_ns(start, end);
        self.times[metric].push(ns);
    }

    fn hand_over(&self, blocks: &[Block]) {
        let tokens: Vec<u64> = blocks.iter().map(|block| block.token()).collect();
        self.layout
            .handed
            .put(self.worker.port(), self.me(), &tokens);
    }

    /// What the lane before this one has handed over.
    fn taken_over(&self) -> Vec<Block> {
        let lists = self
            .layout
            .handed
            .get(self.worker.port(), self.params.remote());
        let tokens = lists[self.before() as usize].iter();
        tokens
            .filter_map(|&token| self.layout.pool.block(token))
            .collect()
    }

    fn before(&self) -> u32 {
        let lanes = self.worker.pod().hosts * self.worker.pod().lanes;
        (self.me() + lanes - 1) % lanes
    }

    fn free(&mut self, blocks: &[Block], remote: bool) -> Result<(), Gone> {
        let port = self.worker.port();
        let owner = if remote { self.before() } else { self.me() };
        for &block in blocks {
            let (words, mark) = (block.words(), self.mark(owner, block));
            self.wrong += port.aside(|port| {
                // Serves the loads below: another host may have marked it.
                port.observe(words.lines());
                let ends = [words.at(0), words.at(words.len() - 1)];
                u64::from(ends.iter().any(|&end| port.load(end) != mark))
            });
            let start = port.now();
            must(self.allocator.free(port, block))?;
            self.time(if remote { 2 } else { 1 }, start);
        }
        if remote {
            let start = port.now();
            let left = self.allocator.flush(port)?;
            self.span += port.now().0 - start.0;
            assert_eq!(left, 0, "a ring holds more than a lane hands over");
        }
        Ok(())
    }

    fn collect(&mut self) -> Result<(), Gone> {
        let port = self.worker.port();
        let start = port.now();
        must(self.allocator.collect(port))?;
        self.span += port.now().0 - start.0;
        Ok(())
    }

    fn close(self) -> Outcome {
        let (port, seat) = (self.worker.port(), self.worker.seat());
        let moved = self.allocator.moved();
        let lanes = moved.sent.len();
        for (index, &word) in moved.sent.iter().chain(&moved.taken).enumerate() {
            let at = seat.lane as usize * 2 * lanes + index;
            port.aside(|port| port.atomic_store(self.layout.moved.at(at), word));
        }
        port.aside(|port| {
            port.fetch_add(self.layout.verdict.at(0), 1);
            port.fetch_add(self.layout.verdict.at(1), self.wrong);
        });
        self.layout.spans.put(port, self.me(), &[self.span]);
        let metrics = ["allocate_ns", "free_ns", "remote_free_ns"];
        let operations = self.times.iter().map(|times| times.len() as u64).sum();
        let measured = metrics.into_iter().zip(self.times);
        let measured = measured.filter(|(_, times)| !times.is_empty());
        Outcome {
            series: measured
                .map(|(metric, times)| Series::of(metric, "ns", times))
                .collect(),
            operations,
        }
    }
}

/// The pool is large enough, and each block is freed once.
fn must<T>(done: Result<T, AllocError>) -> Result<T, Gone> {
    done.map_err(|error| match error {
        AllocError::Gone(gone) => gone,
        error => panic!("{error}"),
    })
}
