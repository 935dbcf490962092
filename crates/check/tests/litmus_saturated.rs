//! The checker's own search without bounds gives each litmus file's exact set: nothing is lost by
//! its pruning, nothing is made up by its scripts.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use check::litmus::all;
use check::{Bounds, Litmus, Options, Subject, Verdict, ends};
use fabric::{Arena, HostAtomics, Program, Seat};
use model::{Shape, WriteMode};

struct Lanes<'t> {
    test: &'t Litmus,
    arena: Arena,
    writes: WriteMode,
}

impl Program for Lanes<'_> {
    type Out = Vec<u64>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Vec<u64> {
        let thread = self.test.thread_of(seat);
        thread.map_or_else(Vec::new, |thread| self.test.perform(port, thread, 0))
    }
}

impl Subject for Lanes<'_> {
    fn name(&self) -> String {
        self.test.name().to_owned()
    }

    fn shape(&self) -> Shape {
        self.test.shape(self.writes)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }
}

fn saturated(test: &Litmus, writes: WriteMode) -> BTreeSet<Vec<u64>> {
    let mut arena = Arena::new();
    arena.slice::<u64>("litmus", test.region_bytes() as usize / 8);
    let lanes = Lanes {
        test,
        arena,
        writes,
    };
    // A litmus asks what happens, not whether it is right.
    let options = Options {
        sanitize: false,
        ..Options::default()
    };
    let seats: Vec<Seat> = test.pod().seats().collect();
    let mut rows = BTreeSet::new();
    let report = ends(&lanes, options, Bounds::SATURATED, |end| {
        let mut loads = vec![Vec::new(); test.threads().len()];
        for (seat, out) in seats.iter().zip(&end.outs) {
            if let Some(thread) = test.thread_of(*seat) {
                loads[thread].clone_from(out.unwrap());
            }
        }
        let memory: Vec<u64> = test.watched().iter().map(|&at| end.word(at)).collect();
        rows.insert(test.row(&loads, &memory));
    });
    assert_eq!(report.verdict, Verdict::Pass, "{}: {report:?}", test.name());
    rows
}

#[test]
fn saturated_search_gives_the_exact_sets() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for test in all() {
        for writes in test.modes() {
            let rows = saturated(&test, writes);
            let exact = test.set(writes).unwrap().exact();
            if &rows != exact {
                wrong.push(format!(
                    "{} ({writes}): {rows:?}, not {exact:?}",
                    test.name()
                ));
            }
            compared += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 60);
}
