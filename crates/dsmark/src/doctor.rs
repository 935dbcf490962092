//! `dsmark doctor`: what about this machine decides what a measurement here is worth.
//!
//! Every check reads files below one root, `/` or a test's tree, and turns them into
//! [`Finding`]s: what was found, what it means for dsmark, what to do about it, and which rows of
//! `docs/PAIN_POINTS.md` it answers. Nothing is changed and nothing is forced: a remedy is a
//! command for the reader to run.
//!
//! Reading order: [`Finding`]; [`Scene`], what checks look at; then a module a subject.

mod confinement;
mod cxl;
mod dax;
#[cfg(test)]
mod fake;
mod finding;
mod firmware;
mod holders;
mod memory;
mod path;
mod power;
mod print;
mod processor;
#[cfg(test)]
mod rows;
mod tiering;
mod tree;

use std::path::Path;

use record::machine::Host;

pub(crate) use finding::{Finding, Report, Status};
pub(crate) use path::Probed;
pub(crate) use print::print;
pub(crate) use processor::Processor;

use tree::Tree;

/// What the checks look at.
pub(crate) struct Scene {
    tree: Tree,
    /// What records say about the machine too.
    host: Host,
    /// What no file tells; none where the native substrate does not exist.
    processor: Option<Processor>,
}

impl Scene {
    /// The machine whose files start at `root`.
    pub(crate) fn new(root: &Path, processor: Option<Processor>) -> Self {
        Self {
            tree: Tree::at(root),
            host: Host::gather(root),
            processor,
        }
    }

    /// Why records lack `field`, as the reader of the machine put it.
    fn why_not(&self, field: &str) -> String {
        let reason = self.host.unreadable.get(field);
        reason.map_or_else(|| "not readable".to_owned(), Clone::clone)
    }
}

/// One subject of a report.
type Group = (&'static str, fn(&Scene) -> Vec<Finding>);

/// The subjects, in the order of a report.
const GROUPS: [Group; 9] = [
    ("processor", processor::check),
    ("frequency and power", power::check),
    ("DAX devices", dax::check),
    ("CXL", cxl::check),
    ("firmware", firmware::check),
    ("memory", memory::check),
    ("competing tierers", tiering::check),
    ("limits", confinement::check_limits),
    ("confinement", confinement::check),
];

/// Checks the machine.
pub(crate) fn check_machine(scene: &Scene) -> Report {
    let mut report = Report::new("here");
    for (title, check) in GROUPS {
        report.add(title, check(scene));
    }
    report
}

/// Checks one path that could become a region. `probe` loads and flushes its header, in a process
/// whose death by a signal is a finding.
pub(crate) fn check_path(
    scene: &Scene,
    path: &Path,
    probe: impl FnOnce(&Path) -> Probed,
) -> Report {
    let mut report = Report::new("on this path");
    report.add("device", path::check(scene, path, probe));
    report
}
