//! Whether a file in memory can be backed, before a store finds out by SIGBUS.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate, fstat, fstatvfs};
use rustix::io::Errno;

use super::RegionError;

/// `st_blocks` counts these, whatever the filesystem's own blocks are (stat(2)).
const STAT_BLOCK_BYTES: u64 = 512;

/// Allocates the first `bytes` bytes of a file on tmpfs or hugetlbfs, after asking whether they
/// fit.
///
/// tmpfs promises nothing at `ftruncate` or `mmap`: a store to a hole of a full filesystem is a
/// SIGBUS in the middle of a trial. Asking first keeps a container from being killed for memory by
/// the allocation itself.
pub(super) fn reserve(file: impl AsFd, path: &Path, bytes: u64) -> Result<(), RegionError> {
    let failed = |call| {
        move |error: Errno| RegionError::Examine {
            path: path.to_owned(),
            call,
            source: error.into(),
        }
    };
    let stat = fstat(&file).map_err(failed("fstat"))?;
    let needed = bytes.saturating_sub(stat.st_blocks as u64 * STAT_BLOCK_BYTES);
    let fs = fstatvfs(&file).map_err(failed("fstatvfs"))?;
    let limit = (fs.f_blocks > 0).then_some(fs.f_bavail.saturating_mul(fs.f_frsize));
    let memory = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| available(&text));
    ask(path, needed, limit, memory)?;
    loop {
        match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, bytes) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::NOSPC) => {
                let free = limit.or(memory).unwrap_or(0);
                return Err(RegionError::NoSpace {
                    path: path.to_owned(),
                    needed,
                    free,
                });
            }
            Err(error) => return Err(failed("fallocate")(error)),
        }
    }
}

/// `limit`: what the filesystem has left; none for the kernel's own mount behind a memfd.
fn ask(
    path: &Path,
    needed: u64,
    limit: Option<u64>,
    memory: Option<u64>,
) -> Result<(), RegionError> {
    let path = path.to_owned();
    match (limit, memory) {
        (Some(free), _) if needed > free => Err(RegionError::NoSpace { path, needed, free }),
        (None, Some(free)) if needed > free => Err(RegionError::NoMemory { path, needed, free }),
        _ => Ok(()),
    }
}

/// Bytes of `MemAvailable` in the text of /proc/meminfo.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_the_filesystem_or_the_memory_is_refused_with_both_numbers() {
        let path = Path::new("/dev/shm/region");
        let refused = ask(path, 4096, Some(4095), Some(1 << 40))
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("4096") && refused.contains("4095"),
            "{refused}"
        );
        let refused = ask(path, 4096, None, Some(1024)).unwrap_err().to_string();
        assert!(refused.contains("1024 bytes of memory"), "{refused}");
        assert!(ask(path, 4096, Some(4096), Some(0)).is_ok());
        assert!(ask(path, 4096, None, None).is_ok());
    }

    #[test]
    fn available_memory_is_read_in_bytes() {
        let text = "MemTotal:  100 kB\nMemAvailable:   48 kB\n";
        assert_eq!(available(text), Some(48 * 1024));
        assert_eq!(available("MemTotal: 100 kB\n"), None);
        let machine = fs::read_to_string("/proc/meminfo").unwrap();
        assert!(available(&machine).unwrap() > 0);
    }
}
