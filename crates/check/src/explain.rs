//! From a fault to a finding: what happened, which line is at fault, and what cures it.
//!
//! A cure is derived, not guessed: maintenance is put in at one place after another, and the first
//! placement with which the search finds nothing is the cure. Weaker maintenance is tried first.

use fabric::Line;

use crate::ask::{Ask, Caller, Recipe};
use crate::check::Checker;
use crate::edit::{Edits, Insertion};
use crate::finding::{Finding, Kind};
use crate::script::NONE;
use crate::search::{Bounds, Path};
use crate::state::{Fault, Move, State};
use crate::trace::{Event, place};

/// Single placements whose pairs are tried, where no single one cures.
const PAIRED: usize = 12;

/// States of one try: a program so broken that its cure takes more is shown without.
const STATES_A_TRY: usize = 300_000;

/// What a path leads through.
pub(crate) struct Walked {
    pub(crate) events: Vec<Event>,
    pub(crate) state: Option<State>,
}

impl Checker<'_> {
    /// Explains a fault of the program under `edits`.
    pub(crate) fn explain(&mut self, edits: &Edits, path: &Path, fault: &Fault) -> Finding {
        // A cure that was not searched to the end would be none.
        let until = self.machine.until.take();
        self.machine.edit(edits.clone());
        let walked = self.walk(path);
        let token = self.machine.token(&self.name.clone(), path);
        let culprit = self.culprit(fault, &walked);
        let cure = match fault.kind {
            Kind::HostAtomic | Kind::FrozenStore | Kind::Nondeterminism | Kind::Clobber => None,
            _ => self.cure(edits, fault, culprit),
        };
        self.machine.edit(edits.clone());
        self.machine.until = until;
        let at = cure.as_ref().and_then(|cure| cure.first());
        let at = at.map(|put| put.at).or(culprit).or(fault.noticed);
        let unasked = path.iter().filter(|taken| is_unasked(taken.chosen)).count();
        Finding {
            kind: fault.kind,
            what: fault.what.clone(),
            place: at.map_or_else(|| "the program as a whole".to_owned(), place),
            cure: advice(fault.kind, cure.as_deref()),
            unasked,
            token,
            trace: walked.events,
        }
    }

    /// Walks a path again and notes what happens.
    pub(crate) fn walk(&mut self, path: &Path) -> Walked {
        self.machine.log = Some(Vec::new());
        let mut state = self.machine.start().ok();
        if let Some(state) = &mut state {
            for &taken in path {
                // The last step may be the fault itself, which is known.
                let _ = self.machine.follow(state, taken);
            }
        }
        Walked {
            events: self.machine.log.take().unwrap_or_default(),
            state,
        }
    }

    /// The line that a fault itself points to.
    fn culprit(&self, fault: &Fault, walked: &Walked) -> Option<Caller> {
        if fault.kind == Kind::Clobber {
            return self.last_store(walked.state.as_ref()?, fault.line?, fault.what.as_str());
        }
        fault.blamed
    }

    /// The last store to a line on the way of the lanes of the host that is named first.
    fn last_store(&self, state: &State, line: Line, what: &str) -> Option<Caller> {
        let lanes = 0..state.lanes.len();
        let host = |lane: &usize| self.machine.setup.shape.host(*lane);
        let mut named = lanes.filter(|lane| what.starts_with(&format!("host {} ", host(lane))));
        named.find_map(|lane| {
            let script = &self.machine.script;
            let mut node = state.lanes[lane].node;
            while node != NONE {
                if let Some(op) = script.op(lane, node)
                    && op.ask.stored_line() == Some(line)
                {
                    return Some(op.caller);
                }
                node = script.node(lane, node).parent;
            }
            None
        })
    }

    /// The placement with which nothing is wrong any more.
    fn cure(
        &mut self,
        edits: &Edits,
        fault: &Fault,
        culprit: Option<Caller>,
    ) -> Option<Vec<Insertion>> {
        let candidates = self.candidates(fault.line, culprit.or(fault.noticed));
        for put in &candidates {
            if self.heals(&edits.with(*put)) {
                return Some(vec![*put]);
            }
        }
        let few = &candidates[..candidates.len().min(PAIRED)];
        for (index, first) in few.iter().enumerate() {
            for second in &few[index + 1..] {
                if first.at != second.at && self.heals(&edits.with(*first).with(*second)) {
                    return Some(vec![*first, *second]);
                }
            }
        }
        None
    }

    fn heals(&mut self, edits: &Edits) -> bool {
        let bounds = Bounds {
            states: self.bounds.states.min(STATES_A_TRY),
            ..self.bounds
        };
        self.check_edited(edits, bounds).fault.is_none()
    }

    /// Where maintenance could be put: at the lines that look at or store to the region, those at
    /// the line that is at fault first.
    fn candidates(&self, line: Option<Line>, near: Option<Caller>) -> Vec<Insertion> {
        let mut all: Vec<(u8, Insertion)> = Vec::new();
        let script = &self.machine.script;
        for lane in 0..script.count() {
            for (id, _) in script.nodes(lane) {
                let Some(op) = script.op(lane, id) else {
                    continue;
                };
                if op.recipe == Some(Recipe::Confirm) {
                    continue;
                }
                let recipes: &[Recipe] = match op.ask {
                    Ask::Load(_) => &[Recipe::Observe],
                    Ask::Store(..) | Ask::StoreNt(..) | Ask::StoreLine(..) => {
                        &[Recipe::Post, Recipe::Publish, Recipe::Confirm]
                    }
                    _ => continue,
                };
                let concerned = u8::from(line.is_none() || op.ask.line() != line);
                let far = 2 * u8::from(near != Some(op.caller));
                for (weight, &recipe) in (0..).zip(recipes) {
                    let put = Insertion {
                        at: op.caller,
                        recipe,
                    };
                    let rank = 4 * (concerned + far) + weight;
                    match all.iter_mut().find(|(_, known)| *known == put) {
                        Some((known, _)) => *known = rank.min(*known),
                        None => all.push((rank, put)),
                    }
                }
            }
        }
        all.sort_by_key(|(rank, _)| *rank);
        all.into_iter().map(|(_, put)| put).collect()
    }
}

fn is_unasked(chosen: Move) -> bool {
    use model::Step::{Crash, Evict, Fetch};
    matches!(
        chosen,
        Move::Step(Evict { .. } | Fetch { .. } | Crash { .. })
    )
}

/// A cure in words.
fn advice(kind: Kind, cure: Option<&[Insertion]>) -> Option<String> {
    if let Some(cure) = cure {
        let each: Vec<String> = cure.iter().map(told).collect();
        return Some(each.join(", and "));
    }
    let text = match kind {
        Kind::Clobber => "give each host that writes a line of its own, or write around the cache",
        Kind::HostAtomic => {
            "use a lock or an atomic of crate sync, or a word of host-shared memory"
        }
        Kind::FrozenStore => "store before the freeze, or do not freeze what is still written",
        Kind::Nondeterminism => {
            "let nothing but the results of its port decide what a lane does: no clock, no static"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

fn told(put: &Insertion) -> String {
    let side = match put.recipe {
        Recipe::Observe => "before the load at",
        Recipe::Post | Recipe::Publish | Recipe::Confirm => "after the store at",
    };
    format!("{} the line {side} {}", put.recipe, place(put.at))
}
