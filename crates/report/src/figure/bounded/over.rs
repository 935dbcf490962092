//! One quantity varied, everything else alike: a line a way.

use super::{Setup, Subject, of_setup, place, said};
use crate::condition::Condition;
use crate::figure::chart::Chart;
use crate::figure::curve::{Curve, curves, extent, names};
use crate::figure::page::Page;
use crate::figure::ruler::Ruler;
use crate::phrase;
use crate::quantity::{Scale, digits};

/// Lines that one chart tells apart.
const MOST: usize = 8;

/// A metric over a parameter.
#[derive(Debug)]
pub(super) struct Over {
    metric: &'static str,
    quantity: &'static str,
    heading: &'static str,
    x_name: &'static str,
}

impl Over {
    pub(super) const fn new(
        metric: &'static str,
        quantity: &'static str,
        heading: &'static str,
        x_name: &'static str,
    ) -> Self {
        Self {
            metric,
            quantity,
            heading,
            x_name,
        }
    }

    /// Draws it, if the quantity was varied.
    pub(super) fn draw(&self, page: &mut Page, subject: &Subject, section: &[Condition<'_>]) {
        let Some((setup, mut found)) = self.richest(subject, section) else {
            return;
        };
        // Those that say most, then the greatest: eight styles tell lines apart.
        let last = |curve: &Curve<'_>| curve.points.last().and_then(|(_, row)| row.p50);
        found.sort_by(|a, b| {
            let length = b.points.len().cmp(&a.points.len());
            length.then(last(b).unwrap_or(0.0).total_cmp(&last(a).unwrap_or(0.0)))
        });
        let left_out = found.len().saturating_sub(MOST);
        found.truncate(MOST);
        let names = names(found.iter());
        let mut lines: Vec<_> = found.iter().map(|curve| curve.line(&names)).collect();
        for (line, curve) in lines.iter_mut().zip(&found) {
            if let Some((_, row)) = curve.points.last() {
                line.name = format!("{}: {}", curve.name, phrase::median(row));
            }
        }
        let (xs, ys) = extent(&lines);
        let unit = found[0].points[0].1.unit.as_str();
        let scale = Scale::fit(unit, ys.iter().copied());
        let y = Ruler::fit(scale, &ys);
        let plain = Scale::fit("", std::iter::empty());
        let doubles = xs.iter().all(|x| *x >= 1.0);
        let x = if doubles {
            Ruler::doubling(&xs, digits_of_count)
        } else {
            Ruler::linear(plain, &xs)
        };
        let unit = if scale.unit == "1" {
            String::new()
        } else {
            format!(" ({}{})", scale.unit, y.remark())
        };
        let more = match left_out {
            0 => String::new(),
            more => format!("; {more} more lines are in the table"),
        };
        page.chart(&Chart {
            heading: format!("{}{setup}{unit}{more}", self.heading),
            x: &x,
            x_name: self.x_name,
            y: &y,
            lines,
            guides: &[],
        });
    }

    /// The curves of the setup that has most of them, the quantity aside; and the setup's words.
    fn richest<'a>(
        &self,
        subject: &Subject,
        section: &[Condition<'a>],
    ) -> Option<(String, Vec<Curve<'a>>)> {
        let mut setups: Vec<(Setup, Vec<Condition<'a>>)> = Vec::new();
        for condition in section {
            let others = subject.setup.iter().filter(|name| **name != self.quantity);
            let values = others.map(|name| (*name, of_setup(subject, condition, name)));
            let values: Setup = values.collect();
            match setups.iter_mut().find(|(known, _)| *known == values) {
                Some((_, alike)) => alike.push(condition.clone()),
                None => setups.push((values, vec![condition.clone()])),
            }
        }
        let curves = |(values, alike): (Setup, Vec<Condition<'a>>)| {
            let words = said(subject, &values);
            let words = match words.as_str() {
                "" => words,
                words => format!(", {words}"),
            };
            (words, self.curves(subject, &alike))
        };
        let points = |(_, curves): &(String, Vec<Curve<'a>>)| -> usize {
            curves.iter().map(|curve| curve.points.len()).sum()
        };
        let found = setups.into_iter().map(curves).rev();
        // The last of several maxima counts: the setup that came first.
        found.max_by_key(points).filter(|found| points(found) > 0)
    }

    /// Of one place a name, with at least two points.
    fn curves<'a>(&self, subject: &Subject, alike: &[Condition<'a>]) -> Vec<Curve<'a>> {
        let name = |one: &Condition<'a>| {
            let name = subject.name(one, alike);
            let inside = place(subject, one) == 1 && !name.contains("hardware");
            if inside {
                format!("{name}, inside one host")
            } else {
                name
            }
        };
        let quantity = |one: &Condition<'a>| one.number(self.quantity);
        let mut found = curves(alike, self.metric, quantity, name);
        for curve in &mut found {
            // Trials of other effort or of other lanes at the same point: the first stands.
            curve.points.dedup_by(|later, first| later.0 <= first.0);
        }
        found.retain(|curve| curve.points.len() > 1);
        found
    }
}

fn digits_of_count(count: f64) -> String {
    let digits = digits(count);
    digits
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}
