//! A file system that is full or read-only, which only root can make.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::refusal::text;

/// A file system of its own for a test, if this process may mount one.
pub(crate) struct Mounted(PathBuf);

impl Mounted {
    pub(crate) fn tmpfs(at: PathBuf, options: &str) -> Option<Self> {
        fs::create_dir(&at).expect("the bench is writable");
        let mount = ["-t", "tmpfs", "-o", options, "tmpfs", text(&at)];
        let mounted = Command::new("mount").args(mount).output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self(at));
        }
        eprintln!("skipped: mounting a tmpfs needs root and CAP_SYS_ADMIN");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
