//! Faulty twins: each maintenance operation left out in turn, and weakened in turn.
//!
//! A twin that is caught shows that the operation is necessary, and that the checker would see a
//! program without it. One that is not caught shows nothing unless everything was tried, over at
//! least two rounds of use, and unless no other operation stands in for the missing one: so
//! survivors are left out together as well.

use std::time::Instant;

use fabric::{Fence, Maintenance};
use serde::Serialize;

use crate::ask::Ask;
use crate::check::{Checker, Verdict};
use crate::edit::{Edits, Site, Weakening};
use crate::finding::Kind;
use crate::search::Bounds;
use crate::walk::Strategy;

/// What became of a twin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The checker found something.
    Caught(Kind),
    /// Nothing is wrong without it, nor without it and the other wasted ones.
    Wasted,
    /// Nothing was found, and that proves nothing.
    Undecided(String),
}

/// A program with one maintenance operation left out or weakened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twin {
    /// The operation.
    pub site: Site,
    /// What stands there instead; nothing where it was left out.
    pub weaker: Option<Weakening>,
    /// What became of it.
    pub fate: Fate,
}

/// How many twins had which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Twins.
    pub tried: usize,
    /// Found.
    pub caught: usize,
    /// Shown to be unnecessary.
    pub wasted: usize,
    /// Neither.
    pub undecided: usize,
}

impl Tally {
    /// Counts twins.
    pub fn of<'t>(twins: impl IntoIterator<Item = &'t Twin>) -> Self {
        let mut tally = Self::default();
        for twin in twins {
            tally.tried += 1;
            match twin.fate {
                Fate::Caught(_) => tally.caught += 1,
                Fate::Wasted => tally.wasted += 1,
                Fate::Undecided(_) => tally.undecided += 1,
            }
        }
        tally
    }
}

