//! Mistakes that people make on this memory, each with its cure.

use fabric::{Fence, Flush, HostAtomics, Mark, Seat, wait_until};
use model::WriteMode;

use super::bed::{Bed, Stop, await_at_least, expect, send};
use super::{Case, Entry};
use crate::finding::Kind;
use crate::subject::{End, Violation};

pub(super) const ENTRIES: &[Entry] = &[
    Entry::of::<FlagBeforePayload>(),
    Entry::of::<ObserveOnce>(),
    Entry::of::<WritebackToObserve>(),
    Entry::of::<ReadBeforeFlag>(),
    Entry::of::<ToggledFlag>(),
    Entry::of::<OldEpochs>(),
    Entry::of::<TwoWriters>(),
    Entry::of::<VersionAfterwards>(),
    Entry::of::<PostedWithoutConfirm>(),
    Entry::of::<ReleaseBeforePublish>(),
    Entry::of::<ObserveDirty>(),
    Entry::of::<AroundTheOwnCopy>(),
    Entry::of::<PostForPublish>(),
    Entry::of::<CounterOfTwo>(),
];

struct FlagBeforePayload;

impl Case for FlagBeforePayload {
    const NAME: &'static str = "zoo/flag-before-payload";
    const ABOUT: &'static str = "The flag is published before the payload that it announces.";
    const SOURCE: &'static str = "a mistake; docs/MODEL.md, write modes";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let payload = bed.payload.at(0);
        if seat.host == 0 {
            if bed.cured {
                send(bed, port);
            } else {
                port.write_posted(bed.flag, &[1]);
                port.write_posted(payload, &[1]);
            }
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        // Serves the load below.
        port.observe(payload.line());
        expect("the payload", port.load(payload), 1)?; // fault
        Ok(())
    }
}

struct ObserveOnce;

impl Case for ObserveOnce {
    const NAME: &'static str = "zoo/observe-once";
    const ABOUT: &'static str = "The flag is observed once and polled many times.";
    const SOURCE: &'static str = "a mistake; docs/MODEL.md, rule 7";
    const KINDS: &'static [Kind] = &[Kind::Deadlock];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if seat.host == 0 {
            send(bed, port);
            return Ok(());
        }
        port.observe(bed.flag.line());
        wait_until(port, || {
            if bed.cured {
                // Serves the load below.
                port.observe(bed.flag.line());
            }
            (port.load(bed.flag) == 1).then_some(()) // fault
        })?;
        Ok(())
    }
}

struct WritebackToObserve;

impl Case for WritebackToObserve {
    const NAME: &'static str = "zoo/clwb-to-observe";
    const ABOUT: &'static str = "CLWB is used where the copy has to go.";
    const SOURCE: &'static str = "a mistake; docs/MODEL.md, rule 5";
    const KINDS: &'static [Kind] = &[Kind::Deadlock];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if seat.host == 0 {
            send(bed, port);
            return Ok(());
        }
        wait_until(port, || {
            if bed.cured {
                port.flush(bed.flag.line(), Flush::ClFlushOpt);
            } else {
                port.writeback(bed.flag.line());
            }
            // Serves the load below.
            port.fence(Fence::Full);
            (port.load(bed.flag) == 1).then_some(()) // fault
        })?;
        Ok(())
    }
}

struct ReadBeforeFlag;

impl Case for ReadBeforeFlag {
    const NAME: &'static str = "zoo/read-before-flag";
    const ABOUT: &'static str =
        "The payload is read first, and then the flag says that it is there.";
    const SOURCE: &'static str = "a mistake; docs/MODEL.md, rule 7";
    const KINDS: &'static [Kind] = &[Kind::Wrong];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let payload = bed.payload.at(0);
        if seat.host == 0 {
            send(bed, port);
            return Ok(());
        }
        let look = || {
            // Serves the load below.
            port.observe(payload.line());
            port.load(payload)
        };
        let early = look();
        await_at_least(port, bed.flag, 1)?;
        let used = if bed.cured { look() } else { early };
        if used == 1 {
            return Ok(());
        }
        Err(Violation::wrong("a payload is used from before its flag").into()) // fault
    }
}

struct ToggledFlag;

