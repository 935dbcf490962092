//! What kind of memory an open file is, and how much of it can be mapped.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FileType, Stat, fstat, fstatfs, major, minor};

use super::RegionError;

/// Magic numbers of `statfs` (Linux, `include/uapi/linux/magic.h`).
const TMPFS_MAGIC: u64 = 0x0102_1994;
const HUGETLBFS_MAGIC: u64 = 0x9584_58f6;
/// Base pages of x86-64.
const PAGE_BYTES: u64 = 4096;

/// What is mapped; the names are those of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    /// A character device `/dev/daxX.Y`.
    Devdax,
    /// A file on a DAX filesystem, mapped with `MAP_SYNC`.
    FsDax,
    /// A file on tmpfs, or a memfd: ordinary DRAM.
    Tmpfs,
    /// A file on hugetlbfs: ordinary DRAM in huge pages.
    Hugetlbfs,
}

/// How far measurements on a device may be trusted to speak of a non-coherent pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// Pool memory.
    Real,
    /// DRAM of one machine, whose caches are coherent: no stale value ever appears.
    CoherentStandIn,
}

impl Device {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Devdax => "devdax",
            Self::FsDax => "fs-dax",
            Self::Tmpfs => "tmpfs",
            Self::Hugetlbfs => "hugetlbfs",
        }
    }

    /// What its measurements are labelled.
    pub fn label(self) -> Label {
        match self {
            Self::Devdax | Self::FsDax => Label::Real,
            Self::Tmpfs | Self::Hugetlbfs => Label::CoherentStandIn,
        }
    }
}

impl Label {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::CoherentStandIn => "coherent stand-in",
        }
    }
}

/// What there is to map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) device: Device,
    /// All of it, as the device or file says.
    pub(super) size: u64,
    /// A mapping's length is a multiple of this.
    pub(super) align: u64,
    /// Type number of the filesystem; 0 for a device.
    pub(super) magic: u64,
}

impl Extent {
    /// The size rounded down to whole units: a mapping that reaches into a partial one is refused
    /// (devdax, EINVAL) or ends in SIGBUS.
    pub(super) fn usable(self) -> u64 {
        self.size - self.size % self.align
    }
}

/// Finds out what `file`, opened from `path`, is. `sysfs` is the root of sysfs.
pub(super) fn examine(file: impl AsFd, path: &Path, sysfs: &Path) -> Result<Extent, RegionError> {
    let failed = |call| {
        move |error: rustix::io::Errno| RegionError::Examine {
            path: path.to_owned(),
            call,
            source: error.into(),
        }
    };
    let stat = fstat(&file).map_err(failed("fstat"))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let fs = fstatfs(&file).map_err(failed("fstatfs"))?;
            regular(
                path,
                stat.st_size as u64,
                fs.f_type as u64,
                fs.f_bsize as u64,
            )
        }
        FileType::CharacterDevice => character(path, &stat, sysfs),
        FileType::Directory => Err(RegionError::Directory {
            path: path.to_owned(),
        }),
        other => Err(RegionError::NotMemory {
            path: path.to_owned(),
            what: kind(other),
        }),
    }
}

fn kind(of: FileType) -> &'static str {
    match of {
        FileType::BlockDevice => "block device",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character device outside the dax subsystem",
        _ => "special file",
    }
}

fn regular(path: &Path, size: u64, magic: u64, block: u64) -> Result<Extent, RegionError> {
    if size == 0 {
        return Err(RegionError::Empty {
            path: path.to_owned(),
        });
    }
    let (device, align) = match magic {
        TMPFS_MAGIC => (Device::Tmpfs, PAGE_BYTES),
        // Its block size is its page size.
        HUGETLBFS_MAGIC => (Device::Hugetlbfs, block),
        _ => (Device::FsDax, PAGE_BYTES),
    };
    Ok(Extent {
        device,
        size,
        align,
        magic,
    })
}

fn character(path: &Path, stat: &Stat, sysfs: &Path) -> Result<Extent, RegionError> {
    let number = format!("dev/char/{}:{}", major(stat.st_rdev), minor(stat.st_rdev));
    let node = sysfs.join(number);
    if !link_ends_in(&node.join("subsystem"), "dax") {
        let what = kind(FileType::CharacterDevice);
        return Err(RegionError::NotMemory {
            path: path.to_owned(),
            what,
        });
    }
    refuse_system_ram(path, &node)?;
    let size = attribute(path, &node, sysfs, "size")?;
    let align = attribute(path, &node, sysfs, "align")?;
    if size == 0 || align == 0 {
        return Err(RegionError::Empty {
            path: path.to_owned(),
        });
    }
    Ok(Extent {
        device: Device::Devdax,
        size,
        align,
        magic: 0,
    })
}

/// Refuses a DAX device that the kernel holds as ordinary memory. `node` is its sysfs directory.
fn refuse_system_ram(path: &Path, node: &Path) -> Result<(), RegionError> {
    if link_ends_in(&node.join("driver"), "kmem") {
        return Err(RegionError::SystemRam {
            path: path.to_owned(),
            name: name_of(path),
        });
    }
    Ok(())
}

