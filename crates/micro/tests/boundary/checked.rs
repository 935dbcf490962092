//! The mailbox and `visibility` under every choice within bounds, and their faulty twins.

use fabric::{Discipline, Maintenance, NoWatch, ObserveBy, Pod, PublishBy, Seat, Setting, Site};
use fabric::{Gone, Program, Substrate};
use micro::visibility::Params;

use crate::checker::{Bounds, Checker, Kind, Report, explore};
use crate::programs::{Exchange, Ran, Trial, Twin, message};
use crate::search::Path;

const BOUNDS: Bounds = Bounds {
    deviations: 2,
    kept_nt: false,
};

/// What can be wrong with a received message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bad {
    /// It is an older one.
    Stale,
    /// It is part this one, part an older one.
    Torn,
}

type Received = Result<Vec<Vec<u64>>, Gone>;

fn judge_messages(outs: &[(Seat, Received)]) -> Option<Bad> {
    let received = outs[1].1.as_ref().expect("only a stuck run ends a wait");
    for (number, words) in (1..).zip(received) {
        if words.iter().all(|&word| word < number) {
            return Some(Bad::Stale);
        }
        if *words != message(number, words.len()) {
            return Some(Bad::Torn);
        }
    }
    None
}

fn exchange_setting(publish: PublishBy) -> Setting {
    Setting {
        pod: Pod::new(2, 1),
        discipline: Discipline {
            publish,
            observe: ObserveBy::ClFlushOpt,
        },
        host_bytes: 0,
    }
}

fn check_exchange(
    publish: PublishBy,
    bounds: Bounds,
    exchange: &Exchange,
    omitted: Option<Site>,
) -> Report<Bad> {
    let (setting, bytes) = (exchange_setting(publish), exchange.region_bytes);
    let twin = Twin::new(exchange, omitted);
    explore(&setting, bytes, bounds, &twin, judge_messages)
}

fn sites<G: Program>(setting: &Setting, region_bytes: u64, program: &G) -> Vec<Site> {
    let whole = Twin::new(program, None);
    let checker = Checker::new(region_bytes, BOUNDS, Path::default());
    checker.run(setting, &NoWatch, &whole);
    whole.into_sites()
}

/// The source line of a site, as it is written.
fn source(site: Site) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let path = format!("{root}{}", site.caller.file());
    let text = std::fs::read_to_string(&path).expect("a test runs beside the sources");
    let line = text.lines().nth(site.caller.line() as usize - 1);
    line.expect("a caller is inside its file").trim().to_owned()
}

#[test]
fn messages_arrive_whatever_the_memory_does() {
    for publish in [PublishBy::ClFlush, PublishBy::ClFlushOpt, PublishBy::Clwb] {
        let report = check_exchange(publish, BOUNDS, &Exchange::new(2, 2), None);
        assert_eq!(report.finding, None, "{publish}");
        // The search did try something: at least every single deviation and many pairs.
        assert!(
            report.executions > 1_000,
            "{publish}: {}",
            report.executions
        );
    }
}

/// Every flush is necessary, and the fences that order: before the flag, and before the payload's
/// loads. Leaving out the others delays within these bounds and no more.
#[test]
fn every_twin_of_the_mailbox_is_judged() {
    use Maintenance::{Fence as F, Flush};
    let stale = || Some(Kind::Wrong(Bad::Stale));
    let expected = [
        ("port.observe(taken.line());", Flush, Some(Kind::Stuck)),
        ("port.observe(taken.line());", F, None),
        (
            "port.write_posted(payload.start(), message);",
            Flush,
            stale(),
        ),
        ("port.write_posted(payload.start(), message);", F, stale()),
        (
            "port.write_posted(flag, &[self.sent]);",
            Flush,
            Some(Kind::Stuck),
        ),
        ("port.write_posted(flag, &[self.sent]);", F, None),
        ("port.observe(flag.line());", Flush, Some(Kind::Stuck)),
        ("port.observe(flag.line());", F, None),
        ("port.observe(payload.lines());", Flush, stale()),
        ("port.observe(payload.lines());", F, stale()),
        (
            "port.write_posted(taken, &[self.taken]);",
            Flush,
            Some(Kind::Stuck),
        ),
        ("port.write_posted(taken, &[self.taken]);", F, None),
    ];
    let exchange = Exchange::new(2, 2);
    let setting = exchange_setting(PublishBy::ClFlushOpt);
    let sites = sites(&setting, exchange.region_bytes, &exchange);
    assert_eq!(sites.len(), expected.len());
    for (site, (text, kind, found)) in sites.into_iter().zip(expected) {
        assert_eq!((source(site).as_str(), site.kind), (text, kind));
        let one = Bounds {
            deviations: 1,
            ..BOUNDS
        };
        let report = check_exchange(PublishBy::ClFlushOpt, one, &exchange, Some(site));
        assert_eq!(report.finding.map(|(kind, _)| kind), found, "{site}");
    }
}

