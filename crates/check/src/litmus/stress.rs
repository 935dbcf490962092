//! Repeating a litmus test on real lanes, and what a count is worth.

/// The largest probability of an outcome that is compatible, at 95 % confidence, with never having
/// seen it in `runs` independent runs: the solution of `(1 - p)^runs = 0.05`, which is near
/// `3 / runs` (Hanley, Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249,
/// 1983). Runs that share machine, placement and timing are not independent in the strict sense;
/// the bound speaks of repeating *these* runs.
pub fn never_seen_bound(runs: u64) -> f64 {
    if runs == 0 {
        return 1.0;
    }
    -(0.05f64.ln() / runs as f64).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_the_rule_of_three() {
        assert!((never_seen_bound(0) - 1.0).abs() < 1e-12);
        assert!((never_seen_bound(1) - 0.95).abs() < 1e-12);
        for runs in [1_000, 1_000_000] {
            let three = 3.0 / runs as f64;
            assert!((never_seen_bound(runs) / three - 1.0).abs() < 0.002);
        }
        assert!((1.0 - never_seen_bound(50)).powi(50) - 0.05 < 1e-12);
    }
}
