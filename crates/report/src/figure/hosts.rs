//! What differs from host to host: heat maps of pairs, hosts down and the other host across, and
//! for each sweep how far its hosts are apart.

use plotters::style::RGBColor;
use record::{Results, Row};

use super::page::{BODY, GAP, MARGIN, Page, SMALL, WIDTH};
use super::palette::{INK, MUTED};
use super::scene::{Scene, Shape, pitch};
use crate::condition::{Condition, capital, labels};
use crate::phrase;
use crate::quantity::{Scale, digits};

/// The workloads that sweep hosts.
const WORKLOADS: [&str; 4] = ["latency", "bandwidth", "primitive", "visibility"];

/// Where both directions of a pair are one figure.
const SYMMETRIC: &str = "half_round_trip_ns";

/// Heat maps that are drawn; the record has all.
const MOST_MAPS: usize = 12;

/// Width of a host's name, and of a cell at most; in one narrower than the last, digits do not fit.
const NAMES: i32 = 70;
const CELL: i32 = 110;
const LEGIBLE: i32 = 62;

/// The figure; none where no host was set beside another.
pub(super) fn draw(results: &Results) -> Option<Scene> {
    let all = WORKLOADS.iter();
    let all = all.flat_map(|workload| Condition::of_workload(results, workload));
    let sweeps: Vec<Condition<'_>> = all.filter(|one| one.rows[0].hosts > 1).collect();
    let tables: Vec<Table<'_>> = sweeps
        .iter()
        .flat_map(|one| Table::of(one, &sweeps))
        .collect();
    let maps = tables.iter().filter(|table| table.is_map()).count();
    // A plain run has every host alone; its other figures say what there is to say.
    if !sweeps.iter().any(sweeps_hosts) {
        return None;
    }
    let mut page = Page::new(&title(&tables, &sweeps), WORKLOADS[3], results, &sweeps);
    page.paragraph(
        SMALL,
        MUTED,
        "Medians; a darker cell took longer, or moved less.",
    );
    for table in tables.iter().filter(|table| table.is_map()).take(MOST_MAPS) {
        page.map(table);
    }
    if maps > MOST_MAPS {
        let rest = phrase::counted((maps - MOST_MAPS) as u64, "map");
        page.paragraph(SMALL, MUTED, &format!("{rest} more; rows.csv has all."));
    }
    page.y += GAP;
    page.paragraph(
        BODY,
        INK,
        "How far hosts are apart: largest by smallest median",
    );
    for table in &tables {
        page.paragraph(SMALL, INK, &table.sentence());
    }
    Some(page.finish(results))
}

fn sweeps_hosts(condition: &Condition<'_>) -> bool {
    let active = condition.param("hosts_active");
    active.is_some_and(|active| active == "pairs" || active == "noisy")
}

/// The widest ratio, as a sentence.
fn title(tables: &[Table<'_>], sweeps: &[Condition<'_>]) -> String {
    let widest = tables
        .iter()
        .filter_map(|table| Some((table.ratio()?, table)))
        .max_by(|left, right| left.0.total_cmp(&right.0));
    let finding = match widest {
        Some((ratio, table)) => format!(
            "hosts differ by up to a factor of {}: {} of {}",
            digits(ratio),
            table.metric,
            table.workload
        ),
        None => "nothing was measured on two hosts".to_owned(),
    };
    match labels(sweeps).as_slice() {
        [label, _, ..] => capital(&format!("{label}: {finding}")),
        _ => capital(&finding),
    }
}

/// One metric of one sweep, by host, or by host and other host.
struct Table<'a> {
    workload: &'a str,
    metric: &'a str,
    unit: &'a str,
    name: String,
    hosts: u32,
    cells: Vec<Cell>,
}

struct Cell {
    host: u32,
    peer: Option<u32>,
    median: f64,
}

