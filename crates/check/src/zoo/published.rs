//! Faults that were published, each in our own words.
//!
//! The originals are larger and do more; what is kept is the order of accesses and maintenance that
//! went wrong. A cure changes as little as possible.

use fabric::{Cell, Fence, Flush, HostAtomics, Mark, Port, Seat, wait_until};

use super::bed::{Bed, LINE_WORDS, Stop, await_at_least, expect, send};
use super::{Case, Entry};
use crate::finding::Kind;
use crate::subject::{End, Violation};

pub(super) const ENTRIES: &[Entry] = &[
    Entry::of::<TigonRing>(),
    Entry::of::<FamfsMessage>(),
    Entry::of::<CxlMemSimLitmus>(),
    Entry::of::<FuseeReadPath>(),
    Entry::of::<HpiMessage>(),
    Entry::of::<DaxfsSync>(),
    Entry::of::<MadfsFlush>(),
    Entry::of::<CxlShmCount>(),
    Entry::of::<MaruHeader>(),
    Entry::of::<XdnaCompare>(),
    Entry::of::<EmbarcaderoFrontier>(),
    Entry::of::<FuseeSlots>(),
    Entry::of::<FuseeRecord>(),
    Entry::of::<OasisPrefetch>(),
    Entry::of::<FuseeInitDone>(),
    Entry::of::<FuseeLayoutSkew>(),
    Entry::of::<FuseeTicket>(),
    Entry::of::<CxlMemSimOwnership>(),
];

struct TigonRing;

impl Case for TigonRing {
    const NAME: &'static str = "zoo/tigon-ring";
    const ABOUT: &'static str = "A ring's reader flushes the entry, fences stores, and copies it.";
    const SOURCE: &'static str = "ut-datasys/tigon@16f8007, common/MPSCRingBuffer.h:177-189";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if seat.host == 0 {
            send(bed, port);
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        port.flush(bed.payload.at(0).line(), Flush::ClFlushOpt);
        port.flush(bed.second().line(), Flush::ClFlushOpt);
        let fence = if bed.cured { Fence::Full } else { Fence::Store };
        port.fence(fence);
        expect("the entry", port.load(bed.payload.at(0)), 1)?; // fault
        expect("its second line", port.load(bed.second()), 1)?;
        Ok(())
    }
}

struct FamfsMessage;

impl Case for FamfsMessage {
    const NAME: &'static str = "zoo/famfs-message";
    const ABOUT: &'static str =
        "A queue's reader drops a message by CLFLUSHOPT and SFENCE and believes its trailer.";
    const SOURCE: &'static str = "cxl-micron-reskit/famfs@5d0919f, src/fcc-x86_64.c";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let (body, trailer) = (bed.payload.at(0), bed.second());
        if seat.host == 0 {
            // Serves the reader's load of the body once it has found the trailer.
            port.write_posted(body, &[1]);
            port.write_posted(trailer, &[1]);
            return Ok(());
        }
        let fence = if bed.cured { Fence::Full } else { Fence::Store };
        wait_until(port, || {
            port.flush(trailer.line(), Flush::ClFlushOpt);
            port.fence(fence);
            (port.load(trailer) == 1).then_some(())
        })?;
        port.flush(body.line(), Flush::ClFlushOpt);
        port.fence(fence);
        expect("the body", port.load(body), 1)?; // fault
        Ok(())
    }
}

struct CxlMemSimLitmus;

impl Case for CxlMemSimLitmus {
    const NAME: &'static str = "zoo/cxlmemsim-litmus";
    const ABOUT: &'static str = "A message between hosts by C11 atomics alone, without a flush.";
    const SOURCE: &'static str = "SlugLab/CXLMemSim@71c5979, test_dax_litmus_*.c";
    const KINDS: &'static [Kind] = &[Kind::HostAtomic];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let cell = Cell::Pool(bed.flag);
        if seat.host == 0 {
            if bed.cured {
                send(bed, port);
            } else {
                port.store(bed.payload.at(0), 1);
                port.atomic_store(cell, 1); // fault
            }
            return Ok(());
        }
        if bed.cured {
            await_at_least(port, bed.flag, 1)?;
            // Serves the load below.
            port.observe(bed.payload.at(0).line());
        } else {
            wait_until(port, || (port.atomic_load(cell) == 1).then_some(()))?;
        }
        expect("the message", port.load(bed.payload.at(0)), 1)?;
        Ok(())
    }
}

