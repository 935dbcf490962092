//! From a TOML file to a test.

use std::collections::{BTreeMap, BTreeSet};

use fabric::{Arena, Coherence, Pod, Ptr};
use model::WriteMode;
use model::explore::Thread;
use serde::Deserialize;

use super::error::LitmusError;
use super::instr::parse;
use super::{Condition, LINE_STRIDE, Litmus, Seen, Set};

/// Words of eight bytes in a line.
const LINE_WORDS: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    about: String,
    source: String,
    lines: Vec<Vec<String>>,
    threads: String,
    outcome: String,
    coherence: Option<Coherence>,
    devices: Option<u64>,
    sets: Vec<FileSet>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSet {
    writes: Vec<String>,
    #[serde(default)]
    allowed: Vec<String>,
    #[serde(default)]
    forbidden: Vec<String>,
    why: String,
    exact: Vec<String>,
}

impl Litmus {
    /// Reads a test; `file` is its name without `.toml`, for errors.
    ///
    /// # Errors
    /// What is wrong: the file, the key, and what would be right.
    pub fn parse(file: &str, text: &str) -> Result<Self, LitmusError> {
        let read: File = toml::from_str(text).map_err(|error| LitmusError::Toml {
            file: file.to_owned(),
            error: Box::new(error),
        })?;
        if read.name != file {
            let (file, name) = (file.to_owned(), read.name);
            return Err(LitmusError::Name { file, name });
        }
        let layout = Layout::new(file, &read.lines)?;
        let columns = Columns::read(file, &read.threads, &layout)?;
        let outcome = Labels::read(file, &read.outcome, &layout, &columns.registers)?;
        let mut sets = Vec::new();
        for set in &read.sets {
            sets.push(outcome.set(file, set)?);
        }
        each_mode_once(file, &sets)?;
        Ok(Self {
            pod: columns.pod(),
            name: read.name,
            about: read.about,
            source: read.source,
            coherence: read.coherence.unwrap_or(Coherence::Software),
            devices: read.devices.unwrap_or(1),
            threads: columns.threads,
            watched: outcome.watched,
            region_bytes: layout.region_bytes,
            labels: outcome.names,
            seen: outcome.seen,
            sets,
        })
    }
}

/// Where each word lies.
struct Layout {
    words: BTreeMap<String, Ptr<u64>>,
    region_bytes: u64,
}

impl Layout {
    fn new(file: &str, lines: &[Vec<String>]) -> Result<Self, LitmusError> {
        let wrong = |name: &str, what| LitmusError::Word {
            file: file.to_owned(),
            key: "lines",
            name: name.to_owned(),
            what,
        };
        let (mut arena, mut words) = (Arena::new(), BTreeMap::new());
        for (index, line) in lines.iter().enumerate() {
            let place = arena.aligned::<u64>(format!("line {index}"), LINE_WORDS, LINE_STRIDE);
            for (word, name) in line.iter().enumerate() {
                if word == LINE_WORDS {
                    return Err(wrong(
                        name,
                        "is a ninth word of its line: give it another line",
                    ));
                }
                if words.insert(name.clone(), place.at(word)).is_some() {
                    return Err(wrong(name, "has two places: name each word once"));
                }
            }
        }
        let region_bytes = arena.region_bytes().next_multiple_of(LINE_STRIDE);
        Ok(Self {
            words,
            region_bytes,
        })
    }

    fn place(&self, word: &str) -> Option<Ptr<u64>> {
        self.words.get(word).copied()
    }
}

/// The threads, and which load fills each register.
struct Columns {
    threads: Vec<Thread>,
    registers: BTreeMap<String, Seen>,
}

impl Columns {
    fn read(file: &str, table: &str, layout: &Layout) -> Result<Self, LitmusError> {
        let mut rows = table.lines().filter(|row| !row.trim().is_empty());
        let head = rows.next().unwrap_or_default();
        let threads = heads(file, head)?;
        let mut columns = Self {
            threads,
            registers: BTreeMap::new(),
        };
        for row in rows {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            if cells.len() != columns.threads.len() {
                return Err(LitmusError::Columns {
                    file: file.to_owned(),
                    row: row.trim().to_owned(),
                    found: cells.len(),
                    expected: columns.threads.len(),
                });
            }
            for (thread, cell) in cells.iter().enumerate().filter(|(_, it)| !it.is_empty()) {
                columns.add(file, thread, cell, layout)?;
            }
        }
        Ok(columns)
    }

    fn add(
        &mut self,
        file: &str,
        thread: usize,
        cell: &str,
        layout: &Layout,
    ) -> Result<(), LitmusError> {
        let parsed = parse(cell, |word| layout.place(word));
        let parsed = parsed.ok_or_else(|| LitmusError::Instruction {
            file: file.to_owned(),
            text: cell.to_owned(),
        })?;
        if let Some(name) = parsed.register {
            let already = self.registers.values();
            let own =
                |seen: &&Seen| matches!(seen, Seen::Register { thread: its, .. } if *its == thread);
            let load = already.filter(own).count();
            let seen = Seen::Register { thread, load };
            if self.registers.insert(name.clone(), seen).is_some() {
                return Err(LitmusError::Word {
                    file: file.to_owned(),
                    key: "threads",
                    name,
                    what: "is loaded twice: give each load a register of its own",
                });
            }
        }
        self.threads[thread].instrs.push(parsed.instr);
        Ok(())
    }

