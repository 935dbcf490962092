//! What only some subjects may meet: a host that crashes, a deadline that passes, an atomic
//! instruction between hosts. Each is tried where it does harm and where it does none.

use check::{Bounds, Finding, Kind, Options, Shape, Subject, Verdict, Violation, WriteMode};
use check::{Report, with_checker};
use fabric::{Arena, Cell, Gone, HostAtomics, Program, Ptr, Seat, wait_until};

/// How host 1 is told, and what may come in between.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
struct Case {
    crashes: bool,
    deadlines: bool,
    /// By an atomic instruction on the pool's word.
    atomic: bool,
    /// Host 1 takes it for granted that it is told.
    trusts: bool,
}

/// Host 0 tells host 1 that it is there.
struct Telling {
    arena: Arena,
    flag: Ptr<u64>,
    case: Case,
    shape: Shape,
}

impl Telling {
    fn new(case: Case, shape: Shape) -> Self {
        let mut arena = Arena::new();
        Self {
            flag: arena.word("flag"),
            arena,
            case,
            shape,
        }
    }
}

impl Program for Telling {
    type Out = Result<(), Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let first = seat.host == 0 && seat.lane == 0;
        match (first, self.case.atomic) {
            (true, true) => port.atomic_store(Cell::Pool(self.flag), 1),
            (true, false) => port.write_posted(self.flag, &[1]),
            (false, _) => {
                return wait_until(port, || {
                    port.observe(self.flag.line());
                    (port.load(self.flag) == 1).then_some(())
                });
            }
        }
        Ok(())
    }
}

impl Subject for Telling {
    fn name(&self) -> String {
        "telling".to_owned()
    }
    fn shape(&self) -> Shape {
        self.shape
    }
    fn arena(&self) -> &Arena {
        &self.arena
    }
    fn survives_crashes(&self) -> bool {
        self.case.crashes
    }
    fn has_deadlines(&self) -> bool {
        self.case.deadlines
    }
    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        match out {
            Err(gone) if self.case.trusts => Err(Violation::wrong(gone.to_string())),
            _ => Ok(()),
        }
    }
}

fn check(case: Case, shape: Shape) -> Report {
    let subject = Telling::new(case, shape);
    with_checker(&subject, Options::default(), |checker| {
        checker.check(Bounds::SATURATED)
    })
}

fn hosts(count: u32) -> Shape {
    Shape::software(count, 2 / count, WriteMode::Synchronous)
}

/// The program passes if it reckons with what this adds; if it does not, this is found.
fn harms_who_trusts(case: Case) -> Finding {
    assert_eq!(check(case, hosts(2)).verdict, Verdict::Pass, "{case:?}");
    let trusting = Case {
        trusts: true,
        ..case
    };
    let finding = check(trusting, hosts(2)).finding;
    finding.expect("the wait may end with an error")
}

#[test]
fn nothing_is_wrong_where_nobody_crashes_and_no_deadline_passes() {
    let trusting = Case {
        trusts: true,
        ..Case::default()
    };
    assert_eq!(check(trusting, hosts(2)).verdict, Verdict::Pass);
}

#[test]
fn a_host_that_crashes_is_missed() {
    let crashes = Case {
        crashes: true,
        ..Case::default()
    };
    let finding = harms_who_trusts(crashes);
    assert_eq!(finding.kind, Kind::Wrong);
    assert!(finding.what.contains("host 0 was lost"), "{finding}");
    assert!(finding.to_string().contains("CRASHES"), "{finding}");
}

#[test]
fn a_deadline_may_pass_before_what_is_waited_for() {
    let deadlines = Case {
        deadlines: true,
        ..Case::default()
    };
    let finding = harms_who_trusts(deadlines);
    assert_eq!(finding.kind, Kind::Wrong);
    assert!(finding.what.contains("deadline"), "{finding}");
}

/// Within one host, the hardware's own atomics are right.
#[test]
fn an_atomic_instruction_is_refused_between_hosts_only() {
    let atomic = Case {
        atomic: true,
        ..Case::default()
    };
    assert_eq!(check(atomic, hosts(1)).verdict, Verdict::Pass);
    let finding = check(atomic, hosts(2)).finding;
    assert_eq!(finding.map(|found| found.kind), Some(Kind::HostAtomic));
}
