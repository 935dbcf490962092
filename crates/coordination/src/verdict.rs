//! What was found wrong while measuring, kept until the verifier asks.

use fabric::{Arena, HostAtomics, HostSlice, Port, Slice};
use workload::Mismatch;

/// Counts of checks made and failed, of the lane that makes them; one a host.
#[derive(Debug)]
pub(crate) struct Verdict {
    words: HostSlice<u64>,
}

impl Verdict {
    pub(crate) fn lay_out(arena: &mut Arena, name: &str) -> Self {
        Self {
            words: arena.host_shared(name, 2),
        }
    }

    /// Notes a check of which `wrong` cases failed.
    pub(crate) fn note<P: HostAtomics>(&self, port: &P, wrong: u64) {
        port.fetch_add(self.words.at(0), 1);
        port.fetch_add(self.words.at(1), wrong);
    }

    /// Demands at least `checks` checks, none of them failed.
    pub(crate) fn demand<P: HostAtomics>(
        &self,
        port: &P,
        checks: u32,
        what: &str,
    ) -> Result<(), Mismatch> {
        let made = port.atomic_load(self.words.at(0));
        let wrong = port.atomic_load(self.words.at(1));
        if made >= u64::from(checks) && wrong == 0 {
            return Ok(());
        }
        Err(Mismatch {
            what: what.to_owned(),
            expected: format!("{checks} checks, none of them failed"),
            found: format!("{made} checks, {wrong} failures"),
        })
    }
}

/// Demands that each protected word has counted every one of `count` things.
pub(crate) fn demand_each<P: Port>(
    port: &P,
    protected: Slice<u64>,
    count: u64,
    things: &str,
) -> Result<(), Mismatch> {
    // Serves the loads below.
    port.observe(protected.lines());
    for index in 0..protected.len() {
        let found = port.load(protected.at(index));
        if found != count {
            return Err(Mismatch {
                what: format!("word {index} of the protected lines"),
                expected: format!("{count}, the number of {things}"),
                found: found.to_string(),
            });
        }
    }
    Ok(())
}
