//! Differences paired by seed: the same workload and the same phase of the sampler, once so and
//! once otherwise, so that what chance does to both cancels.

use record::Summary;
use serde_json::{Value, json};
use tiering::run::Outcome;

use crate::failure::Failure;

/// A figure of a trial whose differences are told, and their unit for people.
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    /// The unit of a change of a difference: of a percentage, points.
    pub(super) change_unit: &'static str,
    factor: f64,
    /// Whether a difference is a share of what it differs from.
    relative: bool,
    of: fn(&Outcome) -> f64,
}

pub(super) const FIGURES: [Figure; 4] = [
    Figure {
        name: "time",
        unit: "%",
        change_unit: "points",
        factor: 100.0,
        relative: true,
        of: |outcome| outcome.seconds,
    },
    Figure {
        name: "fast_hit_ratio",
        unit: "points",
        change_unit: "points",
        factor: 100.0,
        relative: false,
        of: |outcome| outcome.tally.fast_hit_ratio(),
    },
    Figure {
        name: "rss",
        unit: "GB",
        change_unit: "GB",
        factor: 1e-9,
        relative: false,
        of: |outcome| outcome.resident_bytes,
    },
    Figure {
        name: "migrated",
        unit: "GB",
        change_unit: "GB",
        factor: 1e-9,
        relative: false,
        of: |outcome| outcome.migrated_bytes,
    },
];

/// A difference of each figure.
pub(super) type Difference = [f64; FIGURES.len()];

/// What a trial has more than another with the same seed.
pub(super) fn difference(before: &Outcome, after: &Outcome) -> Difference {
    FIGURES.map(|figure| {
        let (before, after) = ((figure.of)(before), (figure.of)(after));
        let whole = if figure.relative { before } else { 1.0 };
        figure.factor * (after - before) / whole
    })
}

/// The 97.5 % quantiles of Student's distribution with 1 to 4 degrees of freedom: for the seeds, 2
/// to 5, of which no order statistics bound a median with 95 % confidence.
const STUDENT: [f64; 4] = [12.706_205, 4.302_653, 3.182_446, 2.776_445];

/// How an interval comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// Of the median; it assumes no distribution.
    OrderStatistics,
    /// Of the mean, from few seeds; it takes differences to be normally distributed, whose mean is
    /// their median.
    Student,
}

impl Basis {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OrderStatistics => "order statistics",
            Self::Student => "Student's t",
        }
    }
}

/// A median of differences with an interval of 95 % confidence, which one seed does not make.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Effect {
    pub(super) median: f64,
    pub(super) interval: Option<([f64; 2], Basis)>,
    /// Whether every seed's difference is 0, to the last bit.
    pub(super) unchanged: bool,
}

impl Effect {
    /// Of one difference a seed.
    pub(super) fn of(differences: &[f64]) -> Result<Self, Failure> {
        // Order statistics do not mind a shift, and a record's summary takes no negative sample.
        let least = differences.iter().copied().fold(0.0, f64::min);
        let shifted: Vec<f64> = differences.iter().map(|one| one - least).collect();
        let summary = Summary::of(&shifted).map_err(Failure::after)?;
        let ordered = summary.ci95.map(|ends| ends.map(|end| end + least));
        let ordered = ordered.map(|ends| (ends, Basis::OrderStatistics));
        let student = || Some((student(differences)?, Basis::Student));
        Ok(Self {
            median: summary.p50 + least,
            interval: ordered.or_else(student),
            unchanged: differences.iter().all(|one| *one == 0.0),
        })
    }

    /// Whether the interval leaves 0 out; unknown without an interval.
    pub(super) fn differs(&self) -> Option<bool> {
        let ([low, high], _) = self.interval?;
        Some(low > 0.0 || high < 0.0)
    }

    /// For people, in a unit.
    pub(super) fn text(&self, unit: &str) -> String {
        let ends = self.interval.map_or(String::new(), |([low, high], _)| {
            format!(" [{low:+.2}, {high:+.2}]")
        });
        match self.differs() {
            _ if self.unchanged => "unchanged".to_owned(),
            Some(false) => format!("no difference{ends} {unit}"),
            _ => format!("{:+.2}{ends} {unit}", self.median),
        }
    }
}

/// The interval of the mean of two to five samples; of fewer there is none.
fn student(samples: &[f64]) -> Option<[f64; 2]> {
    let n = samples.len();
    let quantile = STUDENT.get(n.checked_sub(2)?)?;
    let mean = samples.iter().sum::<f64>() / n as f64;
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    let error = (squares / (n - 1) as f64 / n as f64).sqrt();
    Some([mean - quantile * error, mean + quantile * error])
}

