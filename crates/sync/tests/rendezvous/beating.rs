//! Hearts and barriers in simulated time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use fabric::{Arena, Gone, HostAtomics, NoWatch, Pod, Port, Program, Seat, Substrate, Watch};
use sim::{Sim, pod};
use sync::{Barrier, BarrierLayout, Header, Heart, HeartRates};

use crate::setting;

/// The hearts of all hosts: one simulator holds what natively are as many processes.
pub(crate) struct Hearts(Vec<Heart>);

impl Hearts {
    /// Hearts of hosts `0..hosts`; later hosts have none.
    pub(crate) fn new(
        header: &Header,
        pod: Pod,
        rates: HeartRates,
        stop: &Arc<AtomicBool>,
    ) -> Self {
        let heart = |host| Heart::new(header.clone(), pod, host, rates, Arc::clone(stop));
        Self((0..pod.hosts).map(heart).collect())
    }
}

impl Watch for Hearts {
    fn look<P: Port>(&self, seat: Seat, port: &P) -> Result<(), Gone> {
        let heart = self.0.get(seat.host as usize);
        heart.map_or(Ok(()), |heart| heart.look(seat, port))
    }
}

/// Every lane passes `epochs` barriers, each after a time of its own; `dies` leaves without a word
/// after half of them.
struct Epochs {
    pod: Pod,
    layout: BarrierLayout,
    count: u64,
    dies: Option<u32>,
    arrivals: Vec<AtomicU64>,
}

impl Epochs {
    fn new(arena: &mut Arena, pod: Pod, epochs: u64, dies: Option<u32>) -> Self {
        Self {
            pod,
            layout: BarrierLayout::lay_out(arena, "epochs", pod),
            count: epochs,
            dies,
            arrivals: (0..epochs).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Program for Epochs {
    type Out = Result<u64, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = Barrier::new(&self.layout, self.pod, seat, 0);
        let mut random = u64::from(seat.host * self.pod.lanes + seat.lane) + 1;
        for (epoch, arrivals) in self.arrivals.iter().enumerate() {
            if self.dies == Some(seat.host) && epoch as u64 == self.count / 2 {
                break;
            }
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            port.work((random >> 52) as u32);
            arrivals.fetch_add(1, SeqCst);
            barrier.wait(port)?;
            let everyone = u64::from(self.pod.hosts * self.pod.lanes);
            assert_eq!(
                arrivals.load(SeqCst),
                everyone,
                "{seat:?} passed {epoch} early"
            );
        }
        Ok(barrier.epoch())
    }
}

/// The pod as it is: hearts look between two pauses, a barrier takes microseconds.
fn prompt(pod: Pod, arena: &Arena) -> Sim {
    let file = pod::load("sc26-four-host").expect("a built-in pod");
    Sim::new(file, pod).region_bytes(arena.region_bytes())
}

#[test]
fn nobody_passes_a_barrier_early() {
    let (pod, mut arena) = (Pod::new(3, 2), Arena::new());
    let epochs = Epochs::new(&mut arena, pod, 100, None);
    let simulator = prompt(pod, &arena);
    for (seat, passed) in simulator.run(&setting(pod, arena.host_bytes()), &NoWatch, &epochs) {
        assert_eq!(passed, Ok(100), "{seat:?}");
    }
}

#[test]
fn a_host_that_falls_silent_is_named_by_the_others() {
    let (pod, mut arena) = (Pod::new(3, 2), Arena::new());
    let header = Header::lay_out(&mut arena);
    let epochs = Epochs::new(&mut arena, pod, 10, Some(1));
    let rates = HeartRates {
        beat_ms: 10,
        silent_ms: 40,
    };
    let stop = Arc::new(AtomicBool::new(false));
    let hearts = Hearts::new(&header, pod, rates, &stop);
    let simulator = prompt(pod, &arena);
    let lost = Gone::LostHost {
        host: 1,
        silent_ms: 40,
    };
    for (seat, passed) in simulator.run(&setting(pod, arena.host_bytes()), &hearts, &epochs) {
        let expected = if seat.host == 1 { Ok(5) } else { Err(lost) };
        assert_eq!(passed, expected, "{seat:?}");
    }
}

/// Host 1 leaves without a word; what ends host 0's wait for it is that it is told to stop.
#[test]
fn a_stopped_host_leaves_its_waits() {
    let (pod, mut arena) = (Pod::new(2, 1), Arena::new());
    let header = Header::lay_out(&mut arena);
    let epochs = Epochs::new(&mut arena, pod, 4, Some(1));
    let stop = Arc::new(AtomicBool::new(true));
    let hearts = Hearts::new(&header, pod, HeartRates::DEFAULT, &stop);
    let simulator = prompt(pod, &arena);
    let outs = simulator.run(&setting(pod, arena.host_bytes()), &hearts, &epochs);
    let passed = outs[0].1;
    assert!(matches!(passed, Err(Gone::Teardown { .. })), "{passed:?}");
}
