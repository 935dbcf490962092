//! Loaded latency: lane 0 chases while the others read.

use fabric::{Gone, HostAtomics, Stream};
use workload::Series;

use super::window::Window;
use super::{BANDWIDTH, LOADED, Lane, fill, sum_of_indices};
use crate::area::{Area, LINE_WORDS, drop_words, link, offset_of};
use crate::order::{Order, visiting};

/// Words of a chunk, 32 KiB: short beside the time in which the readers must notice the end, long
/// beside the test for it.
const CHUNK_WORDS: usize = 4096;

impl<P: HostAtomics> Lane<'_, P> {
    pub(super) fn loaded<A: Area>(
        &self,
        area: &mut A,
        window: &Window<'_, P>,
    ) -> Result<(Vec<Series>, bool), Gone> {
        if self.worker.seat().leads_host() {
            self.chase(area, window)
        } else {
            self.load_memory(area, window)
                .map(|right| (Vec::new(), right))
        }
    }

    /// The number of a window, different from all others of the trial and from 0.
    fn number(&self, window: u32) -> u64 {
        u64::from(self.worker.repetition()) * u64::from(self.params.windows + 1)
            + u64::from(window)
            + 1
    }

    fn chase<A: Area>(
        &self,
        area: &mut A,
        window: &Window<'_, P>,
    ) -> Result<(Vec<Series>, bool), Gone> {
        let port = self.worker.port();
        let (clock, hops) = (port.clock(), u64::from(self.params.hops));
        let lines = self.params.words() / LINE_WORDS;
        let order = visiting(Order::Random, lines, self.worker.seed());
        link(port, area, &order)?;
        let (mut at, mut done, mut right) = (offset_of(order[0]), 0, true);
        let (mut latency, mut bandwidth) = (Vec::new(), Vec::new());
        for number in 0..=self.params.windows {
            port.check_in()?;
            self.drop_area(area);
            window.start(self.params.hosts_active)?;
            let before = port.now();
            at = area.chase(at, hops);
            let ns = clock.span_ns(before, port.now());
            port.atomic_store(self.layout.window.ended.at(0), self.number(number));
            done += hops;
            right &= at == offset_of(order[(done % lines as u64) as usize]);
            window.gate()?;
            if number > 0 {
                latency.push(ns / hops as f64);
                bandwidth.push(window.gb_per_s(1));
            }
        }
        let series = vec![
            Series::of(LOADED, "ns", latency),
            Series::of(BANDWIDTH, "GB/s", bandwidth),
        ];
        Ok((series, right))
    }

    /// Reads chunk after chunk until lane 0 has ended the window.
    fn load_memory<A: Area>(&self, area: &mut A, window: &Window<'_, P>) -> Result<bool, Gone> {
        let port = self.worker.port();
        let len = self.params.words();
        fill(port, area, Stream::Read, len)?;
        let (mut next, mut right) = (0, true);
        for number in 0..=self.params.windows {
            let ends = self.number(number);
            port.check_in()?;
            self.drop_area(area);
            window.start(self.params.hosts_active)?;
            window.time(|| {
                let mut words = 0;
                while port.atomic_load(self.layout.window.ended.at(0)) < ends {
                    let end = (next + CHUNK_WORDS).min(len);
                    let sum = area.stream(Stream::Read, next..end, 0);
                    right &= sum == sum_of_indices(next, end);
                    if self.params.flushed {
                        drop_words(area, next..end);
                    }
                    words += end - next;
                    next = if end == len { 0 } else { end };
                    self.wait_gap();
                }
                words as u64 * 8
            });
            window.gate()?;
        }
        Ok(right)
    }

    /// Lets `gap_ns` pass.
    fn wait_gap(&self) {
        let port = self.worker.port();
        if self.params.gap_ns == 0 {
            return;
        }
        let (clock, start) = (port.clock(), port.now());
        while clock.span_ns(start, port.now()) < f64::from(self.params.gap_ns) {
            port.work(100);
        }
    }
}
