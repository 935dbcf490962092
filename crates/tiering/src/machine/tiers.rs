//! The two memories: latency without load, and a queue once they are asked for more than they give.

use crate::preset::TierPreset;
use crate::scale::LINE_BYTES;

/// One memory. A line occupies it for the time that its bandwidth gives; what does not fit into a
/// quantum waits, and whoever misses in the next quantum waits behind it. Closed loops settle: the
/// threads wait until they ask for what the memory gives.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Load to use without load, in picoseconds, of a miss that nothing overlaps with.
    pub(super) idle_ps: u64,
    /// What a miss costs its thread without load, by how it overlaps.
    pub(super) shared_ps: [u64; 3],
    read_ps_per_line: f64,
    write_ps_per_line: f64,
    /// Occupied in this quantum.
    occupied_ps: f64,
    /// Left over from earlier ones.
    pub(super) backlog_ps: u64,
}

impl Memory {
    pub(super) fn new(preset: &TierPreset, overlaps: [u64; 3]) -> Self {
        let per_line = |gb_per_s: f64| LINE_BYTES as f64 / gb_per_s * 1000.0;
        let idle_ps = (preset.load_ns.value * 1000.0).round() as u64;
        Self {
            idle_ps,
            shared_ps: overlaps.map(|overlap| idle_ps / overlap),
            read_ps_per_line: per_line(preset.read_gb_per_s.value),
            write_ps_per_line: per_line(preset.write_gb_per_s.value),
            occupied_ps: 0.0,
            backlog_ps: 0,
        }
    }

    #[inline]
    pub(super) fn read_line(&mut self) {
        self.occupied_ps += self.read_ps_per_line;
    }

    #[inline]
    pub(super) fn write_line(&mut self) {
        self.occupied_ps += self.write_ps_per_line;
    }

    pub(super) fn read_bytes(&mut self, bytes: f64) {
        self.occupied_ps += bytes / LINE_BYTES as f64 * self.read_ps_per_line;
    }

    pub(super) fn write_bytes(&mut self, bytes: f64) {
        self.occupied_ps += bytes / LINE_BYTES as f64 * self.write_ps_per_line;
    }

    /// How long it is occupied by reading and by writing so many bytes.
    pub(super) fn occupied_by(&self, bytes: f64) -> f64 {
        bytes / LINE_BYTES as f64 * (self.read_ps_per_line + self.write_ps_per_line)
    }

    /// What can be read in a time, in bytes.
    pub(super) fn bytes_in(&self, time_ps: u64) -> f64 {
        time_ps as f64 / self.read_ps_per_line * LINE_BYTES as f64
    }

    /// Ends a quantum.
    pub(super) fn close(&mut self, quantum_ps: u64) {
        let left = self.backlog_ps as f64 + self.occupied_ps - quantum_ps as f64;
        self.backlog_ps = left.max(0.0) as u64;
        self.occupied_ps = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_waits() {
        let machine = crate::preset::machine();
        let mut memory = Memory::new(&machine.fast, [1; 3]);
        // 100 GB/s is 64 B in 640 ps: 1,000 ps hold one line and 360 ps of the next.
        memory.read_line();
        memory.close(1_000);
        assert_eq!(memory.backlog_ps, 0);
        (0..4).for_each(|_| memory.read_line());
        memory.close(1_000);
        assert_eq!(memory.backlog_ps, 1_560);
        memory.close(1_000);
        assert_eq!(memory.backlog_ps, 560);
    }
}
