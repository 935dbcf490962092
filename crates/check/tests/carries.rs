//! A wait that remembers something may say what, and then its turns are folded. Whoever forgets to
//! say all of it must not be believed: a search that folds too much says *pass* of what is wrong.

use std::collections::BTreeSet;

use check::{Bounds, Options, Shape, Subject, Verdict, WriteMode, ends, with_checker};
use fabric::{Arena, Gone, HostAtomics, Mark, Program, Seat, Slice, wait_until};

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
