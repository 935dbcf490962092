//! CXL memory devices, decoders and regions, and memory that appears twice.

use std::collections::BTreeMap;

use super::dax::{DEVICES, Device};
use super::finding::{Finding, Status, size};
use super::tree::Tree;
use super::{Scene, firmware};

const ALL: &str = "sys/bus/cxl/devices";
/// CXL memory device, CXL.mem programming interface (PCI Code and ID Assignment, class 05h
/// subclass 02h interface 10h).
const PCI_CLASS: &str = "0x050210";

pub(super) fn check(scene: &Scene) -> Vec<Finding> {
    let tree = &scene.tree;
    let memories = tree.numbered(ALL, "mem");
    let mut findings: Vec<_> = memories.iter().map(|name| memory(tree, name)).collect();
    findings.push(hidden(tree, memories.len()));
    if !memories.is_empty() {
        findings.extend(decoders_and_regions(scene, &memories));
        findings.push(aliased_memories(tree, &memories));
    }
    findings
}

fn memory(tree: &Tree, name: &str) -> Finding {
    let at = format!("{ALL}/{name}");
    let bytes = |which| tree.number(&format!("{at}/{which}/size")).unwrap_or(0);
    let serial = serial(tree, name);
    let found = format!(
        "serial {}, {} volatile, {} persistent, NUMA node {}",
        serial.as_deref().unwrap_or("unknown"),
        size(bytes("ram")),
        size(bytes("pmem")),
        tree.word(&format!("{at}/numa_node"))
            .unwrap_or_else(|_| "unknown".into()),
    );
    let status = if serial.is_some() {
        Status::Ok
    } else {
        Status::Note
    };
    let means = "the serial is what tells two hosts that they map the same memory";
    Finding::new(status, name, found, means)
        .remedy("compare by hand which device each host maps: `cxl list -M` on each")
        .rows(&[8, 10])
}

/// A serial that identifies: some devices have none, which reads as 0.
fn serial(tree: &Tree, memory: &str) -> Option<String> {
    let serial = tree.word(&format!("{ALL}/{memory}/serial")).ok()?;
    let digits = serial.trim_start_matches("0x").trim_start_matches('0');
    (!digits.is_empty()).then(|| format!("0x{digits}"))
}

/// CXL devices on PCI of which the cxl bus knows nothing.
fn hidden(tree: &Tree, memories: usize) -> Finding {
    let pci = "sys/bus/pci/devices";
    let mut devices = tree.names(pci);
    devices.retain(|name| tree.word(&format!("{pci}/{name}/class")) == Ok(PCI_CLASS.into()));
    let means = "without a driver, or behind a legacy firmware mode, a device is ordinary memory \
                 of the host and never becomes a DAX device";
    if devices.len() > memories {
        let found = format!(
            "{} on PCI ({}), {memories} on the cxl bus",
            devices.len(),
            devices.join(", ")
        );
        return Finding::new(Status::Warn, "CXL devices", found, means)
            .remedy(
                "modprobe -a cxl_acpi cxl_pci cxl_mem; if they stay away, set the firmware's CXL \
                 Type 3 option from legacy to CXL 2.0, and its memory attribute to specific \
                 purpose",
            )
            .rows(&[2]);
    }
    let (status, found) = match memories {
        0 => (Status::Note, "none on PCI, none on the cxl bus".to_owned()),
        some => (Status::Ok, format!("{some} on the cxl bus")),
    };
    Finding::new(status, "CXL devices", found, means)
        .remedy("use the simulator (--on sim), a stand-in, or a machine with a CXL device")
        .rows(&[2])
}

fn decoders_and_regions(scene: &Scene, memories: &[String]) -> Vec<Finding> {
    let tree = &scene.tree;
    let mut decoders = tree.names(ALL);
    decoders.retain(|name| name.starts_with("decoder0."));
    let regions = tree.numbered(ALL, "region");
    if regions.is_empty() {
        return vec![no_region(scene, &decoders, memories)];
    }
    regions.iter().map(|name| region(tree, name)).collect()
}

fn no_region(scene: &Scene, decoders: &[String], memories: &[String]) -> Finding {
    let means = "a DAX device of CXL memory belongs to a region, which a root decoder makes";
    let found = format!("none; root decoders: {}", decoders.len());
    let remedy = match decoders.first() {
        Some(decoder) => format!(
            "cxl create-region -m -t ram -d {decoder} {}, then daxctl reconfigure-device \
             --mode=devdax the new device",
            memories.join(" ")
        ),
        None => format!(
            "no root decoder: the firmware describes no CXL window (ACPI CEDT, CFMWS); {}",
            firmware::SETTING
        ),
    };
    let status = if scene.tree.names(DEVICES).is_empty() {
        Status::Warn
    } else {
        Status::Note
    };
    Finding::new(status, "CXL regions", found, means)
        .remedy(remedy)
        .rows(&[2])
}

