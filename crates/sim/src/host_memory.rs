//! DRAM: what the lanes of one host share, and each lane's own.

use crate::lane::Done;
use crate::read::Use;
use crate::record::Kind;
use crate::server::Server;
use crate::timing::Time;
use crate::world::{PRIVATE_LINES, World};

/// The DRAM of one host.
#[derive(Debug)]
pub(crate) struct HostMemory {
    /// Words that lanes share, zeroed.
    pub words: Vec<u64>,
    /// How often each line of them was written: a lane with an older version must fetch it.
    versions: Vec<u32>,
    bandwidth: Server,
}

impl HostMemory {
    pub(crate) fn new(line_time: Time) -> Self {
        Self {
            words: Vec::new(),
            versions: Vec::new(),
            bandwidth: Server::new(line_time),
        }
    }

    pub(crate) fn allocate(&mut self, bytes: u64) {
        self.words = vec![0; bytes.div_ceil(8) as usize];
        self.versions = vec![0; bytes.div_ceil(64) as usize];
    }
}

impl World {
    /// A lane's access to its own memory that its first level serves.
    #[inline(always)]
    pub(crate) fn private_first_level(&mut self, line: u32, how: Use) -> bool {
        let here = self.me.l1.touch(line);
        if here {
            self.charge_hit(self.timing.levels[0], how);
        }
        here
    }

    /// Any other access to a lane's own memory, at its turn.
    pub(crate) fn private_access(&mut self, line: u32, how: Use) {
        let host = self.me.host;
        let resident = self.hosts[host].shared.touch(line);
        let next_to_last = self.me.l1.touch(line - 1);
        let mut latency = self.nearest_level(line);
        if !resident && latency == self.timing.levels[2] {
            // The stream prefetcher has the next line of DRAM here in time.
            latency = if next_to_last {
                self.timing.levels[1]
            } else {
                self.timing.dram
            };
            let clock = self.me.clock;
            latency += self.hosts[host].memory.bandwidth.admit(clock, &self.timing);
        }
        // Streams of private lines are none of the region's.
        self.me.streams.take_wanted();
        self.charge_hit(latency, how);
    }

    /// A line of a lane's own memory leaves the caches, at its turn. No pod file has a figure for
    /// local DRAM: it is charged one DRAM latency until the fence.
    pub(crate) fn private_flush(&mut self, line: u32) -> bool {
        let lane = &mut self.me;
        lane.l1.remove(line);
        lane.l2.remove(line);
        lane.flushed = lane.flushed.max(lane.clock + self.timing.dram);
        lane.clock += self.timing.cycle;
        let host = lane.host;
        self.hosts[host].shared.remove(line);
        true
    }

    /// Lines for `bytes` bytes of a lane's own memory.
    pub(crate) fn private_lines(&mut self, bytes: u64) -> u32 {
        let lane = &mut self.me;
        // One line apart, so that an array's first line never follows another's last.
        let first = lane.private_end + 1;
        lane.private_end = first + bytes.div_ceil(64) as u32;
        // Lanes of one host share a cache: each has a range of its own there.
        let ranges = self.pod.lanes.next_power_of_two();
        let range = PRIVATE_LINES / ranges;
        let own = lane.id as u32 % self.pod.lanes;
        assert!(
            lane.private_end < range,
            "a lane's own memory is larger than simulated"
        );
        PRIVATE_LINES + own * range + first
    }

    /// A lane touches a host-shared line: what that costs, and, for a write, who has to fetch it.
    pub(crate) fn touch_host_line(&mut self, offset: u64, write: bool) {
        let line = (offset / 64) as u32;
        let host = self.me.host;
        let version = &mut self.hosts[host].memory.versions[line as usize];
        let slot = &mut self.me.host_lines[line as usize % 16];
        let here = *slot == (line, *version);
        if write {
            *version += 1;
        }
        *slot = (line, *version);
        let cost = if here {
            self.timing.levels[0]
        } else {
            self.timing.lane_transfer
        };
        let at = self.me.clock + cost;
        self.wait(Done { at, queued: 0 }, Kind::Local);
    }

    /// Reads, and perhaps changes, a word of host-shared DRAM.
    pub(crate) fn host_word(
        &mut self,

        offset: u64,
        bytes: usize,
        change: impl FnOnce(u64) -> Option<u64>,
    ) -> u64 {
        let host = self.me.host;
        let size = self.hosts[host].memory.words.len() as u64 * 8;
        assert!(
            offset + bytes as u64 <= size,
            "offset {offset:#x} is outside the {size} bytes that this host's lanes share"
        );
        let shift = 8 * (offset % 8);
        let mask = u64::MAX >> (64 - 8 * bytes);
        let word = self.hosts[host].memory.words[(offset / 8) as usize];
        let before = (word >> shift) & mask;
        let changed = change(before);
        self.touch_host_line(offset, changed.is_some());
        if let Some(after) = changed {
            let word = &mut self.hosts[host].memory.words[(offset / 8) as usize];
            *word = (*word & !(mask << shift)) | ((after & mask) << shift);
            self.progress = self.progress.max(self.me.turn());
            if let Some(recorder) = &mut self.recorder {
                recorder.host_written(self.me.id, offset / 64, self.me.clock);
            }
        } else if let Some(recorder) = &mut self.recorder {
            recorder.host_looked(self.me.id, offset / 64, self.me.clock);
        }
        before
    }
}
