//! Numbers with their unit, for people.

/// A unit for a whole column or axis: readers compare digits, so units never mix within one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale<'a> {
    divisor: f64,
    /// The unit's name.
    pub(crate) unit: &'a str,
}

impl<'a> Scale<'a> {
    /// The unit in which the greatest of some values reads well.
    pub(crate) fn fit(unit: &'a str, values: impl Iterator<Item = f64>) -> Self {
        let greatest = values.fold(0.0, f64::max);
        let (divisor, unit) = match unit {
            "ns" if greatest >= 1e10 => (1e9, "s"),
            "ns" if greatest >= 1e7 => (1e6, "ms"),
            "ns" if greatest >= 1e4 => (1e3, "us"),
            "1/s" if greatest >= 1e7 => (1e6, "M/s"),
            "1/s" if greatest >= 1e4 => (1e3, "k/s"),
            same => (1.0, same),
        };
        Self { divisor, unit }
    }

    /// The value's digits in this unit.
    pub(crate) fn digits(self, value: f64) -> String {
        digits(value / self.divisor)
    }

    /// The value's digits and the unit.
    pub(crate) fn show(self, value: f64) -> String {
        format!("{} {}", self.digits(value), self.unit)
    }

    /// A number of this unit, in the record's unit.
    pub(crate) fn in_record(self, number: f64) -> f64 {
        number * self.divisor
    }

    /// A value of the record, as a number of this unit.
    pub(crate) fn in_unit(self, value: f64) -> f64 {
        value / self.divisor
    }
}

/// Three significant digits, all digits of a whole part, at most three decimals.
pub(crate) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        magnitude if magnitude >= 99.95 => 0,
        magnitude if magnitude >= 9.995 => 1,
        magnitude if magnitude >= 0.9995 => 2,
        magnitude if magnitude > 0.0 => 3,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_significant() {
        let shown = [0.0, 0.1234, 1.0, 9.996, 12.34, 99.96, 312.4, 123_456.7].map(digits);
        assert_eq!(
            shown,
            ["0", "0.123", "1.00", "10.0", "12.3", "100", "312", "123457"]
        );
    }

    #[test]
    fn one_unit_fits_all_values() {
        let scale = Scale::fit("ns", [5.0, 20_000.0].into_iter());
        assert_eq!(scale.show(20_000.0), "20.0 us");
        assert_eq!(scale.show(5.0), "0.005 us");
        assert_eq!(Scale::fit("ns", [9_000.0].into_iter()).unit, "ns");
        assert_eq!(Scale::fit("GB/s", [1e12].into_iter()).unit, "GB/s");
    }
}
