//! A pod file's constants as the engine uses them: picoseconds, and what is derived from them.

use fabric::Coherence;
use model::WriteMode;

use crate::pod::PodFile;

/// Simulated time, in picoseconds.
pub(crate) type Time = u64;

/// Bytes of a line over GB/s, in picoseconds.
fn line_time(gb_per_s: f64) -> Time {
    (64.0 / gb_per_s * 1e3).round() as Time
}

fn ps(ns: f64) -> Time {
    (ns * 1e3).round() as Time
}

/// The lines that prefetchers add to a lane's own misses: a stream keeps both in flight, since its
/// accesses, once it runs, are no misses.
fn stream_distance(pod: &PodFile) -> u32 {
    match pod.core.stream_lines.value {
        0 => 0,
        added => added + pod.core.misses_in_flight.value,
    }
}

/// What everything costs.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub coherent: bool,
    pub writes: WriteMode,
    pub cycle: Time,
    /// Load to use in each cache level.
    pub levels: [Time; 3],
    pub dram: Time,
    pub dram_line: Time,
    pub lane_transfer: Time,
    /// From a lane to the device.
    pub request: Time,
    /// From the device to a lane.
    pub response: Time,
    pub read_line: Time,
    pub write_line: Time,
    pub device_line: Time,
    pub devices: u64,
    pub interleave_lines: u64,
    /// Flush of a dirty line until the fence ends.
    pub flush_dirty: Time,
    /// Flush of a clean or absent line until the fence ends.
    pub flush_clean: Time,
    /// The first load after a peer's write, beyond an idle one.
    pub peer_written: Time,
    pub burst_line: Time,
    pub serial_line: Time,
    pub publish_nt: Time,
    pub nt_line: Time,
    pub fence_full: Time,
    pub fence_store: Time,
    pub fence_load: Time,
    pub posted_hold: Time,
    pub misses: usize,
    /// Lines that a stream keeps in flight; 0 without a prefetcher.
    pub stream_distance: u32,
    pub adjacent_line: bool,
    pub store_buffer: usize,
    pub write_combining: usize,
    pub pause: Time,
    pub atomic: Time,
    pub knee: f64,
    pub burst_lines: f64,
    /// Most that a request waits in one queue.
    pub longest_wait: Time,
    pub tail_probability: f64,
    pub tail_factor: f64,
    pub snoop: Time,
    pub lookup: Time,
}

impl Timing {
    pub(crate) fn of(pod: &PodFile) -> Self {
        let path = &pod.path;
        let (direct, switched) = (path.direct_load_ns.value, path.switch_load_ns.value);
        // A second switch adds what the first did.
        let load = direct + (switched - direct) * f64::from(path.switch_hops.value);
        let request = ps(load * path.request_share.value);
        let cycle = 1e3 / pod.clock.core_ghz.value;
        let cycles = |count: u32| (f64::from(count) * cycle).round() as Time;
        let flush = &pod.flush;
        let coherent = pod.coherence.value == Coherence::Hardware;
        // The published recipes start with the line absent, so each contains one load: of a
        // publish, the store's read for ownership; of an observe, its last step.
        let without_load = |recipe: f64| ps((recipe - load).max(0.0));
        let peer = flush.observe_peer_written_ns.value - flush.observe_clean_ns.value;
        Self {
            coherent,
            writes: pod.writes(),
            cycle: cycles(1),
            levels: [0, 1, 2].map(|level| ps(pod.cache[level].latency_ns)),
            dram: ps(pod.memory.load_ns.value),
            dram_line: line_time(pod.memory.bandwidth_gb_per_s.value),
            lane_transfer: ps(pod.memory.lane_transfer_ns.value),
            request,
            response: ps(load) - request,
            read_line: line_time(pod.link.read_gb_per_s.value),
            write_line: line_time(pod.link.write_gb_per_s.value),
            device_line: line_time(pod.device.bandwidth_gb_per_s.value),
            devices: u64::from(pod.device.count.value.max(1)),
            interleave_lines: (pod.device.interleave_bytes.value / 64).max(1),
            flush_dirty: without_load(flush.publish_dirty_ns.value),
            flush_clean: without_load(flush.observe_clean_ns.value),
            peer_written: if coherent { 0 } else { ps(peer.max(0.0)) },
            burst_line: ps(flush.burst_line_ns.value),
            serial_line: ps(flush.serial_line_ns.value),
            publish_nt: ps(flush.publish_nt_ns.value),
            nt_line: ps(flush.nt_line_ns.value),
            fence_full: ps(pod.fence.full_ns.value),
            fence_store: ps(pod.fence.store_ns.value),
            fence_load: ps(pod.fence.load_ns.value),
            posted_hold: ps(pod.fence.posted_hold_ns.value),
            misses: pod.core.misses_in_flight.value.max(1) as usize,
            stream_distance: stream_distance(pod),
            adjacent_line: pod.core.adjacent_line.value,
            store_buffer: pod.core.store_buffer.value.max(1) as usize,
            write_combining: pod.core.write_combining.value.max(1) as usize,
            pause: cycles(pod.core.pause_cycles.value),
            atomic: cycles(pod.core.atomic_cycles.value),
            knee: pod.queue.knee.value,
            burst_lines: pod.queue.burst_lines.value,
            longest_wait: ps(load * (pod.queue.cap.value - 1.0).max(0.0)),
            tail_probability: pod.jitter.tail_probability.value,
            tail_factor: pod.jitter.tail_factor.value,
            snoop: ps(pod.directory.snoop_ns.value),
            lookup: ps(pod.directory.lookup_ns.value),
        }
    }

    /// Which device holds a line.
    #[inline(always)]
    pub(crate) fn device_of(&self, line: u32) -> usize {
        if self.devices == 1 {
            return 0;
        }
        (u64::from(line) / self.interleave_lines % self.devices) as usize
    }
}
