//! The rendezvous over memory that still holds anything, in simulated time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fabric::{
    Arena, Discipline, Gone, HostAtomics, LINE_BYTES, NoWatch, Pod, Program, Seat, Setting,
    Substrate, wait_until,
};
use sync::{Header, HeartRates, HostState, Identity, JoinError, RunState, join};

use crate::beating::Hearts;
use crate::memory::Words;
use crate::simulator::{Costs, Simulator};

const HOSTS: u32 = 3;
const TIMEOUT_MS: u64 = 2_000;

/// A pause of a millisecond: a second of waiting is a thousand looks.
const SLOW: Costs = Costs {
    pause: 1_000_000,
    ..Costs::MADE_UP
};

fn header() -> (Header, u64) {
    let mut arena = Arena::new();
    let header = Header::lay_out(&mut arena);
    (header, arena.region_bytes())
}

fn setting() -> Setting {
    Setting {
        pod: Pod::new(HOSTS, 1),
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
    }
}

/// What each seat joins as.
struct Arrivals {
    header: Header,
    identities: Vec<Option<Identity>>,
}

impl Arrivals {
    /// Every host of the pod, with nonces above `nonce`.
    fn all(nonce: u64) -> Self {
        let (header, region_bytes) = header();
        let identity = |host| Identity {
            pod: Pod::new(HOSTS, 1),
            host,
            run_key: nonce,
            nonce: nonce + u64::from(host),
            build_id: 0xb1,
            layout_hash: 0x1a,
            pid: 100 + host,
            region_bytes,
            timeout_ms: TIMEOUT_MS,
        };
        let identities = (0..HOSTS).map(|host| Some(identity(host))).collect();
        Self { header, identities }
    }

    fn host(&mut self, host: usize) -> &mut Identity {
        self.identities[host].as_mut().expect("not yet absent")
    }
}

/// What came of a join; absent hosts bring none.
type Joined = Option<Result<u64, JoinError>>;

impl Program for Arrivals {
    type Out = Joined;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Joined {
        // Hosts start apart, the first last: the others find whatever stands there.
        port.work(1_000 * (HOSTS - seat.host));
        let identity = self.identities[seat.host as usize].as_ref()?;
        Some(join(port, &self.header, identity))
    }
}

fn arrive(simulator: &Simulator, arrivals: &Arrivals) -> Vec<Joined> {
    let outs = simulator.run(&setting(), &NoWatch, arrivals);
    outs.into_iter().map(|(_, out)| out).collect()
}

fn blank() -> Simulator {
    Simulator::new(SLOW, header().1)
}

#[test]
fn hosts_join_a_blank_region_and_then_what_it_left() {
    let simulator = blank();
    // No run says that it ended: the next finds dead hosts and a line that says running.
    for cookie in [10, 20, 30] {
        let outs = arrive(&simulator, &Arrivals::all(cookie));
        assert_eq!(outs, vec![Some(Ok(cookie)); 3]);
    }
}

#[test]
fn random_bytes_are_not_a_region() {
    let (_, region_bytes) = header();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut line = || -> Words {
        std::array::from_fn(|_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        })
    };
    let device: Vec<_> = (0..region_bytes / LINE_BYTES).map(|_| line()).collect();
    let first_word = device[0][0];
    let outs = arrive(&Simulator::over(SLOW, device), &Arrivals::all(10));
    let foreign = JoinError::Foreign { first_word };
    assert_eq!(outs, vec![Some(Err(foreign)); 3]);
}

#[test]
fn a_host_of_another_build_is_named_on_both_sides() {
    let mut arrivals = Arrivals::all(10);
    arrivals.host(1).build_id = 0xb2;
    let outs = arrive(&blank(), &arrivals);
    let differs = JoinError::Differs {
        host: 1,
        what: "build",
        theirs: 0xb2,
        own: 0xb1,
    };
    assert_eq!(outs[..2], [Some(Err(differs.clone())), Some(Err(differs))]);
    assert!(matches!(outs[2], Some(Err(JoinError::Gone(_)))), "{outs:?}");
}

#[test]
fn a_host_of_another_layout_is_named_on_both_sides() {
    let mut arrivals = Arrivals::all(10);
    arrivals.host(2).layout_hash = 0x1b;
    let outs = arrive(&blank(), &arrivals);
    let differs = Some(Err(JoinError::Differs {
        host: 2,
        what: "plan and layout",
        theirs: 0x1b,
        own: 0x1a,
    }));
    assert_eq!((&outs[0], &outs[2]), (&differs, &differs));
}

#[test]
fn a_host_that_does_not_arrive_is_named() {
    let mut arrivals = Arrivals::all(10);
    arrivals.identities[2] = None;
    // Outlasts host 0, to hear what it has to say.
    arrivals.host(1).timeout_ms = 2 * TIMEOUT_MS;
    let outs = arrive(&blank(), &arrivals);
    let missing = JoinError::Missing {
        host: 2,
        timeout_ms: TIMEOUT_MS,
        state: HostState::Absent,
    };
    assert_eq!(outs[0], Some(Err(missing)));
    let gave_up = Gone::Teardown {
        why: "host 0 gave up waiting for a host",
    };
    assert_eq!(outs[1], Some(Err(JoinError::Gone(gave_up))));
}

#[test]
fn hosts_without_their_first_are_not_welcomed() {
    let mut arrivals = Arrivals::all(10);
    arrivals.identities[0] = None;
    let outs = arrive(&blank(), &arrivals);
    let not_welcomed = Some(Err(JoinError::NotWelcomed {
        timeout_ms: TIMEOUT_MS,
    }));
    assert_eq!(outs, vec![None, not_welcomed.clone(), not_welcomed]);
}

/// Host 0 is a run of its own and lives on; host 1 comes later as another run's first host.
struct Intruder(Arrivals);

impl Program for Intruder {
    type Out = Result<u64, JoinError>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let header = &self.0.header;
        if seat.host == 1 {
            port.work(50_000_000);
        }
        let identity = self.0.identities[seat.host as usize].expect("both arrive");
        let joined = join(port, header, &identity);
        if seat.host == 0 {
            // Lives, through the heart in its pauses, for longer than the other watches.
            let start = port.now();
            wait_until(port, || {
                (port.clock().span_ns(start, port.now()) > 3e9).then_some(())
            })?;
            assert_eq!(header.run(port).state, RunState::Running);
        }
        joined
    }
}

#[test]
fn a_second_run_is_refused_while_the_first_beats() {
    let mut arrivals = Arrivals::all(10);
    for host in 0..2 {
        let identity = arrivals.host(host);
        (identity.pod, identity.host) = (Pod::new(1, 1), 0);
    }
    let setting = Setting {
        pod: Pod::new(2, 1),
        ..setting()
    };
    let stop = Arc::new(AtomicBool::new(false));
    let header = arrivals.header.clone();
    let hearts = Hearts::new(&header, Pod::new(1, 1), HeartRates::DEFAULT, &stop);
    let outs = blank().run(&setting, &hearts, &Intruder(arrivals));
    assert_eq!(outs[0].1, Ok(10));
    assert_eq!(
        outs[1].1,
        Err(JoinError::InUse { host: 0, pid: 100 }),
        "the run of host 0 lives"
    );
}
