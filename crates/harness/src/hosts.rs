//! The hosts of a run as whoever collects their results sees them, however they were started.

use std::time::Duration;

use crate::frame::Frame;

/// Something that happened at a host.
#[derive(Debug)]
pub enum Event {
    /// It said something.
    Frame(u32, Box<Frame>),
    /// It said something that is not a frame.
    Garbled(u32, String),
    /// Nothing more will be heard of it.
    Closed(u32),
    /// Nothing, for as long as was asked.
    Quiet,
}

/// The hosts of one run.
pub trait Hosts {
    /// The next event, or [`Event::Quiet`] after `patience`.
    fn next(&mut self, patience: Duration) -> Event;

    /// The hosts that may still say something.
    fn open(&self) -> Vec<u32>;

    /// What `host` is called in messages.
    fn name(&self, host: u32) -> String;

    /// How `host` ended, in words, once it is closed; none if it ended by itself.
    fn violent_end(&self, host: u32) -> Option<String>;

    /// Tells every host to stop, and ends those that do not, as far as they can be reached.
    fn stop(&mut self);
}
