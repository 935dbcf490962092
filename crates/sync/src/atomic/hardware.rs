//! Baseline: atomic instructions, where those work.

use fabric::{Arena, Cell, Gone, HostAtomics};

use super::{Atomic64, Rmw};
use crate::cells::cells;
use crate::lock::Options;

/// One word: in the DRAM that the lanes of the only host share, or in the pool, which is right only
/// where hardware keeps it coherent.
#[derive(Clone, Debug)]
pub struct HardwareAtomic {
    word: Cell<u64>,
}

impl Atomic64 for HardwareAtomic {
    fn lay_out(arena: &mut Arena, name: &str, options: &Options) -> Self {
        Self {
            word: cells(arena, &format!("{name}.word"), options, 1)[0],
        }
    }

    /// Cost: 1 atomic instruction; a fetch-or, which ports do not offer, one a try.
    fn apply<P: HostAtomics>(&self, port: &P, _: u32, op: Rmw) -> Result<Option<u64>, Gone> {
        let old = match op {
            Rmw::Load => port.atomic_load(self.word),
            Rmw::FetchAdd(add) => port.fetch_add(self.word, add),
            Rmw::Swap(value) => port.swap(self.word, value),
            Rmw::CompareExchange { current, new } => {
                match port.compare_exchange(self.word, current, new) {
                    Ok(old) | Err(old) => old,
                }
            }
            Rmw::FetchOr(bits) => {
                let mut old = port.atomic_load(self.word);
                while let Err(other) = port.compare_exchange(self.word, old, old | bits) {
                    old = other;
                }
                old
            }
        };
        Ok(Some(old))
    }

    fn load<P: HostAtomics>(&self, port: &P, _: u32) -> Result<u64, Gone> {
        Ok(port.atomic_load(self.word))
    }
}
