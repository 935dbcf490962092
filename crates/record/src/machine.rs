//! The machine behind a host, as far as `/proc`, `/sys` and `/dev` let it be read.
//!
//! Everything here changes memory latencies: a governor or a prefetcher left on explains a figure
//! years later only if it was written down at the time. What cannot be read is null, with the
//! reason under `unreadable`; nothing is inferred from something else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// `MSR_MISC_FEATURE_CONTROL`, whose low bits each switch a prefetcher off (Intel, "Disclosure of
/// Hardware Prefetcher Control on Some Intel Processors", 2014).
const MSR_PREFETCH_CONTROL: u64 = 0x1a4;

/// The prefetchers of that register, from bit 0.
const PREFETCHERS: [&str; 4] = ["l2_stream", "l2_adjacent_line", "l1_next_line", "l1_ip"];

/// One NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNode {
    /// Its number.
    pub node: u32,
    /// Its logical CPUs as the kernel lists them, `0-3,8`; empty for memory alone.
    pub cpus: String,
    /// Its memory.
    pub memory_bytes: u64,
    /// The distance to each node, in the kernel's order.
    pub distances: Vec<u32>,
}

/// The pool of huge pages of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HugePages {
    /// The size of a page.
    pub page_bytes: u64,
    /// Pages in the pool.
    pub total: u64,
    /// Pages of it that are free.
    pub free: u64,
}

/// One cache of CPU 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Its level, from 1.
    pub level: u32,
    /// What it holds: data, instruction or unified.
    pub kind: String,
    /// Its size.
    pub size_bytes: u64,
    /// The logical CPUs that share it, as the kernel lists them.
    pub shared_cpus: String,
}

/// One machine. Every null field has its reason in `unreadable`, under the field's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The machine's name.
    pub hostname: Option<String>,
    /// The CPU's model, as it names itself.
    pub cpu_model: Option<String>,
    /// Logical CPUs that are online.
    pub logical_cpus: Option<u32>,
    /// The microcode's revision.
    pub microcode: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// Caches of CPU 0, in the kernel's order.
    pub caches: Option<Vec<Cache>>,
    /// Memory of the machine.
    pub memory_bytes: Option<u64>,
    /// NUMA nodes, by number.
    pub numa_nodes: Option<Vec<NumaNode>>,
    /// Transparent huge pages: always, madvise or never.
    pub transparent_huge_pages: Option<String>,
    /// Pools of huge pages, by size.
    pub huge_pages: Option<Vec<HugePages>>,
    /// The frequency governors in use, each once.
    pub governors: Option<Vec<String>>,
    /// Simultaneous multithreading: on, off, forceoff, notsupported or notimplemented.
    pub smt: Option<String>,
    /// The prefetchers of CPU 0 that are switched off.
    pub prefetchers_off: Option<Vec<String>>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// Whether the TSC ticks at one rate in every power state.
    pub tsc_invariant: Option<bool>,
    /// Whether the CPU says that a hypervisor runs it.
    pub virtualized: Option<bool>,
    /// The hypervisor's or the machine's product name.
    pub product: Option<String>,
    /// Why a field is null, by its name.
    pub unreadable: BTreeMap<String, String>,
}