struct FuseeReadPath;

impl Case for FuseeReadPath {
    const NAME: &'static str = "zoo/fusee-read-path";
    const ABOUT: &'static str = "A bucket is read after a flush and a load fence.";
    const SOURCE: &'static str = "yanxwang/FUSEE-CXL-Migration, read path, against its own rule R5";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if seat.host == 0 {
            send(bed, port);
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        port.flush(bed.payload.at(0).line(), Flush::ClFlushOpt);
        port.fence(if bed.cured { Fence::Full } else { Fence::Load });
        expect("the bucket", port.load(bed.payload.at(0)), 1)?; // fault
        Ok(())
    }
}

struct HpiMessage;

impl Case for HpiMessage {
    const NAME: &'static str = "zoo/hpi-message";
    const ABOUT: &'static str =
        "One line of a message of two is flushed, and the reader flushes without a fence.";
    const SOURCE: &'static str = "hpides/cxlbench@paper/adms25, microexperiments/shared_memory";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let (first, second) = (bed.payload.at(0), bed.second());
        if seat.host == 0 {
            port.store(first, 1);
            port.store(second, 1); // fault
            port.flush(first.line(), Flush::ClFlush);
            if bed.cured {
                // Serves the reader's load of the second line.
                port.flush(second.line(), Flush::ClFlush);
            }
            port.fence(Fence::Store);
            port.write_posted(bed.flag, &[1]);
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        port.flush(first.line(), Flush::ClFlush);
        port.flush(second.line(), Flush::ClFlush);
        if bed.cured {
            // Serves both loads below.
            port.fence(Fence::Full);
        }
        expect("the first line", port.load(first), 1)?; // fault
        expect("the second line", port.load(second), 1)?;
        Ok(())
    }
}

struct DaxfsSync;

impl Case for DaxfsSync {
    const NAME: &'static str = "zoo/daxfs-sync";
    const ABOUT: &'static str = "Syncing memory is a write barrier, and flushes nothing.";
    const SOURCE: &'static str =
        "multikernel/daxfs#23: the sync is a store barrier, and flushes nothing";
    const KINDS: &'static [Kind] = &[Kind::Deadlock, Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let payload = bed.payload.at(0);
        if seat.host == 0 {
            port.store(payload, 1); // fault
            if bed.cured {
                // Serves the reader's load of the payload.
                port.flush(payload.line(), Flush::ClFlushOpt);
            }
            port.fence(Fence::Store);
            port.store(bed.flag, 1); // fault
            if bed.cured {
                // Serves the reader's poll.
                port.flush(bed.flag.line(), Flush::ClFlushOpt);
            }
            port.fence(Fence::Store);
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        // Serves the load below.
        port.observe(payload.line());
        expect("the payload", port.load(payload), 1)?;
        Ok(())
    }
}

struct MadfsFlush;

impl Case for MadfsFlush {
    const NAME: &'static str = "zoo/madfs-flush";
    const ABOUT: &'static str = "Data is flushed, and no fence keeps the commit behind it.";
    const SOURCE: &'static str = "ShawnZhong/MadFS#30, turned round: it asks for a fence before \
        the flush, which one line does not need; the fence that is missing here is the one behind";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let data = bed.payload.at(0);
        if seat.host == 0 {
            port.store(data, 1); // fault
            port.flush(data.line(), Flush::ClFlushOpt);
            if bed.cured {
                // Serves the reader's load of the data once it has seen the commit.
                port.fence(Fence::Store);
            }
            port.store(bed.flag, 1);
            port.flush(bed.flag.line(), Flush::ClFlushOpt);
            port.fence(Fence::Store);
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        // Serves the load below.
        port.observe(data.line());
        expect("the data", port.load(data), 1)?;
        Ok(())
    }
}