/// Why nothing is at `path`: a device in system-ram mode has no node.
pub(super) fn missing(path: &Path, sysfs: &Path) -> RegionError {
    let node = sysfs.join("bus/dax/devices").join(name_of(path));
    match refuse_system_ram(path, &node) {
        Err(system_ram) => system_ram,
        Ok(()) => RegionError::Missing {
            path: path.to_owned(),
        },
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn link_ends_in(link: &Path, name: &str) -> bool {
    fs::read_link(link).is_ok_and(|target| target.file_name().is_some_and(|last| last == name))
}

/// A number of the device's sysfs directory, or of its entry on the dax bus: kernels differ in
/// which of the two has it.
fn attribute(path: &Path, node: &Path, sysfs: &Path, name: &str) -> Result<u64, RegionError> {
    let own = node.join(name);
    let on_bus = sysfs.join("bus/dax/devices").join(name_of(path)).join(name);
    let attribute = if !own.exists() && on_bus.exists() {
        on_bus
    } else {
        own
    };
    number(&attribute).map_err(|source| {
        let path = path.to_owned();
        RegionError::Sysfs {
            path,
            attribute,
            source,
        }
    })
}

fn number(file: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(file)?;
    let text = text.trim();
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{text:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A sysfs in which /dev/null, the character device that every machine has, is something else.
    struct FakeSysfs(tempfile::TempDir);

    impl FakeSysfs {
        fn new(subsystem: &str, attributes: &[(&str, &str)]) -> Self {
            let root = tempfile::tempdir().unwrap();
            let node = root.path().join("dev/char/1:3");
            fs::create_dir_all(&node).unwrap();
            symlink(format!("../../../bus/{subsystem}"), node.join("subsystem")).unwrap();
            for (name, value) in attributes {
                fs::write(node.join(name), value).unwrap();
            }
            Self(root)
        }

        fn examine(&self) -> Result<Extent, RegionError> {
            let null = File::open("/dev/null").unwrap();
            examine(&null, Path::new("/dev/null"), self.0.path())
        }
    }

    #[test]
    fn a_dax_node_has_size_and_align_from_sysfs() {
        let sysfs = FakeSysfs::new("dax", &[("size", "17182991360\n"), ("align", "2097152\n")]);
        let extent = sysfs.examine().unwrap();
        assert_eq!((extent.device, extent.align), (Device::Devdax, 2 << 20));
        assert_eq!(extent.usable(), 17_182_991_360 - 17_182_991_360 % (2 << 20));
        assert!(extent.usable() < extent.size);
        assert_eq!(extent.device.label().name(), "real");
    }

    #[test]
    fn attributes_may_stand_on_the_bus_instead() {
        let sysfs = FakeSysfs::new("dax", &[("size", "4194304\n")]);
        let refused = sysfs.examine().unwrap_err().to_string();
        assert!(refused.contains("dev/char/1:3/align"), "{refused}");
        let on_bus = sysfs.0.path().join("bus/dax/devices/null");
        fs::create_dir_all(&on_bus).unwrap();
        fs::write(on_bus.join("align"), "0x1000\n").unwrap();
        assert_eq!(sysfs.examine().unwrap().align, 4096);
    }

    #[test]
    fn an_unreadable_number_is_quoted() {
        let sysfs = FakeSysfs::new("dax", &[("size", "many\n"), ("align", "4096\n")]);
        assert!(
            sysfs
                .examine()
                .unwrap_err()
                .to_string()
                .contains("\"many\"")
        );
    }

    #[test]
    fn other_character_devices_are_not_memory() {
        let refused = FakeSysfs::new("tty", &[]).examine().unwrap_err();
        assert!(
            refused.to_string().contains("outside the dax subsystem"),
            "{refused}"
        );
    }

    #[test]
    fn system_ram_mode_is_told_with_the_remedy() {
        let sysfs = FakeSysfs::new("dax", &[("size", "4194304"), ("align", "4096")]);
        let driver = sysfs.0.path().join("dev/char/1:3/driver");
        symlink("../../bus/dax/drivers/kmem", driver).unwrap();
        let refused = sysfs.examine().unwrap_err().to_string();
        assert!(
            refused.contains("daxctl reconfigure-device -m devdax null"),
            "{refused}"
        );
    }

    #[test]
    fn a_missing_node_may_be_system_ram() {
        let root = tempfile::tempdir().unwrap();
        let node = root.path().join("bus/dax/devices/dax0.0");
        fs::create_dir_all(&node).unwrap();
        symlink("../../drivers/kmem", node.join("driver")).unwrap();
        let why = |name| missing(Path::new(name), root.path()).to_string();
        assert!(why("/dev/dax0.0").contains("system-ram mode"));
        assert!(why("/dev/dax1.0").contains("does not exist"));
    }

    #[test]
    fn huge_pages_round_by_the_block_of_their_filesystem() {
        let path = Path::new("/huge/region");
        let extent = regular(path, (5 << 20) + 1, HUGETLBFS_MAGIC, 2 << 20).unwrap();
        assert_eq!(
            (extent.device.name(), extent.usable()),
            ("hugetlbfs", 4 << 20)
        );
        assert_eq!(extent.device.label().name(), "coherent stand-in");
    }
}
