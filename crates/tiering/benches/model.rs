//! What the model itself costs: accesses a second of one core, and nanoseconds a sample.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tiering::machine::{Access, Mechanism, Sample, Setup};
use tiering::policy::memtis::{Features, Memtis, Switches};
use tiering::policy::{FirstTouch, Policy};
use tiering::preset::{self, CapacityTier};
use tiering::random::Random;
use tiering::scale::{Grain, Scale};
use tiering::world::World;

const THREADS: u64 = 20;
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

/// Loads at random, three of four in an eighth of the memory: most miss every level.
fn accesses(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("accesses");
    let count = 1_000_000;
    group.throughput(Throughput::Elements(count));
    group.sample_size(10);
    for name in ["first-touch", "memtis-kernel"] {
        let policy: Box<dyn Policy> = if name == "first-touch" {
            Box::new(FirstTouch)
        } else {
            Box::new(memtis())
        };
        let mut world = mapped(policy);
        let mut random = Random::new(7, 7);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for turn in 0..count {
                    let word = random.word();
                    let span = if word.is_multiple_of(4) {
                        REGIONS
                    } else {
                        REGIONS / 8
                    };
                    let address = (word >> 8) % (span * HUGE_BYTES);
                    world.access((turn % THREADS) as usize, address, Access::Chase);
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
