//! Rings: messages arrive whole, in order, none twice, from one producer or several.

use check::{Bounds, Kind, Shape, Subject, Violation, expect_equal};
use fabric::{Arena, Gone, HostAtomics, Lines, Program, Seat};
use sync::ring::{Consumer, Funnel, Producer, Ring};

use crate::setting::Setting;

/// Slots of a ring: fewer than messages, so that slots are used again.
const SLOTS: u32 = 2;

/// Host 0 sends, every other host receives everything.
#[derive(Debug)]
pub struct Broadcast {
    arena: Arena,
    ring: Ring,
    setting: Setting,
}

impl Broadcast {
    /// `ring` on this pod: as many messages as rounds, of one word.
    pub fn new(setting: Setting) -> Self {
        let mut arena = Arena::new();
        Self {
            ring: Ring::lay_out(&mut arena, "ring", setting.hosts - 1, SLOTS, 1),
            arena,
            setting,
        }
    }
}

impl Program for Broadcast {
    /// What was received.
    type Out = Result<Vec<u64>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let messages: Vec<u64> = (1..=self.setting.rounds).collect();
        let mut received = Vec::new();
        if seat.host == 0 {
            let mut producer = Producer::new(&self.ring, 0);
            for message in messages {
                producer.send(port, &[message])?;
            }
        } else {
            let mut consumer = Consumer::new(&self.ring, seat.host - 1, 0);
            for _ in messages {
                let mut message = [0];
                consumer.receive(port, &mut message)?;
                received.push(message[0]);
            }
        }
        Ok(received)
    }
}

impl Subject for Broadcast {
    fn name(&self) -> String {
        let what = if self.setting.hosts > 2 {
            "-broadcast"
        } else {
            ""
        };
        format!("ring{what}{}", self.setting.suffix())
    }

    fn shape(&self) -> Shape {
        self.setting.shape(0)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn validated(&self) -> Vec<Lines> {
        self.setting.registers(&self.arena, "ring", 0)
    }

    fn bounds(&self) -> Bounds {
        self.setting.bounds()
    }

    fn rounds(&self) -> u32 {
        self.setting.rounds as u32
    }

    fn has_twins(&self) -> bool {
        self.setting.has_twins()
    }

    fn verdict(&self, seat: Seat, out: &Self::Out) -> Result<(), Violation> {
        let expected = (1..=self.setting.rounds).collect();
        let expected = Ok(if seat.host == 0 { Vec::new() } else { expected });
        expect_equal(Kind::Torn, "what was received", out, &expected)
    }
}

/// Every host but the last sends to the last.
#[derive(Debug)]
pub struct ManyToOne {
    arena: Arena,
    funnel: Funnel,
    setting: Setting,
}

impl ManyToOne {
    /// `ring-many-to-one` on this pod: as many messages a producer as rounds.
    pub fn new(setting: Setting) -> Self {
        let mut arena = Arena::new();
        Self {
            funnel: Funnel::lay_out(&mut arena, "funnel", setting.hosts - 1, 1, 1),
            arena,
            setting,
        }
    }

    fn producers(&self) -> u32 {
        self.setting.hosts - 1
    }
}

impl Program for ManyToOne {
    /// What was received, by producer.
    type Out = Result<Vec<Vec<u64>>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut received = vec![Vec::new(); self.producers() as usize];
        if seat.host < self.producers() {
            let mut producer = self.funnel.producer(seat.host);
            for message in 1..=self.setting.rounds {
                producer.send(port, &[message])?;
            }
        } else {
            let mut consumer = self.funnel.consumer();
            for _ in 0..self.setting.rounds * u64::from(self.producers()) {
                let mut message = [0];
                let from = consumer.receive(port, &mut message)?;
                received[from as usize].push(message[0]);
            }
        }
        Ok(received)
    }
}

impl Subject for ManyToOne {
    fn name(&self) -> String {
        format!("ring-many-to-one{}", self.setting.suffix())
    }

    fn shape(&self) -> Shape {
        self.setting.shape(0)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn bounds(&self) -> Bounds {
        self.setting.bounds()
    }

    fn rounds(&self) -> u32 {
        self.setting.rounds as u32
    }

    fn has_twins(&self) -> bool {
        self.setting.has_twins()
    }

    fn verdict(&self, seat: Seat, out: &Self::Out) -> Result<(), Violation> {
        let all: Vec<u64> = if seat.host < self.producers() {
            Vec::new()
        } else {
            (1..=self.setting.rounds).collect()
        };
        let expected = Ok(vec![all; self.producers() as usize]);
        expect_equal(Kind::Torn, "what was received", out, &expected)
    }
}