struct CxlShmCount;

impl Case for CxlShmCount {
    const NAME: &'static str = "zoo/cxl-shm-count";
    const ABOUT: &'static str =
        "A reference count is changed by a host's compare-and-swap, then written back and fenced.";
    const SOURCE: &'static str = "CXL-SHM, include/cxlmalloc-internal.h; TraCT on what it assumes";
    const KINDS: &'static [Kind] = &[Kind::HostAtomic];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if bed.cured {
            // One count a host, summed up by who asks.
            port.write_published(bed.word_of(seat.host), &[1]);
            return Ok(());
        }
        let count = Cell::Pool(bed.flag);
        let mut seen = port.atomic_load(count); // fault
        while let Err(now) = port.compare_exchange(count, seen, seen + 1) {
            seen = now;
            port.pause()?;
        }
        port.writeback(bed.flag.line());
        port.fence(Fence::Store);
        Ok(())
    }

    fn judge(bed: &Bed, end: &End<'_, Result<(), Stop>>) -> Result<(), Violation> {
        let counted = end.word(bed.word_of(0)) + end.word(bed.word_of(1)) + end.word(bed.flag);
        if counted == 2 {
            return Ok(());
        }
        Err(Violation::lost_update(format!(
            "2 references count {counted}"
        )))
    }
}

struct MaruHeader;

impl Case for MaruHeader {
    const NAME: &'static str = "zoo/maru-header";
    const ABOUT: &'static str = "A host waits for another's header and syncs a mapping of devdax.";
    const SOURCE: &'static str = "xcena-dev/maru#67: plain stores arrived in 0 of 50 attempts, \
        between hosts that were simulated by aliased windows";
    const KINDS: &'static [Kind] = &[Kind::Deadlock];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if seat.host == 0 {
            send(bed, port);
            return Ok(());
        }
        wait_until(port, || {
            // The original calls msync here, which does nothing on a devdax mapping.
            if bed.cured {
                port.flush(bed.flag.line(), Flush::ClFlush);
                // Serves the load below.
                port.fence(Fence::Full);
            }
            (port.load(bed.flag) == 1).then_some(()) // fault
        })?;
        Ok(())
    }
}

struct XdnaCompare;

impl Case for XdnaCompare {
    const NAME: &'static str = "zoo/xdna-compare";
    const ABOUT: &'static str = "Results are flushed line by line and compared, without a fence.";
    const SOURCE: &'static str = "amd/xdna-driver#1506, #1510";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if seat.host == 0 {
            send(bed, port);
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        let result = bed.payload.at(0);
        port.flush(result.line(), Flush::ClFlush);
        if bed.cured {
            // Serves the comparison below.
            port.fence(Fence::Full);
        }
        expect("the result", port.load(result), 1)?; // fault
        Ok(())
    }
}

struct EmbarcaderoFrontier;

impl Case for EmbarcaderoFrontier {
    const NAME: &'static str = "zoo/embarcadero-frontier";
    const ABOUT: &'static str =
        "A replica reads a frontier after CLFLUSHOPT and LFENCE, and publishes an older one.";
    const SOURCE: &'static str = "jaewan/Embarcadero@cd62a6b, topic.cc:3709";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let frontier = bed.payload.at(0);
        if seat.host == 0 {
            send(bed, port);
            return Ok(());
        }
        await_at_least(port, bed.flag, 1)?;
        port.flush(frontier.line(), Flush::ClFlushOpt);
        port.fence(if bed.cured { Fence::Full } else { Fence::Load });
        let known = port.load(frontier); // fault
        port.write_published(bed.word_of(1), &[known]);
        Ok(())
    }

    fn judge(bed: &Bed, end: &End<'_, Result<(), Stop>>) -> Result<(), Violation> {
        expect("the replica's frontier", end.word(bed.word_of(1)), 1)
    }
}

struct FuseeSlots;

