//! Differences around zero: a name a row, beside it a mark in each of several panels, so that what
//! one change does to each figure is read along a line.

use super::chart::Estimate;
use super::page::{GAP, MARGIN, Page, SMALL, WIDTH};
use super::palette::{GRID, INK, MUTED, Style, marker};
use super::ruler::Ruler;
use super::scene::{Shape, pitch};
use crate::text;

/// The widest that the column of names may be before names are broken into lines.
const NAMES: i32 = 178;

/// Between a panel's edge and its axis, for half a tick's number.
const EDGE: i32 = 18;

/// How many times the next strongest difference one may be before the axis leaves it out: beside
/// it, no other could be told from 0.
const FAR: f64 = 4.0;

/// Differences that an axis leaves out at most, and of how many it leaves out one: what few rows
/// differ by is what there is to see.
const MOST_OUT: usize = 2;
const ONE_OF: usize = 6;

/// A row: its name, and of each series the difference of each panel's figure.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) series: Vec<Vec<Option<Estimate>>>,
}

/// Whether a difference is told from 0: only by an interval that leaves it out.
pub(super) fn differs(estimate: Estimate) -> bool {
    let told = |[low, high]: [f64; 2]| low > 0.0 || high < 0.0;
    estimate.interval.is_some_and(told)
}

/// One panel's axis, and where it lies.
struct Panel {
    ruler: Ruler,
    left: i32,
    right: i32,
}

impl Panel {
    fn of(estimates: &[Estimate], left: i32, right: i32) -> Self {
        Self {
            ruler: Ruler::signed(&held(estimates)),
            left: left + EDGE,
            right: right - EDGE,
        }
    }

    fn place(&self, value: f64) -> i32 {
        self.ruler.place(value, self.left, self.right)
    }
}

/// What an axis has to hold: every end, but for differences far beyond all others.
fn held(estimates: &[Estimate]) -> Vec<f64> {
    let reach = |one: &Estimate| one.values().map(f64::abs).fold(0.0, f64::max);
    let mut strongest: Vec<&Estimate> = estimates.iter().collect();
    strongest.sort_by(|a, b| reach(b).total_cmp(&reach(a)));
    let far = strongest
        .windows(2)
        .take(MOST_OUT.min(estimates.len() / ONE_OF));
    let out = far.enumerate().filter(|(_, pair)| {
        let next = reach(pair[1]);
        next > 0.0 && pair[0].median.abs() > FAR * next
    });
    let out = out.map(|(index, _)| index + 1).max().unwrap_or(0);
    let near = strongest[out..].iter();
    near.flat_map(|one| one.values()).collect()
}

impl Page {
    /// Rows under headings, a panel each. `styles` are those of the series.
    pub(super) fn forest(&mut self, headings: &[String], entries: &[Entry], styles: &[Style]) {
        let broken: Vec<Vec<String>> = entries
            .iter()
            .map(|entry| text::wrap(&entry.name, SMALL, NAMES))
            .collect();
        let widths = broken.iter().flatten().map(|line| text::width(line, SMALL));
        let from = MARGIN + widths.max().unwrap_or(0) + GAP;
        let each = (WIDTH - MARGIN - from) / headings.len() as i32;
        let panels: Vec<Panel> = (0..headings.len())
            .map(|panel| {
                let all = entries.iter().flat_map(|entry| &entry.series);
                let estimates: Vec<Estimate> = all.filter_map(|series| series[panel]).collect();
                let left = from + panel as i32 * each;
                Panel::of(&estimates, left, left + each)
            })
            .collect();
        self.headings(headings, &panels, each);
        let top = self.y;
        for (entry, lines) in entries.iter().zip(&broken) {
            self.entry(entry, lines, &panels, styles);
        }
        for panel in &panels {
            self.axis(panel, top);
        }
        self.y += GAP + pitch(SMALL);
    }

    fn headings(&mut self, headings: &[String], panels: &[Panel], each: i32) {
        let mut tallest = 0;
        for (heading, panel) in headings.iter().zip(panels) {
            let (at, limit) = ((panel.left - EDGE, self.y), each - GAP);
            let height = self.scene.paragraph(at, SMALL, INK, limit, heading);
            tallest = tallest.max(height);
        }
        self.y += tallest + GAP / 2;
    }

