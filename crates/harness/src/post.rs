//! How what a host says reaches whoever collects it.

use std::io::{self, Write};

use fabric::{Discipline, Gone, Pod, Setting, Substrate, Watch};

use crate::frame::{Failure, Frame};

/// A host between two trials: what it takes to do something on its lane 0.
#[derive(Debug)]
pub struct Between<'a, S> {
    /// What runs lanes.
    pub substrate: &'a S,
    /// The pod.
    pub pod: Pod,
    /// This host.
    pub host: u32,
}

impl<S> Between<'_, S> {
    /// The full discipline, whatever the trials do.
    pub fn setting(&self) -> Setting {
        Setting {
            pod: self.pod,
            discipline: Discipline::DEFAULT,
            host_bytes: 0,
        }
    }
}

/// Where the frames of one host go.
pub trait Post: Sync {
    /// Says something. Nobody may be left to listen; then nothing happens.
    fn send(&self, frame: Frame);

    /// All hosts compare what they are about to run. Collective; nothing where one launcher
    /// configured all of them.
    ///
    /// # Errors
    /// What differs and where, or why nobody knows.
    fn agree<S: Substrate, W: Watch>(&self, _: &Between<'_, S>, _: &W) -> Result<(), Failure> {
        Ok(())
    }

    /// Everything said so far arrives, while nobody measures. Collective; nothing where it arrives
    /// by itself.
    ///
    /// # Errors
    /// The reason why a wait ended.
    fn hand_over<S: Substrate, W: Watch>(&self, _: &Between<'_, S>, _: &W) -> Result<(), Gone> {
        Ok(())
    }

    /// The last words of a host that did not join, so has nobody to hand anything over to.
    fn refused(&self, failure: Failure);

    /// The last words. `watch` bounds how long others are waited for.
    fn farewell<S: Substrate, W: Watch>(
        &self,
        between: &Between<'_, S>,
        watch: &W,
        failure: Option<Failure>,
    );
}

/// Writes frames, whole and at once, from any lane: one JSON object a line.
#[derive(Debug)]
pub struct FrameWriter<O> {
    out: std::sync::Mutex<O>,
}

impl<O: Write> FrameWriter<O> {
    /// A writer on `out`.
    pub fn new(out: O) -> Self {
        Self {
            out: std::sync::Mutex::new(out),
        }
    }

    fn write(&self, frame: &Frame) -> io::Result<()> {
        let mut line = serde_json::to_vec(frame)?;
        line.push(b'\n');
        let mut out = self.out.lock().expect("no lane panics while it writes");
        out.write_all(&line)?;
        out.flush()
    }
}

impl<O: Write + Send> Post for FrameWriter<O> {
    fn send(&self, frame: Frame) {
        // A launcher that is gone is noticed by its death signal; there is nobody left to tell.
        let _ = self.write(&frame);
    }

    fn refused(&self, failure: Failure) {
        let failure = Some(failure);
        self.send(Frame::Bye { failure });
    }

    fn farewell<S: Substrate, W: Watch>(
        &self,
        _: &Between<'_, S>,
        _: &W,
        failure: Option<Failure>,
    ) {
        self.send(Frame::Bye { failure });
    }
}
