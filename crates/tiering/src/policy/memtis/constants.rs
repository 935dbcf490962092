//! The constants of Memtis at a scale, with the differences between paper and kernel applied.

use super::switches::{Switch, Switches};
use crate::machine::Setup;
use crate::preset::{CapacityTier, MemtisPreset};
use crate::scale::PAGE_BYTES;

/// Watermark of the fast tier, in base pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watermark {
    share: f64,
    floor: f64,
    ceiling: f64,
}

impl Watermark {
    pub(super) fn of(self, limit: u64) -> u64 {
        (self.share * limit as f64).clamp(self.floor, self.ceiling) as u64
    }
}

/// Constants, scaled.
#[derive(Clone, Debug)]
pub(super) struct Constants {
    pub(super) load_periods: Vec<u64>,
    pub(super) store_periods: Vec<u64>,
    /// Loads that one sampled store stands for, of the unscaled periods at the start.
    pub(super) cpu_check_ps: u64,
    pub(super) cpu_quota: f64,
    pub(super) cpu_hysteresis: f64,
    pub(super) cpu_average_weight: f64,
    pub(super) drain_ps: u64,
    pub(super) wake_ps: u64,
    pub(super) collapse_ps: u64,
    pub(super) collapse_pages: u64,
    pub(super) adaptation_samples: u64,
    pub(super) cooling_samples: u64,
    pub(super) cooling_growth_pages: u64,
    pub(super) warm_share: f64,
    pub(super) demotion: Watermark,
    pub(super) promotion: Watermark,
    pub(super) pressure_pages: u64,
    pub(super) split_gap: f64,
    pub(super) split_gate_share: f64,
    pub(super) split_gain: f64,
    pub(super) split_gamma: f64,
    pub(super) split_batch: u64,
    pub(super) latency_ratio: f64,
    pub(super) rate_pages: u64,
    pub(super) ring_shares: (f64, f64),
}

impl Constants {
    pub(super) fn new(preset: &MemtisPreset, setup: &Setup, switches: Switches) -> Self {
        let scale = setup.scale;
        let periods = |full: &[u64]| full.iter().map(|&period| scale.period(period)).collect();
        let rate = preset.rate_limit_bytes_per_s.value * preset.wake_ns.value / 1e9;
        let (demotion, promotion) = watermarks(preset, setup, switches);
        Self {
            load_periods: periods(&preset.load_periods.value),
            store_periods: periods(&preset.store_periods.value),
            cpu_check_ps: scale.time_ps(preset.cpu_check_ns.value),
            cpu_quota: preset.cpu_quota.value,
            cpu_hysteresis: preset.cpu_hysteresis.value,
            cpu_average_weight: preset.cpu_average_weight.value,
            drain_ps: scale.time_ps(preset.drain_ns.value),
            wake_ps: scale.time_ps(preset.wake_ns.value),
            collapse_ps: scale.time_ps(preset.collapse_ns.value),
            collapse_pages: scale.count(preset.collapse_pages.value),
            adaptation_samples: scale.count(preset.adaptation_samples.value),
            cooling_samples: scale.count(preset.cooling_samples.value),
            cooling_growth_pages: scale.pages(preset.cooling_growth_bytes.value),
            warm_share: if switches.has(Switch::WarmThreeQuarters) {
                preset.warm_share_kernel.value
            } else {
                preset.warm_share.value
            },
            demotion,
            promotion,
            pressure_pages: scale.pages(preset.pressure_bytes.value),
            split_gap: preset.split_gap.value,
            split_gate_share: preset.split_gate_share.value,
            split_gain: preset.split_gain.value,
            split_gamma: preset.split_gamma.value,
            split_batch: scale.count(preset.split_batch_pages.value),
            latency_ratio: latency_ratio(preset, setup.capacity_tier, switches),
            rate_pages: scale.count(rate / PAGE_BYTES as f64),
            ring_shares: if switches.has(Switch::DrainAll) {
                (0.0, 0.0)
            } else {
                (preset.ring_high.value, preset.ring_low.value)
            },
        }
    }
}

fn watermarks(preset: &MemtisPreset, setup: &Setup, switches: Switches) -> (Watermark, Watermark) {
    let pages = |bytes: f64| setup.scale.pages(bytes) as f64;
    if !switches.has(Switch::WatermarkPair) {
        let one = Watermark {
            share: preset.demotion_watermark.value,
            floor: 0.0,
            ceiling: f64::MAX,
        };
        return (one, one);
    }
    let demotion = Watermark {
        share: preset.demotion_watermark.value,
        floor: pages(preset.demotion_floor_bytes.value),
        ceiling: pages(preset.demotion_ceiling_bytes.value),
    };
    let promotion = Watermark {
        share: preset.promotion_watermark.value,
        floor: pages(preset.promotion_floor_bytes.value),
        ceiling: pages(preset.promotion_ceiling_bytes.value),
    };
    (demotion, promotion)
}

/// The kernel knows two capacity tiers: NVM, and CXL memory of whatever latency.
fn latency_ratio(preset: &MemtisPreset, tier: CapacityTier, switches: Switches) -> f64 {
    let coded = switches.has(Switch::CodedLatencies);
    let capacity = match (tier, coded) {
        (CapacityTier::Nvm, false) => &preset.split_latency_nvm_ns,
        (CapacityTier::Nvm, true) => &preset.split_latency_nvm_kernel_ns,
        (_, false) => &preset.split_latency_cxl_ns,
        (_, true) => &preset.split_latency_cxl_kernel_ns,
    };
    let fast = preset.split_latency_fast_ns.value;
    (capacity.value - fast) / fast
}
