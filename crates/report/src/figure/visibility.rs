//! How long until an update is seen: a row for each way to publish and observe.
//!
//! A horizontal dot chart rather than bars: the intervals are what is compared, and a long list of
//! names is read from left to right. A row's name stands above its marks, where it may be as long
//! as the figure is wide. The figure is 640 pixels wide, so that it is legible at 400.

use plotters::style::RGBColor;
use record::{Results, Row};

use super::axis::Axis;
use super::finding::title;
use super::scene::{Point, Scene, Shape, pitch};
use super::setting;
use crate::condition::{Condition, meaning};
use crate::quantity::Scale;
use crate::text;

const WORKLOAD: &str = "visibility";

const WIDTH: i32 = 640;
const MARGIN: i32 = 16;
const TITLE: i32 = 19;
const BODY: i32 = 14;
const SMALL: i32 = 12;
/// The height of one line of marks.
const BAND: i32 = 20;
const GAP: i32 = 8;
/// Half the size of a marker.
const MARKER: i32 = 5;

const INK: RGBColor = RGBColor(34, 34, 34);
const MUTED: RGBColor = RGBColor(95, 95, 95);
const GRID: RGBColor = RGBColor(222, 222, 222);

/// A metric as it is drawn. Colours of Okabe and Ito ("Color Universal Design", 2008), which the
/// colour-blind tell apart; the markers differ too.
#[derive(Clone, Copy, Debug)]
struct Series {
    metric: &'static str,
    name: &'static str,
    color: RGBColor,
    pale: RGBColor,
    diamond: bool,
}

const SERIES: [Series; 2] = [
    Series {
        metric: "half_round_trip_ns",
        name: "half round trip",
        color: RGBColor(0, 114, 178),
        pale: RGBColor(140, 190, 220),
        diamond: false,
    },
    Series {
        metric: "one_way_ns",
        name: "one way",
        color: RGBColor(200, 85, 0),
        pale: RGBColor(235, 185, 140),
        diamond: true,
    },
];

/// The figure; none where there are no rows.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let rows = results.rows.iter().filter(|row| row.workload == WORKLOAD);
    let conditions = order(Condition::group(rows));
    let first = conditions.first()?;
    let unit = first.rows[0].unit.as_str();
    let mut page = Page::new(&title(&conditions), fit_axis(&conditions, unit));
    page.head(results, &conditions);
    for section in conditions.chunk_by(|left, right| left.label == right.label) {
        page.section(section);
        for condition in section {
            page.condition(condition, &name(condition, &conditions), section);
        }
    }
    if SERIES
        .iter()
        .any(|series| !absent_everywhere(&conditions, series))
    {
        page.axis();
    }
    page.foot(results);
    Some(page.finish())
}

/// By label, then by lines, then the fastest first; what has no value last.
fn order(mut conditions: Vec<Condition<'_>>) -> Vec<Condition<'_>> {
    let lines = |condition: &Condition<'_>| {
        condition
            .param("lines")
            .and_then(|lines| lines.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let median = |condition: &Condition<'_>| {
        condition
            .middle(SERIES[0].metric)
            .and_then(|row| row.p50)
            .unwrap_or(f64::INFINITY)
    };
    conditions.sort_by(|left, right| {
        (left.label, lines(left))
            .cmp(&(right.label, lines(right)))
            .then(median(left).total_cmp(&median(right)))
    });
    conditions
}

/// `clflushopt + clflushopt, 1 line`, and whatever else tells it from the others.
pub(super) fn name(condition: &Condition<'_>, all: &[Condition<'_>]) -> String {
    let param = |name| condition.param(name).unwrap_or_else(|| format!("{name}?"));
    let lines = match param("lines").as_str() {
        "1" => "1 line".to_owned(),
        lines => format!("{lines} lines"),
    };
    let known = ["publish", "observe", "lines", "label"];
    let mut parts = vec![
        format!("{} + {}", param("publish"), param("observe")),
        lines,
    ];
    parts.extend(condition.distinguishing(all, &known));
    parts.join(", ")
}

