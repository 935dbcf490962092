//! An in-memory B-tree: two uniform finds an iteration, then a read of each record.
//!
//! Source: the Btree of vmitosis (Panwar et al., ASPLOS 2021), of order 16, as Memtis runs it: 157
//! million pairs, 8 billion lookups. The tree is built by real insertions, evens ascending and then
//! odds descending, so that leaves end half full.
//! Layout: headers of 48 bytes and records of 16 come from slabs of 256 KB, each at the start of a
//! huge page of its own; arrays of keys and of pointers, 64-byte aligned, come from the heap, 192
//! bytes with their overhead. So seven eighths of each slab's huge page are zeros: 37 GB in all at
//! full scale, against 38.3 GB reported, of which 25 GB hold nothing.

use std::sync::Arc;

use super::{Application, Phase, Step};
use crate::machine::Area;
use crate::random::Random;
use crate::scale::{Grain, PAGE_BYTES, SUBPAGES, Scale};
use crate::world::Lane;

const FULL_PAIRS: f64 = 157e6;
const FULL_LOOKUPS: f64 = 8e9;
const THREADS: usize = 20;
/// Children of a node; one key less.
const ORDER: usize = 16;
const HEADER_BYTES: u64 = 48;
const RECORD_BYTES: u64 = 16;
const ARRAY_BYTES: u64 = 192;
const SLAB_BYTES: u64 = 256 << 10;
const HUGE_BYTES: u64 = PAGE_BYTES * SUBPAGES as u64;
const LINE: u64 = 64;

/// Assumption: instructions of one level of a descent without its misses.
const LEVEL_WORK_NS: f64 = 5.0;

/// A node: keys ascending; children, or records in a leaf. One more of each than a node keeps: an
/// insertion comes before its split.
#[derive(Clone, Debug)]
struct Node {
    keys: [u32; ORDER],
    below: [u32; ORDER + 1],
    /// Keys.
    length: u8,
    leaf: bool,
}

impl Node {
    fn new(keys: &[u32], below: &[u32], leaf: bool) -> Self {
        let mut node = Self {
            keys: [u32::MAX; ORDER],
            below: [0; ORDER + 1],
            length: keys.len() as u8,
            leaf,
        };
        node.keys[..keys.len()].copy_from_slice(keys);
        node.below[..below.len()].copy_from_slice(below);
        node
    }

    fn keys(&self) -> &[u32] {
        &self.keys[..usize::from(self.length)]
    }

    fn below(&self) -> &[u32] {
        &self.below[..usize::from(self.length) + usize::from(!self.leaf)]
    }

    /// Keys up to this one. All slots are compared: empty ones hold the greatest word, and a loop
    /// without an exit needs no guess.
    fn rank(&self, key: u32) -> usize {
        self.keys
            .iter()
            .map(|&other| usize::from(other <= key))
            .sum()
    }

    fn insert(&mut self, slot: usize, key: u32, below: u32) {
        let length = usize::from(self.length);
        let place = slot + usize::from(!self.leaf);
        self.keys.copy_within(slot..length, slot + 1);
        self.below
            .copy_within(place..length + usize::from(!self.leaf), place + 1);
        self.keys[slot] = key;
        self.below[place] = below;
        self.length += 1;
    }
}

/// A B+ tree, and after which insertion each node came into being.
#[derive(Clone, Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    born: Vec<u32>,
    root: u32,
    pairs: u32,
}

impl Tree {
    /// By so many insertions. The record of a key is numbered by its insertion.
    pub fn new(pairs: u32) -> Self {
        let mut tree = Self {
            nodes: vec![Node::new(&[], &[], true)],
            born: vec![0],
            root: 0,
            pairs,
        };
        for turn in 0..pairs {
            tree.insert(key_of(turn, pairs), turn);
        }
        tree
    }

    /// At a scale.
    pub fn scaled(scale: Scale) -> Self {
        Self::new(scale.count(FULL_PAIRS) as u32)
    }

    fn insert(&mut self, key: u32, record: u32) {
        if let Some((middle, right)) = self.insert_below(self.root, key, record) {
            let old = self.root;
            self.root = self.add(Node::new(&[middle], &[old, right], false), record);
        }
    }

    fn add(&mut self, node: Node, turn: u32) -> u32 {
        self.nodes.push(node);
        self.born.push(turn);
        self.nodes.len() as u32 - 1
    }

