//! What the simulator does is something that the model allows: outcomes(sim) is a subset.

mod common;

use std::collections::BTreeSet;

use common::programs::Litmus;
use fabric::{Discipline, NoWatch, Pod, Setting, Substrate};
use model::explore::{Outcome, Program, Pruning, outcomes};
use model::{Shape, WriteMode, litmus};
use sim::pod::PodFile;
use sim::{Sim, pod};

/// The two lines of a litmus program are 128 bytes apart: with two devices, on one each.
const INTERLEAVE_BYTES: u64 = 128;

fn posted(mode: WriteMode, devices: u32) -> PodFile {
    let mut file = pod::load("sc26-four-host").expect("built in");
    file.device.count.value = devices;
    file.device.interleave_bytes.value = INTERLEAVE_BYTES;
    mode.name().clone_into(&mut file.write_mode.value);
    if mode != WriteMode::Synchronous {
        file.fence.posted_hold_ns.value = 900.0;
    }
    file
}

/// Skews in cycles of 0.4 ns: from all at once to one after the other.
const SKEWS: [[u32; 4]; 12] = [
    [0, 0, 0, 0],
    [0, 700, 900, 900],
    [700, 0, 800, 1_300],
    [0, 1_500, 0, 2_000],
    [1_500, 0, 2_500, 400],
    [0, 2_200, 1_800, 1_700],
    [0, 3_000, 3_100, 2_900],
    [3_000, 0, 2_000, 3_300],
    [0, 4_400, 3_700, 4_100],
    [4_400, 0, 4_000, 1_000],
    [0, 9_000, 9_000, 9_000],
    [9_000, 0, 6_000, 12_000],
];

/// What the simulator makes of `program` on `pod`, with each skew.
fn simulated(file: &PodFile, program: &Program, pod: Pod) -> BTreeSet<Outcome> {
    let setting = Setting {
        pod,
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
    };
    let outcome = |skews: [u32; 4]| {
        let lanes = Litmus {
            program,
            skews: skews.to_vec(),
            lanes: pod.lanes,
        };
        let out = Sim::new(file.clone(), pod).run(&setting, &NoWatch, &lanes);
        let mut loads: Vec<_> = out.into_iter().map(|(_, loads)| loads).collect();
        loads.truncate(program.threads.len() + 1);
        let memory = loads.pop().expect("the reader of the end comes last");
        Outcome { loads, memory }
    };
    SKEWS.into_iter().map(outcome).collect()
}

#[test]
fn simulated_outcomes_are_allowed() {
    for (mode, devices) in [
        (WriteMode::Synchronous, 1),
        (WriteMode::Posted, 1),
        (WriteMode::PostedUnordered, 1),
        (WriteMode::PostedUnordered, 2),
    ] {
        let file = posted(mode, devices);
        for (name, mut program) in litmus::all(mode) {
            program.shape.devices = u64::from(devices);
            program.shape.interleave_bytes = INTERLEAVE_BYTES;
            // Held writes multiply states; these are the programs that they can change.
            let decides = name.starts_with("mp") || name == "sb+mfence";
            if mode != WriteMode::Synchronous && !decides {
                continue;
            }
            let allowed = outcomes(&program, Pruning::Relevant);
            let pod = Pod::new(program.threads.len() as u32 + 1, 1);
            let seen = simulated(&file, &program, pod);
            let forbidden: Vec<_> = seen.difference(&allowed).collect();
            assert!(
                forbidden.is_empty(),
                "{name} ({mode}, {devices} devices): {forbidden:?}"
            );
        }
    }
}

/// The same threads as lanes of one host: what one takes from another takes effect later, within
/// what store buffers allow.
#[test]
fn outcomes_within_a_host_are_allowed() {
    let mode = WriteMode::Synchronous;
    for (name, mut program) in litmus::all(mode) {
        let lanes = program.threads.len() as u32;
        program.shape = Shape::software(1, lanes, mode);
        for thread in &mut program.threads {
            thread.host = 0;
        }
        // What the host keeps in its cache to the end, the reader of the end cannot see.
        let loads = |all: BTreeSet<Outcome>| {
            let each = all.into_iter().map(|outcome| outcome.loads);
            each.collect::<BTreeSet<_>>()
        };
        let allowed = loads(outcomes(&program, Pruning::Relevant));
        let seen = loads(simulated(&posted(mode, 1), &program, Pod::new(2, lanes)));
        let forbidden: Vec<_> = seen.difference(&allowed).collect();
        assert!(forbidden.is_empty(), "{name}: {forbidden:?}");
    }
}

/// The simulator is not merely sequential: hazards that its likely choices contain do appear.
#[test]
fn likely_hazards_appear() {
    let seen = |program: &Program, skews: [u32; 4]| {
        let setting = Setting {
            pod: Pod::new(program.threads.len() as u32 + 1, 1),
            discipline: Discipline::DEFAULT,
            host_bytes: 0,
        };
        let sim = Sim::new(posted(WriteMode::Synchronous, 1), setting.pod);
        let lanes = Litmus {
            program,
            skews: skews.to_vec(),
            lanes: 1,
        };
        let out = sim.run(&setting, &NoWatch, &lanes);
        out.into_iter().map(|(_, loads)| loads).collect::<Vec<_>>()
    };
    let both = litmus::same_line(WriteMode::Synchronous, litmus::PUBLISH);
    let clobbered = seen(&both, [0, 10, 0, 0]);
    assert_eq!(
        clobbered[2].iter().sum::<u64>(),
        1,
        "one host's word is lost: {clobbered:?}"
    );
    let unpublished = litmus::message_passing(
        WriteMode::Synchronous,
        litmus::By::Nothing,
        litmus::PUBLISH,
        Some(fabric::Fence::Full),
    );
    assert_eq!(seen(&unpublished, [0, 9_000, 0, 0])[1], [1, 0]);
}