/// An effect on each figure.
pub(super) fn effects(differences: &[Difference]) -> Result<Vec<Effect>, Failure> {
    let of = |figure| {
        let of_figure: Vec<f64> = differences.iter().map(|one| one[figure]).collect();
        Effect::of(&of_figure)
    };
    (0..FIGURES.len()).map(of).collect()
}

/// Effects for a record, each in a unit of its figure.
pub(super) fn record(effects: &[Effect], unit: fn(&Figure) -> &str) -> Vec<Value> {
    let each = FIGURES.iter().zip(effects).map(|(figure, effect)| {
        let interval = effect.interval.as_ref();
        json!({
            "figure": figure.name,
            "unit": unit(figure),
            "median": effect.median,
            "ci95": interval.map(|(ends, _)| ends),
            "interval": interval.map(|(_, basis)| basis.name()),
        })
    });
    each.collect()
}

/// What intervals of so many seeds are, in a sentence for whoever reads them as text.
pub(super) fn footnote(seeds: usize, effects: usize) -> String {
    let basis = match seeds {
        0 | 1 => {
            return "One seed makes no interval: any of these differences may be chance. Give \
                    --seeds 3, or more, for intervals."
                .to_owned();
        }
        2..=5 => {
            "by Student's t, which takes differences to be normally distributed; six seeds \
                  need no such assumption"
        }
        _ => "of the median, by order statistics",
    };
    format!(
        "Paired by seed, {seeds} seeds; in brackets 95 % intervals {basis}. Where one holds 0: no \
         difference. Of {effects} intervals about {:.0} leave 0 out by chance alone.",
        effects as f64 / 20.0
    )
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    /// Student's distribution function in closed form (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    fn cumulative(degrees: usize, t: f64) -> f64 {
        let angle = (t / (degrees as f64).sqrt()).atan();
        let (sine, cosine) = angle.sin_cos();
        let within = match degrees {
            1 => 2.0 / PI * angle,
            2 => sine,
            3 => 2.0 / PI * (angle + sine * cosine),
            4 => sine * (1.0 + cosine * cosine / 2.0),
            _ => unreachable!("no quantile of more"),
        };
        0.5 + within / 2.0
    }

    #[test]
    fn quantiles_are_those_of_the_distribution() {
        for (index, quantile) in STUDENT.into_iter().enumerate() {
            let share = cumulative(index + 1, quantile);
            assert!((share - 0.975).abs() < 1e-7, "{quantile}: {share}");
        }
    }

    #[test]
    fn few_seeds_have_an_interval_and_one_has_none() {
        let one = Effect::of(&[-3.0]).expect("a number");
        assert_eq!((one.interval, one.differs()), (None, None));
        assert_eq!(one.text("%"), "-3.00 %");
        // A mean of 2, a standard deviation of 1: 4.3027 / sqrt(3) = 2.4841 on both sides.
        let three = Effect::of(&[3.0, 1.0, 2.0]).expect("numbers");
        let ([low, high], basis) = three.interval.expect("of three seeds");
        assert_eq!((basis, three.median), (Basis::Student, 2.0));
        assert!((low + 0.4841).abs() < 1e-4 && (high - 4.4841).abs() < 1e-4);
        let six = Effect::of(&[-6.0, -1.0, -2.0, -4.0, -3.0, -5.0]).expect("numbers");
        let (ends, basis) = six.interval.expect("of six seeds");
        assert_eq!((ends, basis), ([-6.0, -1.0], Basis::OrderStatistics));
    }

    #[test]
    fn an_interval_that_holds_0_is_no_difference() {
        let none = Effect::of(&[3.0, 1.0, 2.0]).expect("numbers");
        assert_eq!(none.differs(), Some(false));
        assert_eq!(none.text("GB"), "no difference [-0.48, +4.48] GB");
        let some = Effect::of(&[-3.0, -3.1, -2.9]).expect("numbers");
        assert_eq!(some.differs(), Some(true));
        assert_eq!(some.text("%"), "-3.00 [-3.25, -2.75] %");
        let unchanged = Effect::of(&[0.0; 3]).expect("numbers");
        assert_eq!(unchanged.differs(), Some(false));
        assert_eq!(unchanged.text("%"), "unchanged");
    }

    /// Where the interval of few seeds is around a mean, the median that stands beside it lies
    /// within: they are never further apart than a standard deviation.
    #[test]
    fn the_median_lies_in_its_interval() {
        let skewed: [&[f64]; 4] = [
            &[0.0, 9.0],
            &[0.0, 0.0, 9.0],
            &[0.0, 0.0, 0.0, 9.0],
            &[0.0, 0.0, 9.0, 9.0, 9.0],
        ];
        for samples in skewed {
            let effect = Effect::of(samples).expect("numbers");
            let ([low, high], _) = effect.interval.expect("of several seeds");
            assert!(low <= effect.median && effect.median <= high, "{samples:?}");
        }
    }
}
