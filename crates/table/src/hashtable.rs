//! What a hash table that hosts share costs.
//!
//! *Kernel.* Every lane does `operations` operations of a YCSB mix on one table, as fast as it can.
//! Before the first repetition the table is filled, except for `mix = load`, which fills it.
//!
//! *Sharing.* Decided by `sharing`: see [`crate::Sharing`]. With locks that need a server, the last
//! lane of the last host serves all of them and asks for nothing.
//!
//! *Maintenance an operation.* Given with each operation of [`crate::Handle`]; the census counts
//! it.
//!
//! *Metrics.* `throughput_per_s`: operations of all lanes, over the time of the slowest.
//! `op_ns`, and `read_ns`, `update_ns`, `insert_ns`, `modify_ns` by operation: from asking to
//! knowing; of a batch, that of the batch. The clock is read for up to ten thousand operations a
//! lane.
//!
//! *Verified.* Each value says by whom it was written, when and under which key, in every word:
//! reads check what they get, the end checks every entry, that none is missing, doubled or strange.
//! Of `checked_keys` keys, the most popular ones, every operation is recorded with its times, and
//! the histories must be linearizable.

mod lane;
mod params;
mod verify;

use fabric::{Arena, Gone, HostAtomics, HostSlice, Pod, Slice};
use serde_json::json;
use workload::{Gather, Mismatch, Outcome, Verified, Worker, Workload};

pub use params::Params;

use crate::client::Client;
use crate::history::EVENT_WORDS;
use crate::layout::Table;
use lane::Lane;
use verify::verify_entries;

/// Where its words lie.
#[derive(Debug)]
pub struct Layout {
    table: Table,
    /// How many phases each lane has done.
    done: Vec<Slice<u64>>,
    /// Of each lane: its span, strange values that it has read, events, when it stopped to record
    /// them, and the events.
    seen: Gather,
    /// Repetitions that lane 0 of host 0 has looked through, and those in which it found something.
    verdict: HostSlice<u64>,
}

/// Words before the events.
const SEEN: usize = 4;

/// The workload.
#[derive(Debug)]
pub struct Hashtable;

impl Workload for Hashtable {
    const NAME: &'static str = "hashtable";
    const ABOUT: &'static str = "what a hash table costs that hosts share, by YCSB's mixes";
    type Params = Params;
    type Layout = Layout;

    fn layout(arena: &mut Arena, pod: Pod, params: &Params) -> Layout {
        let lanes = pod.hosts * pod.lanes;
        let words = SEEN + params.events() * EVENT_WORDS;
        Layout {
            table: Table::lay_out(arena, "hashtable", pod, &params.config(pod)),
            done: arena.per_host("hashtable.done", lanes, 1),
            seen: Gather::lay_out(arena, "hashtable.seen", lanes, words),
            verdict: arena.host_shared("hashtable.verdict", 2),
        }
    }

    fn check(pod: Pod, params: &Params) -> Result<(), String> {
        params.check(pod)
    }

    fn run<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
    ) -> Result<Outcome, Gone> {
        let lane = Lane {
            worker,
            layout,
            params,
            client: client(worker, layout, params),
        };
        lane.prepare()?;
        let outcome = lane.phase()?;
        worker.line_up()?;
        if worker.seat().leads_pod() {
            return Ok(lane.look_through(outcome));
        }
        Ok(outcome)
    }

    fn verify<P: HostAtomics>(
        worker: &Worker<'_, P>,
        layout: &Layout,
        params: &Params,
        repetitions: u32,
    ) -> Result<Verified, Mismatch> {
        let (port, seat) = (worker.port(), worker.seat());
        if !seat.leads_pod() {
            return Ok(Verified::Nothing);
        }
        let looked = port.atomic_load(layout.verdict.at(0));
        let wrong = port.atomic_load(layout.verdict.at(1));
        if looked < u64::from(repetitions) || wrong > 0 {
            return Err(Mismatch {
                what: "values read, and histories of checked keys".into(),
                expected: format!("{repetitions} repetitions without a strange one"),
                found: format!("{looked} looked through, {wrong} strange"),
            });
        }
        let client = client(worker, layout, params);
        let entries = verify_entries(worker, &client, repetitions)?;
        Ok(Verified::Answer(json!({ "entries": entries })))
    }
}

fn client<'a, P: HostAtomics>(
    worker: &Worker<'_, P>,
    layout: &'a Layout,
    params: &Params,
) -> Client<'a> {
    Client {
        table: &layout.table,
        pod: worker.pod(),
        draw: params.draw(),
        mix: params.mix,
        placement: params.placement,
        entries: params.entries,
        operations: u64::from(params.operations),
        hosts: params.clients(worker.pod()),
        seed: worker.seed(),
    }
}
