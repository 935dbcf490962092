//! What happened, step by step, in names that the program's author gave.

use std::fmt::Write as _;

use fabric::{Arena, Fence, Flush, LINE_BYTES, Line, Space};
use model::{Buffered, Memory, Shape, Step};
use serde::Serialize;

use crate::ask::{Ask, Caller, Change, DEADLINE, GO_ON, LOST_HOST, Place, TIME_PASSES};
use crate::edit::Act;
use crate::machine::Machine;
use crate::state::State;

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Host that it happened on; none where it happened between hosts.
    pub host: Option<usize>,
    /// Lane of that host that did it; none for what the machine did by itself.
    pub lane: Option<usize>,
    /// What happened: `load m.flag = 1`.
    pub what: String,
    /// The source line that asked for it.
    #[serde(rename = "where")]
    pub place: Option<String>,
}

/// `file:line` of a source line.
pub(crate) fn place(caller: Caller) -> String {
    format!("{}:{}", caller.file(), caller.line())
}

/// Names of words and lines, from the layout.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    shape: Shape,
    /// First byte, bytes, bytes of one word, name; of the region.
    region: Vec<(u64, u64, u64, String)>,
    host: Vec<(u64, u64, u64, String)>,
}

impl Names {
    pub(crate) fn new(shape: Shape, arena: &Arena) -> Self {
        let of = |space: Space| {
            let entries = arena.entries().iter().filter(|entry| entry.space == space);
            entries
                .map(|entry| {
                    (
                        entry.offset,
                        entry.bytes,
                        entry.word_bytes,
                        entry.name.clone(),
                    )
                })
                .collect()
        };
        Self {
            shape,
            region: of(Space::Region),
            host: of(Space::HostShared),
        }
    }

    /// `host 1`, or `host 1 lane 0` where hosts have several.
    pub(crate) fn lane(&self, lane: usize) -> String {
        let host = self.shape.host(lane);
        if self.shape.lanes == 1 {
            return format!("host {host}");
        }
        format!("host {host} lane {}", lane % self.shape.lanes as usize)
    }

    /// `m.payload[1]`.
    pub(crate) fn word(&self, place: Place) -> String {
        match place {
            Place::Host { offset } => named(&self.host, offset),
            Place::Pool(at) => named(&self.region, at.offset()),
        }
    }

    /// `m.payload`, with the number of the line where there are several.
    pub(crate) fn line(&self, line: Line) -> String {
        let entry = self.region.iter().find(|(from, bytes, ..)| {
            *from < line.offset() + LINE_BYTES && line.offset() < from + bytes
        });
        match entry {
            None => format!("line {}", line.0),
            Some((_, bytes, _, name)) if *bytes <= LINE_BYTES => format!("line {name}"),
            Some((from, _, _, name)) => {
                format!("line {} of {name}", (line.offset() - from) / LINE_BYTES)
            }
        }
    }
}

/// What a pause that ends this way means.
pub(crate) fn go_on(answer: u64) -> String {
    match answer {
        GO_ON => "looks again".to_owned(),
        DEADLINE => "its deadline has passed".to_owned(),
        TIME_PASSES => "time passes".to_owned(),
        host => format!("misses host {}", host - LOST_HOST),
    }
}

fn named(entries: &[(u64, u64, u64, String)], offset: u64) -> String {
    let entry = entries
        .iter()
        .find(|(from, bytes, ..)| (*from..from + bytes).contains(&offset));
    match entry {
        None => format!("{offset:#x}"),
        Some((_, bytes, word, name)) if bytes == word => name.clone(),
        Some((from, _, word, name)) => format!("{name}[{}]", (offset - from) / word),
    }
}

/// An operation in words; a load's value follows.
pub(crate) fn told(names: &Names, ask: &Ask) -> String {
    let line = |line: &Line| names.line(*line);
    match ask {
        Ask::Load(at) => format!("load {}", names.word(Place::Pool(*at))),
        Ask::Store(at, bits) => format!("store {} = {bits}", names.word(Place::Pool(*at))),
        Ask::StoreNt(at, bits) => format!("store_nt {} = {bits}", names.word(Place::Pool(*at))),
        Ask::StoreLine(at, content) => {
            format!("store_line {} = {}..", line(at), content.words()[0])
        }
        Ask::Writeback(at) => format!("writeback {}", line(at)),
        Ask::Flush(at, Flush::ClFlush) => format!("clflush {}", line(at)),
        Ask::Flush(at, Flush::ClFlushOpt) => format!("flush {}", line(at)),
        Ask::Fence(Fence::Store) => "store fence".to_owned(),
        Ask::Fence(Fence::Load) => "load fence".to_owned(),
        Ask::Fence(Fence::Full) => "full fence".to_owned(),
        Ask::Atomic(place, change) => {
            let word = names.word(*place);
            match change {
                Change::Load => format!("atomic load {word}"),
                Change::Store(bits) => format!("atomic store {word} = {bits}"),
                Change::Exchange { current, new } => {
                    format!("compare_exchange {word} {current} -> {new}")
                }
                Change::Add { add, .. } => format!("fetch_add {word} + {add}"),
                Change::Swap(bits) => format!("swap {word} = {bits}"),
            }
        }
        Ask::Freeze { from, .. } => format!("view {}", named(&names.region, *from)),
        Ask::Wait => "waits".to_owned(),
        Ask::Carries(_) => "remembers".to_owned(),
        Ask::Enter(section) => format!("enters section {section}"),
        Ask::Leave(section) => format!("leaves section {section}"),
        Ask::Pause { .. } => "pause".to_owned(),
    }
}