    /// Inserts under a node; the key and node that its parent must take up if it was split.
    fn insert_below(&mut self, at: u32, key: u32, record: u32) -> Option<(u32, u32)> {
        let node = &self.nodes[at as usize];
        let slot = node.rank(key);
        let (key, below) = if node.leaf {
            (key, record)
        } else {
            self.insert_below(node.below[slot], key, record)?
        };
        let node = &mut self.nodes[at as usize];
        node.insert(slot, key, below);
        let full = usize::from(node.length) == ORDER;
        full.then(|| self.split(at, record))
    }

    fn split(&mut self, at: u32, turn: u32) -> (u32, u32) {
        let node = &mut self.nodes[at as usize];
        let half = ORDER / 2;
        let middle = node.keys[half];
        // A leaf keeps the middle key on its right side; an inner node hands it up.
        let first = half + usize::from(!node.leaf);
        let right = Node::new(&node.keys[first..], &node.below()[first..], node.leaf);
        node.length = half as u8;
        node.keys[half..].fill(u32::MAX);
        let right = self.add(right, turn);
        (middle, right)
    }

    /// The nodes from the root to a leaf with the slot taken in each; the record if it is there.
    fn find(&self, key: u32, mut visit: impl FnMut(u32, usize)) -> Option<u32> {
        let mut at = self.root;
        loop {
            let node = &self.nodes[at as usize];
            let slot = node.rank(key);
            if node.leaf {
                let slot = slot.checked_sub(1)?;
                visit(at, slot);
                return (node.keys[slot] == key).then(|| node.below[slot]);
            }
            visit(at, slot);
            at = node.below[slot];
        }
    }
}

/// The key of an insertion: evens ascending, then odds descending.
fn key_of(turn: u32, pairs: u32) -> u32 {
    let evens = pairs.div_ceil(2);
    if turn < evens {
        turn * 2
    } else {
        (pairs - 1 - turn) * 2 + 1
    }
}

/// The application.
#[derive(Clone, Debug)]
pub struct Btree {
    tree: Arc<Tree>,
    random: Vec<Random>,
    stride: u32,
    inserted: u32,
    next_node: u32,
    left: Vec<u64>,
    lookups: u64,
    phase: Phase,
    headers: Area,
    records: Area,
    arrays: Area,
}

const NOWHERE: Area = Area { start: 0, bytes: 0 };

impl Btree {
    /// On a tree that was built before.
    pub fn new(tree: Arc<Tree>, scale: Scale, seed: u64) -> Self {
        let iterations = scale.operations(FULL_LOOKUPS) / 2 / THREADS as u64;
        Self {
            tree,
            random: (0..THREADS as u64)
                .map(|thread| Random::new(seed, 100 + thread))
                .collect(),
            stride: scale.geometry(),
            inserted: 0,
            next_node: 0,
            left: vec![iterations; THREADS],
            lookups: iterations * THREADS as u64,
            phase: Phase::End,
            headers: NOWHERE,
            records: NOWHERE,
            arrays: NOWHERE,
        }
    }

    fn header(&self, node: u32) -> u64 {
        self.headers.at(in_slabs(u64::from(node), HEADER_BYTES))
    }

    fn record(&self, record: u32) -> u64 {
        self.records.at(in_slabs(u64::from(record), RECORD_BYTES))
    }

    fn keys(&self, node: u32) -> u64 {
        self.arrays.at(u64::from(node) * 2 * ARRAY_BYTES)
    }

    fn below(&self, node: u32) -> u64 {
        self.arrays.at((u64::from(node) * 2 + 1) * ARRAY_BYTES)
    }

    /// A find: header, line of keys, line of pointers, level by level; then the record.
    fn find(&self, lane: &mut Lane<'_>, key: u32) -> Option<u32> {
        let found = self.tree.find(key, |node, slot| {
            lane.work(LEVEL_WORK_NS);
            let offset = slot as u64 * 8 / LINE * LINE;
            lane.chase(self.header(node));
            lane.chase(self.keys(node));
            if offset > 0 {
                lane.gather(self.keys(node) + offset);
            }
            lane.chase(self.below(node) + offset);
        });
        if let Some(record) = found {
            lane.chase(self.record(record));
        }
        found
    }

