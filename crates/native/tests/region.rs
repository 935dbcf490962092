//! Opening regions: what is mapped where, what is refused and with which remedy, and what a SIGBUS
//! says. A mapping that ended before its file did once cost users of a pmem library a bare
//! "Bus error"; the last test dies of one on purpose and reads what was said.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use common::Memfd;
use fabric::{
    Arena, Discipline, HostAtomics, NoWatch, Pod, Program, Ptr, Seat, Setting, Substrate,
};
use native::{
    Device, Host, Label, Region, RegionError, Request, TscClock, available_cpus, plan_pins,
};

/// One lane that stores a word and says what another place holds.
struct Exchange {
    write: Option<(Ptr<u64>, u64)>,
    read: Ptr<u64>,
}

impl Program for Exchange {
    type Out = u64;

    fn lane<P: HostAtomics>(&self, _: Seat, port: &P) -> u64 {
        if let Some((at, value)) = self.write {
            port.write_published(at, &[value]);
        }
        port.observe(self.read.line());
        port.load(self.read)
    }
}

fn run(region: &Region, program: &Exchange) -> u64 {
    let pod = Pod::new(1, 1);
    let pins = plan_pins(pod, 0, &available_cpus().unwrap()).unwrap();
    let clock = TscClock::calibrate().unwrap().clock(true);
    let host = Host::new(region, region.host(), pins, clock);
    let setting = Setting {
        pod,
        discipline: Discipline::DEFAULT,
        host_bytes: 0,
    };
    host.run(&setting, &NoWatch, program)[0].1
}

#[test]
fn hosts_map_at_different_addresses_and_see_each_other() {
    let memfd = Memfd::new(1 << 16);
    let [first, second] = [0, 1].map(|host| memfd.map(host));
    assert_ne!(first.base(), second.base());

    let mut arena = Arena::new();
    let [mine, theirs] = ["test.mine", "test.theirs"].map(|name| arena.word::<u64>(name));
    run(
        &first,
        &Exchange {
            write: Some((mine, 41)),
            read: theirs,
        },
    );
    assert_eq!(
        run(
            &second,
            &Exchange {
                write: Some((theirs, 42)),
                read: mine
            }
        ),
        41
    );
    assert_eq!(
        run(
            &first,
            &Exchange {
                write: None,
                read: theirs
            }
        ),
        42
    );
}

#[test]
fn a_taken_address_is_left_alone() {
    let memfd = Memfd::new(1 << 16);
    let [first, second] = [5, 5].map(|host| memfd.map(host));
    assert_ne!(first.base(), second.base());
}

#[test]
fn a_memfd_is_a_stand_in_of_whole_pages() {
    let region = Memfd::new(2 * 4096 + 100).map(0);
    assert_eq!(
        (region.device(), region.device().label()),
        (Device::Tmpfs, Label::CoherentStandIn)
    );
    assert_eq!(
        (region.bytes(), region.slack(), region.align()),
        (2 * 4096, 100, 4096)
    );
    assert_eq!(region.map_flags(), "MAP_SHARED");
}

#[test]
fn what_the_layout_needs_is_reserved() {
    let memfd = Memfd::new(1 << 20);
    let _region = Region::open(&Request::new(memfd.path(), 5 * 4096, 0)).unwrap();
    let blocks = rustix::fs::stat(memfd.path()).unwrap().st_blocks as u64;
    assert_eq!(blocks * 512, 5 * 4096);
}

fn refusal(path: impl Into<std::path::PathBuf>, needed: u64) -> (RegionError, String) {
    let refused = Region::open(&Request::new(path, needed, 0)).unwrap_err();
    let text = refused.to_string();
    (refused, text)
}

#[test]
fn paths_that_are_no_region_are_refused_each_in_its_own_way() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nothing");
    let (error, text) = refusal(&missing, 0);
    assert!(matches!(error, RegionError::Missing { .. }), "{text}");
    assert!(text.contains(missing.to_str().unwrap()), "{text}");

    assert!(matches!(
        refusal(dir.path(), 0).0,
        RegionError::Directory { .. }
    ));
    assert!(matches!(
        refusal("/dev/null", 0).0,
        RegionError::NotMemory { .. }
    ));

    let empty = dir.path().join("empty");
    File::create(&empty).unwrap();
    assert!(matches!(refusal(&empty, 0).0, RegionError::Empty { .. }));
}

#[test]
fn a_file_smaller_than_the_layout_is_refused_with_both_sizes() {
    let memfd = Memfd::new(8192 + 5);
    let (error, text) = refusal(memfd.path(), 8193);
    assert!(
        matches!(
            error,
            RegionError::TooSmall {
                needed: 8193,
                has: 8192,
                ..
            }
        ),
        "{text}"
    );
    assert!(text.contains("truncate -s"), "{text}");
}

#[test]
fn more_than_the_machine_has_is_refused_before_anything_is_allocated() {
    let memfd = Memfd::new(1 << 50);
    let (error, text) = refusal(memfd.path(), 1 << 50);
    assert!(matches!(error, RegionError::NoMemory { .. }), "{text}");
    assert_eq!(rustix::fs::stat(memfd.path()).unwrap().st_blocks, 0);
}

/// Root may open what its mode forbids, so the test asks another user's open only where it is one.
#[test]
fn a_file_without_permission_is_refused_with_the_udev_rule() {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o400);
    fs::set_permissions(file.path(), mode).unwrap();
    let (error, text) = refusal(file.path(), 0);
    assert!(matches!(error, RegionError::Permission { .. }), "{text}");
    assert!(text.contains("udev"), "{text}");
}

/// An ordinary disk filesystem is refused; where the temporary directory is a tmpfs, it is mapped.
#[test]
fn a_filesystem_without_dax_is_refused_or_is_tmpfs() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &[0; 4096]).unwrap();
    match Region::open(&Request::new(file.path(), 0, 0)) {
        Ok(region) => assert_ne!(region.device(), Device::Devdax),
        Err(RegionError::NotDax { path, magic, .. }) => {
            assert_eq!(path, file.path());
            assert_ne!(magic, 0);
        }
        Err(other) => panic!("{other}"),
    }
}

/// The test binary runs itself as the process that dies.
const CHILD: &str = "DSMARK_TEST_SIGBUS_CHILD";

#[test]
fn a_sigbus_names_host_and_offset_and_still_kills() {
    if std::env::var_os(CHILD).is_some() {
        touch_a_page_that_is_gone();
    }
    let test = "a_sigbus_names_host_and_offset_and_still_kills";
    let child = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(child.status.signal(), Some(libc_sigbus()), "{said}");
    assert!(
        said.contains("SIGBUS on host 3 at region offset 0x2040"),
        "{said}"
    );
}

fn libc_sigbus() -> i32 {
    rustix::process::Signal::BUS.as_raw()
}

/// Maps the same file for two hosts and touches the second's mapping past the end.
fn touch_a_page_that_is_gone() -> ! {
    let memfd = Memfd::new(4 * 4096);
    let _other = memfd.map(2);
    let region = memfd.map(3);
    let file = File::options().write(true).open(memfd.path()).unwrap();
    file.set_len(4096).unwrap();
    let mut arena = Arena::new();
    let words = arena.slice::<u64>("test.words", 2048);
    run(
        &region,
        &Exchange {
            write: None,
            read: words.at(0x2040 / 8),
        },
    );
    unreachable!("the load above has nothing behind it");
}
