//! A host dies at each step of a change, and what that leaves is mended. Kills of processes come
//! only where a signal comes; here they come everywhere, and what was in the dead host's cache is
//! lost, or written back, line by line. Each image of the region that this may end with is copied
//! onto a simulated host, repaired there, read, and written anew.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashSet;

use check::{Checker, End, Options, Subject, Verdict, WriteMode, ends, with_checker};
use fabric::{Discipline, HostAtomics, NoWatch, Pod, Program, Seat, Setting, Substrate};
use sim::{Sim, pod};
use subjects::hash_table::dying::{Dying, WORDS};
use table::{Handle, Repaired, Sharing};

type Out = <Dying as Program>::Out;

/// What is put after a repair; no round has this number.
const RENEWED: [u64; WORDS] = [9; WORDS];

/// One image of the region, and what is known of those who left it.
#[derive(PartialEq, Eq, Hash)]
struct Image {
    /// Offset and word.
    words: Vec<(u64, u64)>,
    died: Vec<u32>,
    /// By host: the round of the last change that it was told of, if it lived.
    made: Vec<Option<u64>>,
}

impl Image {
    fn of(dying: &Dying, end: &End<'_, Out>) -> Self {
        let dead = (0u32..).zip(&end.died).filter(|(_, died)| died.is_some());
        let made = |out: Option<&Out>| Some(out?.as_ref().unwrap().made);
        Self {
            words: dying.image(end),
            died: dead.map(|(host, _)| host).collect(),
            made: end.outs.iter().copied().map(made).collect(),
        }
    }
}

/// A host that has just come repairs the table.
struct Mending<'d>(&'d Dying, &'d Image);

/// What it found, what each key held then, and what after it was written anew.
#[derive(Debug)]
struct Mended {
    repaired: Repaired,
    held: Vec<[u64; WORDS]>,
    renewed: Vec<[u64; WORDS]>,
}

impl Program for Mending<'_> {
    type Out = Mended;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> Mended {
        let Self(dying, image) = self;
        for &(at, word) in &image.words {
            let at = dying.arena().resolve(at).unwrap();
            port.store::<u64>(at, word);
        }
        let repaired = dying.table().repair(port);
        let (mut held, mut renewed) = (Vec::new(), Vec::new());
        for (host, &key) in (0..).zip(dying.keys()) {
            let mut handle = Handle::open(dying.table(), port, Seat { host, lane: 0 });
            let get = |handle: &mut Handle<'_, P>| {
                let mut value = [0; WORDS];
                handle.get(key, &mut value).unwrap();
                value
            };
            held.push(get(&mut handle));
            handle.upsert(key, &RENEWED).unwrap();
            renewed.push(get(&mut handle));
            handle.close();
        }
        Mended {
            repaired,
            held,
            renewed,
        }
    }
}

fn mend(dying: &Dying, image: &Image) -> Mended {
    let setting = Setting {
        pod: Pod::new(1, 1),
        discipline: Discipline::DEFAULT,
        host_bytes: dying.arena().host_bytes(),
    };
    let sim = Sim::new(pod::load("sc26-four-host").unwrap(), setting.pod);
    let sim = sim.region_bytes(dying.arena().region_bytes());
    let mut lanes = sim.run(&setting, &NoWatch, &Mending(dying, image));
    lanes.remove(0).1
}

/// Only the dead left something, and what the table held was whole: of a round there was, and of
/// the last one if its host was told so.
fn judge(dying: &Dying, image: &Image, mended: &Mended) {
    let Repaired { left, busy, .. } = &mended.repaired;
    let mut strangers = busy.iter().map(|(_, host)| *host);
    assert!(
        strangers.all(|host| image.died.contains(&host)),
        "{mended:?}"
    );
    let mut strangers = left.iter().map(|left| left.host);
    assert!(
        strangers.all(|host| image.died.contains(&host)),
        "{mended:?}"
    );
    let locked = dying.sharing() != Sharing::Partitioned;
    assert!(!locked || busy.is_empty() || !left.is_empty(), "{mended:?}");
    for (held, made) in mended.held.iter().zip(&image.made) {
        assert!(held.iter().all(|word| *word == held[0]), "{mended:?}");
        let rounds = made.unwrap_or(0)..=u64::from(dying.rounds());
        assert!(rounds.contains(&held[0]), "{mended:?} after {made:?}");
    }
    assert!(
        mended.renewed.iter().all(|value| *value == RENEWED),
        "{mended:?}"
    );
}

/// In how many images a bucket was busy, and in how many an intent was left.
fn mend_all(sharing: Sharing) -> (usize, usize) {
    let dying = Dying::new(sharing, 1, WriteMode::Synchronous);
    let mut images = HashSet::new();
    let report = ends(&dying, Options::default(), dying.bounds(), |end| {
        images.insert(Image::of(&dying, end));
    });
    if report.verdict == Verdict::Fail {
        let again = |checker: &mut Checker<'_>| checker.check(dying.bounds());
        let report = with_checker(&dying, Options::default(), again);
        panic!("{:?}", report.finding);
    }
    let (mut busy, mut left) = (0, 0);
    for image in &images {
        let mended = mend(&dying, image);
        judge(&dying, image, &mended);
        busy += usize::from(!mended.repaired.busy.is_empty());
        left += usize::from(!mended.repaired.left.is_empty());
    }
    eprintln!(
        "{}: {} states, {} images, {busy} with a busy bucket, {left} with an intent",
        dying.name(),
        report.states,
        images.len()
    );
    (busy, left)
}

#[test]
fn what_a_dead_owner_leaves_is_mended() {
    let (busy, _) = mend_all(Sharing::Partitioned);
    assert!(busy > 0);
}

#[test]
fn what_a_dead_holder_leaves_is_mended() {
    let (busy, left) = mend_all(Sharing::Seqlock);
    assert!(busy > 0 && left > 0);
}
