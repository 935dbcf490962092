//! What a host process tells its launcher: one JSON object a line on its standard output.

use std::io::{self, Write};

use record::{Device, Label};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::trial::LaneReport;

/// One message of a host process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "frame", rename_all = "kebab-case")]
pub enum Frame {
    /// It has opened the region.
    Hello(Hello),
    /// It has joined the run.
    Joined {
        /// The run's cookie.
        cookie: u64,
    },
    /// Host 0 has done another repetition.
    Progress {
        /// Of which trial.
        trial: u32,
        /// How many so far, warm-up included.
        repetition: u32,
    },
    /// A trial is over on this host, well or not.
    Trial {
        /// Which.
        trial: u32,
        /// One report a lane.
        lanes: Vec<LaneReport>,
    },
    /// Nothing follows.
    Bye {
        /// Why it left early.
        error: Option<String>,
        /// Whether that was another's doing: a lost host, a teardown.
        consequence: bool,
    },
}

/// What a host is, for the record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// What backs the region.
    pub device: Device,
    /// What figures measured on it are worth.
    pub label: Label,
    /// Whether lanes of the pod outnumber its cores.
    pub oversubscribed: bool,
    /// Everything else: machine, region, clock, pins.
    pub machine: Value,
}

/// Writes frames, whole and at once, from any lane.
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

    /// Writes one frame.
    ///
    /// # Errors
    /// The launcher is gone.
    ///
    /// # Panics
    /// If another lane panicked while it wrote.
    pub fn send(&self, frame: &Frame) -> io::Result<()> {
        let mut line = serde_json::to_vec(frame)?;
        line.push(b'\n');
        let mut out = self.out.lock().expect("no lane panics while it writes");
        out.write_all(&line)?;
        out.flush()
    }
}
