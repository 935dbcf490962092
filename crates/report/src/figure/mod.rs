//! Figures as SVG, one file a question.

mod axis;
pub(crate) mod bandwidth;
pub(crate) mod bounded;
mod chart;
pub(crate) mod curve;
mod dots;
pub(crate) mod finding;
mod forest;
mod hashtable;
mod hosts;
mod kernels;
pub(crate) mod latency;
mod matrix;
mod page;
mod palette;
pub(crate) mod primitive;
pub(crate) mod ruler;
mod scene;
mod sharing;
pub(crate) mod tier;
pub(crate) mod tier_effects;
pub(crate) mod visibility;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use record::{Label, Results};
use thiserror::Error;

use scene::Scene;

/// Why a figure was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FigureError {
    /// The file or its directory cannot be written.
    #[error("cannot write {}: {source}; choose another directory or free space",
        path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The drawing library refused.
    #[error("cannot draw {name}: {reason}; report it with the results directory")]
    Draw {
        /// The figure's name.
        name: &'static str,
        /// The library's words.
        reason: String,
    },
}

/// A figure: its file's name, and how it is drawn from results that have rows for it.
type Draw = fn(&Results) -> Option<Scene>;

const FIGURES: [(&str, Draw); 16] = [
    ("latency.svg", latency::draw),
    ("bandwidth.svg", bandwidth::draw),
    ("loaded_latency.svg", bandwidth::draw_loaded),
    ("primitive.svg", primitive::draw),
    ("visibility.svg", visibility::draw),
    ("hosts.svg", hosts::draw),
    ("lock.svg", bounded::draw_lock),
    ("barrier.svg", bounded::draw_barrier),
    ("atomic.svg", bounded::draw_atomic),
    ("sharing.svg", sharing::draw),
    ("hashtable.svg", hashtable::draw),
    ("kernels.svg", kernels::draw),
    ("tier.svg", tier::draw),
    ("tier_effects.svg", tier_effects::draw),
    ("tier_truth.svg", tier::draw_truth),
    ("tier_skew.svg", tier::draw_skew),
];

/// A figure, drawn: a file's name, its title and its content.
pub(crate) struct Drawn {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) svg: String,
}

/// Every figure that the results have rows for.
pub(crate) fn drawn(results: &Results) -> Result<Vec<Drawn>, FigureError> {
    let scenes = FIGURES
        .iter()
        .filter_map(|(name, draw)| Some((*name, draw(results)?)));
    scenes
        .map(|(name, scene)| {
            let svg = scene.to_svg(name)?;
            let title = scene.title;
            Ok(Drawn { name, title, svg })
        })
        .collect()
}

/// Draws every figure that the results have rows for into `directory`, which is made if it does
/// not exist, and returns the files. A pure function of the results.
///
/// # Errors
/// A file cannot be written.
pub fn figures(results: &Results, directory: &Path) -> Result<Vec<PathBuf>, FigureError> {
    let drawn = drawn(results)?.into_iter();
    drawn
        .map(|figure| write_file(directory, figure.name, &figure.svg))
        .collect()
}

/// Writes a file into a directory, which is made if it does not exist.
pub(crate) fn write_file(
    directory: &Path,
    name: &str,
    content: &str,
) -> Result<PathBuf, FigureError> {
    let path = directory.join(name);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&path, content))
        .map_err(|source| FigureError::Write {
            path: path.clone(),
            source,
        })?;
    Ok(path)
}

/// The machines, pod and device behind a figure, in one sentence.
fn setting(results: &Results, workload: &str) -> String {
    let rows = || results.rows.iter().filter(|row| row.workload == workload);
    let distinct = |values: Vec<String>| {
        let mut distinct: Vec<String> = Vec::new();
        for value in values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        distinct.join(", ")
    };
    let pods = distinct(rows().map(|row| row.pod.clone()).collect());
    let hosts = distinct(rows().map(|row| row.hosts.to_string()).collect());
    let plural = if hosts == "1" { "host" } else { "hosts" };
    let devices = distinct(rows().map(|row| row.device.to_string()).collect());
    let measured = rows().any(|row| row.label != Label::Simulated);
    let machine = if measured {
        let models = results.hosts.values().map(|host| {
            host["cpu_model"]
                .as_str()
                .unwrap_or("a CPU that could not be read")
                .to_owned()
        });
        distinct(models.collect())
    } else {
        String::new()
    };
    let machine = if machine.is_empty() {
        machine
    } else {
        format!(", {machine}")
    };
    let shared = if rows().any(|row| row.oversubscribed) {
        "; oversubscribed: lanes took turns on the cores"
    } else {
        ""
    };
    format!("Pod {pods}, {hosts} {plural}, device {devices}{machine}{shared}")
}