impl Checker<'_> {
    /// Leaves each maintenance operation out. The program itself must have passed before: its
    /// operations are known from that.
    pub fn omissions(&mut self, bounds: Bounds) -> Vec<Twin> {
        let changes: Vec<_> = self.sites().into_iter().map(|site| (site, None)).collect();
        self.twins(&changes, bounds)
    }

    /// Weakens each: CLWB for a flush, a store fence for a full one, an observe in the first turn
    /// of its wait only.
    pub fn weakenings(&mut self, bounds: Bounds) -> Vec<Twin> {
        let mut changes = Vec::new();
        for site in self.sites() {
            let weaker = self.weaker_than(&site).into_iter();
            changes.extend(weaker.map(|weaker| (site, Some(weaker))));
        }
        self.twins(&changes, bounds)
    }

    /// Every twin has its part of the time that is left, and so have the survivors together.
    fn twins(&mut self, changes: &[(Site, Option<Weakening>)], bounds: Bounds) -> Vec<Twin> {
        let until = self.machine.until;
        let mut twins = Vec::new();
        for (index, &(site, weaker)) in changes.iter().enumerate() {
            self.end_at(part_of(until, changes.len() - index + 1));
            twins.push(self.twin(site, weaker, bounds));
        }
        self.end_at(until);
        self.judge_survivors(twins, bounds)
    }

    fn weaker_than(&self, site: &Site) -> Vec<Weakening> {
        match site.kind {
            Maintenance::Fence if self.is_full_fence(site) => vec![Weakening::StoreFence],
            Maintenance::Writeback | Maintenance::Fence => Vec::new(),
            Maintenance::Flush if self.is_in_a_wait(site) => {
                vec![Weakening::Writeback, Weakening::Hoist]
            }
            Maintenance::Flush => vec![Weakening::Writeback],
        }
    }

    fn is_full_fence(&self, site: &Site) -> bool {
        self.ops_of(site)
            .any(|(_, _, ask)| ask == Ask::Fence(Fence::Full))
    }

    /// Whether a turn of a wait flushes there, for a look of its own.
    fn is_in_a_wait(&self, site: &Site) -> bool {
        self.ops_of(site).any(|(lane, node, _)| {
            let mut nodes = self.machine.script.nodes(lane);
            nodes.any(|(_, pause)| pause.reads.iter().any(|read| read.flushes.contains(&node)))
        })
    }

    fn ops_of(&self, site: &Site) -> impl Iterator<Item = (usize, u32, Ask)> {
        let script = &self.machine.script;
        let lanes = 0..script.count();
        let nodes = lanes.flat_map(move |lane| script.nodes(lane).map(move |(id, _)| (lane, id)));
        nodes.filter_map(move |(lane, id)| {
            let op = script.op(lane, id)?;
            (Site::of(op) == Some(*site)).then_some((lane, id, op.ask))
        })
    }

    fn twin(&mut self, site: Site, weaker: Option<Weakening>, bounds: Bounds) -> Twin {
        let edits = change(site, weaker);
        let report = self.check_edited(&edits, bounds);
        let fate = match (report.verdict, &report.fault) {
            (Verdict::Fail, Some((_, fault))) => Fate::Caught(fault.kind),
            (Verdict::Pass, _) if self.rounds >= 2 => Fate::Wasted,
            (Verdict::Pass, _) => Fate::Undecided("one round only: nothing is used again".into()),
            _ if report.exhausted => Fate::Undecided(format!(
                "nothing is wrong within {bounds}; {} states",
                report.states
            )),
            _ => Fate::Undecided(format!("not exhausted in {} states", report.states)),
        };
        let fate = self.try_by_chance(&edits, fate);
        Twin { site, weaker, fate }
    }

    /// Runs what a search has not decided.
    fn try_by_chance(&mut self, edits: &Edits, fate: Fate) -> Fate {
        let (runs, seed) = self.twin_runs;
        let Fate::Undecided(why) = fate else {
            return fate;
        };
        if runs == 0 {
            return Fate::Undecided(why);
        }
        match self.runs_by_chance(edits, Strategy::Adverse, runs, seed) {
            (_, Some((_, fault))) => Fate::Caught(fault.kind),
            (done, None) => Fate::Undecided(format!("{why}, nor in {done} adverse runs")),
        }
    }

    /// Survivors may stand in for each other: only those that can all be missing are wasted.
    fn judge_survivors(&mut self, mut twins: Vec<Twin>, bounds: Bounds) -> Vec<Twin> {
        let wasted = |twin: &&mut Twin| twin.fate == Fate::Wasted;
        let mut survivors: Vec<&mut Twin> = twins.iter_mut().filter(wasted).collect();
        let mut gone = Edits::default();
        for index in 0..survivors.len() {
            let (site, weaker) = (survivors[index].site, survivors[index].weaker);
            let mut more = gone.clone();
            add(&mut more, site, weaker);
            match self.check_edited(&more, bounds).verdict {
                Verdict::Pass => {
                    gone = more;
                    continue;
                }
                Verdict::Bounded => {
                    survivors[index].fate = Fate::Undecided(
                        "wasted alone; not exhausted together with other survivors".to_owned(),
                    );
                    continue;
                }
                Verdict::Fail => {}
            }
            let partner = survivors[..index]
                .iter()
                .find(|other| {
                    let mut both = change(site, weaker);
                    add(&mut both, other.site, other.weaker);
                    self.check_edited(&both, bounds).verdict == Verdict::Fail
                })
                .map(|other| other.site);
            let why = match partner {
                Some(partner) => {
                    survivors
                        .iter_mut()
                        .filter(|other| other.site == partner)
                        .for_each(|other| {
                            other.fate = Fate::Undecided(format!("does what the {site} does"));
                        });
                    format!("does what the {partner} does")
                }
                None => "does what other survivors do together".to_owned(),
            };
            survivors[index].fate = Fate::Undecided(why);
        }
        twins
    }
}

/// The moment at which one of this many parts of the time until then is over.
fn part_of(until: Option<Instant>, parts: usize) -> Option<Instant> {
    until.map(|until| {
        let now = Instant::now();
        now + until.saturating_duration_since(now) / parts as u32
    })
}

fn change(site: Site, weaker: Option<Weakening>) -> Edits {
    let mut edits = Edits::default();
    add(&mut edits, site, weaker);
    edits
}

fn add(edits: &mut Edits, site: Site, weaker: Option<Weakening>) {
    match weaker {
        None => edits.omit.push(site),
        Some(how) => edits.weaken.push((site, how)),
    }
}
