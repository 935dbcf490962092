//! The graph in the region is the graph in memory, on any number of hosts and lanes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use fabric::{Arena, HostAtomics, Pod, Program, Seat, View};
use graph::{FrozenRows, GraphSource, Load, RegionGraph};
use sync::{Barrier, BarrierLayout};
use workload::{Unready, Worker};

const SEED: u64 = 7;

/// Prepares a graph, then reads all of it on every lane.
struct Read {
    pod: Pod,
    barrier: BarrierLayout,
    graph: RegionGraph,
}

impl Read {
    fn lay_out(arena: &mut Arena, pod: Pod, source: &str, directed: bool) -> Self {
        let barrier = BarrierLayout::lay_out(arena, "test.barrier", pod);
        let source: GraphSource = source.parse().unwrap();
        let graph = RegionGraph::lay_out(arena, "test.graph", pod, &source, directed);
        Self {
            pod,
            barrier,
            graph,
        }
    }
}

type Words = (Vec<u64>, Vec<u32>);

fn words<P: HostAtomics>(port: &P, rows: FrozenRows) -> Words {
    let (offsets, targets) = (port.view(rows.offsets), port.view(rows.targets));
    let offsets = (0..offsets.len()).map(|index| offsets.get(index)).collect();
    let targets = (0..targets.len()).map(|index| targets.get(index)).collect();
    (offsets, targets)
}

impl Program for Read {
    type Out = Result<(Words, Words), Unready>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = Barrier::new(&self.barrier, self.pod, seat, 0);
        let worker = Worker::new(port, self.pod, seat, &barrier, SEED, 0);
        self.graph.prepare(&worker)?;
        let frozen = self.graph.frozen();
        Ok((words(port, frozen.outgoing), words(port, frozen.incoming)))
    }
}

fn is_the_graph_in_memory(source: &str, directed: bool, hosts: u32, lanes: u32, native: bool) {
    let (mut arena, pod) = (Arena::new(), Pod::new(hosts, lanes));
    let read = Read::lay_out(&mut arena, pod, source, directed);
    let outs = if native {
        common::on_native(pod, &arena, &read)
    } else {
        common::on_sim(pod, &arena, &read)
    };
    assert_eq!(outs.len(), (hosts * lanes) as usize);
    let outs: Vec<_> = outs.into_iter().map(Result::unwrap).collect();
    let source: GraphSource = source.parse().unwrap();
    let how = Load {
        directed,
        seed: SEED,
        ..Load::default()
    };
    let csr = source.load(&how).unwrap();
    assert!(csr.arcs() > 0);
    for (outgoing, incoming) in outs {
        for (rows, (offsets, targets)) in [(csr.outgoing(), outgoing), (csr.incoming(), incoming)] {
            assert!(rows.offsets() == offsets, "{source}: {hosts} x {lanes}");
            assert!(rows.targets() == targets, "{source}: {hosts} x {lanes}");
        }
    }
}

#[test]
fn every_lane_of_a_simulated_pod_reads_the_whole_graph() {
    for hosts in 1..=4 {
        for lanes in 1..=3 {
            is_the_graph_in_memory("kron:7", false, hosts, lanes, false);
            is_the_graph_in_memory("uniform:6", true, hosts, lanes, false);
            // Fewer vertices than a share of them, and lines with arcs of two hosts and more.
            is_the_graph_in_memory("uniform:3", true, hosts, lanes, false);
        }
    }
}

/// Hosts of some dozen arcs each: a line has arcs of several.
#[test]
fn a_line_of_several_hosts_arcs_has_one_writer() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sparse.el");
    // Vertices 0, 63, 64, 127, 128 .. : one arc or two a host, of 64 vertices each.
    let edges = [
        "0 1", "63 2", "64 3", "128 4", "128 70", "192 5", "255 0", "256 6",
    ];
    std::fs::write(&path, edges.join("\n")).unwrap();
    let source = format!("file:{}", path.display());
    for hosts in [2, 4, 5, 7] {
        is_the_graph_in_memory(&source, true, hosts, 2, false);
        is_the_graph_in_memory(&source, false, hosts, 2, false);
    }
}

#[test]
fn every_lane_of_native_hosts_reads_the_whole_graph() {
    for hosts in 1..=4 {
        for lanes in 1..=3 {
            is_the_graph_in_memory("kron:10", false, hosts, lanes, true);
            is_the_graph_in_memory("uniform:9", true, hosts, lanes, true);
        }
    }
}

#[test]
fn a_graph_that_a_host_cannot_have_is_named() {
    for native in [false, true] {
        let (mut arena, pod) = (Arena::new(), Pod::new(2, 2));
        let read = Read::lay_out(&mut arena, pod, "file:/absent/graph.sg", false);
        let outs = if native {
            common::on_native(pod, &arena, &read)
        } else {
            common::on_sim(pod, &arena, &read)
        };
        for out in outs {
            let error = out.unwrap_err().to_string();
            assert!(error.contains("/absent/graph.sg"), "{error}");
        }
    }
}
