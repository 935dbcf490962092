//! Marks along one axis: a median, its interval, its tail, and the medians beside it.
//!
//! Dots rather than bars: the intervals are what is compared.

use record::Row;

use super::axis::Axis;
use super::page::{BODY, GAP, Page, SMALL};
use super::palette::{GRID, MARKER, MUTED, Style, marker};
use super::scene::{Point, Shape, pitch};
use crate::condition::Condition;
use crate::quantity::Scale;
use crate::text;

/// The height of one line of marks.
pub(super) const BAND: i32 = 20;

/// What the marks mean.
pub(super) const KEY: &str = "Marker: median; where the pod has no row of its own, that of the \
                              pair or trial in the middle. Thick line: its 95 % interval. Thin \
                              line: to its 99th percentile. Ticks: medians of single hosts, \
                              pairs or trials.";

/// A row to mark, and the medians that stand beside it.
#[derive(Clone, Debug)]
pub(super) struct Mark<'a> {
    pub(super) row: &'a Row,
    beside: Vec<f64>,
    style: Style,
}

impl<'a> Mark<'a> {
    /// The mark of a metric under a condition; none where it has no value.
    pub(super) fn of(condition: &Condition<'a>, metric: &str, style: Style) -> Option<Self> {
        let row = condition.middle(metric)?;
        let others = condition.measured(metric);
        Some(Self {
            row,
            beside: others.filter_map(|other| other.p50).collect(),
            style,
        })
    }
}

/// An axis wide enough for all but the longest tails.
pub(super) fn fit<'a>(marks: &[Mark<'a>], left: i32, width: i32) -> Axis<'a> {
    let (mut held, mut tails) = (Vec::new(), Vec::new());
    for mark in marks {
        held.extend(mark.row.p50);
        held.extend(mark.row.ci95.map(|ci| ci[1]));
        held.extend(&mark.beside);
        tails.extend(mark.row.p99);
    }
    let unit = marks.first().map_or("", |mark| mark.row.unit.as_str());
    Axis::fit(unit, &held, &tails, left, width)
}

/// The median, and its interval; the tail's value too where it is beyond the axis.
pub(super) fn value_text(row: &Row, axis: &Axis<'_>) -> String {
    let scale = axis.scale;
    let median = row.p50.map_or(String::new(), |p50| scale.digits(p50));
    let interval = row.ci95.map_or(String::new(), |[low, high]| {
        format!("[{}, {}] ", scale.digits(low), scale.digits(high))
    });
    let said = format!("{median} {interval}{}", scale.unit);
    match row.p99 {
        // In a unit of its own: it may be thousands of times the median.
        Some(p99) if axis.place(p99).1 => {
            let tail = Scale::fit(&row.unit, [p99].into_iter());
            format!(
                "{said}, {}",
                text::unbroken(&format!("p99 {}", tail.show(p99)))
            )
        }
        _ => said,
    }
}

impl Page {
    /// Draws a mark's line at `y` and returns its height.
    pub(super) fn strip(&mut self, y: i32, mark: &Mark<'_>, axis: &Axis<'_>) -> i32 {
        let Some(p50) = mark.row.p50 else { return 0 };
        let (middle, style) = (y + BAND / 2, mark.style);
        for (x, _) in axis.ticks() {
            self.scene.line((x, y), (x, y + BAND), GRID, 1);
        }
        for other in &mark.beside {
            let (x, _) = axis.place(*other);
            self.scene
                .line((x, middle - 7), (x, middle + 7), style.pale, 1);
        }
        let (center, _) = axis.place(p50);
        if let Some(p99) = mark.row.p99 {
            let (end, beyond) = axis.place(p99);
            self.scene
                .line((center, middle), (end, middle), style.color, 1);
            self.scene.shapes.push(tail((end, middle), beyond, style));
        }
        if let Some([low, high]) = mark.row.ci95 {
            let (low, high) = (axis.place(low).0, axis.place(high).0);
            self.scene
                .line((low, middle), (high, middle), style.color, 5);
        }
        self.scene.shapes.push(marker((center, middle), style));
        BAND
    }

    /// Draws a mark's value at `(x, y)` and returns its height.
    pub(super) fn value(
        &mut self,
        (x, y): Point,
        limit: i32,
        mark: &Mark<'_>,
        axis: &Axis<'_>,
    ) -> i32 {
        let said = value_text(mark.row, axis);
        self.scene
            .paragraph((x, y), BODY, mark.style.color, limit, &said)
    }

    /// Draws an axis at `y`, its unit behind its last tick, and returns its height.
    pub(super) fn scale(&mut self, y: i32, axis: &Axis<'_>) -> i32 {
        let ticks = axis.ticks();
        let (first, last) = (ticks[0].0, ticks[ticks.len() - 1].0);
        self.scene.line((first, y), (last, y), MUTED, 1);
        let mut free = 0;
        let count = ticks.len();
        for (index, (x, digits)) in ticks.into_iter().enumerate() {
            self.scene.line((x, y), (x, y + 4), MUTED, 1);
            let text = if index + 1 == count {
                format!("{digits} {}", axis.scale.unit)
            } else {
                digits.clone()
            };
            let left = x - text::width(&digits, SMALL) / 2;
            if left >= free {
                self.scene.text((left, y + 6), SMALL, MUTED, &text);
                free = left + text::width(&text, SMALL) + GAP;
            }
        }
        6 + pitch(SMALL)
    }
}

/// The end of a tail: a cap, or an arrow where the tail goes on beyond the axis.
fn tail(end: Point, beyond: bool, style: Style) -> Shape {
    let (x, y) = end;
    if beyond {
        let corners = vec![(x - 6, y - 4), (x, y), (x - 6, y + 4)];
        return Shape::Polygon {
            corners,
            color: style.color,
        };
    }
    Shape::Line {
        from: (x, y - 4),
        to: (x, y + 4),
        color: style.color,
        width: 1,
    }
}

/// Room at the right of an axis for its last tick's number and unit.
pub(super) const AXIS_END: i32 = 2 * MARKER + 44;