impl Case for FuseeSlots {
    const NAME: &'static str = "zoo/fusee-slots";
    const ABOUT: &'static str = "Two hosts write slots of one line, each flushing after its store.";
    const SOURCE: &'static str =
        "yanxwang/FUSEE-CXL-Migration: both intact in 21 to 24 % of trials, 100 % around the cache";
    const KINDS: &'static [Kind] = &[Kind::Clobber];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let slot = bed.shared.at(seat.host as usize);
        if bed.cured {
            port.store_nt(slot, 1);
        } else {
            port.store(slot, 1); // fault
            port.flush(slot.line(), Flush::ClFlushOpt);
        }
        port.fence(Fence::Full);
        Ok(())
    }

    fn judge(bed: &Bed, end: &End<'_, Result<(), Stop>>) -> Result<(), Violation> {
        for host in 0..2 {
            if end.word(bed.shared.at(host)) != 1 {
                let what = format!("the slot of host {host} is lost");
                return Err(Violation::new(Kind::Clobber, what));
            }
        }
        Ok(())
    }
}

struct FuseeRecord;

impl Case for FuseeRecord {
    const NAME: &'static str = "zoo/fusee-record";
    const ABOUT: &'static str =
        "A record of two lines is written with one fence and read with one.";
    const SOURCE: &'static str =
        "yanxwang/FUSEE-CXL-Migration: mixed in 0.25 to 1 % of trials, retracted at 100,000";
    const KINDS: &'static [Kind] = &[Kind::Torn];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let (first, second) = (bed.payload.at(0), bed.second());
        if seat.host == 0 {
            // The cure: the version, in a line of its own, says when the record may be mixed.
            if bed.cured {
                port.write_posted(bed.flag, &[1]);
            }
            port.store(first, 7);
            port.store(second, 7);
            port.post(bed.payload.lines());
            if bed.cured {
                port.write_posted(bed.flag, &[2]);
            }
            return Ok(());
        }
        // Serves the loads of both lines.
        port.observe(bed.payload.lines());
        let record = (port.load(first), port.load(second));
        if bed.cured {
            // Serves the load of the version, which must come after those of the record.
            port.observe(bed.flag.line());
        }
        let unchanged = !bed.cured || port.load(bed.flag) == 0;
        if unchanged && record.0 != record.1 {
            let mixed = Violation::torn(format!("the record is {record:?}")); // fault
            return Err(mixed.into());
        }
        Ok(())
    }
}

struct OasisPrefetch;

impl Case for OasisPrefetch {
    const NAME: &'static str = "zoo/oasis-prefetch";
    const ABOUT: &'static str =
        "Lines behind the polled one are dropped once, and a prefetch brings them back old.";
    const SOURCE: &'static str = "Oasis, SOSP 2025: prefetched lines have to be dropped as well";
    const KINDS: &'static [Kind] = &[Kind::StaleRead];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if seat.host == 0 {
            send(bed, port);
            return Ok(());
        }
        if !bed.cured {
            port.observe(bed.payload.at(0).line());
        }
        await_at_least(port, bed.flag, 1)?;
        if bed.cured {
            // Serves the load below: only what is dropped after the flag was seen stays away.
            port.observe(bed.payload.at(0).line());
        }
        expect("the message", port.load(bed.payload.at(0)), 1)?; // fault
        Ok(())
    }
}

struct FuseeInitDone;

impl Case for FuseeInitDone {
    const NAME: &'static str = "zoo/fusee-init-done";
    const ABOUT: &'static str = "Device memory still holds the last run's `init_done`.";
    const SOURCE: &'static str =
        "yanxwang/FUSEE-CXL-Migration: misread as a livelock of the lock under test";
    const KINDS: &'static [Kind] = &[Kind::Wrong];

