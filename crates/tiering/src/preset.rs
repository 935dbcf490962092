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

/// What a constant may be multiplied by a factor.
trait Multiplied {
    /// So much of it; whole numbers are rounded and stay above 0.
    fn times(&self, factor: f64) -> Self;
}

impl Multiplied for f64 {
    fn times(&self, factor: f64) -> Self {
        self * factor
    }
}

impl Multiplied for u64 {
    fn times(&self, factor: f64) -> Self {
        ((*self as f64 * factor).round() as Self).max(1)
    }
}

impl Multiplied for u32 {
    fn times(&self, factor: f64) -> Self {
        ((f64::from(*self) * factor).round() as Self).max(1)
    }
}

impl Multiplied for Vec<u64> {
    fn times(&self, factor: f64) -> Self {
        self.iter().map(|one| one.times(factor)).collect()
    }
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

            /// Multiplies a constant; whether there is one of that name.
            pub fn multiply(&mut self, key: &str, factor: f64) -> bool {
                match key {
                    $(stringify!($key) => self.$key.value = self.$key.value.times(factor),)*
                    _ => return false,
                }
                true
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

    fn capacity_mut(&mut self, tier: CapacityTier) -> &mut TierPreset {
        match tier {
            CapacityTier::Nvm => &mut self.nvm,
            CapacityTier::CxlEmulated => &mut self.cxl_emulated,
            CapacityTier::Cxl200 => &mut self.cxl_200,
            CapacityTier::Cxl270 => &mut self.cxl_270,
            CapacityTier::Cxl400 => &mut self.cxl_400,
        }
    }
}

/// All that a run depends on.
#[derive(Clone, Debug)]
pub struct Constants {
    /// The machine.
    pub machine: MachinePreset,
    /// The policy.
    pub memtis: MemtisPreset,
}

impl Constants {
    /// Those that ship.
    pub fn shipped() -> Self {
        Self {
            machine: machine(),
            memtis: memtis(),
        }
    }

    /// The names, as `SECTION.KEY`, of those that a run with a capacity tier depends on. Not the
    /// number of threads: that is the applications'.
    pub fn names(&self, tier: CapacityTier) -> Vec<String> {
        let machine = &self.machine;
        let sections = [
            ("cpu", machine.cpu.constants()),
            ("kernel", machine.kernel.constants()),
            ("fast", machine.fast.constants()),
            (tier.name(), machine.capacity(tier).constants()),
            ("memtis", self.memtis.constants()),
        ];
        let named = sections.into_iter().flat_map(|(section, constants)| {
            let named = move |(key, ..): (&str, String, &str)| format!("{section}.{key}");
            constants.into_iter().map(named)
        });
        named.filter(|name| name != "cpu.threads").collect()
    }

    /// With one of them multiplied; `None` if there is none of that name.
    #[must_use]
    pub fn with(&self, name: &str, factor: f64) -> Option<Self> {
        let (section, key) = name.split_once('.')?;
        let mut changed = self.clone();
        let machine = &mut changed.machine;
        let tier = |tier: &CapacityTier| tier.name() == section;
        let found = match (section, CapacityTier::ALL.into_iter().find(tier)) {
            ("cpu", _) => machine.cpu.multiply(key, factor),
            ("kernel", _) => machine.kernel.multiply(key, factor),
            ("fast", _) => machine.fast.multiply(key, factor),
            ("memtis", _) => changed.memtis.multiply(key, factor),
            (_, Some(tier)) => machine.capacity_mut(tier).multiply(key, factor),
            _ => false,
        };
        found.then_some(changed)
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

    #[test]
    fn each_constant_can_be_changed_alone() {
        let shipped = Constants::shipped();
        for name in shipped.names(CapacityTier::Cxl270) {
            let changed = shipped.with(&name, 1.25).expect("a name");
            let before = format!("{shipped:?}");
            assert_ne!(before, format!("{changed:?}"), "{name}");
            assert!(name != "cpu.threads" && !name.starts_with("nvm"));
        }
        assert!(shipped.with("nvm.load", 1.25).is_none());
        assert!(shipped.with("load_ns", 1.25).is_none());
        let nearer = shipped.with("nvm.load_ns", 0.75).expect("a name");
        assert!((nearer.machine.nvm.load_ns.value - 225.0).abs() < 1e-9);
    }
}
