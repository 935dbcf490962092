//! Lines over a quantity: medians, their intervals, and a name at the end of each line.
//!
//! Names stand beside the lines rather than in a legend; where line ends meet, the names move
//! apart and a thin line leads back.

use record::Row;

use super::page::{BODY, GAP, MARGIN, Page, SMALL, WIDTH};
use super::palette::{GRID, INK, MARKER, MUTED, Style, marker};
use super::ruler::Ruler;
use super::scene::pitch;
use crate::text;

/// The least height of a chart's plot.
const HEIGHT: i32 = 190;
/// The widest that names may be before they are broken into lines.
const NAMES: i32 = 200;

/// A median with its interval, on one axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) median: f64,
    pub(super) interval: Option<[f64; 2]>,
}

impl Estimate {
    /// A row's; none where it has no median.
    pub(super) fn of(row: &Row) -> Option<Self> {
        Some(Self {
            median: row.p50?,
            interval: row.ci95,
        })
    }

    /// A value that was set, not measured.
    pub(super) fn exact(median: f64) -> Self {
        Self {
            median,
            interval: None,
        }
    }

    /// All that an axis must hold.
    pub(super) fn values(self) -> impl Iterator<Item = f64> {
        self.interval.into_iter().flatten().chain([self.median])
    }
}

/// A series: what it is called, and its points in drawing order.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) style: Style,
    pub(super) points: Vec<(Estimate, Estimate)>,
}

/// One panel.
#[derive(Debug)]
pub(super) struct Chart<'a> {
    pub(super) heading: String,
    pub(super) x: &'a Ruler,
    pub(super) x_name: &'a str,
    pub(super) y: &'a Ruler,
    pub(super) lines: Vec<Line>,
    /// Values of x that have a name of their own, such as the size of a cache.
    pub(super) guides: &'a [(f64, String)],
}

/// The plot's rectangle.
#[derive(Clone, Copy, Debug)]
struct Plot {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

/// A name, in lines, and where it wants to be.
struct Name {
    line: usize,
    text: Vec<String>,
    top: i32,
}

impl Name {
    fn height(&self) -> i32 {
        self.text.len() as i32 * pitch(SMALL)
    }
}

impl Page {
    pub(super) fn chart(&mut self, chart: &Chart<'_>) {
        self.y += GAP;
        self.paragraph(BODY, INK, &chart.heading);
        self.y += GAP;
        let ticks = chart.y.ticks.iter();
        let digits = ticks.map(|(_, text)| text::width(text, SMALL)).max();
        let left = MARGIN + digits.unwrap_or(0) + GAP;
        let mut names: Vec<Name> = chart.lines.iter().enumerate().map(name).collect();
        let widest = names.iter().flat_map(|name| &name.text);
        let widest = widest.map(|text| text::width(text, SMALL)).max();
        let right = WIDTH - MARGIN - widest.unwrap_or(0) - 3 * GAP;
        let tall: i32 = names.iter().map(Name::height).sum();
        let (guides, top) = self.guides(chart, left, right);
        let plot = Plot {
            left,
            right,
            top,
            bottom: top + HEIGHT.max(tall + pitch(SMALL)),
        };
        self.grid(chart, plot);
        for x in guides {
            self.scene.line((x, plot.top), (x, plot.bottom), MUTED, 1);
        }
        for line in &chart.lines {
            self.line(chart, line, plot);
        }
        self.names(chart, &mut names, plot);
        self.y = plot.bottom + GAP + pitch(SMALL);
        self.paragraph(SMALL, MUTED, chart.x_name);
    }

    /// Names of the guides in as many rows as they need; the guides' pixels, and the plot's top.
    fn guides(&mut self, chart: &Chart<'_>, left: i32, right: i32) -> (Vec<i32>, i32) {
        let mut rows: Vec<i32> = Vec::new();
        let mut pixels = Vec::new();
        for (value, name) in chart
            .guides
            .iter()
            .filter(|(value, _)| chart.x.holds(*value))
        {
            let x = chart.x.place(*value, left, right);
            let row = rows.iter().position(|end| *end <= x);
            let row = row.unwrap_or_else(|| {
                rows.push(0);
                rows.len() - 1
            });
            rows[row] = x + text::width(name, SMALL) + 2 * GAP;
            let y = self.y + row as i32 * pitch(SMALL);
            self.scene.text((x, y), SMALL, MUTED, name);
            pixels.push(x);
        }
        let rows = rows.len() as i32;
        (pixels, self.y + rows * pitch(SMALL) + GAP / 2)
    }

