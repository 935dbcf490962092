//! What this CPU can do, by CPUID.

use std::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};
use std::fmt;

use fabric::{Discipline, ObserveBy, PublishBy};
use thiserror::Error;

/// An instruction or property that a discipline or the clock needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// CLFLUSH.
    ClFlush,
    /// CLFLUSHOPT.
    ClFlushOpt,
    /// CLWB.
    Clwb,
    /// MOVDIR64B.
    Movdir64b,
    /// RDTSCP.
    Rdtscp,
    /// A time-stamp counter of constant rate in every power state.
    InvariantTsc,
    /// AVX: the promise that aligned 16-byte accesses are single comes with it.
    Avx,
    /// Vectors of 32 bytes of integers: what the streaming loops move.
    Avx2,
}

impl Feature {
    /// Its name in `/proc/cpuinfo`, or the manuals' where that has none.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClFlush => "clflush",
            Self::ClFlushOpt => "clflushopt",
            Self::Clwb => "clwb",
            Self::Movdir64b => "movdir64b",
            Self::Rdtscp => "rdtscp",
            Self::InvariantTsc => "invariant TSC",
            Self::Avx => "avx",
            Self::Avx2 => "avx2",
        }
    }

    /// Where CPUID reports it (Intel SDM vol. 2, CPUID; AMD APM vol. 3, appendix E).
    pub fn cpuid(self) -> &'static str {
        match self {
            Self::ClFlush => "1:EDX[19]",
            Self::ClFlushOpt => "7.0:EBX[23]",
            Self::Clwb => "7.0:EBX[24]",
            Self::Movdir64b => "7.0:ECX[28]",
            Self::Rdtscp => "8000_0001:EDX[27]",
            Self::InvariantTsc => "8000_0007:EDX[8]",
            Self::Avx => "1:ECX[28]",
            Self::Avx2 => "7.0:EBX[5]",
        }
    }
}

/// A discipline that this CPU cannot follow.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{half}={method} needs {} (CPUID {}), which this CPU lacks; use one of: {available}",
    feature.name(), feature.cpuid())]
pub struct Unsupported {
    /// `publish` or `observe`.
    pub half: &'static str,
    /// The method asked for.
    pub method: &'static str,
    /// What it needs.
    pub feature: Feature,
    /// The methods that this CPU has, comma-separated.
    pub available: String,
}

/// The features of the CPU that this process runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // one bit of CPUID each
pub struct Cpu {
    clflush: bool,
    clflushopt: bool,
    clwb: bool,
    movdir64b: bool,
    rdtscp: bool,
    invariant_tsc: bool,
    avx: bool,
    avx2: bool,
}

impl Cpu {
    /// Asks CPUID.
    pub fn detect() -> Self {
        let basic = leaf(1, 0);
        let extended = leaf(7, 0);
        let amd = leaf(0x8000_0001, 0);
        let power = leaf(0x8000_0007, 0);
        Self {
            clflush: bit(basic.edx, 19),
            clflushopt: bit(extended.ebx, 23),
            clwb: bit(extended.ebx, 24),
            movdir64b: bit(extended.ecx, 28),
            rdtscp: bit(amd.edx, 27),
            invariant_tsc: bit(power.edx, 8),
            avx: bit(basic.ecx, 28),
            // Also whether the system keeps the upper halves (XCR0), which CPUID alone does not
            // say.
            avx2: is_x86_feature_detected!("avx2"),
        }
    }

    /// Whether it has `feature`.
    pub fn has(self, feature: Feature) -> bool {
        match feature {
            Feature::ClFlush => self.clflush,
            Feature::ClFlushOpt => self.clflushopt,
            Feature::Clwb => self.clwb,
            Feature::Movdir64b => self.movdir64b,
            Feature::Rdtscp => self.rdtscp,
            Feature::InvariantTsc => self.invariant_tsc,
            Feature::Avx => self.avx,
            Feature::Avx2 => self.avx2,
        }
    }

    /// The ways to publish that it has, in the order of the documentation.
    pub fn publish_methods(self) -> Vec<PublishBy> {
        let all = PublishBy::ALL.iter().copied();
        all.filter(|&by| self.lacks(publish_needs(by)).is_none())
            .collect()
    }

    /// The ways to observe that it has, in the order of the documentation.
    pub fn observe_methods(self) -> Vec<ObserveBy> {
        let all = ObserveBy::ALL.iter().copied();
        all.filter(|&by| self.lacks(observe_needs(by)).is_none())
            .collect()
    }

