//! Ways to publish down, ways to observe across, and in each cell the marks of both metrics: every
//! column has the same axis, so that cells compare down and across.

use super::axis::Axis;
use super::dots::{AXIS_END, Mark, fit};
use super::page::{BODY, GAP, MARGIN, Page, SMALL, WIDTH};
use super::palette::{GRID, INK, MARKER, MUTED, style};
use super::scene::Point;
use super::visibility::{METRICS, lines};
use crate::condition::{Condition, capital};
use crate::phrase;
use crate::text;

/// The widest that the column of ways to publish may be.
const NAMES: i32 = 120;

const CORNER: &str = "publish by";

/// Conditions that differ in how they publish and observe.
pub(super) struct Matrix<'a> {
    conditions: &'a [Condition<'a>],
    publishes: Vec<String>,
    /// The width of the names of ways to publish.
    names: i32,
    columns: Vec<Column<'a>>,
}

/// One way to observe.
struct Column<'a> {
    observe: String,
    axis: Axis<'a>,
    left: i32,
    width: i32,
}

impl<'a> Matrix<'a> {
    pub(super) fn of(conditions: &'a [Condition<'a>]) -> Self {
        let publishes = values(conditions, "publish");
        let mut observes = values(conditions, "observe");
        observes.sort();
        let widths = publishes.iter().map(|name| text::width(name, BODY));
        let least = text::width(CORNER, SMALL);
        let names = widths.max().unwrap_or(0).clamp(least, NAMES);
        let left = MARGIN + names + 2 * GAP;
        let width = (WIDTH - MARGIN - left) / observes.len() as i32;
        let marks = marks(conditions);
        let column = |(index, observe): (usize, String)| {
            let left = left + index as i32 * width;
            let axis = fit(&marks, left + MARKER, width - GAP - AXIS_END);
            Column {
                observe,
                axis,
                left,
                width: width - GAP,
            }
        };
        let columns = observes.into_iter().enumerate().map(column).collect();
        Self {
            conditions,
            publishes,
            names,
            columns,
        }
    }
}

fn marks<'a>(conditions: &[Condition<'a>]) -> Vec<Mark<'a>> {
    let of = |(metric, _): &(&str, &str)| {
        let marks = conditions.iter();
        let marks = marks.filter_map(|one| Mark::of(one, metric, style(0)));
        marks.collect::<Vec<_>>()
    };
    METRICS.iter().flat_map(of).collect()
}

/// A parameter's value; a mark of its absence where the record has none.
fn value(condition: &Condition<'_>, param: &str) -> String {
    condition.param(param).unwrap_or_else(|| "?".to_owned())
}

/// Values of a parameter, in the order in which they first appear.
fn values(conditions: &[Condition<'_>], param: &str) -> Vec<String> {
    let mut values = Vec::new();
    for condition in conditions {
        let value = value(condition, param);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

impl Page {
    pub(super) fn matrix(&mut self, matrix: &Matrix<'_>) {
        self.y += GAP;
        let count = lines(&matrix.conditions[0]);
        self.paragraph(BODY, INK, &capital(&phrase::counted(count, "line")));
        self.y += GAP;
        self.matrix_head(matrix);
        for publish in &matrix.publishes {
            self.matrix_row(matrix, publish);
        }
        if !marks(matrix.conditions).is_empty() {
            let columns = matrix.columns.iter();
            let scales = columns.map(|column| self.scale(self.y, &column.axis));
            self.y += scales.max().unwrap_or(0);
        }
    }

    fn matrix_head(&mut self, matrix: &Matrix<'_>) {
        let corner = (MARGIN, self.y);
        self.scene.text(corner, SMALL, MUTED, CORNER);
        let heads = matrix.columns.iter().map(|column| {
            let (at, text) = (
                (column.left, self.y),
                format!("observe by {}", column.observe),
            );
            self.scene.paragraph(at, SMALL, MUTED, column.width, &text)
        });
        self.y += heads.max().unwrap_or(0);
    }

    fn matrix_row(&mut self, matrix: &Matrix<'_>, publish: &str) {
        let right = (WIDTH - MARGIN, self.y);
        self.scene.line((MARGIN, self.y), right, GRID, 1);
        self.y += GAP / 2;
        let at = (MARGIN, self.y);
        let mut height = self.scene.paragraph(at, BODY, INK, matrix.names, publish);
        for column in &matrix.columns {
            let here = matrix.conditions.iter().filter(|one| {
                value(one, "publish") == publish && value(one, "observe") == column.observe
            });
            height = height.max(self.cell(&here.collect::<Vec<_>>(), column));
        }
        self.y += height + GAP / 2;
    }

    /// Draws a cell and returns its height.
    fn cell(&mut self, conditions: &[&Condition<'_>], column: &Column<'_>) -> i32 {
        let top = self.y;
        let mut at: Point = (column.left, top);
        for condition in conditions {
            if conditions.len() > 1 {
                let effort = condition.effort();
                at.1 += self
                    .scene
                    .paragraph(at, SMALL, MUTED, column.width, &effort);
            }
            for (index, (metric, name)) in METRICS.iter().enumerate() {
                if let Some(mark) = Mark::of(condition, metric, style(index)) {
                    at.1 += self.value(at, column.width, &mark, &column.axis);
                    at.1 += self.strip(at.1, &mark, &column.axis);
                } else if index == 0 && condition.absence(metric).is_some() {
                    let text = format!("no {name}");
                    at.1 += self.scene.paragraph(at, BODY, MUTED, column.width, &text);
                }
            }
        }
        if at.1 == top {
            at.1 += self
                .scene
                .paragraph(at, BODY, MUTED, column.width, "not asked for");
        }
        at.1 - top
    }
}
