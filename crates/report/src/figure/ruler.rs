//! Where a value lies on a chart, linearly or by its logarithm.

use super::axis::{round_step, trim};
use crate::quantity::{Scale, digits};

/// Ratio of the greatest to the least value from which a linear axis hides the small ones.
const WIDE: f64 = 20.0;

/// An axis of a chart, before it has a place on the page.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// Values and their texts, ascending.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Ruler {
    /// For values of a unit: linear from 0, or logarithmic where they span too much for that.
    pub(super) fn fit(scale: Scale<'_>, values: &[f64]) -> Self {
        let (least, greatest) = bounds(values);
        if least > 0.0 && greatest / least > WIDE {
            Self::decades(scale, least, greatest)
        } else {
            Self::linear(scale, values)
        }
    }

    /// From 0 to a round number.
    pub(super) fn linear(scale: Scale<'_>, values: &[f64]) -> Self {
        let (_, greatest) = bounds(values);
        let step = round_step(scale.in_unit(greatest));
        let steps = (scale.in_unit(greatest) * 1.02 / step).ceil().max(1.0);
        let number = |index: i32| f64::from(index) * step;
        let tick = |index| (scale.in_record(number(index)), trim(&digits(number(index))));
        Self {
            low: 0.0,
            high: scale.in_record(step * steps),
            logarithmic: false,
            ticks: (0..=steps as i32).map(tick).collect(),
        }
    }

    /// From a round number below 0 to one above: for differences. At most five ticks.
    pub(super) fn signed(values: &[f64]) -> Self {
        let least = values.iter().copied().fold(0.0, f64::min);
        let greatest = values.iter().copied().fold(0.0, f64::max);
        // Half as many ticks as on an axis of full width.
        let step = round_step(2.0 * (greatest - least));
        let (first, last) = (
            (least / step).floor() as i32,
            (greatest / step).ceil() as i32,
        );
        let last = last.max(first + 1);
        let tick = |index: i32| {
            let value = f64::from(index) * step;
            let sign = if index > 0 { "+" } else { "" };
            (value, format!("{sign}{}", trim(&digits(value))))
        };
        Self {
            low: f64::from(first) * step,
            high: f64::from(last) * step,
            logarithmic: false,
            ticks: (first..=last).map(tick).collect(),
        }
    }

    /// From 0 to 100 %: a share has no room beyond the whole.
    pub(super) fn share() -> Self {
        let tick = |fifth: i32| {
            let percent = f64::from(fifth) * 20.0;
            (percent, trim(&digits(percent)))
        };
        Self {
            low: 0.0,
            high: 100.0,
            logarithmic: false,
            ticks: (0..=5).map(tick).collect(),
        }
    }

    /// From 1, 2 or 5 times a power of ten to another.
    fn decades(scale: Scale<'_>, least: f64, greatest: f64) -> Self {
        let (least, greatest) = (scale.in_unit(least), scale.in_unit(greatest));
        let first = least.log10().floor() as i32;
        let last = greatest.log10().ceil() as i32;
        let marks: Vec<f64> = (first..=last)
            .flat_map(|power| [1.0, 2.0, 5.0].map(|factor| factor * 10_f64.powi(power)))
            .collect();
        let low = marks.iter().rposition(|mark| *mark <= least).unwrap_or(0);
        let high = marks.iter().position(|mark| *mark >= greatest);
        let marks = &marks[low..=high.unwrap_or(marks.len() - 1)];
        let tick = |mark: &f64| (scale.in_record(*mark), trim(&digits(*mark)));
        Self {
            low: scale.in_record(marks[0]),
            high: scale.in_record(marks[marks.len() - 1]),
            logarithmic: true,
            ticks: marks.iter().map(tick).collect(),
        }
    }

    /// For sizes and counts that double: a tick at each power of two.
    pub(super) fn doubling(values: &[f64], name: impl Fn(f64) -> String) -> Self {
        let (least, greatest) = bounds(values);
        let first = least.max(1.0).log2().floor() as i32;
        let last = (greatest.max(1.0).log2().ceil() as i32).max(first + 1);
        let tick = |power: i32| (2_f64.powi(power), name(2_f64.powi(power)));
        Self {
            low: 2_f64.powi(first),
            high: 2_f64.powi(last),
            logarithmic: true,
            ticks: (first..=last).map(tick).collect(),
        }
    }

    /// For a few whole numbers, such as lanes: half a unit of room on both sides.
    pub(super) fn counting(values: &[f64]) -> Self {
        let (least, greatest) = bounds(values);
        let step = ((greatest - least) / 8.0).ceil().max(1.0);
        let count = ((greatest - least) / step) as i32;
        let tick = |index: i32| {
            let value = least + f64::from(index) * step;
            (value, trim(&digits(value)))
        };
        Self {
            low: least - 0.5,
            high: greatest + 0.5,
            logarithmic: false,
            ticks: (0..=count).map(tick).collect(),
        }
    }

    /// Whether a value lies on the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The pixel of a value, `from` being that of the low end.
    pub(super) fn place(&self, value: f64, from: i32, to: i32) -> i32 {
        let value = value.clamp(self.low, self.high);
        let share = if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        from + (share * f64::from(to - from)).round() as i32
    }

    /// What a heading adds to the unit.
    pub(super) fn remark(&self) -> &'static str {
        if self.logarithmic {
            ", logarithmic"
        } else {
            ""
        }
    }
}

