//! A law of two causes, fitted to some conditions and tested on the others.

use serde::Serialize;

/// One condition: how many bytes, how many operations, how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) bytes: f64,
    pub(super) operations: f64,
    pub(super) ns: f64,
}

/// `time = base + per byte * bytes + per operation * operations`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Nanoseconds that are always spent.
    pub base_ns: f64,
    /// Nanoseconds a republished byte.
    pub ns_per_byte: f64,
    /// Nanoseconds an operation.
    pub ns_per_operation: f64,
}

impl Line {
    /// What it says of a condition.
    pub(super) fn predict(&self, point: &Point) -> f64 {
        self.base_ns + self.ns_per_byte * point.bytes + self.ns_per_operation * point.operations
    }

    /// Bytes that cost as much as one operation; none where bytes cost nothing.
    pub fn break_even_bytes(&self) -> Option<f64> {
        (self.ns_per_byte > 0.0).then(|| self.ns_per_operation / self.ns_per_byte)
    }

    /// The line of least relative squares through `points`; none where they do not determine one.
    ///
    /// Relative, because the longest condition takes hundreds of times what the shortest does, and
    /// would decide alone.
    pub(super) fn through(points: &[Point]) -> Option<Self> {
        let mut normal = [[0.0; 4]; 3];
        for point in points {
            let causes = [1.0, point.bytes, point.operations].map(|cause| cause / point.ns);
            for (row, &cause) in normal.iter_mut().zip(&causes) {
                for (cell, other) in row.iter_mut().zip(causes.iter().chain(&[1.0])) {
                    *cell += cause * other;
                }
            }
        }
        let [base_ns, ns_per_byte, ns_per_operation] = solve(normal)?;
        Some(Self {
            base_ns,
            ns_per_byte,
            ns_per_operation,
        })
    }
}

/// Gaussian elimination with the largest pivot; columns are scaled, since bytes outnumber
/// operations by thousands.
fn solve(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    let scale = [0, 1, 2].map(|column| rows[column][column].sqrt());
    for (index, row) in rows.iter_mut().enumerate() {
        for (column, cell) in row.iter_mut().enumerate() {
            *cell /= scale[index] * scale.get(column).copied().unwrap_or(1.0);
        }
    }
    for column in 0..3 {
        let size = |row: &usize| rows[*row][column].abs();
        let pivot = (column..3).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        // Below rounding, the causes did not vary independently of each other.
        if rows[pivot][column].is_nan() || rows[pivot][column].abs() < 1e-9 {
            return None;
        }
        rows.swap(column, pivot);
        let head = rows[column];
        for row in (0..3).filter(|row| *row != column) {
            let factor = rows[row][column] / head[column];
            for (cell, from) in rows[row].iter_mut().zip(head) {
                *cell -= factor * from;
            }
        }
    }
    let solution = [0, 1, 2].map(|index| rows[index][3] / rows[index][index] / scale[index]);
    solution
        .iter()
        .all(|value| value.is_finite())
        .then_some(solution)
}

/// Splits points for a fair test: fitted are those whose bytes and operations both are at the
/// first, third, fifth .. level; tested is every condition with a level that the fit has not seen.
pub(super) fn split(points: &[Point]) -> (Vec<Point>, Vec<Point>) {
    let bytes = levels(points.iter().map(|point| point.bytes));
    let operations = levels(points.iter().map(|point| point.operations));
    let even = |levels: &[f64], value: f64| {
        levels
            .iter()
            .position(|level| level.total_cmp(&value).is_eq())
            .is_some_and(|at| at % 2 == 0)
    };
    let fitted = |point: &&Point| even(&bytes, point.bytes) && even(&operations, point.operations);
    (
        points.iter().filter(fitted).copied().collect(),
        points
            .iter()
            .filter(|point| !fitted(point))
            .copied()
            .collect(),
    )
}

fn levels(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut levels: Vec<f64> = values.collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: impl Fn(f64, f64) -> f64) -> Vec<Point> {
        let mut points = Vec::new();
        for bytes in [256.0, 1024.0, 4096.0, 16384.0, 65536.0] {
            for operations in [1.0, 4.0, 16.0] {
                let ns = of(bytes, operations);
                points.push(Point {
                    bytes,
                    operations,
                    ns,
                });
            }
        }
        points
    }

    #[test]
    fn a_law_is_found_again_and_foretells_what_was_left_out() {
        let truth = points(|bytes, operations| 5_000.0 + 2.5 * bytes + 3_000.0 * operations);
        let (fitted, tested) = split(&truth);
        assert_eq!((fitted.len(), tested.len()), (6, 9));
        assert!(tested.iter().all(|point| !fitted.contains(point)));
        let line = Line::through(&fitted).unwrap();
        for point in &tested {
            assert!(
                (line.predict(point) / point.ns - 1.0).abs() < 1e-6,
                "{line:?}"
            );
        }
        let even = line.break_even_bytes().unwrap();
        assert!((even - 1_200.0).abs() < 0.01, "{even}");
    }

    #[test]
    fn what_did_not_vary_has_no_law() {
        let same: Vec<Point> = points(|_, _| 7.0)
            .into_iter()
            .map(|point| Point {
                operations: 1.0,
                ..point
            })
            .collect();
        assert_eq!(Line::through(&same), None);
        assert_eq!(Line::through(&[]), None);
    }
}
