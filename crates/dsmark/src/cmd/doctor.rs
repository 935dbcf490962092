//! `dsmark doctor`: what about this machine, or one path, stands in the way of a measurement.

use std::io::{IsTerminal, stdout};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::cli::Doctor;
use crate::doctor::{Probed, Processor, Scene, Status, check_machine, check_path, print};
use crate::failure::Failure;
use crate::out;

pub(crate) fn doctor(args: &Doctor) -> Result<(), Failure> {
    let scene = Scene::new(Path::new("/"), Processor::here());
    let report = match &args.device {
        None => check_machine(&scene),
        Some(path) => {
            let path = std::path::absolute(path)
                .with_context(|| format!("cannot tell where {} is", path.display()))?;
            check_path(&scene, &path, probe)
        }
    };
    let mut text = if args.json {
        report.to_json().to_string()
    } else {
        let coloured = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        print(&report, coloured)
    };
    text.push('\n');
    out::print(&text)?;
    match report.count(Status::Fail) {
        0 => Ok(()),
        fails => Err(Failure::Measured(format!(
            "{fails} of {} checks failed; each has its remedy",
            report.findings().count()
        ))),
    }
}

/// Shows the header in a process of its own: a device that maps but serves no loads kills whoever
/// touches it.
fn probe(path: &Path) -> Probed {
    let shown = std::env::current_exe().and_then(|program| {
        Command::new(program)
            .args(["region", "show", "--json"])
            .arg(path)
            .stdin(Stdio::null())
            .output()
    });
    let output = match shown {
        Ok(output) => output,
        Err(error) => return Probed::Refused(format!("cannot start a process to look: {error}")),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("dsmark: ").to_owned();
    if let Some(signal) = output.status.signal() {
        return Probed::Died(format!("killed by signal {signal}; {said}"));
    }
    match serde_json::from_slice(&output.stdout) {
        Ok(header) if output.status.success() => Probed::Header(header),
        _ => Probed::Refused(said),
    }
}
