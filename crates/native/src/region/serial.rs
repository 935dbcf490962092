//! Which pool a device is a window of, by the serial numbers of the CXL devices behind it.
//!
//! Hosts number their DAX devices each by itself: `/dev/dax0.0` here and `/dev/dax1.0` there may be
//! one memory. The kernel gives no serial number for a DAX device, but for what is behind it
//! (`Documentation/ABI/testing/sysfs-bus-cxl`): a device-DAX instance lies below its CXL region,
//! whose `targetN` names an endpoint decoder, below an endpoint port, whose `uport` links to the
//! memory device with its `serial`; the decoder has the address at the device in `dpa_resource`.

use std::fs;
use std::path::Path;

/// The devices behind a DAX device, in the region's interleaving order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backing {
    /// Serial number of each, as sysfs writes it.
    pub serials: Vec<String>,
    /// Where the region begins in each device's own addresses; empty where sysfs does not say.
    pub device_addresses: Vec<String>,
}

/// What backs `path`; none for what is no CXL device, or where sysfs does not tell.
pub fn backing(path: &Path, sysfs: &Path) -> Option<Backing> {
    let name = path.file_name()?;
    let device = fs::canonicalize(sysfs.join("bus/dax/devices").join(name)).ok()?;
    let region = device
        .ancestors()
        .find(|place| place.join("target0").is_file())?;
    let mut backing = Backing {
        serials: Vec::new(),
        device_addresses: Vec::new(),
    };
    for target in (0..).map(|index| region.join(format!("target{index}"))) {
        let Some(decoder) = word(&target) else {
            break;
        };
        let decoder = fs::canonicalize(sysfs.join("bus/cxl/devices").join(decoder)).ok()?;
        let memory = decoder.parent()?.join("uport");
        backing.serials.push(word(&memory.join("serial"))?);
        backing
            .device_addresses
            .extend(word(&decoder.join("dpa_resource")));
    }
    Some(backing)
}

fn word(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let word = text.trim();
    (!word.is_empty()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Two memory devices, one region over both, as the kernel arranges them.
    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary directory");
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("below the root")).expect("it is ours");
            fs::write(path, text).expect("it is ours");
        };
        let link = |at: &str, to: &str| {
            let at = root.path().join(at);
            fs::create_dir_all(at.parent().expect("below the root")).expect("it is ours");
            symlink(root.path().join(to), at).expect("it is new");
        };
        let region = "devices/platform/ACPI0017:00/root0/decoder0.0/region0";
        put(&format!("{region}/dax_region0/dax0.0/size"), "4096\n");
        put(&format!("{region}/target0"), "decoder2.0\n");
        put(&format!("{region}/target1"), "decoder3.0\n");
        link(
            "bus/dax/devices/dax0.0",
            &format!("{region}/dax_region0/dax0.0"),
        );
        for (endpoint, serial) in [(2, "0x12ab"), (3, "0x34cd")] {
            let port = format!("devices/platform/ACPI0017:00/root0/port1/endpoint{endpoint}");
            let memory = format!("devices/pci0000:34/mem{endpoint}");
            put(&format!("{port}/decoder{endpoint}.0/dpa_resource"), "0x0\n");
            put(&format!("{memory}/serial"), &format!("{serial}\n"));
            link(&format!("{port}/uport"), &memory);
            link(
                &format!("bus/cxl/devices/decoder{endpoint}.0"),
                &format!("{port}/decoder{endpoint}.0"),
            );
        }
        root
    }

    #[test]
    fn a_region_over_two_devices_has_two_serials() {
        let tree = tree();
        let found = backing(Path::new("/dev/dax0.0"), tree.path()).expect("it is there");
        assert_eq!(found.serials, ["0x12ab", "0x34cd"]);
        assert_eq!(found.device_addresses, ["0x0", "0x0"]);
    }

    #[test]
    fn a_file_has_none() {
        let tree = tree();
        assert_eq!(backing(Path::new("/dev/shm/region"), tree.path()), None);
        assert_eq!(backing(Path::new("/dev/dax7.0"), tree.path()), None);
    }
}