/// The axis, wide enough for all but the longest tails, beside the column of values.
fn fit_axis<'a>(conditions: &[Condition<'_>], unit: &'a str) -> Axis<'a> {
    let (mut held, mut tails) = (Vec::new(), Vec::new());
    for series in &SERIES {
        for row in conditions
            .iter()
            .flat_map(|condition| condition.measured(series.metric))
        {
            held.extend(row.p50);
            held.extend(row.ci95.map(|ci| ci[1]));
            tails.extend(row.p99);
        }
    }
    let axis = |width| Axis::fit(unit, &held, &tails, MARGIN + MARKER, width);
    let draft = axis(1);
    let middles = conditions.iter().flat_map(|condition| {
        SERIES
            .iter()
            .filter_map(|series| condition.middle(series.metric))
    });
    let values = middles
        .map(|row| text::width(&value_text(row, &draft), BODY))
        .max()
        .unwrap_or(0);
    axis(WIDTH - 2 * MARGIN - 2 * MARKER - GAP - values)
}

/// The value at the right of a row's marks; the tail's too where it is beyond the axis.
fn value_text(row: &Row, axis: &Axis<'_>) -> String {
    let value = row.p50.map_or(String::new(), |p50| axis.scale.show(p50));
    match row.p99 {
        // In a unit of its own: it may be thousands of times the median.
        Some(p99) if axis.place(p99).1 => {
            let tail = Scale::fit(&row.unit, [p99].into_iter());
            format!("{value}, p99 {}", tail.show(p99))
        }
        _ => value,
    }
}

/// The figure while it grows downwards.
struct Page<'a> {
    scene: Scene,
    axis: Axis<'a>,
    y: i32,
}

impl<'a> Page<'a> {
    fn new(title: &str, axis: Axis<'a>) -> Self {
        let mut page = Self {
            scene: Scene::new(title, WIDTH),
            axis,
            y: MARGIN,
        };
        page.paragraph(TITLE, INK, title);
        page
    }

    fn paragraph(&mut self, size: i32, color: RGBColor, text: &str) {
        let limit = WIDTH - 2 * MARGIN;
        self.y += self
            .scene
            .paragraph((MARGIN, self.y), size, color, limit, text);
    }