impl Case for ToggledFlag {
    const NAME: &'static str = "zoo/toggled-flag";
    const ABOUT: &'static str = "A barrier of one bit a host: who is slow misses a turn.";
    const SOURCE: &'static str = "a mistake; docs/ARCHITECTURE.md: epochs only grow";
    const KINDS: &'static [Kind] = &[Kind::Deadlock];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let (own, peer) = (bed.word_of(seat.host), bed.word_of(1 - seat.host));
        for turn in 1..=2 {
            if bed.cured {
                port.write_published(own, &[turn]);
                await_at_least(port, peer, turn)?;
                continue;
            }
            let bit = turn % 2;
            port.write_published(own, &[bit]);
            // fault: exactly this bit, where at least this turn was meant
            wait_until(port, || {
                // Serves the load below.
                port.observe(peer.line());
                (port.load(peer) == bit).then_some(())
            })?;
        }
        Ok(())
    }
}

struct OldEpochs;

impl Case for OldEpochs {
    const NAME: &'static str = "zoo/old-epochs";
    const ABOUT: &'static str = "A barrier starts on lines that still hold the last run's epochs.";
    const SOURCE: &'static str = "a mistake; device memory is not zeroed";
    const KINDS: &'static [Kind] = &[Kind::Wrong, Kind::StaleRead];

    fn preset(bed: &Bed) -> Vec<(fabric::Ptr<u64>, u64)> {
        vec![(bed.word_of(0), 9)]
    }

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        // The cure: this run's epochs begin above every epoch of the last.
        let epoch = if bed.cured { 10 } else { 1 };
        if seat.host == 0 {
            // Serves the other's load after the barrier.
            port.write_posted(bed.payload.at(0), &[1]);
            port.write_published(bed.word_of(0), &[epoch]);
            return Ok(());
        }
        await_at_least(port, bed.word_of(0), epoch)?;
        // Serves the load below.
        port.observe(bed.payload.at(0).line());
        if port.load(bed.payload.at(0)) == 1 {
            return Ok(());
        }
        Err(Violation::wrong("the barrier was passed before the other came").into()) // fault
    }
}

struct TwoWriters;

impl Case for TwoWriters {
    const NAME: &'static str = "zoo/two-writers";
    const ABOUT: &'static str = "Two hosts say that they are ready by words of one line.";
    const SOURCE: &'static str = "a mistake; docs/MODEL.md, rule 6";
    const KINDS: &'static [Kind] = &[Kind::Clobber, Kind::Deadlock];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let place = |host: u32| {
            if bed.cured {
                bed.word_of(host)
            } else {
                bed.shared.at(host as usize)
            }
        };
        let (own, peer) = (place(seat.host), place(1 - seat.host));
        port.write_published(own, &[1]); // fault
        await_at_least(port, peer, 1)?;
        Ok(())
    }
}

struct VersionAfterwards;

impl Case for VersionAfterwards {
    const NAME: &'static str = "zoo/version-afterwards";
    const ABOUT: &'static str =
        "A record's version moves after the record: readers cannot see that it is being written.";
    const SOURCE: &'static str = "a mistake; a sequence lock without its odd half";
    const KINDS: &'static [Kind] = &[Kind::Torn];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let (version, record) = (bed.flag, bed.payload);
        if seat.host == 0 {
            if bed.cured {
                // Keeps every word of the record behind it.
                port.write_posted(version, &[1]);
            }
            port.store(record.at(0), 7);
            port.store(bed.second(), 7);
            // Serves the readers' loads of the record.
            port.post(record.lines());
            port.write_posted(version, &[2]);
            return Ok(());
        }
        // Serves the loads of the record.
        port.observe(record.lines());
        let found = (port.load(record.at(0)), port.load(bed.second()));
        // Serves the load of the version.
        port.observe(version.line());
        if port.load(version) == 0 && found.0 != found.1 {
            return Err(Violation::torn(format!("version 0 is {found:?}")).into()); // fault
        }
        Ok(())
    }
}

struct PostedWithoutConfirm;

impl Case for PostedWithoutConfirm {
    const NAME: &'static str = "zoo/posted-without-confirm";
    const ABOUT: &'static str =
        "Two hosts ask and look on a pod that may hold a write after its fence.";
    const SOURCE: &'static str = "TraCT, arXiv 2512.18194: flushes may be pending after the fence";
    const KINDS: &'static [Kind] = &[Kind::MutualExclusion];
    const WRITES: WriteMode = WriteMode::Posted;

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let (own, peer) = (bed.word_of(seat.host), bed.word_of(1 - seat.host));
        port.store(own, 1); // fault
        if bed.cured {
            // At the device before the look below.
            port.confirm(own.line());
        } else {
            port.publish(own.line());
        }
        // Serves the load below.
        port.observe(peer.line());
        let theirs = port.load(peer);
        if theirs == 0 {
            port.mark(Mark::Enter(0));
            port.mark(Mark::Leave(0));
        }
        Ok(())
    }
}

struct ReleaseBeforePublish;

