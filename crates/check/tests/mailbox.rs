use check::{Bounds, Kind, Shape, Subject, Violation, WriteMode, with_checker};
use fabric::{Arena, Gone, HostAtomics, Program, Seat};
use sync::{Mailbox, Receiver, Sender};

struct Mail {
    arena: Arena,
    mailbox: Mailbox,
    messages: u64,
    words: usize,
    writes: WriteMode,
}

impl Mail {
    fn new(messages: u64, words: usize, writes: WriteMode) -> Self {
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
}

impl Program for Mail {
    type Out = Result<Vec<Vec<u64>>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let mut got = Vec::new();
        if seat.host == 0 {
            let mut sender = Sender::new(self.mailbox);
            for message in 1..=self.messages {
                sender.send(port, &vec![message; self.words])?;
            }
        } else {
            let mut receiver = Receiver::new(self.mailbox);
            for _ in 0..self.messages {
                let mut words = vec![0; self.words];
                receiver.receive(port, &mut words)?;
                got.push(words);
            }
        }
        Ok(got)
    }
}

impl Subject for Mail {
    fn name(&self) -> String {
        "mailbox".to_owned()
    }
    fn shape(&self) -> Shape {
        Shape::software(2, 1, self.writes)
    }
    fn arena(&self) -> &Arena {
        &self.arena
    }
    fn verdict(&self, seat: Seat, out: &Self::Out) -> Result<(), Violation> {
        if seat.host == 1 {
            let expected: Vec<_> = (1..=self.messages).map(|m| vec![m; self.words]).collect();
            check::expect_equal(
                Kind::Torn,
                "what was received",
                out.as_ref().unwrap(),
                &expected,
            )?;
        }
        Ok(())
    }
}

#[test]
fn the_mailbox_passes() {
    for (messages, words, env) in [
        (1, 1, Some(0)),
        (2, 2, Some(0)),
        (2, 2, Some(2)),
        (3, 2, Some(2)),
        (2, 2, None),
        (2, 9, None),
        (3, 2, None),
    ] {
        let mail = Mail::new(messages, words, WriteMode::Synchronous);
        let start = std::time::Instant::now();
        let report = with_checker(&mail, check::Options::default(), |checker| {
            checker.check(Bounds {
                environment: env,
                ..Bounds::SATURATED
            })
        });
        println!(
            "{messages} {words} {env:?}: {report:?} {:?}",
            start.elapsed()
        );
    }
}
