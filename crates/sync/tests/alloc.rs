//! The pool allocator against a model: blocks never overlap, what is freed comes back, also from
//! another host, and a dead keeper's arena can be recovered.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Mutex;

use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, SplitMix64, Substrate,
};
use sim::{Sim, pod};
use sync::alloc::{AllocError, Allocator, ArenaState, Block, Moved, Pool};
use sync::{Barrier, BarrierLayout};

const HOSTS: u32 = 3;
const SLABS: u32 = 6;

struct Bed {
    pool: Pool,
    barrier: BarrierLayout,
    seed: u64,
    /// What each lane has out: the test's own notes, no memory of the pod's.
    notes: Mutex<Vec<Vec<Block>>>,
}

impl Bed {
    /// Allocates and frees at random; what is out in the end.
    fn churn<P: HostAtomics>(&self, port: &P, host: u32, mine: &mut Allocator<'_>) -> Vec<Block> {
        let mut random = SplitMix64::of_lane(self.seed, host.into());
        let (mut out, mut exhausted) = (Vec::new(), 0);
        for _ in 0..200 {
            if random.below(3) > 0 || out.is_empty() {
                match mine.allocate(port, random.below(4_097)) {
                    Ok(block) => out.push(block),
                    Err(AllocError::Exhausted { .. }) => exhausted += 1,
                    Err(error) => panic!("{error}"),
                }
            } else {
                let block = out.swap_remove(random.below(out.len() as u64) as usize);
                mine.free(port, block).unwrap();
                let line = block.first().0;
                assert_eq!(mine.free(port, block), Err(AllocError::NotOut { line }));
            }
        }
        assert!(exhausted > 0, "the arena is small enough to be exhausted");
        out
    }
}

impl Program for Bed {
    type Out = Vec<ArenaState>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Vec<ArenaState> {
        let (pool, me) = (&self.pool, seat.host as usize);
        let barrier = Barrier::new(&self.barrier, Pod::new(HOSTS, 1), seat, 0);
        let mut mine = Allocator::open(pool, port, seat.host, &Moved::none(pool));
        let out = self.churn(port, seat.host, &mut mine);
        let lines: u64 = out.iter().map(|block| u64::from(block.lines())).sum();
        self.notes.lock().unwrap()[me] = out;
        barrier.wait(port).unwrap();
        let notes = self.notes.lock().unwrap().clone();
        let state = pool.state(port)[me];
        assert_eq!((state.lines, state.blocks), (lines, notes[me].len() as u64));
        barrier.wait(port).unwrap();

        // Each frees what the host before it has. Host 1 is dead: nobody collects for it.
        let left = (seat.host + HOSTS - 1) % HOSTS;
        for &block in &notes[left as usize] {
            assert_eq!(pool.keeper(block), Some(left));
            assert_eq!(pool.block(block.token()), Some(block));
            mine.free(port, block).unwrap();
        }
        assert_eq!(mine.flush(port).unwrap(), 0);
        barrier.wait(port).unwrap();
        if seat.host != 1 {
            assert_eq!(mine.collect(port).unwrap(), notes[me].len() as u64);
        }
        barrier.wait(port).unwrap();
        if seat.host == 0 {
            let used = notes[1][0];
            let freed = pool.recover(port, 1, |block| block == used);
            assert_eq!(freed, notes[1].len() as u64 - 1);
        }
        barrier.wait(port).unwrap();
        pool.state(port)
    }
}

#[test]
fn blocks_come_home_and_a_dead_keepers_are_recovered() {
    for seed in 0..4 {
        let (mut arena, shape) = (Arena::new(), Pod::new(HOSTS, 1));
        let bed = Bed {
            barrier: BarrierLayout::lay_out(&mut arena, "test.barrier", shape),
            pool: Pool::lay_out(&mut arena, "pool", HOSTS, SLABS),
            seed,
            notes: Mutex::new(vec![Vec::new(); HOSTS as usize]),
        };
        let setting = Setting {
            pod: shape,
            discipline: Discipline::DEFAULT,
            host_bytes: arena.host_bytes(),
        };
        let sim = Sim::new(pod::load("sc26-four-host").unwrap(), shape).stall_limit_ms(20);
        for (_, state) in sim.run(&setting, &NoWatch, &bed) {
            let out: Vec<_> = state.iter().map(|arena| arena.blocks).collect();
            assert_eq!(out, [0, 1, 0], "seed {seed}");
            assert_eq!(state[0].slabs_in_use, 0);
        }
        no_overlap(&bed.notes.lock().unwrap());
    }
}

fn no_overlap(notes: &[Vec<Block>]) {
    let mut spans: Vec<_> = notes
        .iter()
        .flatten()
        .map(|block| (block.first().0, u64::from(block.lines())))
        .collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:?}");
    }
}