impl<'a> Table<'a> {
    /// One for each metric that hosts have figures of.
    fn of(condition: &Condition<'a>, all: &[Condition<'a>]) -> Vec<Self> {
        let mut tables: Vec<Self> = Vec::new();
        let of_host = |row: &&&Row| row.host.is_some() && row.lane.is_none();
        for row in condition.rows.iter().filter(of_host) {
            let (Some(host), Some(median)) = (row.host, row.p50) else {
                continue;
            };
            let peer = row.peer;
            let cell = Cell { host, peer, median };
            if let Some(table) = tables.iter_mut().find(|it| it.metric == row.metric) {
                table.cells.push(cell);
                continue;
            }
            let like: Vec<Condition<'_>> = all
                .iter()
                .filter(|other| other.rows[0].workload == row.workload)
                .cloned()
                .collect();
            let varied = condition.distinguishing(&like, &["label"]);
            tables.push(Self {
                workload: &row.workload,
                metric: &row.metric,
                unit: &row.unit,
                name: varied.join(", "),
                hosts: row.hosts,
                cells: vec![cell],
            });
        }
        tables.retain(|table| table.cells.len() > 1);
        tables
    }

    fn is_map(&self) -> bool {
        self.cells.iter().all(|cell| cell.peer.is_some())
    }

    fn heading(&self) -> String {
        let what = format!("{}: {}", self.workload, self.metric);
        if self.name.is_empty() {
            what
        } else {
            format!("{what} ({})", self.name)
        }
    }

    /// The largest median by the smallest.
    fn ratio(&self) -> Option<f64> {
        let (least, most) = self.extent();
        (least > 0.0).then(|| most / least)
    }

    fn extent(&self) -> (f64, f64) {
        let medians = || self.cells.iter().map(|cell| cell.median);
        (
            medians().fold(f64::INFINITY, f64::min),
            medians().fold(0.0, f64::max),
        )
    }

    fn median(&self, host: u32, peer: u32) -> Option<f64> {
        let of = |host, peer| {
            let mut cells = self.cells.iter();
            cells.find(|cell| cell.host == host && cell.peer == Some(peer))
        };
        let mirrored = if self.metric == SYMMETRIC {
            of(peer, host)
        } else {
            None
        };
        of(host, peer).or(mirrored).map(|cell| cell.median)
    }

    fn sentence(&self) -> String {
        let scale = Scale::fit(self.unit, self.cells.iter().map(|cell| cell.median));
        let each = self.cells.iter().map(|cell| {
            let beside = cell
                .peer
                .map_or(String::new(), |peer| format!(" with {peer}"));
            format!("host {}{beside} {}", cell.host, scale.digits(cell.median))
        });
        let ratio = self.ratio().map_or("no ratio".to_owned(), digits);
        let each = each.collect::<Vec<_>>().join(", ");
        format!(
            "{}: {ratio}. {each} {}.",
            capital(&self.heading()),
            scale.unit
        )
    }
}

/// From white to a blue that ink is still legible on.
fn shade(share: f64) -> RGBColor {
    let mix = |to: u8| (255.0 + (f64::from(to) - 255.0) * share).round() as u8;
    RGBColor(mix(120), mix(175), mix(215))
}

impl Page {
    fn map(&mut self, table: &Table<'_>) {
        let (least, most) = table.extent();
        let scale = Scale::fit(table.unit, [most].into_iter());
        self.y += GAP;
        let heading = format!("{}, {}", capital(&table.heading()), scale.unit);
        self.paragraph(BODY, INK, &heading);
        let width = ((WIDTH - 2 * MARGIN - NAMES) / table.hosts as i32).min(CELL);
        let height = pitch(BODY) + GAP;
        let left = |peer: u32| MARGIN + NAMES + peer as i32 * width;
        for peer in (0..table.hosts).filter(|_| width >= LEGIBLE) {
            let at = (left(peer) + GAP / 2, self.y);
            self.scene.text(at, SMALL, MUTED, &format!("with {peer}"));
        }
        self.y += pitch(SMALL);
        for host in 0..table.hosts {
            let (top, bottom) = (self.y, self.y + height);
            let name = (MARGIN, top + GAP / 2);
            self.scene.text(name, SMALL, MUTED, &format!("host {host}"));
            for peer in 0..table.hosts {
                let Some(median) = table.median(host, peer) else {
                    continue;
                };
                let place = if most > least {
                    (median - least) / (most - least)
                } else {
                    0.0
                };
                let share = if table.unit == "ns" {
                    place
                } else {
                    1.0 - place
                };
                let (from, to) = (left(peer), left(peer) + width - 1);
                let corners = vec![(from, top), (to, top), (to, bottom - 1), (from, bottom - 1)];
                let color = shade(share);
                self.scene.shapes.push(Shape::Polygon { corners, color });
                if width >= LEGIBLE {
                    let at = (from + GAP / 2, top + GAP / 2);
                    self.scene.text(at, SMALL, INK, &scale.digits(median));
                }
            }
            self.y = bottom;
        }
    }
}
