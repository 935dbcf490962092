//! The mailbox: messages arrive whole, in order, none twice.

use check::{Kind, Shape, Subject, Violation, WriteMode, expect_equal};
use fabric::{Arena, Gone, HostAtomics, Program, Seat};
use sync::{Mailbox, Receiver, Sender};

/// Host 0 sends, host 1 receives.
#[derive(Debug)]
pub struct Mail {
    arena: Arena,
    mailbox: Mailbox,
    messages: u64,
    words: usize,
    writes: WriteMode,
}

impl Mail {
    /// This many messages of this many words.
    pub fn new(messages: u64, words: usize, writes: WriteMode) -> Self {
        let mut arena = Arena::new();
        let mailbox = Mailbox::lay_out(&mut arena, "mail", words);
        Self {
            arena,
            mailbox,
            messages,
            words,
            writes,
        }
    }

    fn message(&self, number: u64) -> Vec<u64> {
        vec![number; self.words]
    }
}

impl Program for Mail {
    type Out = Result<Vec<Vec<u64>>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut received = Vec::new();
        if seat.host == 0 {
            let mut sender = Sender::new(self.mailbox);
            for number in 1..=self.messages {
                sender.send(port, &self.message(number))?;
            }
        } else {
            let mut receiver = Receiver::new(self.mailbox);
            for _ in 0..self.messages {
                let mut words = self.message(0);
                receiver.receive(port, &mut words)?;
                received.push(words);
            }
        }
        Ok(received)
    }
}

impl Subject for Mail {
    fn name(&self) -> String {
        format!("mailbox{}", crate::suffix(self.writes))
    }

    fn shape(&self) -> Shape {
        Shape::software(2, 1, self.writes)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn rounds(&self) -> u32 {
        self.messages as u32
    }

    fn verdict(&self, seat: Seat, out: &Self::Out) -> Result<(), Violation> {
        let expected = (1..=self.messages).map(|number| self.message(number));
        let expected = match seat.host {
            0 => Vec::new(),
            _ => expected.collect(),
        };
        expect_equal(Kind::Torn, "what was received", out, &Ok(expected))
    }
}
