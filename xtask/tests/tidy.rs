//! Holds the tidy checks on this repository, and shows that each of them can fail.
//!
//! A check that finds nothing may be broken rather than satisfied, so every one also runs on a
//! made-up source that breaks its rule, next to one that barely keeps it.

#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use xtask::tidy::{self, CHECKS, Finding, Package, Source, Tree};

static REPOSITORY: LazyLock<Tree> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    Tree::read(root.expect("xtask lies in the root")).expect("the repository can be read")
});

/// Runs one check on the repository and fails with its findings.
fn holds(check: fn(&Tree) -> Vec<Finding>) {
    let mut report = String::new();
    for finding in check(&REPOSITORY) {
        writeln!(report, "{finding}").expect("a string takes any text");
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The lines of no finding.
const NONE: [usize; 0] = [];

fn source(path: &str, text: &str) -> Tree {
    Tree {
        sources: vec![Source::new(path, text)],
        ..Tree::default()
    }
}

fn document(path: &str, text: &str) -> Tree {
    Tree {
        documents: vec![Source::new(path, text)],
        paths: vec![path.to_owned(), "docs/MODEL.md".to_owned()],
        ..Tree::default()
    }
}

fn member(name: &str, needs: &[&str]) -> Package {
    Package {
        name: name.to_owned(),
        member: true,
        licence: Some("MIT OR Apache-2.0".to_owned()),
        needs: needs.iter().map(ToString::to_string).collect(),
        roots: vec![format!("crates/{name}/src/lib.rs")],
        ..Package::default()
    }
}

fn workspace(packages: &[Package]) -> Tree {
    Tree {
        packages: packages.to_vec(),
        ..Tree::default()
    }
}

/// The lines at which `check` finds something in `tree`.
fn lines(check: fn(&Tree) -> Vec<Finding>, tree: &Tree) -> Vec<usize> {
    check(tree).iter().map(|finding| finding.line).collect()
}

#[test]
fn the_repository_was_read() {
    let has = |path: &str| REPOSITORY.sources.iter().any(|it| it.path == path);
    assert!(has("crates/fabric/src/lib.rs"));
    assert!(has("xtask/tests/tidy.rs"));
    assert!(REPOSITORY.members().any(|it| it.name == "dsmark"));
    assert!(REPOSITORY.packages.iter().any(|it| !it.member));
    let read: usize = REPOSITORY.sources.iter().map(|it| it.text.len()).sum();
    assert!(read > 10_000, "{read} bytes of sources");
    for source in &REPOSITORY.sources {
        let lexed = !source.code().tokens().is_empty();
        assert!(lexed || source.text.trim().is_empty(), "{}", source.path);
    }
}

#[test]
fn every_check_runs_here() {
    let tests = include_str!("tidy.rs");
    for check in CHECKS {
        let name = check.name.replace('-', "_");
        assert!(tests.contains(&format!("holds(tidy::{name})")), "{name}");
    }
}

#[test]
fn dependency_law_holds() {
    holds(tidy::dependency_law);
}

#[test]
fn dependency_law_can_fail() {
    let check = |tree: &Tree| tidy::dependency_law(tree).len();
    let fabric = member("fabric", &["serde"]);
    let native = member("native", &["fabric", "libc"]);
    let micro = member("micro", &["workload", "native"]);
    let dsmark = member("dsmark", &["micro", "native", "fabric"]);
    let all = [&fabric, &native, &dsmark].map(Clone::clone);
    assert_eq!(check(&workspace(&all)), 0);
    assert_eq!(check(&workspace(&[native.clone(), micro])), 1);
    let upward = member("fabric", &["native"]);
    assert_eq!(check(&workspace(&[upward, native])), 1);
    let found = tidy::dependency_law(&workspace(&[member("cache", &[])]));
    assert!(found[0].what.contains("add it to the law"), "{found:?}");
    assert_eq!(check(&workspace(&[member("record", &["anyhow"])])), 1);
    assert_eq!(check(&workspace(&[member("dsmark", &["anyhow"])])), 0);
    let report = member("report", &["record", "fabric"]);
    assert_eq!(check(&workspace(&[report, fabric])), 1);
}

#[test]
fn sizes_hold() {
    holds(tidy::sizes);
}

#[test]
fn sizes_can_fail() {
    let path = "crates/fabric/src/long.rs";
    let check = |text: &str| lines(tidy::sizes, &source(path, text));
    assert_eq!(check(&"//\n".repeat(600)), NONE);
    assert_eq!(check(&"//\n".repeat(601)), [0]);
    assert_eq!(check(&"/".repeat(100)), NONE);
    assert_eq!(check(&format!("\n{}", "/".repeat(101))), [2]);
    let function =
        |lines: usize| format!("\nfn long() -> [u8; {{ 2 }}] {{{}}}", "\n".repeat(lines));
    assert_eq!(check(&function(69)), NONE);
    assert_eq!(check(&function(70)), [2]);
    assert_eq!(
        check(&format!("    /// | a row | {} |", "-".repeat(100))),
        NONE
    );
    let within_macro = format!("macro_rules! verbs {{ () => {{{}}} }}", function(70));
    assert_eq!(check(&within_macro), [2]);
    assert_eq!(check(&format!("type F = fn(u8);\n{}", function(69))), NONE);
    assert_eq!(
        check(&format!("trait T {{ fn f(); }}{}", function(69))),
        NONE
    );
}

#[test]
fn unsafe_code_holds() {
    holds(tidy::unsafe_code);
}

#[test]
fn unsafe_outside_native_is_found() {
    let check = |path, text| lines(tidy::unsafe_code, &source(path, text));
    let block = "fn f() {\n    // SAFETY: it is not.\n    unsafe { g() }\n}\n";
    assert_eq!(check("crates/sync/src/a.rs", block), [3]);
    assert_eq!(check("crates/sync/tests/a.rs", block), [3]);
    assert_eq!(check("crates/native/src/a.rs", block), NONE);
    let prose = "//! No unsafe here.\nconst WORD: &str = \"unsafe\";\n";
    assert_eq!(check("crates/sync/src/a.rs", prose), NONE);

    let mut tree = source("crates/sync/src/lib.rs", "//! Nothing forbidden.\n");
    tree.packages = vec![member("sync", &[])];
    assert_eq!(lines(tidy::unsafe_code, &tree), [0]);
    tree.sources[0].text = "#![forbid(unsafe_code)]\n".to_owned();
    assert_eq!(lines(tidy::unsafe_code, &tree), NONE);
}

#[test]
fn unexplained_unsafe_is_found() {
    let check = |text| lines(tidy::unsafe_code, &source("crates/native/src/a.rs", text));
    assert_eq!(check("fn f() {\n    unsafe { g() }\n}\n"), [2]);
    assert_eq!(check("// Fast.\nunsafe impl Send for A {}\n"), [2]);
    assert_eq!(check("/// Reads.\nunsafe fn f() {}\n"), [2]);
    assert_eq!(
        check("/// # Safety\n/// Mapped.\n#[inline]\nunsafe fn f() {}\n"),
        NONE
    );
    assert_eq!(check("// SAFETY: a.\nlet x =\n    unsafe { g() };\n"), NONE);
    assert_eq!(
        check("// SAFETY: a.\nunsafe { g() };\nunsafe { h() };\n"),
        [3]
    );
    assert_eq!(check("// SAFETY: a.\ng();\nunsafe { h() };\n"), [3]);
    let in_macro = "macro_rules! m {\n    () => {\n        unsafe { g() }\n    };\n}\n";
    assert_eq!(check(in_macro), [3]);
    assert_eq!(check("type Verb = unsafe fn(*const u8);\n"), NONE);
}

#[test]
fn frozen_comes_from_freeze() {
    holds(tidy::frozen_comes_from_freeze);
}

#[test]
fn frozen_from_elsewhere_is_found() {
    let check = |path, text| lines(tidy::frozen_comes_from_freeze, &source(path, text));
    let call = "let all =\n    Frozen::after_collective_freeze(slice);\n";
    assert_eq!(check("crates/micro/src/a.rs", call), [2]);
    assert_eq!(check("crates/workload/src/worker.rs", call), NONE);
    assert_eq!(
        check("crates/micro/src/a.rs", "// after_collective_freeze\n"),
        NONE
    );
}

#[test]
fn target_specific_code_stands_in_native() {
    holds(tidy::target_specific_code);
}

#[test]
fn target_specific_code_elsewhere_is_found() {
    let check = |path, text| lines(tidy::target_specific_code, &source(path, text));
    let micro = "crates/micro/src/a.rs";
    assert_eq!(
        check(micro, "\nuse core::arch::x86_64::_mm_clflush;\n"),
        [2, 2]
    );
    assert_eq!(check(micro, "use std::{arch::asm, fmt};\n"), [1]);
    assert_eq!(check(micro, "asm!(\"clwb\");\n"), [1]);
    assert_eq!(
        check(micro, "#[cfg(target_feature = \"avx\")]\nfn f() {}\n"),
        [1]
    );
    assert_eq!(check(micro, "let arch = host.arch; // core::arch\n"), NONE);
    let gate = "#[cfg(target_arch = \"x86_64\")]\nmod native;\n";
    assert_eq!(check(micro, gate), [1]);
    assert_eq!(check("crates/dsmark/src/substrates.rs", gate), NONE);
    assert_eq!(check("crates/native/src/lib.rs", gate), NONE);
}

#[test]
fn code_is_finished() {
    holds(tidy::unfinished_code);
}

#[test]
fn unfinished_code_is_found() {
    let check = |text: &str| lines(tidy::unfinished_code, &source("crates/sync/src/a.rs", text));
    assert_eq!(check(concat!("\n// TO", "DO: later\n")), [2]);
    assert_eq!(check(concat!("// FIX", "ME(me)\n")), [1]);
    assert_eq!(check("let path = template(\"XXXXXX\");\n"), NONE);
    assert_eq!(check("fn f() { todo!() }\n"), [1]);
    assert_eq!(check("fn f() { dbg!(1); unimplemented!() }\n"), [1, 1]);
    assert_eq!(check("#[test]\n#[ignore = \"slow\"]\nfn f() {}\n"), [2]);
    assert_eq!(
        check("#[cfg_attr(debug_assertions, ignore)]\nfn f() {}\n"),
        [1]
    );
    assert_eq!(check("#[test]\nfn ignore() { dbg(1) }\n"), NONE);
    assert_eq!(check("// 3 \u{b5}s\n"), [1]);
}

#[test]
fn files_are_named_after_their_subject() {
    holds(tidy::file_names);
}

#[test]
fn names_that_say_nothing_are_found() {
    let check = |path, text| lines(tidy::file_names, &source(path, text));
    assert_eq!(check("crates/sync/src/util.rs", ""), [0]);
    assert_eq!(check("crates/sync/src/helpers/lock.rs", ""), [0]);
    assert_eq!(check("crates/sync/src/lock.rs", "\nmod helper {}\n"), [2]);
    assert_eq!(
        check("crates/sync/src/utility_of_flushes.rs", "mod lock;\n"),
        NONE
    );
}

#[test]
fn workloads_and_substrates_do_not_name_each_other() {
    holds(tidy::names_of_substrates);
}

#[test]
fn names_of_substrates_are_found() {
    let check = |path, text| lines(tidy::names_of_substrates, &source(path, text));
    assert_eq!(
        check("crates/micro/src/a.rs", "\nuse native::Mapping;\n"),
        [2]
    );
    assert_eq!(
        check("crates/sync/src/a.rs", "let pod = sim::Pod::new();\n"),
        [1]
    );
    assert_eq!(check("crates/native/src/a.rs", "use micro;\n"), [1]);
    assert_eq!(check("crates/report/src/a.rs", "use fabric::Line;\n"), [1]);
    assert_eq!(
        check("crates/micro/tests/a.rs", "use native::Mapping;\n"),
        NONE
    );
    assert_eq!(
        check("crates/dsmark/src/a.rs", "use native::Mapping;\n"),
        NONE
    );
    let own = "crate::check::twice(); self.check::<u8>(); check::<u8>(); let sim = 1;\n";
    assert_eq!(check("crates/sync/src/a.rs", own), NONE);
}

#[test]
fn links_resolve() {
    holds(tidy::links_resolve);
}

#[test]
fn broken_links_are_found() {
    let check = |path, text| lines(tidy::links_resolve, &document(path, text));
    assert_eq!(
        check("README.md", "[a](docs/MODEL.md#top)\n[b](docs/)\n"),
        NONE
    );
    assert_eq!(check("README.md", "\n[a](docs/ABSENT.md)\n"), [2]);
    assert_eq!(
        check("README.md", "![a](figures/absent.svg \"title\")\n"),
        [1]
    );
    assert_eq!(
        check(
            "docs/BIAS.md",
            "[a](MODEL.md) [b](../docs/MODEL.md) [c](#d)\n"
        ),
        NONE
    );
    assert_eq!(check("docs/BIAS.md", "[a](docs/MODEL.md)\n"), [1]);
    assert_eq!(check("README.md", "[a](../elsewhere.md)\n"), [1]);
    assert_eq!(
        check("README.md", "[a](https://example.org/a) `f[0](1)`\n"),
        NONE
    );
    assert_eq!(check("README.md", "```\nf[0](absent)\n```\n"), NONE);
}

#[test]
fn no_path_outside() {
    holds(tidy::no_path_outside);
}

#[test]
fn paths_outside_are_found() {
    let check = |text: &str| lines(tidy::no_path_outside, &document("README.md", text));
    assert_eq!(check(concat!("\nsee ../", "shared/notes.md\n")), [2]);
    assert_eq!(check(concat!("`/", "work/main`\n")), [1]);
    assert_eq!(check(concat!("--out /", "tmp/a\n")), [1]);
    assert_eq!(check("crates/work/src, docs/tmp/, /workloads\n"), NONE);
}

#[test]
fn crates_say_what_they_are_for() {
    holds(tidy::crate_heads);
}

#[test]
fn crates_without_a_head_are_found() {
    let check = |text| {
        let mut tree = source("crates/sync/src/lib.rs", text);
        tree.packages = vec![member("sync", &[])];
        lines(tidy::crate_heads, &tree)
    };
    assert_eq!(check("//! Locks across hosts.\n"), NONE);
    assert_eq!(check("//! Locks across\n//! hosts.\n"), [1]);
    assert_eq!(check("pub mod lock;\n"), [1]);
    assert_eq!(check(""), [1]);
}

#[test]
fn every_file_is_compiled() {
    holds(tidy::dead_files);
}

#[test]
fn dead_files_are_found() {
    let path = |name: &str| format!("crates/sync/src/{name}");
    let root = "mod lock;\nmod inner { mod deep; }\n// mod dead;\n";
    let mut tree = source(&path("lib.rs"), root);
    tree.packages = vec![member("sync", &[])];
    for (name, text) in [
        ("lock.rs", "mod ticket;"),
        ("lock/ticket.rs", ""),
        ("inner/deep/mod.rs", "mod er;"),
        ("inner/deep/er.rs", ""),
    ] {
        tree.sources.push(Source::new(&path(name), text));
    }
    assert_eq!(tidy::dead_files(&tree).len(), 0);
    tree.sources
        .push(Source::new(&path("dead.rs"), "mod beef;"));
    tree.sources.push(Source::new(&path("dead/beef.rs"), ""));
    assert_eq!(tidy::dead_files(&tree).len(), 2);
}

#[test]
fn licences_are_allowed() {
    holds(tidy::licences_allowed);
}

#[test]
fn licences_that_are_not_allowed_are_found() {
    let policy = "[licenses]\nallow = [\"MIT\"]\n[sources]\nallow-registry = [\"https://a\"]\n";
    let check = |licence: Option<&str>, origin: Option<&str>| {
        let mut package = member("sync", &[]);
        package.licence = licence.map(ToOwned::to_owned);
        package.origin = origin.map(ToOwned::to_owned);
        let mut tree = workspace(&[package]);
        tree.texts = vec![Source::new("deny.toml", policy)];
        tidy::licences_allowed(&tree).len()
    };
    assert_eq!(check(Some("MIT OR GPL-3.0"), Some("registry+https://a")), 0);
    assert_eq!(check(Some("GPL-3.0"), None), 1);
    assert_eq!(check(None, None), 1);
    assert_eq!(check(Some("MIT"), Some("git+https://a")), 1);
    assert_eq!(tidy::licences_allowed(&workspace(&[])).len(), 1);
}
