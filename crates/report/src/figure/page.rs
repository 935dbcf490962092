//! A figure while it grows downwards: title, subtitle, sections, foot.
//!
//! Every figure is 640 pixels wide with text of 13 pixels and more, so that it is legible where a
//! telephone shows it 400 pixels wide.

use plotters::style::RGBColor;
use record::{Label, Results, Row};

use super::palette::{INK, MARKER, MUTED, Style, marker};
use super::scene::{Scene, pitch};
use super::setting;
use crate::condition::{Condition, Place, capital, labels, meaning};
use crate::phrase;
use crate::text;

pub(super) const WIDTH: i32 = 640;
pub(super) const MARGIN: i32 = 16;
pub(super) const GAP: i32 = 8;
const TITLE: i32 = 20;
pub(super) const BODY: i32 = 15;
pub(super) const SMALL: i32 = 13;

/// Caveats that a figure spells out: a run of many policies has one for each.
const MOST_CAVEATS: usize = 4;

/// The figure and how far down it is filled.
pub(super) struct Page {
    pub(super) scene: Scene,
    pub(super) y: i32,
}

impl Page {
    /// A page with its title and, below it, what kind of evidence it shows from which machine.
    pub(super) fn new(
        title: &str,
        workload: &str,
        results: &Results,
        conditions: &[Condition<'_>],
    ) -> Self {
        let mut page = Self {
            scene: Scene::new(title, WIDTH),
            y: MARGIN,
        };
        page.paragraph(TITLE, INK, title);
        let subtitle = format!(
            "{}. {}; {}.",
            capital(&labels(conditions).join(" and ")),
            setting(results, workload),
            text::unbroken(&counts(conditions))
        );
        page.paragraph(BODY, MUTED, &subtitle);
        page.y += GAP;
        page
    }

    pub(super) fn paragraph(&mut self, size: i32, color: RGBColor, text: &str) {
        let limit = WIDTH - 2 * MARGIN;
        self.y += self
            .scene
            .paragraph((MARGIN, self.y), size, color, limit, text);
    }

    /// Names of markers, as many a line as fit.
    pub(super) fn legend(&mut self, series: &[(&str, Style)]) {
        let mut x = MARGIN + MARKER;
        for (name, style) in series {
            let width = 2 * MARKER + text::width(name, BODY);
            if x > MARGIN + MARKER && x + width > WIDTH - MARGIN {
                x = MARGIN + MARKER;
                self.y += pitch(BODY);
            }
            let center = (x, self.y + BODY / 2);
            self.scene.shapes.push(marker(center, *style));
            self.scene.text((x + 2 * MARKER, self.y), BODY, INK, name);
            x += width + 4 * MARKER;
        }
        self.y += pitch(BODY);
    }

    /// A heading that says what kind of evidence follows.
    pub(super) fn section(&mut self, label: Label) {
        self.y += 2 * GAP;
        let right = WIDTH - MARGIN;
        self.scene.line((MARGIN, self.y), (right, self.y), MUTED, 1);
        self.y += GAP;
        let text = format!("{}: {}", capital(label.as_str()), meaning(label));
        self.paragraph(SMALL, MUTED, &text);
    }

    /// A heading that says on which pod, where there are several.
    pub(super) fn place(&mut self, place: Place<'_>, all: &[Place<'_>]) {
        if all.len() > 1 {
            self.y += GAP;
            self.paragraph(BODY, INK, &format!("Pod {}", place.name(all)));
        }
    }

    /// What has no value, each reason once.
    pub(super) fn notes(&mut self, notes: impl Iterator<Item = String>) {
        let mut said: Vec<String> = Vec::new();
        for note in notes {
            if !said.contains(&note) {
                self.paragraph(SMALL, MUTED, &note);
                said.push(note);
            }
        }
    }

    /// What is wrong with the record, and what made it.
    pub(super) fn finish(mut self, results: &Results) -> Scene {
        self.y += GAP;
        for problem in &results.problems {
            self.paragraph(SMALL, MUTED, &format!("Problem: {problem}"));
        }
        let caveats = phrase::caveats(results.rows.iter());
        for caveat in caveats.iter().take(MOST_CAVEATS) {
            self.paragraph(SMALL, MUTED, &format!("Caveat: {caveat}"));
        }
        if caveats.len() > MOST_CAVEATS {
            let more = caveats.len() - MOST_CAVEATS;
            let said = format!(
                "And {} more: report.html has all.",
                phrase::counted(more as u64, "caveat")
            );
            self.paragraph(SMALL, MUTED, &said);
        }
        if let Some(manifest) = &results.manifest {
            self.paragraph(SMALL, MUTED, &format!("Made by: {}", manifest.command));
        }
        self.scene.height = self.y + MARGIN;
        self.scene
    }
}

/// How many samples stand behind a marker.
fn counts(conditions: &[Condition<'_>]) -> String {
    let rows = || conditions.iter().flat_map(|condition| &condition.rows);
    let counts = |row: &&Row| (row.n > 0).then_some(row.n);
    let counts = || rows().filter_map(counts);
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least < most => format!("n = {least} to {most}"),
        (Some(least), _) => format!("n = {least}"),
        _ => "nothing measured".to_owned(),
    }
}
