//! What built this binary.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufReader, Read};

use record::Build;

/// For `build.json`.
pub(crate) fn build() -> Build {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: known(env!("DSMARK_REVISION")),
        git_dirty: env!("DSMARK_DIRTY").parse().ok(),
        rustc: known(env!("DSMARK_RUSTC")),
        target: known(env!("DSMARK_TARGET")),
        profile: known(env!("DSMARK_PROFILE")),
        flags: known(env!("DSMARK_FLAGS")),
    }
}

/// A hash of this binary: hosts of one run must have the same.
pub(crate) fn build_id() -> io::Result<u64> {
    let mut file = BufReader::with_capacity(1 << 20, File::open("/proc/self/exe")?);
    let mut hash = fnv::FnvHasher::default();
    let mut chunk = vec![0; 1 << 20];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hash.finish()),
            n => hash.write(&chunk[..n]),
        }
    }
}