    /// Insertions: one of a stride is simulated whole, of the others only what they leave.
    fn load(&mut self, lane: &mut Lane<'_>) -> Step {
        if lane.thread() != 0 || self.inserted == self.tree.pairs {
            return Step::Wait;
        }
        let last = (self.inserted + self.stride).min(self.tree.pairs);
        for turn in self.inserted..last {
            let key = key_of(turn, self.tree.pairs);
            lane.place(self.record(turn), u64::from(key) + 1);
            while (self.next_node as usize) < self.tree.nodes.len()
                && self.tree.born[self.next_node as usize] <= turn
            {
                self.place_node(lane, self.next_node);
                self.next_node += 1;
            }
        }
        // The path of the first one, in the tree as it will be: as deep, within a level.
        let path = self.tree.clone();
        path.find(key_of(self.inserted, path.pairs), |node, _| {
            if node < self.next_node {
                lane.chase(self.header(node));
                lane.chase(self.keys(node));
                lane.chase(self.below(node));
            }
        });
        lane.store(self.record(self.inserted), u64::from(self.inserted) + 1);
        self.inserted = last;
        Step::Operated
    }

    fn place_node(&self, lane: &mut Lane<'_>, node: u32) {
        let held = &self.tree.nodes[node as usize];
        lane.place(self.header(node), u64::from(held.length));
        let word = |words: &[u32]| words.iter().map(|&word| u64::from(word)).max().unwrap_or(0);
        for offset in [0, LINE] {
            lane.place(self.keys(node) + offset, word(held.keys()));
            lane.place(self.below(node) + offset, word(held.below()) + 1);
        }
    }

    fn look_up(&mut self, lane: &mut Lane<'_>) -> Step {
        let thread = lane.thread();
        if self.left[thread] == 0 {
            return Step::Wait;
        }
        self.left[thread] -= 1;
        for _ in 0..2 {
            let key = self.random[thread].below(u64::from(self.tree.pairs)) as u32;
            self.find(lane, key);
        }
        Step::Operated
    }
}

/// The offset of an object in slabs of 256 KB, each at the start of a huge page.
fn in_slabs(index: u64, bytes: u64) -> u64 {
    let a_slab = SLAB_BYTES / bytes;
    index / a_slab * HUGE_BYTES + index % a_slab * bytes
}

/// Bytes of address space that so many objects in slabs need.
fn slabs_for(objects: u64, bytes: u64) -> u64 {
    objects.div_ceil(SLAB_BYTES / bytes) * HUGE_BYTES
}

impl Application for Btree {
    fn grain(&self) -> Grain {
        Grain::Record
    }

    fn layout(&mut self, lane: &mut Lane<'_>) {
        let nodes = self.tree.nodes.len() as u64;
        self.headers = lane.map(slabs_for(nodes, HEADER_BYTES), true);
        self.records = lane.map(slabs_for(u64::from(self.tree.pairs), RECORD_BYTES), true);
        self.arrays = lane.map(nodes * 2 * ARRAY_BYTES, true);
    }

    fn operate(&mut self, lane: &mut Lane<'_>) -> Step {
        match self.phase {
            Phase::Setup => self.load(lane),
            _ => self.look_up(lane),
        }
    }

    fn next_phase(&mut self) -> Phase {
        self.phase = match self.phase {
            Phase::End if self.inserted == 0 => Phase::Setup,
            Phase::Setup => Phase::Measured,
            _ => Phase::End,
        };
        self.phase
    }

    fn progress(&self) -> f64 {
        1.0 - self.left.iter().sum::<u64>() as f64 / self.lookups as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_key_is_found_and_no_other() {
        let pairs = 10_001;
        let tree = Tree::new(pairs);
        let reference: BTreeMap<u32, u32> =
            (0..pairs).map(|turn| (key_of(turn, pairs), turn)).collect();
        assert_eq!(reference.len(), pairs as usize);
        for key in 0..pairs + 5 {
            let found = tree.find(key, |_, _| {});
            assert_eq!(found, reference.get(&key).copied(), "{key}");
        }
    }

    #[test]
    fn leaves_end_half_full() {
        let tree = Tree::new(100_000);
        let leaves = tree.nodes.iter().filter(|node| node.leaf);
        let (count, keys) = leaves.fold((0, 0), |(count, keys), leaf| {
            (count + 1, keys + leaf.keys().len())
        });
        let mean = keys as f64 / f64::from(count);
        assert!((7.5..9.0).contains(&mean), "{mean}");
    }

    #[test]
    fn the_footprint_is_the_published_one() {
        // From the shape at small scale to 157 million pairs: 38.3 GB are reported.
        let pairs = 200_000;
        let tree = Tree::new(pairs);
        let nodes = tree.nodes.len() as u64;
        let bytes = slabs_for(nodes, HEADER_BYTES)
            + slabs_for(u64::from(pairs), RECORD_BYTES)
            + nodes * 2 * ARRAY_BYTES;
        let full = bytes as f64 * FULL_PAIRS / f64::from(pairs);
        assert!((full / 38.3e9 - 1.0).abs() < 0.15, "{full}");
    }
}
