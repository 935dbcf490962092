//! A linear axis from 0.

use crate::quantity::{Scale, digits};

/// How far beyond the intervals a tail may stretch an axis. A tail of milliseconds on medians of
/// nanoseconds would otherwise press everything else against 0.
const TAIL: f64 = 2.0;

/// From 0 at the left to a round number at the right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis<'a> {
    pub(super) scale: Scale<'a>,
    left: i32,
    width: i32,
    end: f64,
    step: f64,
}

impl<'a> Axis<'a> {
    /// Room for every value of `held`, and for those of `tails` that are not far beyond.
    pub(super) fn fit(unit: &'a str, held: &[f64], tails: &[f64], left: i32, width: i32) -> Self {
        let held = held.iter().copied().fold(0.0, f64::max);
        let near = tails.iter().copied().filter(|tail| *tail <= held * TAIL);
        let greatest = near.fold(held, f64::max);
        let scale = Scale::fit(unit, [greatest].into_iter());
        let step = round_step(scale.in_unit(greatest));
        // A value at the very end would have its marker cut in half.
        let steps = (scale.in_unit(greatest) * 1.02 / step).ceil().max(1.0);
        Self {
            scale,
            left,
            width,
            end: scale.in_record(step * steps),
            step,
        }
    }

    /// Where a value lies, and whether it is beyond the end and was put there.
    pub(super) fn place(&self, value: f64) -> (i32, bool) {
        let share = (value / self.end).min(1.0);
        (
            self.left + (share * f64::from(self.width)).round() as i32,
            value > self.end,
        )
    }

    /// Positions and texts of the ticks.
    pub(super) fn ticks(&self) -> Vec<(i32, String)> {
        let count = (self.scale.in_unit(self.end) / self.step).round() as i32;
        let number = |index: i32| f64::from(index) * self.step;
        (0..=count)
            .map(|index| {
                let (x, _) = self.place(self.scale.in_record(number(index)));
                (x, trim(&digits(number(index))))
            })
            .collect()
    }
}

/// A step of 1, 2 or 5 times a power of ten that cuts 0 to `greatest` into three to seven.
pub(super) fn round_step(greatest: f64) -> f64 {
    if greatest <= 0.0 {
        return 1.0;
    }
    let rough = greatest / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power * 1.4 >= rough);
    factor.unwrap_or(10.0) * power
}

/// A round number needs no zeros behind its point.
pub(super) fn trim(digits: &str) -> String {
    if !digits.contains('.') {
        return digits.to_owned();
    }
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_round() {
        for greatest in [0.003, 0.7, 1.0, 9.9, 312.0, 4_700.0, 5e6, 3e11] {
            let axis = Axis::fit("ns", &[greatest], &[], 16, 400);
            let ticks = axis.ticks();
            assert!((3..=9).contains(&ticks.len()), "{greatest}: {ticks:?}");
            assert_eq!(ticks[0], (16, "0".to_owned()));
            assert_eq!(ticks[ticks.len() - 1].0, 416);
            assert!(!axis.place(greatest).1, "{greatest} is beyond the end");
        }
    }

    #[test]
    fn a_long_tail_does_not_stretch_the_axis() {
        let axis = Axis::fit("ns", &[300.0, 320.0], &[400.0, 2e6], 0, 400);
        assert!(axis.place(320.0).0 > 150);
        assert_eq!(axis.place(2e6), (400, true));
        assert!(!axis.place(400.0).1);
    }

    #[test]
    fn zeros_have_an_axis_too() {
        let axis = Axis::fit("ns", &[0.0], &[0.0], 0, 100);
        assert_eq!(axis.place(0.0), (0, false));
        assert_eq!(axis.ticks().len(), 2);
    }
}
