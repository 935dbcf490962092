//! A machine made of files: a healthy host with one CXL device, to be broken by tests.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Processor, Scene};

/// Where the DAX device lies below its region, as the kernel nests them.
const REGION: &str = "sys/devices/platform/ACPI0017:00/root0/decoder0.0/region0";

pub(super) struct Fake {
    root: TempDir,
    pub(super) processor: Processor,
}

impl Fake {
    /// Nothing is wrong with it.
    pub(super) fn healthy() -> Self {
        let fake = Self {
            root: tempfile::tempdir().unwrap(),
            processor: Processor {
                instructions: ["clflush", "clflushopt", "clwb", "movdir64b", "movnti"]
                    .map(|name| (name, true))
                    .to_vec(),
                clock: Ok("2.0 ticks a ns".into()),
            },
        };
        fake.processor_files()
            .memory_files()
            .cxl_files()
            .dax_files()
            .process_files()
    }

    fn processor_files(self) -> Self {
        let mut msr = vec![0; 0x1a4];
        msr.extend(0xf_u64.to_le_bytes());
        let cpu = "sys/devices/system/cpu";
        self.file(
            "proc/cpuinfo",
            "processor: 0\nvendor_id: GenuineIntel\nflags: constant_tsc nonstop_tsc\n",
        )
        .bytes("dev/cpu/0/msr", &msr)
        .file(&format!("{cpu}/online"), "0-3\n")
        .file(&format!("{cpu}/smt/control"), "off\n")
        .file(
            &format!("{cpu}/cpu0/cpufreq/scaling_governor"),
            "performance\n",
        )
        .file(&format!("{cpu}/cpu0/cpuidle/state1/name"), "C1\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state1/latency"), "1\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state1/disable"), "0\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state2/name"), "C6\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state2/latency"), "170\n")
        .file(&format!("{cpu}/cpu0/cpuidle/state2/disable"), "1\n")
        .file(
            &format!("{cpu}/intel_uncore_frequency/package_00_die_00/min_freq_khz"),
            "2200000\n",
        )
        .file(
            &format!("{cpu}/intel_uncore_frequency/package_00_die_00/max_freq_khz"),
            "2200000\n",
        )
        .file(
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc\n",
        )
    }

    fn memory_files(self) -> Self {
        let node = "sys/devices/system/node/node0";
        let pool = "sys/kernel/mm/hugepages/hugepages-2048kB";
        self.file("proc/meminfo", "MemTotal: 67108864 kB\n")
            .file(
                "proc/iomem",
                "100000000-4fffffffff : CXL Window 0\n  1-2 : Soft Reserved\n",
            )
            .file("proc/cmdline", "quiet\n")
            .file(&format!("{node}/cpulist"), "0-3\n")
            .file(&format!("{node}/distance"), "10\n")
            .file(&format!("{node}/meminfo"), "Node 0 MemTotal: 67108864 kB\n")
            .file("sys/devices/system/node/has_memory", "0\n")
            .file("sys/devices/system/memory/auto_online_blocks", "offline\n")
            .file("sys/devices/system/memory/block_size_bytes", "80000000\n")
            .file(
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never\n",
            )
            .file(&format!("{pool}/nr_hugepages"), "512\n")
            .file(&format!("{pool}/free_hugepages"), "512\n")
            .file("proc/sys/kernel/numa_balancing", "0\n")
            .file("sys/kernel/mm/numa/demotion_enabled", "false\n")
            .file("sys/kernel/mm/damon/admin/kdamonds/0/state", "off\n")
            .file("sys/module/zswap/parameters/enabled", "N\n")
            .file(
                "sys/devices/virtual/memory_tiering/memory_tier4/nodelist",
                "0\n",
            )
    }

    fn cxl_files(self) -> Self {
        self.memory("mem0", "0xc100e2e0")
            .region("region0", "decoder2.0", "endpoint2", "mem0")
            .file("sys/bus/cxl/devices/decoder0.0/size", "0x400000000\n")
            .file("sys/bus/pci/devices/0000:38:00.0/class", "0x050210\n")
    }

    fn dax_files(self) -> Self {
        let fake = self.dax_device("dax0.0", "region0").file("dev/dax0.0", "");
        // As root the test's files belong to root's group, which nobody else is in; as anyone else
        // the group is another already, and may not be changed.
        let _ = chown(fake.root.path().join("dev/dax0.0"), None, Some(1000));
        fake.mode("dev/dax0.0", 0o660)
    }

    fn process_files(self) -> Self {
        self.file("proc/self/limits", "Max open files 4096 4096 files\n")
            .file(
                "proc/self/status",
                "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n",
            )
            .file("proc/self/cgroup", "0::/user/job\n")
            .file("sys/fs/cgroup/user/memory.max", "max\n")
            .file("sys/fs/cgroup/user/job/cpu.max", "max 100000\n")
            .file(
                "proc/41/maps",
                "7f00-7f01 rw-s 0 00:05 9   /dev/shm/other\n",
            )
            .file("proc/41/comm", "bystander\n")
            .file("dev/shm/.keep", "")
    }

    /// A CXL memory device.
    pub(super) fn memory(self, name: &str, serial: &str) -> Self {
        let at = format!("sys/bus/cxl/devices/{name}");
        self.file(&format!("{at}/serial"), &format!("{serial}\n"))
            .file(&format!("{at}/ram/size"), "0x400000000\n")
            .file(&format!("{at}/pmem/size"), "0x0\n")
            .file(&format!("{at}/numa_node"), "0\n")
    }

    /// A committed region over the whole of one memory.
    pub(super) fn region(self, name: &str, decoder: &str, endpoint: &str, memory: &str) -> Self {
        let at = format!("{}/{name}", REGION.trim_end_matches("/region0"));
        let below = format!("sys/devices/pci/{memory}/{endpoint}");
        self.file(&format!("{at}/commit"), "1\n")
            .file(&format!("{at}/size"), "0x400000000\n")
            .file(&format!("{at}/interleave_ways"), "1\n")
            .file(&format!("{at}/target0"), &format!("{decoder}\n"))
            .link(&format!("sys/bus/cxl/devices/{name}"), &at)
            .file(&format!("{below}/{decoder}/dpa_resource"), "0x0\n")
            .file(&format!("{below}/{decoder}/dpa_size"), "0x400000000\n")
            .link(
                &format!("{below}/uport"),
                &format!("sys/bus/cxl/devices/{memory}"),
            )
            .link(
                &format!("sys/bus/cxl/devices/{decoder}"),
                &format!("{below}/{decoder}"),
            )
            .link(&format!("sys/bus/cxl/devices/{endpoint}"), &below)
    }

    /// A DAX device in devdax mode, of 16 GiB in 2 MiB pages, with NUMA node 1 if it were memory.
    pub(super) fn dax_device(self, name: &str, region: &str) -> Self {
        let parent = REGION.trim_end_matches("/region0");
        let at = format!("{parent}/{region}/dax_{region}/{name}");
        self.file(&format!("{at}/size"), "17179869184\n")
            .file(&format!("{at}/align"), "2097152\n")
            .file(&format!("{at}/target_node"), "1\n")
            .file(&format!("{at}/resource"), "0x100000000\n")
            .file("sys/bus/dax/drivers/device_dax/bind", "")
            .link(&format!("{at}/driver"), "sys/bus/dax/drivers/device_dax")
            .link(&format!("sys/bus/dax/devices/{name}"), &at)
    }

    /// dax0.0 is memory of node 1: one block online in `zone`, one offline, one of another device.
    pub(super) fn system_ram(self, zone: &str) -> Self {
        let node = "sys/devices/system/node/node1";
        self.file("sys/bus/dax/drivers/kmem/bind", "")
            .link(
                "sys/bus/dax/devices/dax0.0/driver",
                "sys/bus/dax/drivers/kmem",
            )
            .file(&format!("{node}/memory2/state"), "online\n")
            .file(&format!("{node}/memory2/valid_zones"), &format!("{zone}\n"))
            .file(&format!("{node}/memory3/state"), "offline\n")
            .file(&format!("{node}/memory900/state"), "online\n")
            .file(&format!("{node}/memory900/valid_zones"), "Normal\n")
            .file(&format!("{node}/cpulist"), "\n")
            .file(&format!("{node}/distance"), "20 10\n")
            .file(&format!("{node}/meminfo"), "Node 1 MemTotal: 2097152 kB\n")
            .file("proc/77/comm", "redis\n")
            .file("proc/77/numa_maps", "7f00 default anon=9 N0=2 N1=7\n")
    }

    pub(super) fn file(self, path: &str, content: &str) -> Self {
        self.bytes(path, content.as_bytes())
    }

    fn bytes(self, path: &str, content: &[u8]) -> Self {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// A symbolic link at `path` to `target`, both below the root.
    pub(super) fn link(self, path: &str, target: &str) -> Self {
        let from = self.root.path().join(path);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        if from.is_symlink() {
            fs::remove_file(&from).unwrap();
        }
        symlink(self.root.path().join(target), from).unwrap();
        self
    }

    pub(super) fn mode(self, path: &str, mode: u32) -> Self {
        let path = self.root.path().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// Removes a file, a link, or a directory with everything below.
    pub(super) fn without(self, path: &str) -> Self {
        let path: PathBuf = self.root.path().join(path);
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
        self
    }

    pub(super) fn scene(&self) -> Scene {
        Scene::new(self.root.path(), Some(self.processor.clone()))
    }
}
