//! Depth-first search over vectors of choices, by running the program again for each.

/// The choices of one execution: those to repeat, then the first of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    taken: Vec<Choice>,
    at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    chosen: usize,
    of: usize,
}

impl Path {
    /// One of `of` ways to go on; 0 is the default.
    pub(crate) fn choose(&mut self, of: usize) -> usize {
        if self.at == self.taken.len() {
            self.taken.push(Choice { chosen: 0, of });
        }
        let choice = self.taken[self.at];
        assert_eq!(
            choice.of, of,
            "an execution did not repeat: something outside the choices decided"
        );
        self.at += 1;
        choice.chosen
    }

    /// The same choices from the start: a replay.
    pub(crate) fn again(mut self) -> Self {
        self.at = 0;
        self
    }

    /// The next vector in depth-first order, if there is one.
    pub(crate) fn next(mut self) -> Option<Self> {
        while let Some(last) = self.taken.last_mut() {
            last.chosen += 1;
            if last.chosen < last.of {
                self.at = 0;
                return Some(self);
            }
            self.taken.pop();
        }
        None
    }
}

#[test]
fn every_vector_is_visited_once() {
    let mut path = Path::default();
    let mut seen = Vec::new();
    loop {
        // The second choice exists only after one value of the first.
        let first = path.choose(3);
        let second = (first == 1).then(|| path.choose(2));
        seen.push((first, second));
        match path.next() {
            Some(next) => path = next,
            None => break,
        }
    }
    assert_eq!(seen, [(0, None), (1, Some(0)), (1, Some(1)), (2, None)]);
}
