//! Software atomics: what the hosts are told is what some order of their operations gives.

use check::{Bounds, Kind, Shape, Subject, Violation};
use fabric::{Arena, Discipline, Gone, HostAtomics, Lines, Program, Seat, wait_until};
use sync::atomic::{Atomic64, Rmw};

use crate::setting::Setting;

/// Every lane operates on one word, several times, and reads it at last.
#[derive(Debug)]
pub struct Operations<A> {
    name: &'static str,
    arena: Arena,
    word: A,
    setting: Setting,
    expects: Vec<Kind>,
}

/// What a lane was told, operation by operation, and what it read at last.
type Told = (Vec<Option<u64>>, u64);

impl<A: Atomic64> Operations<A> {
    /// `atomic/NAME` on this pod.
    pub fn new(name: &'static str, setting: Setting) -> Self {
        let mut arena = Arena::new();
        Self {
            name,
            word: A::lay_out(&mut arena, "atomic", &setting.options()),
            arena,
            setting,
            expects: Vec::new(),
        }
    }

    /// It must fail in one of these ways.
    #[must_use]
    pub fn expecting(self, kinds: &[Kind]) -> Self {
        Self {
            expects: kinds.to_vec(),
            ..self
        }
    }

    /// The operations of a lane: additions of different powers, so that a sum tells which were
    /// applied; where it can be done, an exchange that succeeds if the other lane has not come
    /// first.
    fn operations(&self, who: u32) -> Vec<Rmw> {
        let rounds = 0..self.setting.rounds;
        let add = |round| Rmw::FetchAdd(1_u64 << (8 * u64::from(who) + round));
        let mut all: Vec<Rmw> = rounds.map(add).collect();
        let exchange = Rmw::CompareExchange {
            current: 0,
            new: 1 << 40,
        };
        if who == 1 && A::can(exchange) {
            all[0] = exchange;
        }
        all
    }

    /// A sharded counter is no snapshot: a read has all that its own lane has added, and of each
    /// other lane what it had added at some moment.
    fn judge_sums(&self, told: &[&Told]) -> Result<(), Violation> {
        let all = (1_u64 << self.setting.rounds) - 1;
        for (reader, (_, sum)) in told.iter().enumerate() {
            for writer in 0..told.len() {
                let added = sum >> (8 * writer) & 0xff;
                let is_prefix = added & (added + 1) == 0 && added <= all;
                if !is_prefix || writer == reader && added != all {
                    return Err(Violation::stale(format!(
                        "lane {reader} read {sum:#x}, of which lane {writer} never had added \
                         {added:#b} at one moment"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Whether it only adds, and tells nothing.
    fn is_sum() -> bool {
        !A::can(Rmw::Swap(0))
    }

    /// Waits until everything is there that was added. A sum may be as old as it likes, so that
    /// only whoever waits for it misses what was never published, or is not looked for.
    fn await_all<P: HostAtomics>(&self, port: &P, who: u32) -> Result<(), Gone> {
        let lanes = 0..self.setting.hosts * self.setting.lanes;
        let adds = lanes.flat_map(|lane| self.operations(lane));
        let all = adds.fold(0, |sum, add| add.apply(sum));
        wait_until(port, || match self.word.load(port, who) {
            Ok(sum) => (sum == all).then_some(Ok(())),
            Err(gone) => Some(Err(gone)),
        })?
    }

    fn who(&self, seat: Seat) -> u32 {
        seat.host * self.setting.lanes + seat.lane
    }
}

impl<A: Atomic64> Program for Operations<A> {
    type Out = Result<Told, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        if seat.host == self.setting.hosts {
            let desk = sync::atomic::ValueDesk::default();
            return crate::serve(port, desk, |desk| self.word.serve(port, desk));
        }
        let who = self.who(seat);
        let mut told = Vec::new();
        for operation in self.operations(who) {
            told.push(self.word.apply(port, who, operation)?);
        }
        let read = self.word.load(port, who)?;
        if Self::is_sum() {
            self.await_all(port, who)?;
        }
        Ok((told, read))
    }
}

impl<A: Atomic64> Subject for Operations<A> {
    fn name(&self) -> String {
        format!("atomic/{}{}", self.name, self.setting.suffix())
    }

    fn shape(&self) -> Shape {
        self.setting.shape(u32::from(A::SERVED))
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn discipline(&self) -> Discipline {
        self.setting.discipline()
    }

    fn validated(&self) -> Vec<Lines> {
        self.setting
            .registers(&self.arena, "atomic", u32::from(A::SERVED))
    }

    fn bounds(&self) -> Bounds {
        self.setting.bounds()
    }

    fn rounds(&self) -> u32 {
        self.setting.rounds as u32
    }

    fn serves(&self, seat: Seat) -> bool {
        seat.host == self.setting.hosts
    }

    fn expects(&self) -> Vec<Kind> {
        self.expects.clone()
    }

    fn has_twins(&self) -> bool {
        self.setting.has_twins() && self.expects.is_empty()
    }

    fn judge(&self, end: &check::End<'_, Self::Out>) -> Result<(), Violation> {
        let told: Vec<&Told> = end
            .outs
            .iter()
            .flatten()
            .flat_map(|out| out.iter())
            .collect();
        if Self::is_sum() {
            return self.judge_sums(&told);
        }
        let operations = (0..told.len() as u32).map(|who| self.operations(who));
        if is_some_order(&operations.collect::<Vec<_>>(), &told) {
            return Ok(());
        }
        Err(Violation::lost_update(format!(
            "no order of the operations gives {told:?}"
        )))
    }
}

/// Whether the operations of all lanes, each lane's in its order, can be put in one order in which
/// every lane is told what it was told. A read without results before it, as of a sharded counter,
/// is an operation like the others.
fn is_some_order(operations: &[Vec<Rmw>], told: &[&Told]) -> bool {
    fn goes_on(operations: &[Vec<Rmw>], told: &[&Told], done: &mut [usize], value: u64) -> bool {
        let mut over = true;
        for lane in 0..operations.len() {
            let at = done[lane];
            let (operation, answer) = match operations[lane].get(at) {
                Some(&operation) => (operation, told[lane].0[at]),
                None if at == operations[lane].len() => (Rmw::Load, Some(told[lane].1)),
                None => continue,
            };
            over = false;
            if answer.is_some_and(|answer| answer != value) {
                continue;
            }
            done[lane] += 1;
            let fits = goes_on(operations, told, done, operation.apply(value));
            done[lane] -= 1;
            if fits {
                return true;
            }
        }
        over
    }
    goes_on(operations, told, &mut vec![0; operations.len()], 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_found_where_there_is_one() {
        let adds = [vec![Rmw::FetchAdd(1)], vec![Rmw::FetchAdd(2)]];
        let first = (vec![Some(0)], 1);
        let (second, same) = ((vec![Some(1)], 3), (vec![Some(0)], 3));
        assert!(is_some_order(&adds, &[&first, &second]));
        assert!(!is_some_order(&adds, &[&first, &same]));
    }
}
