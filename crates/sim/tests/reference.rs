//! Running ahead changes nothing: the slow reference mode gives the same bytes and times.

mod common;

use common::Trial;
use common::programs::{Act, Random};
use fabric::{Arena, Discipline, NoWatch, ObserveBy, Pod, PublishBy, Setting, Substrate};
use micro::visibility::Params;
use proptest::prelude::*;
use sim::{Sim, pod};

fn act() -> impl Strategy<Value = Act> {
    let word = 0usize..48;
    prop_oneof![
        4 => word.clone().prop_map(Act::Load),
        4 => (word.clone(), 1u64..100).prop_map(|(word, value)| Act::Store(word, value)),
        1 => (word.clone(), 1u64..100).prop_map(|(word, value)| Act::StoreNt(word, value)),
        1 => (word.clone(), 1u64..100).prop_map(|(word, value)| Act::StoreLine(word, value)),
        1 => word.clone().prop_map(Act::Writeback),
        2 => (word.clone(), any::<bool>()).prop_map(|(word, opt)| Act::Flush(word, opt)),
        1 => (0u8..3).prop_map(Act::Fence),
        1 => (word.clone(), 1usize..48).prop_map(|(word, len)| Act::ReadInto(word, len)),
        3 => (word.clone(), 1u32..60).prop_map(|(word, times)| Act::Dwell(word, times)),
        1 => (word.clone(), 1u32..60).prop_map(|(word, times)| Act::Scribble(word, times)),
        2 => (word.clone(), word.clone()).prop_map(|(a, b)| Act::Observe(a, b)),
        2 => word.clone().prop_map(Act::Publish),
        1 => word.clone().prop_map(Act::Add),
        1 => (word, 1u64..100).prop_map(|(word, value)| Act::Swap(word, value)),
        1 => (1u32..3_000).prop_map(Act::Work),
        1 => (0usize..2_000).prop_map(Act::Private),
        1 => Just(Act::Pause),
        1 => Just(Act::Now),
    ]
}

/// A pod whose caches are so small that lines leave them in a program of forty operations.
fn file(name: &str, small: bool) -> sim::pod::PodFile {
    let mut file = pod::load(name).expect("built in");
    if small {
        for (level, lines) in file.cache.iter_mut().zip([2, 4, 4]) {
            level.size_bytes = lines * 64;
            level.ways = 2;
        }
    }
    file.core.adjacent_line.value = small;
    file.jitter.tail_probability.value = 0.1;
    file.jitter.tail_factor.value = 1.6;
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn run_ahead_and_reference_agree(
        acts in prop::collection::vec(prop::collection::vec(act(), 1..40), 6),
        mode in prop::sample::select(vec!["synchronous", "posted", "posted-unordered"]),
        name in prop::sample::select(vec!["sc26-four-host", "coherent-four-host"]),
        small in any::<bool>(),
        lanes in prop::sample::select(vec![1, 2, 3, 6]),
    ) {
        let mut arena = Arena::new();
        let words = arena.slice("test.words", 48);
        let shared = arena.host_shared("test.shared", 16);
        let random = Random { words, shared, acts, lanes };
        let pod = Pod::new(6 / lanes, lanes);
        let setting = Setting {
            pod,
            discipline: Discipline::DEFAULT,
            host_bytes: arena.host_bytes(),
        };
        let mut file = file(name, small);
        mode.clone_into(&mut file.write_mode.value);
        let ahead = Sim::new(file.clone(), pod).run(&setting, &NoWatch, &random);
        let slow = Sim::new(file, pod).reference().run(&setting, &NoWatch, &random);
        prop_assert_eq!(ahead, slow);
    }
}

#[test]
fn visibility_agrees_too() {
    let file = pod::load("multi-headed-three-host").expect("built in");
    for (publish, pod, rounds) in [
        (PublishBy::ClFlushOpt, Pod::new(3, 3), 10),
        (PublishBy::StoreNt, Pod::new(3, 3), 10),
        (PublishBy::ClFlushOpt, Pod::new(5, 4), 1),
    ] {
        let params = Params {
            publish,
            observe: ObserveBy::ClFlushOpt,
            lines: 4,
            rounds,
        };
        let trial = Trial::new(pod, params, false);
        let ahead = trial.run(&Sim::new(file.clone(), trial.pod));
        let slow = trial.run(&Sim::new(file.clone(), trial.pod).reference());
        assert_eq!(format!("{ahead:?}"), format!("{slow:?}"));
    }
}