impl Machine<'_> {
    /// Notes what a lane does, where anybody wants to know.
    pub(crate) fn note(&mut self, state: &State, lane: usize, tell: impl Fn(&Names) -> String) {
        if self.log.is_none() {
            return;
        }
        let event = Event {
            host: Some(self.setup.shape.host(lane)),
            lane: Some(lane % self.setup.shape.lanes as usize),
            what: tell(&self.setup.names),
            place: self.caller(state, lane).map(place),
        };
        self.log.get_or_insert_default().push(event);
    }

    pub(crate) fn note_act(&mut self, state: &State, lane: usize, act: &Act) {
        if self.log.is_none() || matches!(act.ask(), Ask::Wait | Ask::Carries(_)) {
            return;
        }
        let put = if matches!(act, Act::Put(_)) {
            " (put in)"
        } else {
            ""
        };
        self.note(state, lane, |names| told(names, act.ask()) + put);
    }

    /// The value that the operation noted last has resulted in.
    pub(crate) fn note_value(&mut self, bits: u64) {
        if let Some(event) = self.log.as_mut().and_then(|log| log.last_mut()) {
            let _ = write!(event.what, " -> {bits}");
        }
    }

    pub(crate) fn note_step(&mut self, before: &Memory, step: Step, kept: bool) {
        let event = self.tell_step(before, step, kept);
        self.log.get_or_insert_default().push(event);
    }

    fn tell_step(&self, before: &Memory, step: Step, kept: bool) -> Event {
        let names = &self.setup.names;
        let (host, what) = match step {
            Step::Drain { lane, entry } => {
                let op = before.buffered(lane).nth(entry);
                let what =
                    op.map(|op| effect(names, before, self.setup.shape.domain(lane), op, kept));
                (Some(self.setup.shape.host(lane)), what.unwrap_or_default())
            }
            Step::Release { held } => (None, format!("held write {held} arrives at the device")),
            Step::Evict { domain, line } => {
                let dirty = before.copy(domain, line).is_some_and(|(_, dirty)| dirty);
                let how = if dirty { " (written back whole)" } else { "" };
                (Some(domain), format!("evicts {}{how}", names.line(line)))
            }
            Step::Fetch { domain, line } => (
                Some(domain),
                format!("fetches {} unasked", names.line(line)),
            ),
            Step::Crash { host } => (Some(host), "CRASHES".to_owned()),
        };
        Event {
            host,
            lane: None,
            what,
            place: None,
        }
    }
}

/// What a buffered operation does when it takes effect.
fn effect(names: &Names, before: &Memory, domain: usize, op: &Buffered, kept: bool) -> String {
    let dirty = |line: Line| before.copy(domain, line).is_some_and(|(_, dirty)| dirty);
    let dropped = |line: Line| match before.copy(domain, line) {
        Some((_, true)) => format!("{} written back and dropped", names.line(line)),
        Some((_, false)) => format!("{} dropped", names.line(line)),
        None => format!("{} was not cached: nothing to flush", names.line(line)),
    };
    match op {
        Buffered::Store { at, bits } => {
            format!("{} = {bits} enters the cache", names.word(Place::Pool(*at)))
        }
        Buffered::HostStore { offset, bits } => {
            let word = names.word(Place::Host { offset: *offset });
            format!("{word} = {bits} enters the host's memory")
        }
        Buffered::StoreNt { at, bits } => {
            let to = if kept {
                "stays in the cache"
            } else {
                "leaves the host"
            };
            format!("{} = {bits} {to}", names.word(Place::Pool(*at)))
        }
        Buffered::StoreLine { line, .. } => format!("{} leaves the host", names.line(*line)),
        Buffered::ClFlush(line) | Buffered::ClFlushOpt(line) => dropped(*line),
        Buffered::Writeback(line) if dirty(*line) => {
            format!("{} written back", names.line(*line))
        }
        Buffered::Writeback(line) => format!("{} was clean: nothing to write", names.line(*line)),
        Buffered::Fence => "store fence".to_owned(),
    }
}
