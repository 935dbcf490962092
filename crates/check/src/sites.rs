//! The maintenance operations of a program, as far as its script is known.

use std::collections::BTreeSet;

use crate::check::Checker;
use crate::edit::Site;

impl Checker<'_> {
    /// Every maintenance operation that was met, in the order of the source.
    pub fn sites(&self) -> Vec<Site> {
        let script = &self.machine.script;
        let mut sites = BTreeSet::new();
        for lane in 0..script.count() {
            let ops = script.nodes(lane).filter_map(|(id, _)| script.op(lane, id));
            sites.extend(ops.filter_map(Site::of));
        }
        sites.into_iter().collect()
    }
}
