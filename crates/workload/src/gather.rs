//! Bringing together what each lane has seen, after a repetition and outside its census.

use fabric::{Arena, HostAtomics, Slice};

/// Words for each of some lanes, written by that lane alone and read by lane 0 of host 0.
#[derive(Clone, Debug)]
pub struct Gather {
    words: Vec<Slice<u64>>,
}

impl Gather {
    /// `len` words for each of `lanes`.
    pub fn lay_out(arena: &mut Arena, name: &str, lanes: u32, len: usize) -> Self {
        Self {
            words: arena.per_host(name, lanes, len),
        }
    }

    /// Puts what lane number `lane` has; a barrier has to follow before it is read.
    ///
    /// # Panics
    /// If it has more than was laid out.
    pub fn put<P: HostAtomics>(&self, port: &P, lane: u32, words: &[u64]) {
        let place = self.words[lane as usize].range(0, words.len());
        port.aside(|port| {
            port.write_from(place.start(), words);
            // Serves the reader's loads after the barrier.
            port.publish(place.lines());
        });
    }

    /// The first `len` words of each lane.
    pub fn get<P: HostAtomics>(&self, port: &P, len: usize) -> Vec<Vec<u64>> {
        port.aside(|port| {
            let mut all = Vec::with_capacity(self.words.len());
            for place in &self.words {
                let place = place.range(0, len);
                let mut words = vec![0; len];
                // Serves the read below: those of the last repetition may be here.
                port.observe(place.lines());
                port.read_into(place.start(), &mut words);
                all.push(words);
            }
            all
        })
    }
}
