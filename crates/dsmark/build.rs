//! Captures what built the binary, for `build.json` of every run.

use std::env;
use std::process::Command;

fn main() {
    let git = |args: &[&str]| output("git", args);
    emit("REVISION", git(&["rev-parse", "HEAD"]));
    let dirty = git(&["status", "--porcelain"]).map(|changes| (!changes.is_empty()).to_string());
    emit("DIRTY", dirty);
    emit(
        "RUSTC",
        env::var("RUSTC")
            .ok()
            .and_then(|rustc| output(&rustc, &["--version"])),
    );
    emit("TARGET", env::var("TARGET").ok());
    emit("PROFILE", env::var("PROFILE").ok());
    emit(
        "FLAGS",
        env::var("CARGO_ENCODED_RUSTFLAGS")
            .ok()
            .map(|f| f.replace('\u{1f}', " ")),
    );
    // The stamp is only as fresh as the last of these.
    for path in ["../../.git/HEAD", "../../.git/index", "../../crates"] {
        println!("cargo:rerun-if-changed={path}");
    }
}

fn emit(name: &str, value: Option<String>) {
    println!(
        "cargo:rustc-env=DSMARK_{name}={}",
        value.unwrap_or_default()
    );
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