impl Host {
    /// Reads the machine whose file system starts at `root`: `/`, or a test's tree.
    pub fn gather(root: &Path) -> Self {
        let tree = Tree {
            root: root.to_owned(),
        };
        let mut why = Unreadable::default();
        let cpu = tree.text("proc/cpuinfo");
        let field = |name: &str| cpu.clone().and_then(|text| cpu_field(&text, name));
        let flag = |names: &[&str]| {
            let flags = field("flags")?;
            Ok(names
                .iter()
                .all(|name| flags.split_whitespace().any(|flag| flag == *name)))
        };
        Self {
            hostname: why.keep("hostname", tree.word("proc/sys/kernel/hostname")),
            cpu_model: why.keep("cpu_model", field("model name")),
            logical_cpus: why.keep(
                "logical_cpus",
                cpu.clone().and_then(|text| count_cpus(&text)),
            ),
            microcode: why.keep("microcode", field("microcode")),
            kernel: why.keep("kernel", tree.word("proc/sys/kernel/osrelease")),
            caches: why.keep("caches", tree.caches()),
            memory_bytes: why.keep("memory_bytes", tree.memory("proc/meminfo")),
            numa_nodes: why.keep("numa_nodes", tree.numa_nodes()),
            transparent_huge_pages: why.keep(
                "transparent_huge_pages",
                tree.choice("sys/kernel/mm/transparent_hugepage/enabled"),
            ),
            huge_pages: why.keep("huge_pages", tree.huge_pages()),
            governors: why.keep("governors", tree.governors()),
            smt: why.keep("smt", tree.word("sys/devices/system/cpu/smt/control")),
            prefetchers_off: why.keep(
                "prefetchers_off",
                field("vendor_id").and_then(|vendor| tree.prefetchers_off(&vendor)),
            ),
            clocksource: why.keep(
                "clocksource",
                tree.word("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            ),
            // Intel, SDM volume 3, "Invariant TSC": Linux shows its two halves as two flags.
            tsc_invariant: why.keep("tsc_invariant", flag(&["constant_tsc", "nonstop_tsc"])),
            virtualized: why.keep("virtualized", flag(&["hypervisor"])),
            product: why.keep("product", tree.word("sys/class/dmi/id/product_name")),
            unreadable: why.0,
        }
    }
}

/// Something read, or the reason why not.
type Read<T> = Result<T, String>;

#[derive(Default)]
struct Unreadable(BTreeMap<String, String>);

impl Unreadable {
    fn keep<T>(&mut self, field: &str, read: Read<T>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(reason) => {
                self.0.insert(field.to_owned(), reason);
                None
            }
        }
    }
}

struct Tree {
    root: PathBuf,
}

impl Tree {
    fn text(&self, path: &str) -> Read<String> {
        fs::read_to_string(self.root.join(path)).map_err(|error| format!("/{path}: {error}"))
    }

    /// A file of one line.
    fn word(&self, path: &str) -> Read<String> {
        let text = self.text(path)?;
        match text.trim() {
            "" => Err(format!("/{path}: empty")),
            word => Ok(word.to_owned()),
        }
    }

    fn number<T: std::str::FromStr>(&self, path: &str) -> Read<T> {
        let word = self.word(path)?;
        word.parse()
            .map_err(|_| format!("/{path}: \"{word}\" is not a number"))
    }

    /// The choice in brackets of a file such as `always [madvise] never`.
    fn choice(&self, path: &str) -> Read<String> {
        let text = self.word(path)?;
        let chosen = text
            .split_once('[')
            .and_then(|(_, rest)| rest.split_once(']'));
        match chosen {
            Some((word, _)) => Ok(word.to_owned()),
            None => Err(format!("/{path}: \"{text}\" has no choice in brackets")),
        }
    }

    /// The `MemTotal` of a `meminfo`, a machine's or a node's.
    fn memory(&self, path: &str) -> Read<u64> {
        let text = self.text(path)?;
        let kib = text
            .lines()
            .find_map(|line| line.split_once("MemTotal:"))
            .and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<u64>().ok());
        kib.map(|kib| kib * 1024)
            .ok_or_else(|| format!("/{path}: no MemTotal"))
    }