    fn pod(&self) -> Pod {
        let threads = |host: u32| self.threads.iter().filter(|it| it.host == host).count();
        let hosts = self.threads.iter().map(|it| it.host + 1).max().unwrap_or(1);
        let lanes = (0..hosts).map(threads).max().unwrap_or(1);
        Pod::new(hosts, lanes as u32)
    }
}

fn heads(file: &str, head: &str) -> Result<Vec<Thread>, LitmusError> {
    let mut threads = Vec::new();
    for cell in head.split('|').map(str::trim) {
        let host = cell.strip_prefix("host ").and_then(|it| it.parse().ok());
        let next = threads
            .iter()
            .map(|it: &Thread| it.host + 1)
            .max()
            .unwrap_or(0);
        let Some(host) = host.filter(|&host| host <= next) else {
            let (file, text) = (file.to_owned(), cell.to_owned());
            return Err(LitmusError::Head { file, text });
        };
        threads.push(Thread {
            host,
            instrs: Vec::new(),
        });
    }
    Ok(threads)
}

/// What an outcome consists of.
struct Labels {
    names: Vec<String>,
    seen: Vec<Seen>,
    watched: Vec<Ptr<u64>>,
}

impl Labels {
    fn read(
        file: &str,
        text: &str,
        layout: &Layout,
        registers: &BTreeMap<String, Seen>,
    ) -> Result<Self, LitmusError> {
        let names: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let (mut seen, mut watched) = (Vec::new(), Vec::new());
        for label in &names {
            if let Some(register) = registers.get(label) {
                seen.push(*register);
            } else if let Some(at) = layout.place(label) {
                seen.push(Seen::Word(watched.len()));
                watched.push(at);
            } else {
                return Err(LitmusError::Word {
                    file: file.to_owned(),
                    key: "outcome",
                    name: label.clone(),
                    what: "is neither a register that a thread loads nor a word of `lines`",
                });
            }
        }
        Ok(Self {
            names,
            seen,
            watched,
        })
    }

    fn set(&self, file: &str, set: &FileSet) -> Result<Set, LitmusError> {
        let conditions = |key, texts: &[String]| {
            let each = texts.iter().map(|text| self.condition(file, key, text));
            each.collect::<Result<Vec<_>, _>>()
        };
        let rows = set.exact.iter().map(|text| self.row(file, text));
        let mut writes = Vec::new();
        for name in &set.writes {
            writes.push(name.parse().map_err(|what| LitmusError::Modes {
                file: file.to_owned(),
                what,
            })?);
        }
        Ok(Set {
            writes,
            allowed: conditions("allowed", &set.allowed)?,
            forbidden: conditions("forbidden", &set.forbidden)?,
            why: set.why.clone(),
            exact: rows.collect::<Result<BTreeSet<_>, _>>()?,
        })
    }

    fn condition(
        &self,
        file: &str,
        key: &'static str,
        text: &str,
    ) -> Result<Condition, LitmusError> {
        let value = |part: &str| {
            let (label, value) = part.split_once('=')?;
            let place = self.names.iter().position(|it| it == label)?;
            Some((place, value.parse().ok()?))
        };
        let values: Option<Vec<_>> = text.split_whitespace().map(value).collect();
        let values = values.filter(|values| !values.is_empty());
        let values = values
            .ok_or_else(|| self.misfit(file, key, text, "write `r0=1 x=2`, with names of it"))?;
        Ok(Condition {
            text: text.to_owned(),
            values,
        })
    }

    fn row(&self, file: &str, text: &str) -> Result<Vec<u64>, LitmusError> {
        let values: Option<Vec<u64>> = text.split_whitespace().map(|it| it.parse().ok()).collect();
        values
            .filter(|values| values.len() == self.names.len())
            .ok_or_else(|| self.misfit(file, "exact", text, "write one number for each name"))
    }

    fn misfit(
        &self,
        file: &str,
        key: &'static str,
        text: &str,
        remedy: &'static str,
    ) -> LitmusError {
        LitmusError::Outcome {
            file: file.to_owned(),
            key,
            text: text.to_owned(),
            labels: self.names.join(" "),
            remedy,
        }
    }
}

fn each_mode_once(file: &str, sets: &[Set]) -> Result<(), LitmusError> {
    let mut said: BTreeSet<WriteMode> = BTreeSet::new();
    let wrong = |what: String| LitmusError::Modes {
        file: file.to_owned(),
        what,
    };
    for mode in sets.iter().flat_map(|set| &set.writes) {
        if !said.insert(*mode) {
            return Err(wrong(format!("{mode} stands in two sets: leave one")));
        }
    }
    if said.is_empty() {
        return Err(wrong(
            "no set names a mode: say at least synchronous".to_owned(),
        ));
    }
    Ok(())
}
