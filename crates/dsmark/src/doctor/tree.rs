//! The files below a root: `/`, or a test's machine.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Something read, or the reason why not.
pub(super) type Read<T> = Result<T, String>;

pub(super) struct Tree {
    root: PathBuf,
}

/// Who may open a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Tree {
    pub(super) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Where `path`, absolute or below the root, lies.
    pub(super) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub(super) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    pub(super) fn text(&self, path: &str) -> Read<String> {
        fs::read_to_string(self.path(path)).map_err(|error| format!("/{path}: {error}"))
    }

    /// A file of one line, trimmed; empty if the file is.
    pub(super) fn word(&self, path: &str) -> Read<String> {
        Ok(self.text(path)?.trim().to_owned())
    }

    /// A decimal number, or a hexadecimal one with its prefix.
    pub(super) fn number(&self, path: &str) -> Read<u64> {
        let word = self.word(path)?;
        let parsed = match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => word.parse(),
        };
        parsed.map_err(|_| format!("/{path}: \"{word}\" is not a number"))
    }

    /// A hexadecimal number without a prefix, as memory blocks have them.
    pub(super) fn bare_hex(&self, path: &str) -> Read<u64> {
        let word = self.word(path)?;
        u64::from_str_radix(&word, 16).map_err(|_| format!("/{path}: \"{word}\" is not a number"))
    }

    /// Names in a directory, sorted; none if there is no such directory.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten();
        let mut names: Vec<_> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Names of a directory that are `prefix` and a number, sorted by it.
    pub(super) fn numbered(&self, path: &str, prefix: &str) -> Vec<String> {
        let number = |name: &String| name.strip_prefix(prefix)?.parse::<u64>().ok();
        let mut names = self.names(path);
        names.retain(|name| number(name).is_some());
        names.sort_by_key(number);
        names
    }

    /// The last part of what a symbolic link points to.
    pub(super) fn link_name(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// The parts of a path with every symbolic link followed, the last part first.
    pub(super) fn ancestry(&self, path: &str) -> Vec<String> {
        let resolved = fs::canonicalize(self.path(path)).unwrap_or_default();
        let parts = resolved.iter().rev();
        parts
            .map(|part| part.to_string_lossy().into_owned())
            .collect()
    }

    pub(super) fn access(&self, path: impl AsRef<Path>) -> Read<Access> {
        let path = path.as_ref();
        let found = fs::metadata(self.path(path))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Access {
            mode: found.mode() & 0o777,
            uid: found.uid(),
            gid: found.gid(),
        })
    }

    /// The name of a character device in sysfs, whatever its node is called.
    pub(super) fn device_name(&self, path: &Path) -> Option<String> {
        let found = fs::metadata(self.path(path)).ok()?;
        if !found.file_type().is_char_device() {
            return None;
        }
        let number = found.rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        self.ancestry(&format!("sys/dev/char/{major}:{minor}"))
            .into_iter()
            .next()
    }
}