    /// The numbers N of the entries `<prefix>N<suffix>` of a directory, in order.
    fn numbered(&self, path: &str, prefix: &str, suffix: &str) -> Read<BTreeSet<u64>> {
        let entries =
            fs::read_dir(self.root.join(path)).map_err(|error| format!("/{path}: {error}"))?;
        Ok(entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                name.strip_prefix(prefix)?
                    .strip_suffix(suffix)?
                    .parse()
                    .ok()
            })
            .collect())
    }

    fn caches(&self) -> Read<Vec<Cache>> {
        let all = "sys/devices/system/cpu/cpu0/cache";
        let indexes = self.numbered(all, "index", "")?;
        indexes
            .into_iter()
            .map(|index| {
                let path = format!("{all}/index{index}");
                Ok(Cache {
                    level: self.number(&format!("{path}/level"))?,
                    kind: self.word(&format!("{path}/type"))?.to_lowercase(),
                    size_bytes: self.kibibytes(&format!("{path}/size"))?,
                    shared_cpus: self.word(&format!("{path}/shared_cpu_list"))?,
                })
            })
            .collect()
    }

    /// A size as the kernel writes those of caches, `48K`, in bytes.
    fn kibibytes(&self, path: &str) -> Read<u64> {
        let word = self.word(path)?;
        let kib = word
            .strip_suffix('K')
            .and_then(|kib| kib.parse::<u64>().ok());
        kib.map(|kib| kib * 1024)
            .ok_or_else(|| format!("/{path}: \"{word}\" is no size in K"))
    }

    fn numa_nodes(&self) -> Read<Vec<NumaNode>> {
        let all = "sys/devices/system/node";
        let nodes = self.numbered(all, "node", "")?;
        nodes
            .into_iter()
            .map(|node| {
                let path = format!("{all}/node{node}");
                let distances = self.word(&format!("{path}/distance"))?;
                Ok(NumaNode {
                    node: node as u32,
                    // Empty where the node has memory alone, so not through `word`.
                    cpus: self.text(&format!("{path}/cpulist"))?.trim().to_owned(),
                    memory_bytes: self.memory(&format!("{path}/meminfo"))?,
                    distances: distances
                        .split_whitespace()
                        .map(|word| {
                            word.parse()
                                .map_err(|_| format!("/{path}/distance: {word}"))
                        })
                        .collect::<Read<_>>()?,
                })
            })
            .collect()
    }

    fn huge_pages(&self) -> Read<Vec<HugePages>> {
        let all = "sys/kernel/mm/hugepages";
        let sizes = self.numbered(all, "hugepages-", "kB")?;
        sizes
            .into_iter()
            .map(|kib| {
                let path = format!("{all}/hugepages-{kib}kB");
                Ok(HugePages {
                    page_bytes: kib * 1024,
                    total: self.number(&format!("{path}/nr_hugepages"))?,
                    free: self.number(&format!("{path}/free_hugepages"))?,
                })
            })
            .collect()
    }

    fn governors(&self) -> Read<Vec<String>> {
        let all = "sys/devices/system/cpu";
        let cpus = self.numbered(all, "cpu", "")?;
        let governors: BTreeSet<String> = cpus
            .into_iter()
            .map(|cpu| self.word(&format!("{all}/cpu{cpu}/cpufreq/scaling_governor")))
            .collect::<Read<_>>()?;
        Ok(governors.into_iter().collect())
    }

    fn prefetchers_off(&self, vendor: &str) -> Read<Vec<String>> {
        if vendor != "GenuineIntel" {
            return Err(format!(
                "no register is known here for the prefetchers of {vendor}"
            ));
        }
        let path = "dev/cpu/0/msr";
        let mut register = [0; 8];
        File::open(self.root.join(path))
            .and_then(|msr| msr.read_exact_at(&mut register, MSR_PREFETCH_CONTROL))
            .map_err(|error| format!("/{path}: {error}; load the module msr and run as root"))?;
        let off = u64::from_le_bytes(register);
        let names = PREFETCHERS
            .iter()
            .enumerate()
            .filter(|(bit, _)| off >> bit & 1 == 1);
        Ok(names.map(|(_, name)| (*name).to_owned()).collect())
    }
}

/// The first value of a field of `/proc/cpuinfo`.
fn cpu_field(text: &str, name: &str) -> Read<String> {
    cpu_lines(text)
        .find(|(field, _)| *field == name)
        .map(|(_, value)| value.to_owned())
        .ok_or_else(|| format!("/proc/cpuinfo: no field \"{name}\""))
}

fn count_cpus(text: &str) -> Read<u32> {
    match cpu_lines(text)
        .filter(|(field, _)| *field == "processor")
        .count()
    {
        0 => Err("/proc/cpuinfo: no field \"processor\"".to_owned()),
        count => Ok(count as u32),
    }
}