    fn entry(&mut self, entry: &Entry, lines: &[String], panels: &[Panel], styles: &[Style]) {
        for (index, line) in lines.iter().enumerate() {
            let y = self.y + index as i32 * pitch(SMALL);
            self.scene.text((MARGIN, y), SMALL, INK, line);
        }
        let height = lines.len().max(1) as i32 * pitch(SMALL);
        let middle = self.y + height / 2 - 2;
        for panel in panels {
            let (left, right) = (panel.left, panel.right);
            self.scene.line((left, middle), (right, middle), GRID, 1);
        }
        let apart = 6;
        let first = middle - apart * (entry.series.len() as i32 - 1) / 2;
        for (index, (series, style)) in entry.series.iter().zip(styles).enumerate() {
            let y = first + index as i32 * apart;
            for (estimate, panel) in series.iter().zip(panels) {
                if let Some(estimate) = estimate {
                    self.difference(*estimate, panel, y, *style);
                }
            }
        }
        self.y += height;
    }

    fn difference(&mut self, estimate: Estimate, panel: &Panel, y: i32, style: Style) {
        let told = differs(estimate);
        let style = if told { style } else { style.paled() };
        if !panel.ruler.holds(estimate.median) {
            return self.beyond(estimate.median, panel, y, style);
        }
        if let Some([low, high]) = estimate.interval {
            let (low, high) = (panel.place(low), panel.place(high));
            self.scene.line((low, y), (high, y), style.color, 3);
        }
        let center = (panel.place(estimate.median), y);
        self.scene.shapes.push(marker(center, style));
    }

    /// A difference that the axis leaves out: an arrow at its end, and the number.
    fn beyond(&mut self, median: f64, panel: &Panel, y: i32, style: Style) {
        let number = format!("{median:+.1}");
        let width = text::width(&number, SMALL);
        let (tip, tail, at) = if median > 0.0 {
            let tip = panel.right;
            (tip, tip - 10, tip - 14 - width)
        } else {
            let tip = panel.left;
            (tip, tip + 10, tip + 14)
        };
        let corners = vec![(tail, y - 5), (tip, y), (tail, y + 5)];
        let color = style.color;
        self.scene.shapes.push(Shape::Polygon { corners, color });
        let top = y - SMALL / 2;
        self.scene.text((at, top), SMALL, style.color, &number);
    }

    /// A panel's zero line over its rows, and its numbers below them: 0 first, then what has room.
    fn axis(&mut self, panel: &Panel, top: i32) {
        let zero = panel.place(0.0);
        self.scene.line((zero, top), (zero, self.y), MUTED, 1);
        let ends = ((panel.left, self.y), (panel.right, self.y));
        self.scene.line(ends.0, ends.1, MUTED, 1);
        let mut ticks: Vec<&(f64, String)> = panel.ruler.ticks.iter().collect();
        ticks.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
        let mut taken: Vec<[i32; 2]> = Vec::new();
        for (value, number) in ticks {
            let x = panel.place(*value);
            self.scene.line((x, self.y), (x, self.y + 4), MUTED, 1);
            let width = text::width(number, SMALL);
            // A long number at an end moves inwards, out of the next panel.
            let (least, most) = (panel.left - EDGE + 2, panel.right + EDGE - 2 - width);
            let start = (x - width / 2).clamp(least, most.max(least));
            let span = [start, start + width];
            let free = |other: &[i32; 2]| span[1] + 4 <= other[0] || other[1] + 4 <= span[0];
            if taken.iter().all(free) {
                let at = (span[0], self.y + 6);
                self.scene.text(at, SMALL, MUTED, number);
                taken.push(span);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(medians: &[f64]) -> Vec<Estimate> {
        medians.iter().copied().map(Estimate::exact).collect()
    }

    #[test]
    fn one_far_beyond_all_others_does_not_stretch_the_axis() {
        let greatest = |medians: &[f64]| {
            held(&estimates(medians))
                .into_iter()
                .fold(0.0, f64::max)
                .round() as u32
        };
        let many = |far: &[f64]| greatest(&[&[1.0; 10], &[2.0][..], far].concat());
        assert_eq!(many(&[90.0]), 2);
        assert_eq!(many(&[80.0, 90.0]), 2);
        assert_eq!(many(&[7.0]), 7);
        // Of few rows none is left out, and where all others are 0 it is what there is to see.
        assert_eq!(greatest(&[1.0, 2.0, 90.0]), 90);
        assert_eq!(greatest(&[0.0; 9]), 0);
        assert_eq!(greatest(&[&[0.0; 9][..], &[3.0]].concat()), 3);
    }

    #[test]
    fn only_an_interval_tells_a_difference() {
        let of = |median, interval| differs(Estimate { median, interval });
        assert!(of(2.0, Some([1.0, 3.0])) && of(-2.0, Some([-3.0, -1.0])));
        assert!(!of(2.0, Some([0.0, 3.0])) && !of(2.0, Some([-1.0, 3.0])) && !of(2.0, None));
    }
}