    fn grid(&mut self, chart: &Chart<'_>, plot: Plot) {
        let mut free = i32::MAX;
        for (value, digits) in &chart.y.ticks {
            let y = chart.y.place(*value, plot.bottom, plot.top);
            self.scene.line((plot.left, y), (plot.right, y), GRID, 1);
            let top = y - SMALL / 2;
            if top + pitch(SMALL) <= free {
                let x = plot.left - GAP - text::width(digits, SMALL);
                self.scene.text((x, top), SMALL, MUTED, digits);
                free = top;
            }
        }
        let base = plot.bottom;
        self.scene
            .line((plot.left, base), (plot.right, base), MUTED, 1);
        let mut free = 0;
        for (value, text) in &chart.x.ticks {
            let x = chart.x.place(*value, plot.left, plot.right);
            self.scene.line((x, base), (x, base + 4), MUTED, 1);
            let width = text::width(text, SMALL);
            let left = (x - width / 2).clamp(MARGIN, WIDTH - MARGIN - width);
            if left >= free {
                self.scene.text((left, base + GAP), SMALL, MUTED, text);
                free = left + width + GAP;
            }
        }
    }

    fn line(&mut self, chart: &Chart<'_>, line: &Line, plot: Plot) {
        let x = |value| chart.x.place(value, plot.left, plot.right);
        let y = |value| chart.y.place(value, plot.bottom, plot.top);
        let color = line.style.color;
        let at = |point: &(Estimate, Estimate)| (x(point.0.median), y(point.1.median));
        for pair in line.points.windows(2) {
            self.scene.line(at(&pair[0]), at(&pair[1]), color, 2);
        }
        for point in &line.points {
            let center = at(point);
            if let Some([low, high]) = point.0.interval {
                let (low, high) = ((x(low), center.1), (x(high), center.1));
                self.scene.line(low, high, color, 3);
            }
            if let Some([low, high]) = point.1.interval {
                let (low, high) = ((center.0, y(low)), (center.0, y(high)));
                self.scene.line(low, high, color, 3);
                for (x, y) in [low, high] {
                    self.scene.line((x - 4, y), (x + 4, y), color, 1);
                }
            }
            self.scene.shapes.push(marker(center, line.style));
        }
    }

    fn names(&mut self, chart: &Chart<'_>, names: &mut [Name], plot: Plot) {
        let end = |index: usize| {
            let line: &Line = &chart.lines[index];
            line.points.last().map(|(x, y)| {
                (
                    chart.x.place(x.median, plot.left, plot.right),
                    chart.y.place(y.median, plot.bottom, plot.top),
                )
            })
        };
        for name in names.iter_mut() {
            name.top = end(name.line).map_or(plot.top, |(_, y)| y - pitch(SMALL) / 2);
        }
        names.sort_by_key(|name| name.top);
        part(names, plot.top - pitch(SMALL) / 2, plot.bottom);
        for name in names {
            let style = chart.lines[name.line].style;
            let x = plot.right + 3 * GAP;
            if let Some((end_x, end_y)) = end(name.line) {
                let (from, to) = (
                    (end_x + MARKER, end_y),
                    (x - 2, name.top + pitch(SMALL) / 2),
                );
                self.scene.line(from, to, style.pale, 1);
            }
            for (index, text) in name.text.iter().enumerate() {
                let y = name.top + index as i32 * pitch(SMALL);
                self.scene.text((x, y), SMALL, style.color, text);
            }
        }
    }
}

fn name((line, of): (usize, &Line)) -> Name {
    Name {
        line,
        text: text::wrap(&of.name, SMALL, NAMES),
        top: 0,
    }
}

/// Moves names, sorted by where they want to be, apart: down, then up from the bottom.
fn part(names: &mut [Name], top: i32, bottom: i32) {
    let mut free = top;
    for name in names.iter_mut() {
        name.top = name.top.max(free);
        free = name.top + name.height();
    }
    let mut limit = bottom;
    for name in names.iter_mut().rev() {
        name.top = name.top.min(limit - name.height());
        limit = name.top;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_meet_move_apart_and_stay_within() {
        let at = |top| Name {
            line: 0,
            text: vec![String::new()],
            top,
        };
        let mut names = vec![at(0), at(150), at(150), at(155)];
        part(&mut names, 0, 170);
        for pair in names.windows(2) {
            assert!(pair[0].top + pair[0].height() <= pair[1].top);
        }
        assert!(names[0].top >= 0 && names[3].top + names[3].height() <= 170);
    }
}
