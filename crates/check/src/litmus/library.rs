//! The tests that are built in, so that the binary needs no source tree.
//!
//! A test compares the list with the directory.

use super::Litmus;

/// A file of the directory, with its name.
macro_rules! file {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../litmus/", $name, ".toml")),
        )
    };
}

/// Every test, by name.
///
/// # Panics
/// If a file that was built in is no test: a test of this crate reads them all.
pub fn all() -> Vec<Litmus> {
    let read = |&(name, text): &(&str, &str)| Litmus::parse(name, text);
    let read: Result<Vec<_>, _> = FILES.iter().map(read).collect();
    read.unwrap_or_else(|error| panic!("built in: {error}"))
}

/// The test called `name`.
///
/// # Panics
/// As [`all`].
pub fn find(name: &str) -> Option<Litmus> {
    let (name, text) = FILES.iter().find(|(its, _)| *its == name)?;
    Some(Litmus::parse(name, text).unwrap_or_else(|error| panic!("built in: {error}")))
}

/// Every file: name, text.
pub const FILES: &[(&str, &str)] = &[
    file!("2+2w+nothing"),
    file!("2+2w+publish"),
    file!("2+2w+publish-two-devices"),
    file!("clobber+clwb"),
    file!("clobber+eviction"),
    file!("clobber+flush"),
    file!("clobber+movnti"),
    file!("clobber+movnti-and-flush"),
    file!("clobber+observe-dirty"),
    file!("clobber+old-copy-comes-back"),
    file!("clobber+one-word"),
    file!("clwb-keeps-the-copy"),
    file!("coherent-mp"),
    file!("coherent-same-line"),
    file!("coherent-sb"),
    file!("coherent-sb+mfence"),
    file!("corr+observe"),
    file!("cowr+observe"),
    file!("iriw+load"),
    file!("iriw+observe"),
    file!("isa2+post+observe"),
    file!("lb+publish+observe"),
    file!("line-movdir64b-over-dirty"),
    file!("line-movdir64b-whole"),
    file!("line-movnti-in-parts"),
    file!("line-read-forward"),
    file!("line-store-after-flush"),
    file!("line-stores-in-order"),
    file!("lines-tear"),
    file!("movnti-on-flushed-line"),
    file!("movnti-on-held-line"),
    file!("movnti-on-held-line+flush"),
    file!("mp+bare-clflush"),
    file!("mp+clflush-without-fence"),
    file!("mp+clwb"),
    file!("mp+confirm+observe-two-devices"),
    file!("mp+fence-only"),
    file!("mp+flag-observed-only"),
    file!("mp+flush+lfence"),
    file!("mp+flush+mfence"),
    file!("mp+flush-before-store"),
    file!("mp+flush-without-fence"),
    file!("mp+load"),
    file!("mp+movdir64b"),
    file!("mp+movdir64b-without-fence"),
    file!("mp+movnti"),
    file!("mp+movnti-without-fence"),
    file!("mp+nothing"),
    file!("mp+observe-by-clwb"),
    file!("mp+observe-by-lfence"),
    file!("mp+observe-by-sfence"),
    file!("mp+opt-then-clflush"),
    file!("mp+payload-observed-early"),
    file!("mp+payload-read-early"),
    file!("mp+post+observe"),
    file!("mp+post+observe-two-devices"),
    file!("mp+stale-clean-copy"),
    file!("mp+unflushed-payload"),
    file!("mp-batched-payload"),
    file!("mp-flush-by-a-peer-lane"),
    file!("mp-one-line-of-two-flushed"),
    file!("observe-once-poll-twice"),
    file!("r+publish+observe"),
    file!("s+post+observe"),
    file!("s+unflushed"),
    file!("sb+confirm+observe"),
    file!("sb+confirm+observe-two-devices"),
    file!("sb+confirm-by-a-kept-copy"),
    file!("sb+one-confirm"),
    file!("sb+post+observe"),
    file!("sb+post+observe-by-lfence"),
    file!("sb+post+observe-by-sfence"),
    file!("sb+publish+load"),
    file!("sb+publish+observe"),
    file!("tso-2+2w"),
    file!("tso-corr"),
    file!("tso-corr-two-readers"),
    file!("tso-corw"),
    file!("tso-cowr"),
    file!("tso-coww"),
    file!("tso-forwarding"),
    file!("tso-forwarding+mfence"),
    file!("tso-iriw"),
    file!("tso-isa2"),
    file!("tso-lb"),
    file!("tso-movnti-then-store"),
    file!("tso-mp"),
    file!("tso-mp+movnti"),
    file!("tso-mp+movnti+sfence"),
    file!("tso-mp+movnti-flag"),
    file!("tso-n4b"),
    file!("tso-n5"),
    file!("tso-n6"),
    file!("tso-n7"),
    file!("tso-r"),
    file!("tso-r+mfence"),
    file!("tso-rwc"),
    file!("tso-rwc+mfence"),
    file!("tso-s"),
    file!("tso-sb"),
    file!("tso-sb+clflush"),
    file!("tso-sb+lfence"),
    file!("tso-sb+mfence"),
    file!("tso-sb+sfence"),
    file!("tso-sb-ring-of-three"),
    file!("tso-w+rwc"),
    file!("tso-wrc"),
    file!("wrc+publish+load"),
    file!("wrc+publish+observe"),
];
