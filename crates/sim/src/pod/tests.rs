//! Tests of pod files.

use super::*;

#[test]
fn every_built_in_pod_parses_and_every_constant_has_a_source() {
    for name in built_in() {
        let pod = load(name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(pod.name, name);
        let table = toml::Table::try_from(&pod).expect("plain values");
        for (key, _, source) in constants(&table) {
            assert!(source.len() > 8, "{name}: {key} has no source");
        }
        assert!(pod.describe().contains("flush.publish_dirty_ns"));
    }
}

#[test]
fn a_posted_pod_differs_from_its_base_in_nothing_else() {
    for (base, name) in [
        ("sc26-four-host", "sc26-posted-four-host"),
        ("xc50256-two-host", "xc50256-posted-two-host"),
    ] {
        let (base, mut posted) = (load(base).expect("ships"), load(name).expect("ships"));
        assert_eq!(posted.write_mode.value, "posted");
        assert!(posted.fence.posted_hold_ns.value > 0.0);
        posted.name = base.name.clone();
        posted.about = base.about.clone();
        posted.write_mode = base.write_mode.clone();
        posted.fence.posted_hold_ns = base.fence.posted_hold_ns.clone();
        assert_eq!(posted, base);
    }
}

#[test]
fn the_pod_of_small_caches_differs_from_its_base_in_nothing_else() {
    let base = load("sc26-four-host").expect("ships");
    let mut small = load("sc26-small-cache-four-host").expect("ships");
    for (cache, of_base) in small.cache.iter_mut().zip(&base.cache).skip(1) {
        assert_eq!(cache.size_bytes * 16, of_base.size_bytes);
        cache.size_bytes = of_base.size_bytes;
        cache.source = of_base.source.clone();
    }
    small.name = base.name.clone();
    small.about = base.about.clone();
    assert_eq!(small, base);
}

#[test]
fn typos_name_the_nearest() {
    let error = load("sc26-four-hosts")
        .expect_err("no such pod")
        .to_string();
    assert!(error.contains("did you mean `sc26-four-host`?"), "{error}");
    let text = BUILT_IN[0].1.replace("core_ghz", "core_gzh");
    let error = PodFile::parse("t", &text).expect_err("typo").to_string();
    assert!(
        error.contains("`clock.core_gzh` (did you mean `core_ghz`?)"),
        "{error}"
    );
    let text = BUILT_IN[0].1.replace("synchronous\"", "syncronous\"");
    let error = PodFile::parse("t", &text)
        .expect_err("no such mode")
        .to_string();
    assert!(error.contains("write_mode = syncronous"), "{error}");
}

#[test]
fn one_constant_is_scaled_and_no_other() {
    let pod = load("sc26-four-host").expect("built in");
    let components = pod.components();
    assert!(components.iter().any(|key| key == "path.switch_load_ns"));
    let mut scaled = pod.scaled("path.switch_load_ns", 1.25).expect("exists");
    assert!((scaled.path.switch_load_ns.value - 775.0).abs() < 1e-9);
    scaled.path.switch_load_ns.value = 620.0;
    assert_eq!(scaled, pod);
    assert!(pod.scaled("path.no_such_ns", 1.25).is_none());
    assert!(pod.scaled("path.request_share", 2.5).is_none());
}

#[test]
fn impossible_values_are_refused() {
    let text = BUILT_IN[0]
        .1
        .replace("core_ghz = { value = 2.5", "core_ghz = { value = 0");
    assert!(PodFile::parse("t", &text).is_err());
    let text = BUILT_IN[0].1.replace("value = 4,", "value = 65,");
    assert!(PodFile::parse("t", &text).is_err());
}
