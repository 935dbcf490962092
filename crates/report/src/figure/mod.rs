//! Figures as SVG, one file a workload.

mod axis;
mod finding;
mod scene;
mod visibility;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use record::{Label, Results};
use thiserror::Error;

/// Why a figure was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FigureError {
    /// The file or its directory cannot be written.
    #[error("cannot write the figure {}: {source}; choose another directory or free space",
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

/// Draws every figure that the results have rows for into `directory`, which is made if it does
/// not exist, and returns the files. A pure function of the results.
///
/// # Errors
/// A file cannot be written.
pub fn figures(results: &Results, directory: &Path) -> Result<Vec<PathBuf>, FigureError> {
    let Some(scene) = visibility::draw(results) else {
        return Ok(Vec::new());
    };
    let path = directory.join("visibility.svg");
    let svg = scene.to_svg("visibility.svg")?;
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&path, svg))
        .map_err(|source| FigureError::Write {
            path: path.clone(),
            source,
        })?;
    Ok(vec![path])
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
    format!("Pod {pods}, {hosts} hosts, device {devices}{machine}{shared}")
}
