//! Barriers between hosts: what a host posted before it, every other host finds after it.

use check::{Bounds, Kind, Shape, Subject, Violation};
use fabric::{Arena, Discipline, Gone, HostAtomics, Lines, Program, Seat, Slice};
use sync::barrier::HostBarrier;
use sync::{Barrier, BarrierLayout};

use crate::setting::Setting;

/// Children of a node where the barrier is a tree.
const ARITY: u32 = 2;

/// Every host posts the number of the round in a line of its own, passes the barrier, and looks at
/// the others' lines.
#[derive(Debug)]
pub struct Epoch<B> {
    name: &'static str,
    arena: Arena,
    layout: BarrierLayout<B>,
    words: Vec<Slice<u64>>,
    setting: Setting,
    expects: Vec<Kind>,
}

impl<B: HostBarrier> Epoch<B> {
    /// `barrier/NAME` on this pod, as many barriers as rounds.
    pub fn new(name: &'static str, setting: Setting) -> Self {
        let (mut arena, pod) = (Arena::new(), setting.pod());
        Self {
            name,
            layout: BarrierLayout::over(&mut arena, "barrier", pod, ARITY),
            words: arena.per_host("word", setting.hosts, 1),
            arena,
            setting,
            expects: Vec::new(),
        }
    }

    /// It must fail in one of these ways.
    #[must_use]
    pub fn expecting(self, kinds: &[Kind]) -> Self {
        Self {
            expects: kinds.to_vec(),
            ..self
        }
    }
}

impl<B: HostBarrier> Program for Epoch<B> {
    /// What was found, round by round.
    type Out = Result<Vec<(u64, u64)>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let barrier = Barrier::new(&self.layout, self.setting.pod(), seat, 0);
        let mut found = Vec::new();
        for round in 1..=self.setting.rounds {
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

impl<B: HostBarrier> Subject for Epoch<B> {
    fn name(&self) -> String {
        format!("barrier/{}{}", self.name, self.setting.suffix())
    }

    fn shape(&self) -> Shape {
        self.setting.shape(0)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn discipline(&self) -> Discipline {
        self.setting.discipline()
    }

    fn validated(&self) -> Vec<Lines> {
        self.setting.registers(&self.arena, "barrier", 0)
    }

    fn bounds(&self) -> Bounds {
        self.setting.bounds()
    }

    fn rounds(&self) -> u32 {
        self.setting.rounds as u32
    }

    fn expects(&self) -> Vec<Kind> {
        self.expects.clone()
    }

    fn has_twins(&self) -> bool {
        self.setting.has_twins() && self.expects.is_empty()
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
