//! Lanes as coroutines over borrowed programs.

use corosensei::stack::DefaultStack;
use corosensei::{CoroutineResult, ScopedCoroutine, ScopedCoroutineRef, Yielder};
use fabric::Seat;

/// What a lane suspends itself with.
pub(crate) type Turn = Yielder<(), ()>;

type Lane<'a, R> = ScopedCoroutineRef<'a, (), (), R, DefaultStack>;

/// Runs `body` on every seat until all have returned, in the order in which `pick` names lanes.
/// `pick` is told each lane's end by [`Pick::ended`].
pub(crate) fn interleave<R>(
    seats: &[Seat],
    body: &dyn Fn(usize, &Turn) -> R,
    pick: &mut impl Pick,
) -> Vec<(Seat, R)> {
    let mut outs: Vec<Option<R>> = seats.iter().map(|_| None).collect();
    nest(seats.len(), body, Vec::new(), &mut |mut lanes| {
        while let Some(index) = pick.next_lane() {
            if let CoroutineResult::Return(out) = lanes[index].resume(()) {
                outs[index] = Some(out);
                pick.ended(index);
            }
        }
    });
    let all = seats.iter().zip(outs);
    all.map(|(&seat, out)| (seat, out.expect("lanes are picked until all have returned")))
        .collect()
}

/// Who runs next.
pub(crate) trait Pick {
    /// A lane that has not ended, or none if all have.
    fn next_lane(&mut self) -> Option<usize>;

    /// Lane `index` has returned.
    fn ended(&mut self, index: usize);
}

/// A scope is the only safe way to a coroutine that borrows, so that many lanes are as many scopes
/// inside each other; their references are reborrowed for the innermost, where all are at hand.
fn nest<R>(
    more: usize,
    body: &dyn Fn(usize, &Turn) -> R,
    lanes: Vec<Lane<'_, R>>,
    drive: &mut dyn FnMut(Vec<Lane<'_, R>>),
) {
    if more == 0 {
        return drive(lanes);
    }
    let index = lanes.len();
    let lane = ScopedCoroutine::new(move |turn: &Turn, ()| body(index, turn));
    lane.scope(|mut lane| {
        let mut lanes: Vec<Lane<'_, R>> = lanes;
        lanes.push(lane.as_mut());
        nest(more - 1, body, lanes, drive);
    });
}
