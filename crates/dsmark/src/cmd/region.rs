//! `dsmark region`: the header of a region, from outside a run.

use std::fmt::Write;
use std::path::Path;

use fabric::{Arena, HostAtomics};
use harness::trial::Control;
use serde_json::json;
use sync::alloc::{ArenaState, Pool};
use sync::header::{Condition, Header, HostLine, HostState, RunLine, RunState};
use sync::rendezvous::{JoinError, refuse_if_alive};

use crate::cli::Region;
use crate::failure::Failure;
use crate::job;
use crate::out::print;

pub(crate) fn region(args: &Region) -> Result<(), Failure> {
    match args {
        Region::Format { path, force } => format(path, *force),
        Region::Show { path, json } => show(path, *json),
        Region::Reset { path } => reset(path),
    }
}

fn header() -> (Header, u64) {
    let mut arena = Arena::new();
    let header = Header::lay_out(&mut arena);
    (header, arena.region_bytes())
}

fn format(path: &Path, force: bool) -> Result<(), Failure> {
    let (header, bytes) = header();
    let done = job::on_region(path, bytes, &Format { header, force })?;
    let size = done.map_err(|refused| Failure::usage(format!("{}: {refused}", path.display())))?;
    print(&format!("{}: formatted, {size} bytes\n", path.display()))
}

struct Format {
    header: Header,
    force: bool,
}

impl job::OnRegion for Format {
    type Out = Result<u64, String>;

    fn on<P: HostAtomics>(&self, port: &P, region_bytes: u64) -> Self::Out {
        match self.header.condition(port) {
            Condition::Foreign { first_word } if !self.force => {
                return Err(format!(
                    "it holds something that is not a dsmark region \
                     (first word {first_word:#018x}); if nothing in it is needed, add --force"
                ));
            }
            Condition::Formatted => {
                refuse_if_alive(port, &self.header).map_err(|error| error.to_string())?;
            }
            _ => {}
        }
        self.header.format(port, region_bytes);
        Ok(region_bytes)
    }
}

fn reset(path: &Path) -> Result<(), Failure> {
    let (header, bytes) = header();
    let done = job::on_region(path, bytes, &Reset { header })?;
    done.map_err(|refused| Failure::usage(format!("{}: {refused}", path.display())))?;
    let name = path.display();
    print(&format!("{name}: reset, the last run is forgotten\n"))
}

struct Reset {
    header: Header,
}

impl job::OnRegion for Reset {
    type Out = Result<(), String>;

    fn on<P: HostAtomics>(&self, port: &P, region_bytes: u64) -> Self::Out {
        match self.header.condition(port) {
            Condition::Formatted => {
                refuse_if_alive(port, &self.header).map_err(|error| error.to_string())?;
                self.header.format(port, region_bytes);
                Ok(())
            }
            Condition::Blank => Err("it is blank: there is nothing to reset".into()),
            Condition::OtherVersion(line) => Err(format!(
                "it was formatted with header version {}; `dsmark region format` renews it",
                line.format_version
            )),
            Condition::Foreign { .. } => Err("it is not a dsmark region".into()),
        }
    }
}

fn show(path: &Path, as_json: bool) -> Result<(), Failure> {
    let (header, bytes) = header();
    let seen = job::on_region(path, bytes, &Show { header })?;
    if as_json {
        print(&format!("{}\n", seen.to_json(path)))
    } else {
        print(&seen.to_text(path))
    }
}

struct Show {
    header: Header,
}

/// What the header says.
struct Seen {
    condition: Condition,
    region_bytes: u64,
    run: Option<RunLine>,
    hosts: Vec<HostLine>,
    alive: bool,
    /// Of the pool allocator that the run used, if it did: each lane's arena.
    pool: Option<Vec<ArenaState>>,
}

impl job::OnRegion for Show {
    type Out = Seen;

    fn on<P: HostAtomics>(&self, port: &P, region_bytes: u64) -> Seen {
        let condition = self.header.condition(port);
        let mut seen = Seen {
            condition,
            region_bytes,
            run: None,
            hosts: Vec::new(),
            alive: false,
            pool: None,
        };
        if condition != Condition::Formatted {
            return seen;
        }
        let run = self.header.run(port);
        let hosts = run.hosts.min(u64::from(fabric::MAX_HOSTS)) as u32;
        seen.hosts = self.header.all_hosts(port, hosts);
        seen.alive = matches!(
            refuse_if_alive(port, &self.header),
            Err(JoinError::InUse { .. })
        );
        let lanes = run.lanes.clamp(1, u64::from(fabric::MAX_HOSTS)) as u32;
        let control = Control::lay_out(fabric::Pod::new(hosts.max(1), lanes));
        let pool = Pool::found(port, &control.arena, region_bytes);
        seen.pool = pool.map(|pool| pool.state(port));
        seen.run = Some(run);
        seen
    }
}

impl Seen {
    fn condition(&self) -> String {
        match self.condition {
            Condition::Blank => "blank".into(),
            Condition::Formatted => "formatted".into(),
            Condition::OtherVersion(line) => {
                format!("formatted, header version {}", line.format_version)
            }
            Condition::Foreign { first_word } => {
                format!("not a dsmark region (first word {first_word:#018x})")
            }
        }
    }

    fn to_json(&self, path: &Path) -> serde_json::Value {
        json!({
            "path": path, "region_bytes": self.region_bytes, "condition": self.condition(),
            "run": self.run, "hosts": self.hosts, "alive": self.alive,
            "pool": self.pool,
        })
    }

    fn to_text(&self, path: &Path) -> String {
        let mut text = format!(
            "{}: {}, {} bytes\n",
            path.display(),
            self.condition(),
            self.region_bytes
        );
        let Some(run) = &self.run else { return text };
        if run.state == RunState::Idle {
            return text + "no run has used it since\n";
        }
        let alive = if self.alive {
            "its hosts beat"
        } else {
            "no host beats"
        };
        let _ = writeln!(
            text,
            "run {:016x}: {:?}, {} hosts with {} lanes, layout {:016x}; {alive}",
            run.cookie, run.state, run.hosts, run.lanes, run.layout_hash
        );
        for (host, line) in self.hosts.iter().enumerate() {
            let silent = line.state == HostState::Joined && !self.alive;
            let note = if silent { " (silent)" } else { "" };
            let _ = writeln!(
                text,
                "  host {host}: {:?}, process {}, beat {}{note}",
                line.state, line.pid, line.beat
            );
        }
        for (keeper, arena) in self.pool.iter().flatten().enumerate() {
            let _ = writeln!(
                text,
                "  pool, arena {keeper}: {} of {} slabs in use, {} blocks out, {} bytes",
                arena.slabs_in_use,
                arena.slabs,
                arena.blocks,
                arena.lines * 64
            );
        }
        text
    }
}
