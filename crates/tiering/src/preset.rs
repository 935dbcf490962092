//! The constants, read from the TOML files of this crate, each with its source.

use serde::Deserialize;

/// One constant, and where it comes from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sourced<T> {
    /// The constant, in the unit that ends its key.
    pub value: T,
    /// A publication, or an assumption that says so.
    pub source: String,
}

macro_rules! sections {
    ($($(#[$doc:meta])* $section:ident { $($key:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(missing_docs)] // the file gives each key its source, the key its unit
        pub struct $section { $(pub $key: Sourced<$type>,)* }

        impl $section {
            /// Each constant: key, value as written, source.
            pub fn constants(&self) -> Vec<(&'static str, String, &str)> {
                vec![$((
                    stringify!($key),
                    format!("{:?}", self.$key.value),
                    self.$key.source.as_str(),
                ),)*]
            }
        }
    )*};
}

sections! {
    /// The processor.
    Cpu {
        threads: u32,
        llc_bytes: u64,
        llc_hit_ns: f64,
        tlb_entries: u64,
        walk_ns: f64,
        miss_overlap: u32,
        stream_overlap: u32,
    }
    /// What the operating system charges.
    Kernel {
        minor_fault_ns: f64,
        huge_fault_ns: f64,
        hint_fault_ns: f64,
        migrate_base_ns: f64,
        copy_base_ns: f64,
        migrate_huge_ns: f64,
        shootdown_ns: f64,
        shootdown_receiver_ns: f64,
        split_ns: f64,
        zero_scan_gb_per_s: f64,
        collapse_ns: f64,
        protect_ns: f64,
        sample_hardware_ns: f64,
        sample_ns: f64,
        ring_records: u64,
        cool_base_ns: f64,
        cool_huge_ns: f64,
    }
    /// One tier, unloaded.
    TierPreset {
        load_ns: f64,
        read_gb_per_s: f64,
        write_gb_per_s: f64,
    }
    /// Memtis, both as published and as in its kernel.
    MemtisPreset {
        load_periods: Vec<u64>,
        store_periods: Vec<u64>,
        drain_ns: f64,
        cpu_check_ns: f64,
        cpu_quota: f64,
        cpu_hysteresis: f64,
        cpu_average_weight: f64,
        adaptation_samples: f64,
        cooling_samples: f64,
        cooling_growth_bytes: f64,
        wake_ns: f64,
        collapse_ns: f64,
        collapse_pages: f64,
        warm_share: f64,
        warm_share_kernel: f64,
        demotion_watermark: f64,
        demotion_floor_bytes: f64,
        demotion_ceiling_bytes: f64,
        promotion_watermark: f64,
        promotion_floor_bytes: f64,
        promotion_ceiling_bytes: f64,
        pressure_bytes: f64,
        split_gap: f64,
        split_gate_share: f64,
        split_gain: f64,
        split_gamma: f64,
        split_batch_pages: f64,
        split_latency_fast_ns: f64,
        split_latency_nvm_ns: f64,
        split_latency_cxl_ns: f64,
        split_latency_nvm_kernel_ns: f64,
        split_latency_cxl_kernel_ns: f64,
        rate_limit_bytes_per_s: f64,
        ring_high: f64,
        ring_low: f64,
    }
}

/// The machine and the tiers that a capacity tier may be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MachinePreset {
    /// The processor.
    pub cpu: Cpu,
    /// What the operating system charges.
    pub kernel: Kernel,
    /// Local DRAM.
    pub fast: TierPreset,
    nvm: TierPreset,
    cxl_emulated: TierPreset,
    #[serde(rename = "cxl-200")]
    cxl_200: TierPreset,
    #[serde(rename = "cxl-270")]
    cxl_270: TierPreset,
    #[serde(rename = "cxl-400")]
    cxl_400: TierPreset,
}

/// What the capacity tier is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityTier {
    /// Optane DCPMM.
    Nvm,
    /// A remote socket, slowed down.
    CxlEmulated,
    /// A CXL device of 200 ns.
    Cxl200,
    /// A CXL device of 270 ns.
    Cxl270,
    /// A CXL device of 400 ns.
    Cxl400,
}

impl CapacityTier {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Nvm,
        Self::CxlEmulated,
        Self::Cxl200,
        Self::Cxl270,
        Self::Cxl400,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvm => "nvm",
            Self::CxlEmulated => "cxl-emulated",
            Self::Cxl200 => "cxl-200",
            Self::Cxl270 => "cxl-270",
            Self::Cxl400 => "cxl-400",
        }
    }
}

impl MachinePreset {
    /// The constants of a capacity tier.
    pub fn capacity(&self, tier: CapacityTier) -> &TierPreset {
        match tier {
            CapacityTier::Nvm => &self.nvm,
            CapacityTier::CxlEmulated => &self.cxl_emulated,
            CapacityTier::Cxl200 => &self.cxl_200,
            CapacityTier::Cxl270 => &self.cxl_270,
            CapacityTier::Cxl400 => &self.cxl_400,
        }
    }
}

/// The machine that ships.
///
/// # Panics
/// Never: a test reads the file.
pub fn machine() -> MachinePreset {
    toml::from_str(include_str!("../presets/machine.toml")).expect("a test reads this file")
}

/// The constants of Memtis that ship.
///
/// # Panics
/// Never: a test reads the file.
pub fn memtis() -> MemtisPreset {
    toml::from_str(include_str!("../presets/memtis.toml")).expect("a test reads this file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_has_a_source() {
        let machine = machine();
        let mut all = machine.cpu.constants();
        all.extend(machine.kernel.constants());
        all.extend(machine.fast.constants());
        for tier in CapacityTier::ALL {
            all.extend(machine.capacity(tier).constants());
        }
        let memtis = memtis();
        all.extend(memtis.constants());
        for (key, _, source) in all {
            assert!(source.len() > 5, "{key}: {source:?}");
        }
    }
}