fn region(tree: &Tree, name: &str) -> Finding {
    let at = format!("{ALL}/{name}");
    let ways = tree
        .word(&format!("{at}/interleave_ways"))
        .unwrap_or_else(|_| "?".into());
    let bytes = tree.number(&format!("{at}/size"));
    let committed = tree.word(&format!("{at}/commit")) == Ok("1".into());
    let targets: Vec<_> = targets(tree, name)
        .into_iter()
        .map(|it| it.memory)
        .collect();
    let found = format!(
        "{}, {}, {ways}-way over {}",
        if committed {
            "committed"
        } else {
            "not committed"
        },
        bytes.map_or_else(|why| why, size),
        if targets.is_empty() {
            "unknown devices".into()
        } else {
            targets.join(", ")
        },
    );
    let status = if committed { Status::Ok } else { Status::Warn };
    let means = "decoders route addresses to devices only once the region is committed";
    Finding::new(status, name, found, means)
        .remedy(format!("cxl enable-region {name}"))
        .rows(&[2])
}

/// A span of one device's own memory: which bytes of it a region shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    memory: String,
    serial: Option<String>,
    /// First byte and length within the device, if the kernel shows them.
    span: Option<(u64, u64)>,
}

/// What a region is made of, through its endpoint decoders.
fn targets(tree: &Tree, region: &str) -> Vec<Target> {
    let slots = tree.numbered(&format!("{ALL}/{region}"), "target");
    slots
        .iter()
        .filter_map(|slot| {
            let decoder = tree.word(&format!("{ALL}/{region}/{slot}")).ok()?;
            let at = format!("{ALL}/{decoder}");
            let ancestry = tree.ancestry(&at);
            let endpoint = ancestry.iter().find(|part| part.starts_with("endpoint"))?;
            let memory = tree.link_name(&format!("{ALL}/{endpoint}/uport"))?;
            let start = tree.number(&format!("{at}/dpa_resource")).ok();
            let bytes = tree.number(&format!("{at}/dpa_size")).ok();
            Some(Target {
                serial: serial(tree, &memory),
                memory,
                span: start.zip(bytes),
            })
        })
        .collect()
}

const ALIAS_MEANS: &str = "two names of the same bytes: a run on each would overwrite the other, \
                           and a kernel warning about it is no crash";

/// The same device twice on the cxl bus, as a multi-headed device with two links to one host is.
fn aliased_memories(tree: &Tree, memories: &[String]) -> Finding {
    let mut by_serial: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in memories {
        if let Some(serial) = serial(tree, name) {
            by_serial.entry(serial).or_default().push(name);
        }
    }
    by_serial.retain(|_, names| names.len() > 1);
    if by_serial.is_empty() {
        let found = "every serial once";
        return Finding::new(Status::Ok, "aliases", found, ALIAS_MEANS).rows(&[10]);
    }
    let found: Vec<_> = by_serial
        .iter()
        .map(|(serial, names)| format!("{} have serial {serial}", names.join(" and ")))
        .collect();
    Finding::new(Status::Warn, "aliases", found.join("; "), ALIAS_MEANS)
        .remedy(
            "use one of them on this host; if the device has several logical devices, check with \
             the vendor's tool that they do not overlap",
        )
        .rows(&[10])
}

/// Pairs of DAX devices that show the same bytes of the same memory.
pub(super) fn aliased_devices(scene: &Scene, devices: &[Device]) -> Vec<Finding> {
    let backed: Vec<_> = devices
        .iter()
        .filter_map(|device| Some((&device.name, region_of(&scene.tree, &device.name)?)))
        .map(|(name, region)| (name, targets(&scene.tree, &region), region))
        .collect();
    let mut findings = Vec::new();
    for (index, (name, targets, region)) in backed.iter().enumerate() {
        for (other, others, other_region) in &backed[index + 1..] {
            // The kernel divides one region among its devices without overlap.
            if region == other_region {
                continue;
            }
            let shared = targets
                .iter()
                .find(|it| others.iter().any(|other| overlap(it, other)));
            if let Some(Target {
                serial: Some(serial),
                ..
            }) = shared
            {
                let found = format!("{name} and {other} show the same bytes of serial {serial}");
                findings.push(
                    Finding::new(Status::Warn, "DAX aliases", found, ALIAS_MEANS)
                        .remedy(format!("use one of the two: daxctl disable-device {other}"))
                        .rows(&[10]),
                );
            }
        }
    }
    findings
}

/// The CXL region behind a DAX device, whose sysfs directory lies below its region's.
fn region_of(tree: &Tree, dax: &str) -> Option<String> {
    let ancestry = tree.ancestry(&format!("{DEVICES}/{dax}"));
    ancestry.into_iter().find(|part| {
        let number = part.strip_prefix("region");
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    })
}

/// Spans that are not known count as overlapping: a warning too many costs a look, one too few a
/// run.
fn overlap(one: &Target, other: &Target) -> bool {
    let same = one.serial.is_some() && one.serial == other.serial;
    let meet = match (one.span, other.span) {
        (Some((a, a_bytes)), Some((b, b_bytes))) => a < b + b_bytes && b < a + a_bytes,
        _ => true,
    };
    same && meet
}