#[test]
fn a_finding_replays() {
    let exchange = Exchange::new(2, 2);
    let setting = exchange_setting(PublishBy::ClFlushOpt);
    let site = sites(&setting, exchange.region_bytes, &exchange)
        .into_iter()
        .find(|&site| site.kind == Maintenance::Fence && source(site).contains("payload.lines()"))
        .expect("the receiver observes the payload");
    let report = check_exchange(PublishBy::ClFlushOpt, BOUNDS, &exchange, Some(site));
    let (kind, path) = report.finding.expect("the fence is necessary");
    let checker = Checker::new(exchange.region_bytes, BOUNDS, path.again());
    let outs = checker.run(&setting, &NoWatch, &Twin::new(&exchange, Some(site)));
    assert_eq!(judge_messages(&outs).map(Kind::Wrong), Some(kind));
}

/// A host never loads a line that it writes around the cache, but a prefetcher may: where a store
/// that finds its line in the cache stays there, no fence publishes it. The assumption that spares
/// `movnti` is the implementation's, not the program's.
#[test]
fn stores_around_the_cache_rest_on_an_assumption() {
    let exchange = Exchange::new(1, 1);
    let report = check_exchange(PublishBy::StoreNt, BOUNDS, &exchange, None);
    assert_eq!(report.finding, None);
    let kept = Bounds {
        kept_nt: true,
        ..BOUNDS
    };
    let report = check_exchange(PublishBy::StoreNt, kept, &exchange, None);
    assert_eq!(report.finding.map(|(kind, _)| kind), Some(Kind::Stuck));
}

type Judged = Result<Ran, Gone>;

/// The first thing that a verifier found wrong.
fn judge_trial(outs: &[(Seat, Judged)]) -> Option<String> {
    let ran = outs.iter().map(|(_, out)| out.as_ref());
    ran.map(|out| out.expect("only a stuck run ends a wait"))
        .find_map(|ran| ran.verified.as_ref().err())
        .map(|mismatch| mismatch.what.clone())
}

fn check_trial(trial: &Trial, omitted: Option<Site>) -> Report<String> {
    let bounds = Bounds {
        deviations: 1,
        ..BOUNDS
    };
    let twin = Twin::new(trial, omitted);
    explore(
        &trial.setting(),
        trial.region_bytes,
        bounds,
        &twin,
        judge_trial,
    )
}

fn trial(publish: PublishBy, lines: u32) -> Trial {
    let observe = ObserveBy::ClFlushOpt;
    let params = Params {
        publish,
        observe,
        lines,
        rounds: 1,
    };
    Trial::new(Pod::new(2, 1), params, 1)
}

#[test]
fn visibility_is_right_whatever_the_memory_does() {
    for publish in [PublishBy::ClFlushOpt, PublishBy::Clwb, PublishBy::Line64] {
        for lines in [1, 2] {
            let report = check_trial(&trial(publish, lines), None);
            assert_eq!(report.finding, None, "{publish}, {lines} lines");
            assert!(report.executions > 100, "{}", report.executions);
        }
    }
}

#[test]
fn twins_of_visibility_tear_its_messages() {
    let trial = trial(PublishBy::ClFlushOpt, 2);
    let all = sites(&trial.setting(), trial.region_bytes, &trial);
    for text in ["port.write_posted(payload", "port.observe(payload"] {
        let flush = |site: &&Site| site.kind == Maintenance::Flush;
        let site = all
            .iter()
            .filter(flush)
            .find(|&&site| source(site).starts_with(text));
        let site = site.expect("visibility publishes and observes its payload");
        let report = check_trial(&trial, Some(*site));
        let (kind, _) = report.finding.expect("the flush is necessary");
        let Kind::Wrong(what) = kind else {
            panic!("{site}: stuck");
        };
        assert!(what.starts_with("torn messages at host"), "{what}");
    }
}
