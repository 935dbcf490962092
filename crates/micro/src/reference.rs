//! What a loop costs without the operation it is there for.

/// Attempts, of which the quickest counts: nothing makes a loop run quicker than it can.
const ATTEMPTS: usize = 16;

/// The cost in nanoseconds of `n` turns of an empty loop, to be subtracted from one with content.
/// `run` times a number of turns.
///
/// The least is subtracted, not a mean: a difference can then be negative only if the operation
/// costs nothing. That the loop was not optimised away is proven by its growth: a loop that the
/// compiler removed, or folded, costs the same for half as many turns.
///
/// # Errors
/// If it does not cost something, or not more for more turns.
pub(crate) fn reference_ns(n: u64, mut run: impl FnMut(u64) -> f64) -> Result<f64, String> {
    let mut least = |turns| {
        (0..ATTEMPTS)
            .map(|_| run(turns))
            .fold(f64::INFINITY, f64::min)
    };
    let (half, whole) = (least(n / 2), least(n));
    // The clock and the last fence are in both and cost as much as hundreds of turns, so a real
    // loop need not double; one that the compiler removed grows by a step of the clock at most.
    if half > 0.0 && whole >= 1.25 * half {
        Ok(whole)
    } else {
        Err(format!(
            "the reference loop was not measurable: {half:.1} ns for {} turns, {whole:.1} ns for \
             {n}; use more lines a batch",
            n / 2
        ))
    }
}

/// What is left of `whole_ns` for each of `n` operations, if it is more than the reference.
///
/// # Errors
/// If there is nothing left: an operation below the resolution is absent, never 0.
pub(crate) fn cost_ns(whole_ns: f64, reference_ns: f64, n: u64) -> Result<f64, String> {
    let left = whole_ns - reference_ns;
    if left > 0.0 {
        Ok(left / n as f64)
    } else {
        Err(format!(
            "below the resolution: {n} operations took {whole_ns:.1} ns, the loop without them \
             {reference_ns:.1} ns"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_does_not_grow_was_optimised_away() {
        assert!(reference_ns(1000, |_| 7.0).is_err());
        assert!(reference_ns(1000, |_| 0.0).is_err());
        let mut noise = 0.0;
        let noisy = |turns| {
            noise = (noise + 37.0) % 100.0;
            turns as f64 + noise
        };
        let least = reference_ns(1000, noisy).unwrap();
        assert!((1000.0..1100.0).contains(&least), "{least}");
    }

    #[test]
    fn what_costs_less_than_nothing_is_no_figure() {
        assert!(cost_ns(10.0, 10.0, 4).is_err());
        assert!(cost_ns(9.0, 10.0, 4).is_err());
        assert!((cost_ns(50.0, 10.0, 4).unwrap() - 10.0).abs() < 1e-12);
    }
}