impl Case for ReleaseBeforePublish {
    const NAME: &'static str = "zoo/release-before-publish";
    const ABOUT: &'static str = "A lock is handed on before what it guards is published.";
    const SOURCE: &'static str = "a mistake; what a guard's destructor does by itself";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let guarded = bed.payload.at(0);
        if seat.host == 0 {
            port.store(guarded, 1); // fault
            if bed.cured {
                // Serves the next holder's load.
                port.post(guarded.line());
            }
            port.write_published(bed.flag, &[1]);
            if !bed.cured {
                port.publish(guarded.line());
            }
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        // Serves the load below.
        port.observe(guarded.line());
        expect("what is guarded", port.load(guarded), 1)?;
        Ok(())
    }
}

struct ObserveDirty;

impl Case for ObserveDirty {
    const NAME: &'static str = "zoo/observe-dirty";
    const ABOUT: &'static str =
        "A host observes a line that it has written to: the flush puts old bytes over new ones.";
    const SOURCE: &'static str = "a mistake; docs/MODEL.md, rule 6";
    const KINDS: &'static [Kind] = &[Kind::Clobber];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let theirs = bed.shared.at(0);
        if seat.host == 0 {
            port.write_published(theirs, &[1]);
            port.write_posted(bed.flag, &[1]);
            return Ok(());
        }
        let noted = if bed.cured {
            bed.word_of(1)
        } else {
            bed.shared.at(1)
        };
        port.store(noted, 5); // fault
        await_at_least(port, bed.flag, 1)?;
        port.observe(theirs.line());
        expect("the other's word", port.load(theirs), 1)?;
        Ok(())
    }
}

struct AroundTheOwnCopy;

impl Case for AroundTheOwnCopy {
    const NAME: &'static str = "zoo/movnti-on-own-copy";
    const ABOUT: &'static str =
        "A writer reads its line and then writes it around the cache, where it may stay.";
    const SOURCE: &'static str = "Intel optimization manual, non-temporal stores that hit";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let payload = bed.payload.at(0);
        if seat.host == 0 {
            // A writer that is cured keeps the last value in a variable.
            let last = if bed.cured { 0 } else { port.load(payload) };
            port.store_nt(payload, last + 1); // fault
            // Keeps the payload before the flag.
            port.fence(Fence::Store);
            port.write_posted(bed.flag, &[1]);
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        // Serves the load below.
        port.observe(payload.line());
        expect("the payload", port.load(payload), 1)?;
        Ok(())
    }
}

struct PostForPublish;

impl Case for PostForPublish {
    const NAME: &'static str = "zoo/post-before-a-look";
    const ABOUT: &'static str =
        "Two hosts ask and look, with store fences where the look has to wait.";
    const SOURCE: &'static str = "a mistake; docs/MODEL.md, rule 1";
    const KINDS: &'static [Kind] = &[Kind::MutualExclusion];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let (own, peer) = (bed.word_of(seat.host), bed.word_of(1 - seat.host));

        port.write_posted(own, &[1]);
        port.flush(peer.line(), Flush::ClFlushOpt);
        let fence = if bed.cured { Fence::Full } else { Fence::Store };
        port.fence(fence);
        let theirs = port.load(peer); // fault
        if theirs == 0 {
            port.mark(Mark::Enter(0));
            port.mark(Mark::Leave(0));
        }
        Ok(())
    }
}

struct CounterOfTwo;

impl Case for CounterOfTwo {
    const NAME: &'static str = "zoo/counter-of-two";
    const ABOUT: &'static str = "Two hosts count in one word, by load, add and publish.";
    const SOURCE: &'static str = "a mistake; registers have consensus number 1 (Herlihy, 1991)";
    const KINDS: &'static [Kind] = &[Kind::MutualExclusion];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let counter = if bed.cured {
            bed.word_of(seat.host)
        } else {
            bed.flag
        };
        // No other lane may be between the load and the publish; a lane's own word is its own.
        let section = if bed.cured { seat.host } else { 0 };
        port.mark(Mark::Enter(section)); // fault
        // Serves the load below.
        port.observe(counter.line());
        let count = port.load(counter);
        port.write_published(counter, &[count + 1]);
        port.mark(Mark::Leave(section));
        Ok(())
    }

    fn judge(bed: &Bed, end: &End<'_, Result<(), Stop>>) -> Result<(), Violation> {
        let words = [bed.flag, bed.word_of(0), bed.word_of(1)];
        let counted: u64 = words.iter().map(|&word| end.word(word)).sum();
        if counted == 2 {
            return Ok(());
        }
        Err(Violation::lost_update(format!(
            "2 increments count {counted}"
        )))
    }
}
