//! How lanes end: panics, waits that nobody answers, pointers that no arena gave.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fabric::{
    Arena, Discipline, Gone, HostAtomics, NoWatch, Pod, Program, Ptr, Seat, Setting, Substrate,
    wait_until,
};
use sim::{Sim, pod};

fn setting(hosts: u32, lanes: u32) -> Setting {
    Setting {
        pod: Pod::new(hosts, lanes),
        discipline: Discipline::DEFAULT,
        host_bytes: 128,
    }
}

fn sim(pod: Pod) -> Sim {
    Sim::new(pod::load("sc26-four-host").expect("built in"), pod)
}

fn panic_of(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    let text = panic.downcast_ref::<String>().cloned();
    text.expect("our panics are text")
}

/// Lane 1 of host 1 fails while all others wait for it.
struct OneFails;

impl Program for OneFails {
    type Out = Result<(), Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let flag: Ptr<u64> = Arena::new().word("test.flag");
        assert!(seat != Seat { host: 1, lane: 1 }, "this lane is broken");
        wait_until(port, || {
            port.observe(flag.line());
            (port.load(flag) == 1).then_some(())
        })
    }
}

#[test]
fn a_panic_names_its_lane_and_ends_the_others() {
    let setting = setting(2, 2);
    let text = panic_of(|| {
        sim(setting.pod).run(&setting, &NoWatch, &OneFails);
    });
    assert!(
        text.starts_with("host 1 lane 1: this lane is broken"),
        "{text}"
    );
}

struct NobodyAnswers;

impl Program for NobodyAnswers {
    type Out = Result<(), Gone>;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> Self::Out {
        let flag: Ptr<u64> = Arena::new().word("test.flag");
        wait_until(port, || {
            port.observe(flag.line());
            (port.load(flag) == 1).then_some(())
        })
    }
}

#[test]
fn a_deadlock_in_simulated_time_is_a_deadline() {
    let setting = setting(3, 1);
    let sim = sim(setting.pod).stall_limit_ms(1);
    let out = sim.run(&setting, &NoWatch, &NobodyAnswers);
    let gone = Err(Gone::Deadline { after_ms: 1 });
    assert!(out.iter().all(|(_, end)| *end == gone), "{out:?}");
    let ended = sim.simulated_ns();
    assert!((1e6..1.1e6).contains(&ended), "{ended} ns");
}

/// A poll that never observes: the copy stays stale, as rule 7's other half says.
struct NeverObserves;

impl Program for NeverObserves {
    type Out = Result<(), Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let flag: Ptr<u64> = Arena::new().word("test.flag");
        if seat.host == 0 {
            port.work(10_000);
            port.write_published(flag, &[1]);
            return Ok(());
        }
        wait_until(port, || (port.load(flag) == 1).then_some(()))
    }
}

#[test]
fn a_poll_without_an_observe_waits_for_ever() {
    let setting = setting(2, 1);
    let out = sim(setting.pod)
        .stall_limit_ms(1)
        .run(&setting, &NoWatch, &NeverObserves);
    assert_eq!(out[1].1, Err(Gone::Deadline { after_ms: 1 }));
}

struct Forges;

impl Program for Forges {
    type Out = u64;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> u64 {
        let mut arena = Arena::new();
        let far = arena.slice::<u64>("test.far", 1 << 20);
        port.load(far.at((1 << 20) - 1))
    }
}

#[test]
fn an_access_beyond_the_region_is_a_panic() {
    let setting = setting(1, 1);
    let text = panic_of(|| {
        sim(setting.pod)
            .region_bytes(4096)
            .run(&setting, &NoWatch, &Forges);
    });
    assert!(text.contains("outside the region of 4096 bytes"), "{text}");
}

/// Line 2^32 has the low bits of line 0, which the lane holds.
struct ForgesFar;

impl Program for ForgesFar {
    type Out = u64;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> u64 {
        let all = Arena::new().slice::<u64>("test.all", 1 << 36);
        port.load(all.at(0)) + port.load(all.at(1 << 35))
    }
}

#[test]
fn an_access_beyond_any_region_is_no_hit() {
    let setting = setting(1, 1);
    let text = panic_of(|| {
        sim(setting.pod).run(&setting, &NoWatch, &ForgesFar);
    });
    assert!(text.contains("offset 0x4000000000 is outside"), "{text}");
}

/// Lanes of one host count on a shared word; each value is handed out once.
struct Counts;

impl Program for Counts {
    type Out = Vec<u64>;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> Vec<u64> {
        let word = Arena::new().host_shared::<u64>("test.count", 1).at(0);
        (0..50).map(|_| port.fetch_add(word, 1u64)).collect()
    }
}

#[test]
fn host_atomics_are_atomic_within_a_host_and_apart_between_hosts() {
    let setting = setting(2, 3);
    let out = sim(setting.pod).run(&setting, &NoWatch, &Counts);
    for host in 0..2 {
        let of_host = out.iter().filter(|(seat, _)| seat.host == host);
        let mut values: Vec<u64> = of_host.flat_map(|(_, values)| values.clone()).collect();
        values.sort_unstable();
        assert_eq!(values, (0..150).collect::<Vec<u64>>());
    }
}

struct AtomicOnPool;

impl Program for AtomicOnPool {
    type Out = u64;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> u64 {
        let word: Ptr<u64> = Arena::new().word("test.word");
        for _ in 0..20 {
            port.fetch_add(word, 1u64);
        }
        port.work(1_000_000);
        port.fetch_add(word, 0u64)
    }
}

#[test]
fn atomics_on_the_pool_need_hardware_coherence() {
    let setting = setting(2, 1);
    let text = panic_of(|| {
        sim(setting.pod).run(&setting, &NoWatch, &AtomicOnPool);
    });
    assert!(
        text.contains("each host's cache would do its own"),
        "{text}"
    );
    let file = pod::load("coherent-four-host").expect("built in");
    let out = Sim::new(file, setting.pod).run(&setting, &NoWatch, &AtomicOnPool);
    assert!(out.iter().all(|(_, sum)| *sum == 40), "{out:?}");
}