    fn preset(bed: &Bed) -> Vec<(fabric::Ptr<u64>, u64)> {
        // The last run: cookie 41, whose table was initialised.
        vec![(bed.flag, 41)]
    }

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        // Both hosts have this run's cookie from their launcher.
        let cookie = 42;
        if seat.host == 0 {
            // Serves the other's load of the table.
            port.write_posted(bed.payload.at(0), &[7]);
            port.write_posted(bed.flag, &[cookie]);
            return Ok(());
        }
        wait_until(port, || {
            // Serves the load below.
            port.observe(bed.flag.line());
            let done = port.load(bed.flag);
            (if bed.cured { done == cookie } else { done != 0 }).then_some(())
        })?;
        // Serves the load below.
        port.observe(bed.payload.at(0).line());
        let table = port.load(bed.payload.at(0));
        if table == 7 {
            return Ok(());
        }
        Err(Violation::wrong("a table is used that this run has not initialised").into()) // fault
    }
}

struct FuseeLayoutSkew;

impl Case for FuseeLayoutSkew {
    const NAME: &'static str = "zoo/fusee-layout-skew";
    const ABOUT: &'static str =
        "Two hosts were compiled for different host counts and look for each other elsewhere.";
    const SOURCE: &'static str = "yanxwang/FUSEE-CXL-Migration: 8 against 32 hosts, both spun";
    const KINDS: &'static [Kind] = &[Kind::Deadlock];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        let assumed_hosts = if seat.host == 0 || bed.cured { 1 } else { 2 };
        let slot = |host: u32| bed.slots.at(host as usize * assumed_hosts * LINE_WORDS);
        port.write_published(slot(seat.host), &[1]);
        await_at_least(port, slot(1 - seat.host), 1)?; // fault
        Ok(())
    }
}

struct FuseeTicket;

impl Case for FuseeTicket {
    const NAME: &'static str = "zoo/fusee-ticket";
    const ABOUT: &'static str = "A ticket is drawn by a fetch-and-add between two flushes.";
    const SOURCE: &'static str =
        "yanxwang/FUSEE-CXL-Migration: 80,000 of 80,000 in a stress, and the lock on it hung";
    const KINDS: &'static [Kind] = &[Kind::HostAtomic];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if bed.cured {
            // Without an atomic between hosts, tickets of one server: host 0 draws for host 1.
            if seat.host == 0 {
                port.write_published(bed.word_of(0), &[1]);
            } else {
                await_at_least(port, bed.word_of(0), 1)?;
            }
            return Ok(());
        }
        port.observe(bed.flag.line());
        port.fetch_add(Cell::Pool(bed.flag), 1u64); // fault
        port.publish(bed.flag.line());
        Ok(())
    }
}

struct CxlMemSimOwnership;

impl Case for CxlMemSimOwnership {
    const NAME: &'static str = "zoo/cxlmemsim-ownership";
    const ABOUT: &'static str =
        "An owner word that both write: Fischer's lock without the delay that makes it one.";
    const SOURCE: &'static str = "SlugLab/CXLMemSim@71c5979, ownership lock";
    const KINDS: &'static [Kind] = &[Kind::MutualExclusion];

    fn lane<P: HostAtomics>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
        if bed.cured {
            return take_turns(bed, seat, port);
        }
        let own = u64::from(seat.host) + 1;
        wait_until(port, || {
            // Serves the load below.
            port.observe(bed.flag.line());
            if port.load(bed.flag) != 0 {
                return None;
            }
            port.write_published(bed.flag, &[own]);
            // Serves the load below.
            port.observe(bed.flag.line());
            (port.load(bed.flag) == own).then_some(())
        })?;
        port.mark(Mark::Enter(0)); // fault
        port.mark(Mark::Leave(0));
        port.write_published(bed.flag, &[0]);
        Ok(())
    }
}

/// The cure of a lock of one word: each host asks in a word of its own, and host 0 goes first.
fn take_turns<P: Port>(bed: &Bed, seat: Seat, port: &P) -> Result<(), Stop> {
    if seat.host == 1 {
        await_at_least(port, bed.word_of(0), 1)?;
    }
    port.mark(Mark::Enter(0));
    port.mark(Mark::Leave(0));
    // Serves the other's poll.
    port.write_published(bed.word_of(seat.host), &[1]);
    Ok(())
}
