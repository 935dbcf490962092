//! Graph kernels: over eight vertices of two hosts, the known answer, read on both.

use check::{Bounds, Shape, Subject, Violation, WriteMode};
use fabric::{Arena, Gone, HostAtomics, Program, Seat};
use graph::toy::{Kernel, Toy};

/// A kernel in a variant, run once.
#[derive(Debug)]
pub struct OfKernel(Toy);

impl OfKernel {
    /// `kernel/NAME`.
    pub fn new(kernel: Kernel) -> Self {
        Self(Toy::new(kernel))
    }
}

impl Program for OfKernel {
    type Out = Result<Vec<u64>, Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        self.0.lane(seat, port)
    }
}

impl Subject for OfKernel {
    fn name(&self) -> String {
        format!("kernel/{}", self.0.kernel().name())
    }

    fn shape(&self) -> Shape {
        Shape::software(self.0.hosts(), 1, WriteMode::Synchronous)
    }

    fn arena(&self) -> &Arena {
        self.0.arena()
    }

    /// A run takes some thousand operations, so that a search comes to its end only where lanes are
    /// left when they wait; single runs do the rest.
    fn bounds(&self) -> Bounds {
        Bounds {
            environment: Some(1),
            preemptions: Some(0),
            states: 100_000,
        }
    }

    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        let answer = out
            .as_ref()
            .map_err(|gone| Violation::wrong(gone.to_string()))?;
        self.0.judge(answer).map_err(Violation::wrong)
    }
}