fn cpu_lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(field, value)| (field.trim(), value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU\n\
        microcode\t: 0x2b\nflags\t\t: fpu constant_tsc nonstop_tsc clflushopt\n\n\
        processor\t: 1\nmodel name\t: Some CPU\n";

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    /// Two CPUs with a hypervisor-free TSC, two NUMA nodes of which one has memory alone.
    const MACHINE: &[(&str, &str)] = &[
        ("proc/cpuinfo", CPUINFO),
        ("proc/meminfo", "MemFree: 1 kB\nMemTotal:       2048 kB\n"),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        ),
        ("sys/devices/system/node/node0/cpulist", "0-1\n"),
        ("sys/devices/system/node/node0/distance", "10 20\n"),
        (
            "sys/devices/system/node/node0/meminfo",
            "Node 0 MemTotal:  1024 kB\n",
        ),
        ("sys/devices/system/node/node1/cpulist", "\n"),
        ("sys/devices/system/node/node1/distance", "20 10\n"),
        (
            "sys/devices/system/node/node1/meminfo",
            "Node 1 MemTotal:  1024 kB\n",
        ),
        (
            "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
            "8\n",
        ),
        (
            "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
            "3\n",
        ),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "performance\n",
        ),
        (
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "powersave\n",
        ),
        ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n"),
        (
            "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
            "0-1\n",
        ),
    ];

    #[test]
    fn a_machine_is_read_from_its_files() {
        let mut msr = vec![0; 0x1a4];
        msr.extend(0b0110_u64.to_le_bytes());
        let msr = ("dev/cpu/0/msr", std::str::from_utf8(&msr).unwrap());
        let root = tree(&[MACHINE, &[msr]].concat());
        let host = Host::gather(root.path());
        assert_eq!(host.cpu_model.as_deref(), Some("Some CPU"));
        assert_eq!(
            (host.logical_cpus, host.memory_bytes),
            (Some(2), Some(2 << 20))
        );
        assert_eq!(
            (host.tsc_invariant, host.virtualized),
            (Some(true), Some(false))
        );
        assert_eq!(host.transparent_huge_pages.as_deref(), Some("madvise"));
        assert_eq!(host.governors.unwrap(), ["performance", "powersave"]);
        assert_eq!(
            host.prefetchers_off.unwrap(),
            ["l2_adjacent_line", "l1_next_line"]
        );
        let huge = HugePages {
            page_bytes: 2 << 20,
            total: 8,
            free: 3,
        };
        assert_eq!(host.huge_pages.unwrap(), [huge]);
        let cache = Cache {
            level: 1,
            kind: "data".to_owned(),
            size_bytes: 48 << 10,
            shared_cpus: "0-1".to_owned(),
        };
        assert_eq!(host.caches.unwrap(), [cache]);
        let nodes = host.numa_nodes.unwrap();
        assert_eq!(
            (nodes[0].cpus.as_str(), nodes[1].cpus.as_str()),
            ("0-1", "")
        );
        assert_eq!(
            (nodes[1].memory_bytes, nodes[1].distances.as_slice()),
            (1 << 20, &[20, 10][..])
        );
    }

    #[test]
    fn every_null_has_its_reason() {
        let root = tree(&[(
            "proc/cpuinfo",
            "processor: 0\nvendor_id: AuthenticAMD\nflags: fpu\n",
        )]);
        let host = Host::gather(root.path());
        let json = serde_json::to_value(&host).unwrap();
        for (field, value) in json.as_object().unwrap() {
            assert_eq!(
                value.is_null(),
                host.unreadable.contains_key(field),
                "{field}"
            );
        }
        assert!(host.unreadable["kernel"].starts_with("/proc/sys/kernel/osrelease: No such file"));
        assert!(host.unreadable["prefetchers_off"].contains("AuthenticAMD"));
        assert!(host.unreadable["cpu_model"].contains("no field \"model name\""));
    }

    #[test]
    fn an_unloaded_msr_module_is_the_reason() {
        let root = tree(&[("proc/cpuinfo", CPUINFO)]);
        let host = Host::gather(root.path());
        assert!(
            host.unreadable["prefetchers_off"].ends_with("load the module msr and run as root")
        );
    }

    #[test]
    fn nonsense_is_a_reason_and_no_value() {
        let root = tree(&[
            ("sys/kernel/mm/transparent_hugepage/enabled", "always\n"),
            (
                "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
                "many\n",
            ),
        ]);
        let host = Host::gather(root.path());
        assert!(host.unreadable["transparent_huge_pages"].contains("no choice in brackets"));
        assert!(host.unreadable["huge_pages"].contains("\"many\" is not a number"));
    }
}
