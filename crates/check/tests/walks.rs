//! Single runs find what the search finds, and what they find is replayed and shrunk.
//!
//! A payload that is not observed is read stale only if a copy was there: of ten thousand runs of a
//! stress test on a machine without such copies none fails.

use check::{Bounds, Kind, Options, Shape, Strategy, Subject, TokenError, WriteMode, with_checker};
use fabric::{Arena, Gone, HostAtomics, Program, Ptr, Seat, wait_until};

/// Message passing, with or without an observe of the payload.
struct Passing {
    arena: Arena,
    flag: Ptr<u64>,
    payload: Ptr<u64>,
    observes: bool,
}

impl Passing {
    fn new(observes: bool) -> Self {
        let mut arena = Arena::new();
        Self {
            flag: arena.word("flag"),
            payload: arena.word("payload"),
            arena,
            observes,
        }
    }
}

impl Program for Passing {
    type Out = Result<u64, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        if seat.host == 0 {
            port.write_posted(self.payload, &[7]);
            port.write_posted(self.flag, &[1]);
            return Ok(7);
        }
        wait_until(port, || {
            port.observe(self.flag.line());
            (port.load(self.flag) == 1).then_some(())
        })?;
        if self.observes {
            port.observe(self.payload.line());
        }
        Ok(port.load(self.payload))
    }
}

impl Subject for Passing {
    fn name(&self) -> String {
        "passing".to_owned()
    }

    fn shape(&self) -> Shape {
        Shape::software(2, 1, WriteMode::Synchronous)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }
}

const STRATEGIES: [Strategy; 4] = [
    Strategy::Random,
    Strategy::Pct { depth: 3 },
    Strategy::Swarm,
    Strategy::Adverse,
];

#[test]
fn every_strategy_finds_the_missing_observe_and_shrinks_it() {
    for strategy in STRATEGIES {
        let finding = with_checker(&Passing::new(false), Options::default(), |checker| {
            checker.walk_randomly(strategy, 20_000, 1).finding
        });
        let finding = finding.expect("a fetch in the wrong moment is likely enough");
        assert_eq!(finding.kind, Kind::StaleRead, "{strategy:?}");
        assert_eq!(finding.unasked, 1, "{strategy:?}: {finding}");
        assert!(finding.cure.is_some_and(|cure| cure.starts_with("observe")));
    }
}

#[test]
fn no_strategy_finds_anything_in_a_right_program() {
    for strategy in STRATEGIES {
        with_checker(&Passing::new(true), Options::default(), |checker| {
            let report = checker.walk_randomly(strategy, 500, 1);
            assert_eq!(report.finding, None, "{strategy:?}");
        });
    }
}

#[test]
fn a_token_of_another_run_leads_to_the_same_finding() {
    let subject = Passing::new(false);
    let find = || {
        with_checker(&subject, Options::default(), |checker| {
            checker
                .check(Bounds::default())
                .finding
                .expect("it lacks an observe")
        })
    };
    let finding = find();
    let again = with_checker(&subject, Options::default(), |checker| {
        checker.replay(&finding.token)
    });
    assert_eq!(again.as_ref(), Ok(&finding));
}

#[test]
fn a_token_of_another_build_is_refused() {
    let finding = with_checker(&Passing::new(false), Options::default(), |checker| {
        checker
            .check(Bounds::default())
            .finding
            .expect("it lacks an observe")
    });
    // The cured program is another build: what its lanes do has changed.
    let refused = with_checker(&Passing::new(true), Options::default(), |checker| {
        checker.replay(&finding.token)
    });
    let Err(TokenError::OtherBuild { name, theirs, own }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(name, "passing");
    assert_ne!(theirs, own);
}
