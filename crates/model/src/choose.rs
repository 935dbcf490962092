//! The one source of non-determinism.

/// What is being chosen, so that a chooser can weigh it and a trace can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Which lane goes on.
    Lane,
    /// Which step the environment takes.
    Step,
    /// A non-temporal store to a line that the host holds: 0 goes around the cache, 1 stays in it.
    NonTemporal,
    /// A dirty line of a crashed host: 0 is lost, 1 was written back.
    Crashed,
    /// A random word of the program.
    Random,
}

/// Answers every question that the model leaves open.
pub trait Chooser {
    /// One of `0..n`; `n` is at least 1.
    fn choose(&mut self, n: usize, what: Choice) -> usize;
}

/// Always the first alternative, which the model lists first because it is the likely one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Likely;

impl Chooser for Likely {
    fn choose(&mut self, _: usize, _: Choice) -> usize {
        0
    }
}

/// Follows a script, then takes first alternatives; [`advance`](Self::advance) turns it to the next
/// script in depth-first order.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    path: Vec<(usize, usize)>,
    at: usize,
}

impl Scripted {
    /// Moves to the next path; false when all have been taken.
    pub fn advance(&mut self) -> bool {
        self.at = 0;
        while let Some((taken, of)) = self.path.pop() {
            if taken + 1 < of {
                self.path.push((taken + 1, of));
                return true;
            }
        }
        false
    }
}

impl Chooser for Scripted {
    fn choose(&mut self, n: usize, _: Choice) -> usize {
        if self.at == self.path.len() {
            self.path.push((0, n));
        }
        let (taken, of) = self.path[self.at];
        assert_eq!(of, n, "choice {} had {of} alternatives, now {n}", self.at);
        self.at += 1;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_visits_every_path_once() {
        let mut script = Scripted::default();
        let mut seen = Vec::new();
        loop {
            let first = script.choose(2, Choice::Step);
            let second = script.choose(first + 1, Choice::Step);
            seen.push((first, second));
            if !script.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 0), (1, 0), (1, 1)]);
    }
}
