//! Conditions that differ in one quantity only, in its order.

use record::Row;

use super::chart::{Estimate, Line};
use super::palette::style;
use crate::condition::Condition;

/// A series over a quantity.
#[derive(Clone, Debug)]
pub(crate) struct Curve<'a> {
    pub(crate) name: String,
    /// The quantity and the row at it, ascending.
    pub(crate) points: Vec<(f64, &'a Row)>,
}

/// The curves of a metric: conditions of one name are one curve, so the name must hold everything
/// but the quantity that tells them apart.
pub(crate) fn curves<'a>(
    conditions: &[Condition<'a>],
    metric: &str,
    quantity: impl Fn(&Condition<'a>) -> Option<f64>,
    name: impl Fn(&Condition<'a>) -> String,
) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for condition in conditions {
        let (Some(row), Some(x)) = (condition.middle(metric), quantity(condition)) else {
            continue;
        };
        let name = name(condition);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push((x, row)),
            None => curves.push(Curve {
                name,
                points: vec![(x, row)],
            }),
        }
    }
    for curve in &mut curves {
        curve
            .points
            .sort_by(|left, right| left.0.total_cmp(&right.0));
    }
    curves
}

impl Curve<'_> {
    /// The curve as it is drawn. The names of all curves of a figure give it its style, so that a
    /// name looks the same in every panel.
    pub(super) fn line(&self, names: &[String]) -> Line {
        let index = names.iter().position(|name| *name == self.name);
        let points = self.points.iter();
        Line {
            name: self.name.clone(),
            style: style(index.unwrap_or(0)),
            points: points
                .filter_map(|(x, row)| Some((Estimate::exact(*x), Estimate::of(row)?)))
                .collect(),
        }
    }
}

/// The names of some curves, each once.
pub(super) fn names<'a>(curves: impl Iterator<Item = &'a Curve<'a>>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for curve in curves {
        if !names.contains(&curve.name) {
            names.push(curve.name.clone());
        }
    }
    names
}

/// What an axis of quantities, and one of medians, must hold.
pub(super) fn extent(lines: &[Line]) -> (Vec<f64>, Vec<f64>) {
    let points = || lines.iter().flat_map(|line| &line.points);
    (
        points().flat_map(|(x, _)| x.values()).collect(),
        points().flat_map(|(_, y)| y.values()).collect(),
    )
}
