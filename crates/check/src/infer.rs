//! Inferring maintenance: the cheapest placement with which a program passes.
//!
//! All maintenance that stands in the source is left out. What may be put in is an observe before
//! each line of source that loads, and a post, a publish or a confirm after each that stores.
//! Placements are tried from the cheapest; each that fails leaves a counterexample, and whatever
//! has no more than it where the counterexample passed by fails on the same one, so it is not
//! tried. The cheapest that pass are the answer, all of them.

use std::collections::BTreeSet;

use crate::ask::{Ask, Caller, Recipe};
use crate::check::{Checker, Verdict};
use crate::edit::{Edits, Insertion};
use crate::script::NONE;
use crate::search::Bounds;

/// What an operation costs: lines that travel, with a third for waiting at the fence.
const OBSERVE: u32 = 3;
const POST: u32 = 3;
const PUBLISH: u32 = 4;
/// Publish, then observe.
const CONFIRM: u32 = 7;

/// Placements tried, at most.
const TRIES: usize = 20_000;

/// What inferring brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The cheapest placements that pass; none where even all maintenance does not.
    pub placements: Vec<Vec<Insertion>>,
    /// Placements searched.
    pub tried: usize,
    /// Placements that a counterexample of another one refuted.
    pub spared: usize,
    /// Whether the placements were exhausted, not only searched within bounds.
    pub verdict: Verdict,
}

/// A line of source where maintenance may be put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    at: Caller,
    stores: bool,
}

impl Slot {
    fn levels(self) -> &'static [(Option<Recipe>, u32)] {
        const LOADS: &[(Option<Recipe>, u32)] = &[(None, 0), (Some(Recipe::Observe), OBSERVE)];
        const STORES: &[(Option<Recipe>, u32)] = &[
            (None, 0),
            (Some(Recipe::Post), POST),
            (Some(Recipe::Publish), PUBLISH),
            (Some(Recipe::Confirm), CONFIRM),
        ];
        if self.stores { STORES } else { LOADS }
    }
}

/// How much is put in, slot by slot.
type Levels = Vec<u8>;

/// A placement that failed, and the slots that its counterexample passed by.
struct Refuted {
    levels: Levels,
    passed: Vec<usize>,
}

impl Checker<'_> {
    /// Finds the cheapest maintenance that the program needs. Operations that only a placement
    /// makes possible are met on the way, so the program should have been checked before as it is.
    pub fn infer(&mut self, bounds: Bounds) -> Inferred {
        let mut inferred = Inferred {
            placements: Vec::new(),
            tried: 0,
            spared: 0,
            verdict: Verdict::Fail,
        };
        let slots = self.slots();
        let most: Levels = slots
            .iter()
            .map(|slot| slot.levels().len() as u8 - 1)
            .collect();
        inferred.tried += 1;
        if self.try_placement(&slots, &most, bounds).is_err() {
            return inferred;
        }
        let mut refuted: Vec<Refuted> = Vec::new();
        let mut open = BTreeSet::from([(0, vec![0; slots.len()])]);
        let mut cheapest = None;
        while let Some((cost, levels)) = open.pop_first() {
            if cheapest.is_some_and(|cheapest| cost > cheapest) || inferred.tried >= TRIES {
                break;
            }
            let known = refuted.iter().find(|known| known.refutes(&levels));
            let passed = if let Some(known) = known {
                inferred.spared += 1;
                known.passed.clone()
            } else {
                inferred.tried += 1;
                match self.try_placement(&slots, &levels, bounds) {
                    Ok(verdict) => {
                        cheapest = Some(cost);
                        inferred.verdict = verdict;
                        inferred.placements.push(placement(&slots, &levels));
                        continue;
                    }
                    Err(passed) => {
                        refuted.push(Refuted {
                            levels: levels.clone(),
                            passed: passed.clone(),
                        });
                        passed
                    }
                }
            };
            // Only more at a slot that the counterexample passed by can prevent it.
            for index in passed {
                let next = levels[index] + 1;
                let steps = slots[index].levels();
                if let Some((_, price)) = steps.get(next as usize) {
                    let mut more = levels.clone();
                    more[index] = next;
                    open.insert((cost + price - steps[next as usize - 1].1, more));
                }
            }
        }
        inferred
    }

    /// Lines that load from or store to the region, maintenance apart.
    fn slots(&self) -> Vec<Slot> {
        let script = &self.machine.script;
        let mut slots = BTreeSet::new();
        for lane in 0..script.count() {
            for op in script.nodes(lane).filter_map(|(id, _)| script.op(lane, id)) {
                if op.recipe == Some(Recipe::Confirm) {
                    continue;
                }
                let stores = match op.ask {
                    Ask::Load(_) => false,
                    Ask::Store(..) | Ask::StoreNt(..) | Ask::StoreLine(..) => true,
                    _ => continue,
                };
                slots.insert(Slot {
                    at: op.caller,
                    stores,
                });
            }
        }
        slots.into_iter().collect()
    }

    /// The verdict, or the slots that a counterexample passes by.
    fn try_placement(
        &mut self,
        slots: &[Slot],
        levels: &Levels,
        bounds: Bounds,
    ) -> Result<Verdict, Vec<usize>> {
        let edits = Edits {
            bare: true,
            insert: placement(slots, levels),
            ..Edits::default()
        };
        let report = self.check_edited(&edits, bounds);
        let Some((path, _)) = report.fault else {
            return Ok(report.verdict);
        };
        let walked = self.walk(&path);
        let mut passed = BTreeSet::new();
        let lanes = walked
            .state
            .iter()
            .flat_map(|state| state.lanes.iter().enumerate());
        for (lane, at) in lanes {
            let mut node = at.node;
            while node != NONE {
                if let Some(op) = self.machine.script.op(lane, node) {
                    let slot = slots.iter().position(|slot| slot.at == op.caller);
                    passed.extend(slot);
                }
                node = self.machine.script.node(lane, node).parent;
            }
        }
        Err(passed.into_iter().collect())
    }
}

impl Refuted {
    fn refutes(&self, levels: &Levels) -> bool {
        let mut passed = self.passed.iter();
        passed.all(|&index| levels[index] <= self.levels[index])
    }
}

fn placement(slots: &[Slot], levels: &Levels) -> Vec<Insertion> {
    let chosen = slots.iter().zip(levels);
    let put = chosen.filter_map(|(slot, &level)| {
        let (recipe, _) = slot.levels()[level as usize];
        Some(Insertion {
            at: slot.at,
            recipe: recipe?,
        })
    });
    put.collect()
}
