//! The rendezvous: both hosts agree on one run, over memory that still holds the last one.

use check::{Shape, Subject, Violation, WriteMode};
use fabric::{Arena, HostAtomics, Pod, Program, Seat};
use sync::Header;
use sync::rendezvous::{Identity, JoinError, join};

/// Two hosts join over zeroed memory.
#[derive(Debug)]
pub struct Join {
    arena: Arena,
    header: Header,
    writes: WriteMode,
}

impl Join {
    /// In a pod of this write mode.
    pub fn new(writes: WriteMode) -> Self {
        let mut arena = Arena::new();
        Self {
            header: Header::lay_out(&mut arena),
            arena,
            writes,
        }
    }
}

impl Program for Join {
    type Out = Result<u64, JoinError>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        let me = Identity {
            pod: Pod::new(2, 1),
            host: seat.host,
            run_key: 7,
            nonce: 100 + u64::from(seat.host),
            build_id: 1,
            layout_hash: self.arena.layout_hash(),
            pid: 1,
            region_bytes: self.arena.region_bytes(),
            timeout_ms: 1,
        };
        join(port, &self.header, &me)
    }
}

impl Subject for Join {
    fn name(&self) -> String {
        format!("rendezvous{}", crate::suffix(self.writes))
    }

    fn shape(&self) -> Shape {
        Shape::software(2, 1, self.writes)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        match out {
            Ok(100) => Ok(()),
            other => Err(Violation::wrong(format!(
                "joining ended with {other:?}, not host 0's cookie"
            ))),
        }
    }
}