fn bounds(values: &[f64]) -> (f64, f64) {
    let greatest = values.iter().copied().fold(0.0, f64::max);
    (values.iter().copied().fold(greatest, f64::min), greatest)
}

/// A size in bytes for people: `48 KiB`, `1.5 MiB`.
pub(crate) fn bytes(size: f64) -> String {
    let (divisor, unit) = match size {
        size if size >= 1024.0 * 1024.0 * 1024.0 => (1024.0 * 1024.0 * 1024.0, "GiB"),
        size if size >= 1024.0 * 1024.0 => (1024.0 * 1024.0, "MiB"),
        size if size >= 1024.0 => (1024.0, "KiB"),
        _ => (1.0, "B"),
    };
    format!("{} {unit}", trim(&digits(size / divisor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(values: &[f64]) -> Scale<'static> {
        Scale::fit("ns", values.iter().copied())
    }

    #[test]
    fn every_value_lies_between_the_first_and_the_last_tick() {
        for values in [
            [1.1, 97.0],
            [80.0, 120.0],
            [0.5, 3e6],
            [0.0, 40.0],
            [7.0, 7.0],
        ] {
            let ruler = Ruler::fit(scale(&values), &values);
            let (first, last) = (&ruler.ticks[0], &ruler.ticks[ruler.ticks.len() - 1]);
            assert!(first.0 <= values[0] * 1.000_001, "{ruler:?}");
            assert!(last.0 >= values[1] * 0.999_999, "{ruler:?}");
            assert_eq!(ruler.place(last.0, 300, 20), 20);
            assert_eq!(ruler.place(first.0, 300, 20), 300);
        }
    }

    #[test]
    fn differences_have_0_on_their_axis() {
        for values in [
            vec![-4.8, 2.9],
            vec![0.02, 11.3],
            vec![-71.4, -0.1],
            vec![0.0, 0.0],
            vec![-3e-4, 2e-4],
            Vec::new(),
        ] {
            let ruler = Ruler::signed(&values);
            assert!(values.iter().all(|value| ruler.holds(*value)), "{ruler:?}");
            assert!((2..=6).contains(&ruler.ticks.len()), "{ruler:?}");
            assert!(
                ruler
                    .ticks
                    .iter()
                    .any(|(value, text)| *value == 0.0 && text == "0")
            );
        }
    }

    #[test]
    fn wide_spans_are_logarithmic_and_zero_never_is() {
        assert!(Ruler::fit(scale(&[1.0, 90.0]), &[1.0, 90.0]).logarithmic);
        assert!(!Ruler::fit(scale(&[50.0, 90.0]), &[50.0, 90.0]).logarithmic);
        assert!(!Ruler::fit(scale(&[0.0, 90.0]), &[0.0, 90.0]).logarithmic);
    }

    #[test]
    fn one_value_has_an_axis() {
        let ruler = Ruler::doubling(&[4096.0], bytes);
        assert_eq!(ruler.place(4096.0, 0, 100), 0);
        let lanes = Ruler::counting(&[2.0, 2.0]);
        assert_eq!(lanes.place(2.0, 0, 100), 50);
        assert_eq!(lanes.ticks, [(2.0, "2".to_owned())]);
    }

    #[test]
    fn sizes_have_binary_units() {
        let shown = [512.0, 49_152.0, 1_572_864.0, 268_435_456.0, 1_073_741_824.0].map(bytes);
        assert_eq!(shown, ["512 B", "48 KiB", "1.5 MiB", "256 MiB", "1 GiB"]);
    }
}