    fn head(&mut self, results: &Results, conditions: &[Condition<'_>]) {
        let rows = || conditions.iter().flat_map(|condition| &condition.rows);
        let counts = || rows().map(|row| row.n).filter(|n| *n > 0);
        let n = match (counts().min(), counts().max()) {
            (Some(least), Some(most)) if least < most => {
                text::unbroken(&format!("n = {least} to {most}"))
            }
            (Some(least), _) => text::unbroken(&format!("n = {least}")),
            _ => "nothing measured".to_owned(),
        };
        let labels = labels(conditions);
        let text = format!(
            "{}. {}; {n}.",
            capital(&labels.join(" and ")),
            setting(results, WORKLOAD)
        );
        self.paragraph(BODY, MUTED, &text);
        self.y += GAP;
        self.legend(conditions);
    }

    fn legend(&mut self, conditions: &[Condition<'_>]) {
        let drawn = |series: &&Series| !absent_everywhere(conditions, series);
        if SERIES.iter().find(drawn).is_none() {
            return;
        }
        let mut x = MARGIN + MARKER;
        for series in SERIES.iter().filter(drawn) {
            self.scene
                .shapes
                .push(marker((x, self.y + BODY / 2), series));
            self.scene
                .text((x + 2 * MARKER, self.y), BODY, INK, series.name);
            x += 6 * MARKER + text::width(series.name, BODY);
        }
        self.y += pitch(BODY);
        let key = "Marker: median; of several pairs or trials, the middle one. Thick line: its \
                   95 % interval. Thin line: to its 99th percentile. Ticks: the other medians.";
        self.paragraph(SMALL, MUTED, key);
    }

    /// A heading that says what kind of evidence follows, and what is absent in all of it.
    fn section(&mut self, section: &[Condition<'_>]) {
        let label = section[0].label;
        self.y += 2 * GAP;
        let right = WIDTH - MARGIN;
        self.scene.line((MARGIN, self.y), (right, self.y), MUTED, 1);
        self.y += GAP;
        let text = format!("{}: {}", capital(label.as_str()), meaning(label));
        self.paragraph(SMALL, MUTED, &text);
        for series in SERIES
            .iter()
            .filter(|series| absent_everywhere(section, series))
        {
            let reasons = section.iter().filter_map(|one| one.absence(series.metric));
            let mut reasons: Vec<String> = reasons.collect();
            reasons.sort();
            reasons.dedup();
            for reason in reasons {
                self.paragraph(SMALL, MUTED, &format!("{} {reason}", capital(series.name)));
            }
        }
    }

    fn condition(&mut self, condition: &Condition<'_>, name: &str, section: &[Condition<'_>]) {
        self.y += GAP;
        self.paragraph(BODY, INK, name);
        for series in &SERIES {
            if condition.middle(series.metric).is_some() {
                self.marks(condition, series);
            } else if let Some(reason) = condition.absence(series.metric)
                && !absent_everywhere(section, series)
            {
                self.paragraph(SMALL, MUTED, &format!("{} {reason}", series.name));
            }
        }
    }

    fn marks(&mut self, condition: &Condition<'_>, series: &Series) {
        let Some(row) = condition.middle(series.metric) else {
            return;
        };
        let Some(p50) = row.p50 else { return };
        let middle = self.y + BAND / 2;
        for (x, _) in self.axis.ticks() {
            self.scene.line((x, self.y), (x, self.y + BAND), GRID, 1);
        }
        for other in condition.measured(series.metric).filter_map(|row| row.p50) {
            let (x, _) = self.axis.place(other);
            self.scene
                .line((x, middle - 7), (x, middle + 7), series.pale, 1);
        }
        let (center, _) = self.axis.place(p50);
        if let Some(p99) = row.p99 {
            let (end, beyond) = self.axis.place(p99);
            self.scene
                .line((center, middle), (end, middle), series.color, 1);
            self.scene.shapes.push(tail((end, middle), beyond, series));
        }
        if let Some([low, high]) = row.ci95 {
            let (low, high) = (self.axis.place(low).0, self.axis.place(high).0);
            self.scene
                .line((low, middle), (high, middle), series.color, 5);
        }
        self.scene.shapes.push(marker((center, middle), series));
        let (end, _) = self.axis.place(f64::INFINITY);
        let value = value_text(row, &self.axis);
        let top = middle - BODY / 2;
        self.scene
            .text((end + MARKER + GAP, top), BODY, series.color, &value);
        self.y += BAND;
    }

    fn axis(&mut self) {
        self.y += GAP;
        let ticks = self.axis.ticks();
        let (first, last) = (ticks[0].0, ticks[ticks.len() - 1].0);
        self.scene.line((first, self.y), (last, self.y), MUTED, 1);
        for (x, digits) in ticks {
            self.scene.line((x, self.y), (x, self.y + 4), MUTED, 1);
            let left = x - text::width(&digits, SMALL) / 2;
            self.scene.text((left, self.y + 6), SMALL, MUTED, &digits);
        }
        let unit = (last + MARKER + 3 * GAP, self.y + 6);
        self.scene.text(unit, SMALL, MUTED, self.axis.scale.unit);
        self.y += 6 + pitch(SMALL);
    }

    /// What is wrong with the record, and what made it.
    fn foot(&mut self, results: &Results) {
        self.y += GAP;
        for problem in &results.problems {
            self.paragraph(SMALL, MUTED, &format!("Problem: {problem}"));
        }
        if let Some(manifest) = &results.manifest {
            self.paragraph(SMALL, MUTED, &format!("Made by: {}", manifest.command));
        }
    }

    fn finish(mut self) -> Scene {
        self.scene.height = self.y + MARGIN;
        self.scene
    }
}

/// The labels of some conditions, in order, each once.
pub(super) fn labels(conditions: &[Condition<'_>]) -> Vec<&'static str> {
    let mut labels: Vec<&str> = conditions.iter().map(|one| one.label.as_str()).collect();
    labels.dedup();
    labels
}

fn absent_everywhere(conditions: &[Condition<'_>], series: &Series) -> bool {
    conditions
        .iter()
        .all(|condition| condition.middle(series.metric).is_none())
}

pub(super) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

fn marker(center: Point, series: &Series) -> Shape {
    if !series.diamond {
        return Shape::Dot {
            center,
            radius: MARKER,
            color: series.color,
        };
    }
    let (x, y) = center;
    let reach = MARKER + 1;
    let corners = vec![
        (x - reach, y),
        (x, y - reach),
        (x + reach, y),
        (x, y + reach),
    ];
    Shape::Polygon {
        corners,
        color: series.color,
    }
}

/// The end of a tail: a cap, or an arrow where the tail goes on beyond the axis.
fn tail(end: Point, beyond: bool, series: &Series) -> Shape {
    let (x, y) = end;
    if beyond {
        let corners = vec![(x - 6, y - 4), (x, y), (x - 6, y + 4)];
        return Shape::Polygon {
            corners,
            color: series.color,
        };
    }
    Shape::Line {
        from: (x, y - 4),
        to: (x, y + 4),
        color: series.color,
        width: 1,
    }
}
