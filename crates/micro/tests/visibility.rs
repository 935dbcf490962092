//! `visibility` under everything that the memory may do, within bounds; and without its flushes.
//!
//! The story: a benchmark that polls a flag and never looks at what the flag stands for measures
//! how fast a message can be torn.

use std::path::Path;

use check::{Bounds, Checker, Edits, Options, Shape, Site, Subject, Verdict, Violation};
use check::{WriteMode, with_checker};
use fabric::{
    Arena, Discipline, HostAtomics, Maintenance, ObserveBy, Pod, Program, PublishBy, Seat,
};
use micro::Visibility;
use micro::visibility::{Layout, Params};
use sync::{Barrier, BarrierLayout};
use workload::{Verified, Worker, Workload};

const POD: Pod = Pod { hosts: 2, lanes: 1 };

/// What the search may spend: an eviction or a fetch, and leaving a lane once.
const BOUNDS: Bounds = Bounds {
    environment: Some(1),
    preemptions: Some(1),
    states: 100_000,
};

/// A repetition of one round, then its verifier, on both hosts.
struct Trial {
    arena: Arena,
    params: Params,
    layout: Layout,
    barrier: BarrierLayout,
}

impl Trial {
    fn new(publish: PublishBy, lines: u32) -> Self {
        let params = Params {
            publish,
            observe: ObserveBy::ClFlushOpt,
            lines,
            rounds: 1,
        };
        let mut arena = Arena::new();
        Self {
            layout: Visibility::layout(&mut arena, POD, &params),
            barrier: BarrierLayout::lay_out(&mut arena, "trial", POD),
            arena,
            params,
        }
    }
}

impl Program for Trial {
    type Out = Result<Verified, String>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = Barrier::new(&self.barrier, POD, seat, 0);
        let worker = |repetition| Worker::new(port, POD, seat, &barrier, 1, repetition);
        let outcome = Visibility::run(&worker(0), &self.layout, &self.params);
        outcome.map_err(|gone| gone.to_string())?;
        barrier.wait(port).map_err(|gone| gone.to_string())?;
        let verified = Visibility::verify(&worker(1), &self.layout, &self.params, 1);
        verified.map_err(|mismatch| mismatch.what)
    }
}

impl Subject for Trial {
    fn name(&self) -> String {
        format!(
            "visibility/{}-{}-lines",
            self.params.publish, self.params.lines
        )
    }

    fn shape(&self) -> Shape {
        Shape::software(POD.hosts, POD.lanes, WriteMode::Synchronous)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn discipline(&self) -> Discipline {
        Visibility::discipline(&self.params).expect("visibility sets its own")
    }

    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        match out {
            Ok(_) => Ok(()),
            Err(what) => Err(Violation::torn(what.clone())),
        }
    }
}

#[test]
fn visibility_is_right_whatever_the_memory_does() {
    for publish in [PublishBy::ClFlushOpt, PublishBy::Clwb, PublishBy::Line64] {
        for lines in [1, 2] {
            let trial = Trial::new(publish, lines);
            let report = with_checker(&trial, Options::default(), |it| it.check(BOUNDS));
            assert_eq!(report.finding, None, "{publish}, {lines} lines");
            assert!(report.exhausted, "{publish}, {lines} lines");
        }
    }
}

/// The line of source that a site stands at.
fn source(site: &Site) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(site.caller.file())).expect("the source is here");
    let line = text.lines().nth(site.caller.line() as usize - 1);
    line.expect("a line of it").trim().to_owned()
}

/// The flush at the line that begins like this.
fn flush_at(checker: &Checker<'_>, begins: &str) -> Site {
    let sites = checker.sites().into_iter();
    let mut flushes = sites.filter(|site| site.kind == Maintenance::Flush);
    let found = flushes.find(|site| source(site).starts_with(begins));
    found.expect("visibility publishes and observes its payload")
}

#[test]
fn without_the_payloads_flushes_a_message_is_torn() {
    let trial = Trial::new(PublishBy::ClFlushOpt, 2);
    with_checker(&trial, Options::default(), |checker| {
        checker.check(BOUNDS);
        for begins in ["port.write_posted(payload", "port.observe(payload"] {
            let site = flush_at(checker, begins);
            let report = checker.check_edited(&Edits::without(site), BOUNDS);
            assert_eq!(report.verdict, Verdict::Fail, "{site}");
        }
    });
}
