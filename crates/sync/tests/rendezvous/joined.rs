//! The rendezvous over memory that still holds anything, in simulated time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fabric::{
    Arena, Gone, HostAtomics, LINE_BYTES, Line, NoWatch, Pod, Program, Seat, SplitMix64, Substrate,
    wait_until,
};
use sync::{Header, HeartRates, HostState, Identity, JoinError, RunState, join};

use crate::beating::Hearts;
use crate::{setting, slow};

const HOSTS: u32 = 3;
const TIMEOUT_MS: u64 = 2_000;

fn header() -> (Header, u64) {
    let mut arena = Arena::new();
    let header = Header::lay_out(&mut arena);
    (header, arena.region_bytes())
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

fn arrive(arrivals: &Arrivals) -> Vec<Joined> {
    run(HOSTS, arrivals)
}

fn run<G: Program>(hosts: u32, program: &G) -> Vec<G::Out> {
    let pod = Pod::new(hosts, 1);
    let outs = slow(pod, header().1).run(&setting(pod, 0), &NoWatch, program);
    outs.into_iter().map(|(_, out)| out).collect()
}

/// One run after the other over the same region, each host with what the last left in its cache.
struct Again(Vec<Arrivals>);

impl Program for Again {
    type Out = Vec<Joined>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let run = |arrivals: &Arrivals| {
            let joined = arrivals.lane(seat, port);
            // Some tens of milliseconds: the last host has joined, and falls silent.
            port.work(100_000_000);
            joined
        };
        self.0.iter().map(run).collect()
    }
}

#[test]
fn hosts_join_a_blank_region_and_then_what_it_left() {
    // No run says that it ended: the next finds dead hosts and a line that says running.
    let cookies = [10, 20, 30];
    let outs = run(HOSTS, &Again(cookies.map(Arrivals::all).into()));
    for (index, cookie) in cookies.into_iter().enumerate() {
        for joined in &outs {
            assert_eq!(joined[index], Some(Ok(cookie)));
        }
    }
}

/// Host 0 leaves random bytes everywhere, before anybody joins.
struct Random(Arrivals, u64);

impl Random {
    fn words(&self) -> impl Iterator<Item = [u64; 8]> {
        let mut draw = SplitMix64::new(1);
        (0..self.1 / LINE_BYTES).map(move |_| std::array::from_fn(|_| draw.word()))
    }
}

impl Program for Random {
    type Out = Joined;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Joined {
        if seat.host == 0 {
            for (line, words) in self.words().enumerate() {
                port.write_published(Line(line as u64).start(), &words);
            }
        } else {
            // Some milliseconds: host 0 needs as many microseconds a line.
            port.work(100_000_000);
        }
        self.0.lane(seat, port)
    }
}

#[test]
fn random_bytes_are_not_a_region() {
    let random = Random(Arrivals::all(10), header().1);
    let first_word = random.words().next().expect("a header has lines")[0];
    let outs = run(HOSTS, &random);
    let foreign = JoinError::Foreign { first_word };
    assert_eq!(outs, vec![Some(Err(foreign)); 3]);
}

#[test]
fn a_host_of_another_build_is_named_on_both_sides() {
    let mut arrivals = Arrivals::all(10);
    arrivals.host(1).build_id = 0xb2;
    let outs = arrive(&arrivals);
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
    let outs = arrive(&arrivals);
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
    let outs = arrive(&arrivals);
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
    let outs = arrive(&arrivals);
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
    let stop = Arc::new(AtomicBool::new(false));
    let region_bytes = header().1;
    let header = arrivals.header.clone();
    let hearts = Hearts::new(&header, Pod::new(1, 1), HeartRates::DEFAULT, &stop);
    let pod = Pod::new(2, 1);
    let substrate = slow(pod, region_bytes);
    let outs = substrate.run(&setting(pod, 0), &hearts, &Intruder(arrivals));
    assert_eq!(outs[0].1, Ok(10));
    assert_eq!(
        outs[1].1,
        Err(JoinError::InUse { host: 0, pid: 100 }),
        "the run of host 0 lives"
    );
}
