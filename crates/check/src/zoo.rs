//! A zoo of faults: code that was published, and mistakes that people make.
//!
//! Each is a program of a few lines against [`Port`](fabric::Port), written here from a description
//! of the original, with a switch: as it was, or cured. The checker finds every one and passes
//! every cure; a test holds that, and that each finding names a line marked `// fault`.
//!
//! * `published`: faults of other systems, from their sources, issues and papers.
//! * `mistakes`: what goes wrong while one learns this memory.
//!
//! Left out: a scalar that crosses a line (interleaved in 8.8 to 13.7 % of trials, FUSEE-CXL),
//! because no verb of a port can express it.

mod bed;
mod mistakes;
mod published;

use std::marker::PhantomData;

use fabric::{Arena, HostAtomics, Program, Ptr, Seat};
use model::{Shape, WriteMode};

use crate::checkable::Checkable;
use crate::finding::Kind;
use crate::subject::{End, Subject, Violation};

use bed::{Bed, Stop};

/// One fault, with its cure.
#[derive(Clone, Copy)]
pub struct Entry {
    /// `zoo/tigon-ring`.
    pub name: &'static str,
    /// What is wrong, in a sentence.
    pub about: &'static str,
    /// Where it was seen.
    pub source: &'static str,
    /// How the finding is called: one of these.
    pub kinds: &'static [Kind],
    caged: fn(cured: bool) -> Box<dyn Checkable>,
}

impl Entry {
    const fn of<C: Case + 'static>() -> Self {
        Self {
            name: C::NAME,
            about: C::ABOUT,
            source: C::SOURCE,
            kinds: C::KINDS,
            caged: caged::<C>,
        }
    }

    /// The program as it was.
    pub fn fault(&self) -> Box<dyn Checkable> {
        (self.caged)(false)
    }

    /// The program, cured: `zoo/tigon-ring+cured`.
    pub fn cure(&self) -> Box<dyn Checkable> {
        (self.caged)(true)
    }
}

fn caged<C: Case + 'static>(cured: bool) -> Box<dyn Checkable> {
    Box::new(Caged::<C> {
        bed: Bed::new(C::HOSTS, cured),
        case: PhantomData,
    })
}

/// Every entry: published faults, then mistakes.
pub fn entries() -> impl Iterator<Item = Entry> {
    published::ENTRIES.iter().chain(mistakes::ENTRIES).copied()
}

/// One program of the zoo.
trait Case: Sync {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const SOURCE: &'static str;
    const KINDS: &'static [Kind];
    const HOSTS: u32 = 2;
    const WRITES: WriteMode = WriteMode::Synchronous;

    /// Words that the last run left behind.
    fn preset(bed: &Bed) -> Vec<(Ptr<u64>, u64)> {
        let _ = bed;
        Vec::new()
    }

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop>;

    /// Whether the end is right.
    fn judge(bed: &Bed, end: &End<'_, Result<(), Stop>>) -> Result<(), Violation> {
        let _ = (bed, end);
        Ok(())
    }
}

struct Caged<C> {
    bed: Bed,
    case: PhantomData<C>,
}

impl<C: Case> Program for Caged<C> {
    type Out = Result<(), Stop>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        C::lane(&self.bed, seat, port)
    }
}

impl<C: Case> Subject for Caged<C> {
    fn name(&self) -> String {
        let cured = if self.bed.cured { "+cured" } else { "" };
        format!("{}{cured}", C::NAME)
    }

    fn shape(&self) -> Shape {
        Shape::software(C::HOSTS, 1, C::WRITES)
    }

    fn arena(&self) -> &Arena {
        &self.bed.arena
    }

    fn preset(&self) -> Vec<(Ptr<u64>, u64)> {
        C::preset(&self.bed)
    }

    fn verdict(&self, _: Seat, out: &Self::Out) -> Result<(), Violation> {
        match out {
            Err(Stop::Wrong(violation)) => Err(violation.clone()),
            Err(Stop::Gone(_)) | Ok(()) => Ok(()),
        }
    }

    fn judge(&self, end: &End<'_, Self::Out>) -> Result<(), Violation> {
        C::judge(&self.bed, end)
    }
}
