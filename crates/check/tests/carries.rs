//! A wait that remembers something may say what, and then its turns are folded. Whoever forgets to
//! say all of it must not be believed: a search that folds too much says *pass* of what is wrong.

use std::collections::BTreeSet;

use check::{
    Bounds, End, Options, Shape, Subject, Timeouts, Verdict, Violation, WriteMode, ends,
    with_checker,
};
use fabric::{Arena, Gone, HostAtomics, Mark, Program, Ptr, Seat, Slice, wait_until};

/// Host 2 waits for a word of each of the others, and strikes off what has come.
struct Gather {
    arena: Arena,
    words: Vec<Slice<u64>>,
    says: Says,
}

/// What the wait says that it carries on.
#[derive(Clone, Copy)]
enum Says {
    Nothing,
    WhatIsLeft,
    AlwaysTheSame,
}

impl Gather {
    fn new(says: Says) -> Self {
        let mut arena = Arena::new();
        Self {
            words: arena.per_host("word", 2, 1),
            arena,
            says,
        }
    }

    fn say<P: HostAtomics>(&self, port: &P, left: &[usize]) {
        match self.says {
            Says::Nothing => {}
            Says::WhatIsLeft => {
                let mask = left.iter().fold(0, |mask, host| mask | 1 << host);
                port.mark(Mark::Carries(mask));
            }
            Says::AlwaysTheSame => port.mark(Mark::Carries(0)),
        }
    }
}

impl Program for Gather {
    /// In which order they came.
    type Out = Result<Vec<usize>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut came = Vec::new();
        if seat.host < 2 {
            port.write_posted(self.words[seat.host as usize].start(), &[1]);
            return Ok(came);
        }
        let mut left = vec![0, 1];
        wait_until(port, || {
            self.say(port, &left);
            let looked = left.clone();
            for host in looked {
                let word = self.words[host];
                port.observe(word.lines());
                if port.load(word.start()) == 1 {
                    left.retain(|other| *other != host);
                    came.push(host);
                }
            }
            self.say(port, &left);
            left.is_empty().then_some(())
        })?;
        Ok(came)
    }
}

impl Subject for Gather {
    fn name(&self) -> String {
        "gather".to_owned()
    }

    fn shape(&self) -> Shape {
        Shape::software(3, 1, WriteMode::Synchronous)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }
}

/// The orders in which the words may come, and whether all was tried.
fn orders(says: Says) -> BTreeSet<Vec<usize>> {
    let gather = Gather::new(says);
    let mut orders = BTreeSet::new();
    let report = ends(&gather, Options::default(), Bounds::SATURATED, |end| {
        let out = end.outs[2].expect("nobody crashes");
        orders.insert(out.clone().expect("nobody is lost"));
    });
    assert_eq!(report.verdict, Verdict::Pass);
    orders
}

#[test]
fn what_is_left_tells_turns_apart() {
    let gather = Gather::new(Says::WhatIsLeft);
    with_checker(&gather, Options::default(), |checker| {
        checker.check(Bounds::SATURATED);
        assert_eq!(checker.impure(), Vec::<String>::new());
    });
}

/// Both orders are possible. A wait that says too little is found out, and unrolled.
#[test]
fn nobody_is_believed_who_does_not_say_all() {
    let both = BTreeSet::from([vec![0, 1], vec![1, 0]]);
    assert_eq!(orders(Says::Nothing), both);
    assert_eq!(orders(Says::AlwaysTheSame), both);
}

/// Host 0 counts to two, unless it dies; host 1 waits for that, with patience that is over only
/// when nobody can go on otherwise. Its wait carries nothing on but the time.
struct Patient {
    arena: Arena,
    word: Ptr<u64>,
}

impl Program for Patient {
    /// Whether the two came.
    type Out = Result<bool, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        if seat.host == 0 {
            port.write_posted(self.word, &[1]);
            port.write_posted(self.word, &[2]);
            return Ok(true);
        }
        let began = port.now();
        wait_until(port, || {
            port.mark(Mark::Carries(0));
            port.observe(self.word.line());
            let came = port.load(self.word) == 2;
            port.mark(Mark::Carries(0));
            (came || port.now() > began).then_some(came)
        })
    }
}

impl Subject for Patient {
    fn name(&self) -> String {
        "patient".to_owned()
    }

    fn shape(&self) -> Shape {
        Shape::software(2, 1, WriteMode::Synchronous)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn survives_crashes(&self) -> bool {
        true
    }

    fn timeouts(&self) -> Timeouts {
        Timeouts::Last
    }

    fn judge(&self, end: &End<'_, Self::Out>) -> Result<(), Violation> {
        let died = end.died.iter().any(Option::is_some);
        match end.outs[1] {
            Some(Ok(false)) if !died => Err(Violation::wrong("it gave up on a host that lived")),
            _ => Ok(()),
        }
    }
}

/// A turn in which time has passed says the same as one in which it has not, and ends. Where it was
/// learned last, on the schedule on which host 0 dies, it stood for both.
#[test]
fn a_turn_that_ends_by_time_stands_for_no_other() {
    let mut arena = Arena::new();
    let word = arena.word("word");
    let patient = Patient { arena, word };
    let report = with_checker(&patient, Options::default(), |it| {
        it.check(Bounds::SATURATED)
    });
    assert_eq!(report.verdict, Verdict::Pass, "{:?}", report.finding);
}
