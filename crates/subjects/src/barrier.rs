//! The barrier between hosts: what a host posted before it, every other host finds after it.

use check::{Shape, Subject, Violation, WriteMode};
use fabric::{Arena, Gone, HostAtomics, Pod, Program, Seat, Slice};
use sync::{Barrier, BarrierLayout};

/// Every host posts the number of the round in a line of its own, passes the barrier, and looks at
/// the others' lines.
#[derive(Debug)]
pub struct Epoch {
    arena: Arena,
    layout: BarrierLayout,
    words: Vec<Slice<u64>>,
    pod: Pod,
    rounds: u64,
    writes: WriteMode,
}

impl Epoch {
    /// A pod of this shape, this many barriers.
    pub fn new(hosts: u32, lanes: u32, rounds: u64, writes: WriteMode) -> Self {
        let (mut arena, pod) = (Arena::new(), Pod::new(hosts, lanes));
        Self {
            layout: BarrierLayout::lay_out(&mut arena, "barrier", pod),
            words: arena.per_host("word", hosts, 1),
            arena,
            pod,
            rounds,
            writes,
        }
    }
}

impl Program for Epoch {
    /// What was found, round by round.
    type Out = Result<Vec<(u64, u64)>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = Barrier::new(&self.layout, self.pod, seat, 0);
        let mut found = Vec::new();
        for round in 1..=self.rounds {
            if seat.leads_host() {
                // Serves the others' loads after the barrier.
                port.write_posted(self.words[seat.host as usize].start(), &[round]);
            }
            barrier.wait(port)?;
            for (host, word) in self.words.iter().enumerate() {
                if host != seat.host as usize && seat.leads_host() {
                    // Serves the load below.
                    port.observe(word.lines());
                    found.push((round, port.load(word.start())));
                }
            }
        }
        Ok(found)
    }
}

impl Subject for Epoch {
    fn name(&self) -> String {
        let lanes = match self.pod.lanes {
            1 => String::new(),
            lanes => format!("-{lanes}-lanes"),
        };
        format!("barrier/epoch{lanes}{}", crate::suffix(self.writes))
    }

    fn shape(&self) -> Shape {
        Shape::software(self.pod.hosts, self.pod.lanes, self.writes)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn rounds(&self) -> u32 {
        self.rounds as u32
    }

    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        let found = out
            .as_ref()
            .map_err(|gone| Violation::wrong(gone.to_string()))?;
        match found.iter().find(|(round, value)| value < round) {
            None => Ok(()),
            Some((round, value)) => Err(Violation::stale(format!(
                "after barrier {round} another host's word was still {value}"
            ))),
        }
    }
}
