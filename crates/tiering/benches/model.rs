//! What the model itself costs: accesses a second of one core, and nanoseconds a sample.
//!
//! Addresses are drawn before the clock starts. Records of the sampler are read and classified as
//! they come, one in so many demand misses as the policy's controller settles on.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tiering::machine::{Access, Mechanism, Sample, Setup};
use tiering::policy::memtis::{Features, Memtis, Switches};
use tiering::policy::{FirstTouch, Policy, Tick};
use tiering::preset::{self, CapacityTier};
use tiering::random::Random;
use tiering::scale::{Grain, Scale};
use tiering::world::World;

const THREADS: usize = 20;
const REGIONS: u64 = 512;
const HUGE_BYTES: u64 = 2 << 20;

fn setup() -> Setup {
    Setup {
        scale: Scale::new(4096, 64).expect("a scale"),
        grain: Grain::Record,
        capacity_tier: CapacityTier::Nvm,
        fast_pages: REGIONS * 512 / 9,
        seed: 1,
    }
}

/// A machine with 1 GB mapped, in turn by every thread.
fn mapped(policy: Box<dyn Policy>) -> World {
    let mut world = World::new(Mechanism::new(&preset::machine(), setup()), policy);
    world.map_all(REGIONS * HUGE_BYTES);
    world
}

fn memtis() -> Memtis {
    Memtis::new(
        &preset::memtis(),
        &setup(),
        Switches::kernel(),
        Features::ALL,
        1,
    )
}

/// Accesses of one iteration.
const COUNT: u64 = 1_000_000;

/// Addresses at random, three of four in an eighth of the memory: most miss every level.
fn addresses() -> Vec<u64> {
    let mut random = Random::new(7, 7);
    let one = |_| {
        let span = if random.below(4) == 0 {
            REGIONS
        } else {
            REGIONS / 8
        };
        random.below(span * HUGE_BYTES)
    };
    (0..COUNT).map(one).collect()
}

/// Loads and what the policy makes of their samples, which are read every so many accesses as its
/// clock would.
fn accesses(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("accesses");
    group.throughput(Throughput::Elements(COUNT));
    group.sample_size(10);
    let addresses = addresses();
    for name in ["first-touch", "memtis-kernel"] {
        let policy: Box<dyn Policy> = if name == "first-touch" {
            Box::new(FirstTouch)
        } else {
            Box::new(memtis())
        };
        let mut world = mapped(policy);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for (turn, &address) in addresses.iter().enumerate() {
                    world.access(turn % THREADS, address, Access::Chase);
                    if turn % 1_000 == 0 {
                        world.policy.on_tick(Tick::Drain, &mut world.mechanism);
                    }
                    // 20 threads take 15 s, scaled, for about so many misses to NVM.
                    if turn % 250_000 == 0 {
                        world.policy.on_tick(Tick::CpuCheck, &mut world.mechanism);
                    }
                }
            });
        });
    }
    group.finish();
}

/// Samples through the classifier, coolings and adaptations included.
fn samples(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("samples");
    let count = 100_000;
    group.throughput(Throughput::Elements(count));
    let mut world = mapped(Box::new(memtis()));
    let mut random = Random::new(9, 9);
    group.bench_function("classify", |bencher| {
        bencher.iter(|| {
            for _ in 0..count {
                let vpn = random.below(REGIONS * 512) as u32;
                let sample = Sample { vpn, store: false };
                world
                    .policy
                    .on_sample(black_box(sample), &mut world.mechanism);
            }
        });
    });
    group.finish();
}

criterion_group!(benches, accesses, samples);
criterion_main!(benches);
