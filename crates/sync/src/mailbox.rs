//! One message slot from one host to another.
//!
//! Lines: the sender's payload, the sender's flag, the receiver's acknowledgement; each has one
//! writer. The flag counts messages, so an old copy of it only delays.
//!
//! Invariant: the payload is stable from the moment the flag of message n is visible until the
//! acknowledgement n is.

use fabric::{Arena, Gone, Port, Ptr, Slice, wait_until};

/// Where a mailbox lies.
#[derive(Clone, Copy, Debug)]
pub struct Mailbox {
    flag: Ptr<u64>,
    payload: Slice<u64>,
    taken: Ptr<u64>,
}

impl Mailbox {
    /// Lays out a slot for messages of `words` words.
    pub fn lay_out(arena: &mut Arena, name: &str, words: usize) -> Self {
        Self {
            flag: arena.word(format!("{name}.flag")),
            payload: arena.slice(format!("{name}.payload"), words),
            taken: arena.word(format!("{name}.taken")),
        }
    }
}

/// The sending end; one lane of one host holds it.
#[derive(Debug)]
pub struct Sender {
    mailbox: Mailbox,
    sent: u64,
}

/// The receiving end; one lane of one host holds it.
#[derive(Debug)]
pub struct Receiver {
    mailbox: Mailbox,
    taken: u64,
}

impl Sender {
    /// The sending end of a zeroed mailbox.
    pub fn new(mailbox: Mailbox) -> Self {
        Self { mailbox, sent: 0 }
    }

    /// Sends one message, after the previous one was taken.
    ///
    /// Cost: 2 publishes (payload lines; the flag's line); observes of 1 line until the slot is
    /// free.
    ///
    /// # Errors
    /// Whatever ended the wait.
    ///
    /// # Panics
    /// If the message is not as long as the slot.
    pub fn send<P: Port>(&mut self, port: &P, message: &[u64]) -> Result<(), Gone> {
        let Mailbox {
            flag,
            payload,
            taken,
        } = self.mailbox;
        assert_eq!(
            message.len(),
            payload.len(),
            "the slot holds {} words",
            payload.len()
        );
        wait_until(port, || {
            // Serves the load below: only a fresh acknowledgement frees the slot.
            port.observe(taken.line());
            (port.load(taken) == self.sent).then_some(())
        })?;
        // The store fence puts the payload at the device before the flag: it serves the receiver's
        // load of the payload after it has seen the flag.
        port.write_posted(payload.start(), message);
        self.sent += 1;
        // Serves the receiver's poll of the flag. Nothing here reads afterwards, so no full fence.
        port.write_posted(flag, &[self.sent]);
        Ok(())
    }
}

impl Receiver {
    /// The receiving end of a zeroed mailbox.
    pub fn new(mailbox: Mailbox) -> Self {
        Self { mailbox, taken: 0 }
    }

    /// Receives one message into `message`.
    ///
    /// Cost: observes of 1 line until it is there, 1 observe of the payload's lines, 1 publish.
    ///
    /// # Errors
    /// Whatever ended the wait.
    ///
    /// # Panics
    /// If `message` is not as long as the slot.
    pub fn receive<P: Port>(&mut self, port: &P, message: &mut [u64]) -> Result<(), Gone> {
        let Mailbox {
            flag,
            payload,
            taken,
        } = self.mailbox;
        assert_eq!(
            message.len(),
            payload.len(),
            "the slot holds {} words",
            payload.len()
        );
        wait_until(port, || {
            // Serves the load below; a poll without it may see the old flag for ever.
            port.observe(flag.line());
            (port.load(flag) == self.taken + 1).then_some(())
        })?;
        // Serves the read below: lines of the previous message, or prefetched before the flag was
        // seen, may still be here.
        port.observe(payload.lines());
        port.read_into(payload.start(), message);
        self.taken += 1;
        // Serves the sender's poll. The reads above cannot be passed by this store (TSO).
        port.write_posted(taken, &[self.taken]);
        Ok(())
    }
}
