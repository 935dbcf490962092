//! What things cost at a scale, in picoseconds.

use crate::preset::MachinePreset;
use crate::scale::{PAGE_BYTES, SUBPAGES, Scale};

/// Costs, scaled.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the preset's keys
pub struct Costs {
    pub cache_hit: u64,
    pub walk: u64,
    /// A hit that overlaps with others.
    pub cache_hit_shared: u64,
    /// Misses of a thread in flight: dependent, independent, fetched ahead.
    pub overlaps: [u64; 3],
    pub minor_fault: u64,
    pub huge_fault: u64,
    pub hint_fault: u64,
    pub shootdown: u64,
    pub shootdown_receiver: u64,
    pub split: u64,
    pub zero_scan: u64,
    pub collapse: u64,
    pub protect: u64,
    pub sample_hardware: u64,
    pub sample: u64,
    pub cool_base: u64,
    pub cool_huge: u64,
    /// Moving a base page: a fixed part, and a copy between two memories as fast as DRAM.
    migrate_base: [f64; 2],
    migrate_huge: f64,
    /// How much slower a copy is because of the slower memory it involves: promotion, demotion.
    slowdown: [f64; 2],
}

impl Costs {
    pub(super) fn new(preset: &MachinePreset, capacity: &super::Setup, scale: Scale) -> Self {
        let kernel = &preset.kernel;
        let page = |ns: f64| scale.page_cost_ps(ns);
        let ps = |ns: f64| (ns * 1000.0).round() as u64;
        let tier = preset.capacity(capacity.capacity_tier);
        let ratio = |gb_per_s: f64| (preset.fast.read_gb_per_s.value / gb_per_s).max(1.0);
        let geometry = f64::from(scale.geometry());
        let copy = kernel.copy_base_ns.value;
        let huge_bytes = f64::from(SUBPAGES) * PAGE_BYTES as f64;
        Self {
            cache_hit: ps(preset.cpu.llc_hit_ns.value),
            walk: ps(preset.cpu.walk_ns.value),
            cache_hit_shared: ps(preset.cpu.llc_hit_ns.value)
                / u64::from(preset.cpu.miss_overlap.value),
            overlaps: [
                1,
                u64::from(preset.cpu.miss_overlap.value),
                u64::from(preset.cpu.stream_overlap.value),
            ],
            minor_fault: page(kernel.minor_fault_ns.value),
            huge_fault: page(kernel.huge_fault_ns.value),
            hint_fault: page(kernel.hint_fault_ns.value),
            shootdown: page(kernel.shootdown_ns.value),
            shootdown_receiver: page(kernel.shootdown_receiver_ns.value),
            split: page(kernel.split_ns.value),
            zero_scan: page(huge_bytes / kernel.zero_scan_gb_per_s.value),
            collapse: page(kernel.collapse_ns.value),
            protect: page(kernel.protect_ns.value),
            sample_hardware: page(kernel.sample_hardware_ns.value),
            sample: page(kernel.sample_ns.value),
            cool_base: page(kernel.cool_base_ns.value),
            cool_huge: page(kernel.cool_huge_ns.value),
            migrate_base: [kernel.migrate_base_ns.value - copy, copy]
                .map(|ns| ns * 1000.0 / geometry),
            migrate_huge: kernel.migrate_huge_ns.value * 1000.0 / geometry,
            slowdown: [
                ratio(tier.read_gb_per_s.value),
                ratio(tier.write_gb_per_s.value),
            ],
        }
    }

    /// Moving a page: copies are scaled by the slower of the two memories.
    pub fn migrate(&self, huge: bool, demotion: bool) -> u64 {
        let slowdown = self.slowdown[usize::from(demotion)];
        let ps = if huge {
            self.migrate_huge * slowdown
        } else {
            self.migrate_base[0] + self.migrate_base[1] * slowdown
        };
        ps.round() as u64
    }
}