    /// Whether it can follow `discipline`.
    ///
    /// # Errors
    /// [`Unsupported`] names the method, the CPUID bit, and what there is instead.
    pub fn supports(self, discipline: Discipline) -> Result<(), Unsupported> {
        self.supports_publish(discipline.publish)?;
        self.supports_observe(discipline.observe)
    }

    /// Whether it can publish by `method`.
    ///
    /// # Errors
    /// As for [`supports`](Self::supports).
    pub fn supports_publish(self, method: PublishBy) -> Result<(), Unsupported> {
        match self.lacks(publish_needs(method)) {
            None => Ok(()),
            Some(feature) => Err(Unsupported {
                half: "publish",
                method: method.name(),
                feature,
                available: list(&self.publish_methods()),
            }),
        }
    }

    /// Whether it can observe by `method`.
    ///
    /// # Errors
    /// As for [`supports`](Self::supports).
    pub fn supports_observe(self, method: ObserveBy) -> Result<(), Unsupported> {
        match self.lacks(observe_needs(method)) {
            None => Ok(()),
            Some(feature) => Err(Unsupported {
                half: "observe",
                method: method.name(),
                feature,
                available: list(&self.observe_methods()),
            }),
        }
    }

    fn lacks(self, needs: &[Feature]) -> Option<Feature> {
        needs.iter().copied().find(|&feature| !self.has(feature))
    }
}

/// MOVNTI and MOVDIR64B need CLFLUSHOPT too: lines that plain stores dirtied are published by it.
fn publish_needs(method: PublishBy) -> &'static [Feature] {
    match method {
        PublishBy::ClFlush => &[Feature::ClFlush],
        PublishBy::ClFlushOpt | PublishBy::StoreNt => &[Feature::ClFlushOpt],
        PublishBy::Clwb => &[Feature::Clwb],
        PublishBy::Line64 => &[Feature::Movdir64b, Feature::ClFlushOpt],
        PublishBy::None => &[],
    }
}

fn observe_needs(method: ObserveBy) -> &'static [Feature] {
    match method {
        ObserveBy::ClFlush => &[Feature::ClFlush],
        ObserveBy::ClFlushOpt => &[Feature::ClFlushOpt],
        ObserveBy::None => &[],
    }
}

fn list(methods: &[impl fmt::Display]) -> String {
    let names: Vec<_> = methods.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn bit(register: u32, index: u32) -> bool {
    register >> index & 1 == 1
}

/// A leaf beyond the CPU's highest reads as zeroes: Intel returns the last basic leaf's registers
/// there, which would look like features.
fn leaf(number: u32, sub: u32) -> CpuidResult {
    let highest = __cpuid(number & 0x8000_0000).eax;
    if number > highest {
        return CpuidResult {
            eax: 0,
            ebx: 0,
            ecx: 0,
            edx: 0,
        };
    }
    __cpuid_count(number, sub)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: Cpu = Cpu {
        clflush: true,
        clflushopt: false,
        clwb: false,
        movdir64b: false,
        rdtscp: true,
        invariant_tsc: true,
        avx: true,
        avx2: true,
    };

    #[test]
    fn a_refusal_names_method_bit_and_alternatives() {
        let refused = BARE.supports(Discipline::DEFAULT).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "publish=clflushopt needs clflushopt (CPUID 7.0:EBX[23]), which this CPU lacks; \
             use one of: clflush, none"
        );
        let refused = BARE.supports_observe(ObserveBy::ClFlushOpt).unwrap_err();
        assert!(refused.to_string().starts_with("observe=clflushopt needs"));
        assert_eq!(BARE.supports(Discipline::NONE), Ok(()));
    }

    #[test]
    fn line_writes_need_the_flush_for_plain_stores_as_well() {
        let cpu = Cpu {
            movdir64b: true,
            ..BARE
        };
        let refused = cpu.supports_publish(PublishBy::Line64).unwrap_err();
        assert_eq!(refused.feature, Feature::ClFlushOpt);
    }

    /// The kernel decodes the same bits on its own; hypervisors that hide a bit hide it from both.
    #[test]
    fn detection_agrees_with_the_kernel() {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let line = info.lines().find(|line| line.starts_with("flags")).unwrap();
        let flags: Vec<_> = line.split_whitespace().collect();
        let cpu = Cpu::detect();
        let named = [
            Feature::ClFlush,
            Feature::ClFlushOpt,
            Feature::Clwb,
            Feature::Movdir64b,
            Feature::Rdtscp,
            Feature::Avx,
        ];
        for feature in named {
            assert_eq!(
                cpu.has(feature),
                flags.contains(&feature.name()),
                "{feature:?}"
            );
        }
    }
}
