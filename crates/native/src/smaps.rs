//! What the kernel says about the pages behind an address: /proc/self/smaps.

use std::{fs, io};

/// One mapping, as smaps describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The size that its page table entries have at least.
    pub kernel_page_bytes: u64,
    /// Bytes of anonymous memory on huge pages.
    pub anonymous_huge_bytes: u64,
    /// Bytes of a file's memory that are mapped by huge entries (tmpfs, ordinary files).
    pub file_huge_bytes: u64,
}

/// The mapping that holds `address`.
///
/// # Errors
/// If smaps cannot be read, or no mapping holds the address.
pub fn mapping_at(address: usize) -> io::Result<Mapping> {
    let text = fs::read_to_string("/proc/self/smaps")?;
    find(&text, address).ok_or_else(|| {
        let what = format!("no mapping in /proc/self/smaps holds {address:#x}");
        io::Error::new(io::ErrorKind::NotFound, what)
    })
}

fn find(text: &str, address: usize) -> Option<Mapping> {
    let mut lines = text.lines();
    lines.find(|line| range(line).is_some_and(|(start, end)| (start..end).contains(&address)))?;
    let mut mapping = Mapping::default();
    for line in lines.take_while(|line| range(line).is_none()) {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let kib = value
            .trim()
            .strip_suffix(" kB")
            .and_then(|n| n.parse::<u64>().ok());
        let bytes = kib.map_or(0, |kib| kib * 1024);
        match key {
            "KernelPageSize" => mapping.kernel_page_bytes = bytes,
            "AnonHugePages" => mapping.anonymous_huge_bytes = bytes,
            "ShmemPmdMapped" | "FilePmdMapped" => mapping.file_huge_bytes += bytes,
            _ => {}
        }
    }
    Some(mapping)
}

/// The span in a mapping's first line, `start-end perms offset ..` in hexadecimal.
fn range(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \n\
Size:               2048 kB\nKernelPageSize:        4 kB\nAnonHugePages:      2048 kB\n\
VmFlags: rd wr mr mw me ac hg \n\
7f0000200000-7f0000400000 rw-s 00000000 00:01 12 /memfd:x (deleted)\n\
KernelPageSize:     2048 kB\nAnonHugePages:         0 kB\nShmemPmdMapped:     2048 kB\n";

    #[test]
    fn each_address_gets_its_own_mapping() {
        let first = find(TEXT, 0x7f00_001f_ffff).unwrap();
        assert_eq!(first.kernel_page_bytes, 4096);
        assert_eq!(first.anonymous_huge_bytes, 2 << 20);
        assert_eq!(first.file_huge_bytes, 0);
        let second = find(TEXT, 0x7f00_0020_0000).unwrap();
        assert_eq!(
            (second.kernel_page_bytes, second.file_huge_bytes),
            (2 << 20, 2 << 20)
        );
        assert_eq!(find(TEXT, 0x7f00_0040_0000), None);
    }

    #[test]
    fn this_process_has_pages() {
        let word = 1u8;
        let mapping = mapping_at((&raw const word).addr()).unwrap();
        assert!(mapping.kernel_page_bytes >= 4096, "{mapping:?}");
    }
}
