//! Which primitives are checked, and on which pods.

use check::{Checkable, Kind, WriteMode};
use sync::atomic::{
    Atomic64, CombiningAtomic, HardwareAtomic, LockedAtomic, ServerAtomic, ShardedAtomic,
};
use sync::barrier::{
    AllToAll, Central, Dissemination, HardwareBarrier, HostBarrier, RcceLinear, Tournament,
    TreeBarrier,
};
use sync::lock::{
    Bakery, BakeryFastPath, BurnsLynch, Fischer, HardwareMcs, HardwareSpin, HardwareTicket,
    LamportFast, Lock, McsServer, PetersonTournament, Szymanski, TicketServer, TokenRing, TwoLevel,
    YangAnderson,
};

use table::Sharing;

use crate::lock::dying::Dying;
use crate::lock::timed::Timed;
use crate::lock::{Of, OfPeterson, Section};
use crate::setting::Setting;
use crate::{atomic, barrier, hash_table, mail, read_write, record, rendezvous, ring};

type List = Vec<Box<dyn Checkable>>;
type TwoLevels = Of<TwoLevel<BakeryFastPath>>;
type ByHardware = barrier::Epoch<HardwareBarrier>;
type OfHardware = atomic::Operations<HardwareAtomic>;

/// Everything, in the order of the listing.
pub fn all() -> List {
    let mut all = List::new();
    messages(&mut all);
    barriers(&mut all);
    register_lock::<Bakery>(&mut all, "bakery");
    register_lock::<BakeryFastPath>(&mut all, "bakery-fast-path");
    register_lock::<LamportFast>(&mut all, "lamport-fast");
    register_lock::<PetersonTournament>(&mut all, "peterson-tournament");
    register_lock::<YangAnderson>(&mut all, "yang-anderson");
    register_lock::<Szymanski>(&mut all, "szymanski");
    register_lock::<BurnsLynch>(&mut all, "burns-lynch");
    other_lock::<TokenRing>(&mut all, "token-ring");
    other_lock::<TicketServer>(&mut all, "ticket-server");
    other_lock::<McsServer>(&mut all, "mcs-server");
    special_locks(&mut all);
    hardware_lock::<HardwareSpin>(&mut all, "hardware-spin");
    hardware_lock::<HardwareTicket>(&mut all, "hardware-ticket");
    hardware_lock::<HardwareMcs>(&mut all, "hardware-mcs");
    atomics(&mut all);
    hash_tables(&mut all);
    all
}

fn messages(all: &mut List) {
    for writes in [WriteMode::Synchronous, WriteMode::Posted] {
        all.push(Box::new(mail::Mail::new(2, 2, writes)));
        all.push(Box::new(record::Record::new(2, 1, writes)));
        all.push(Box::new(record::Record::new(2, 2, writes)));
    }
    all.push(Box::new(rendezvous::Join::new(WriteMode::Synchronous)));
    let three = Setting {
        rounds: 3,
        ..Setting::TWICE
    };
    all.push(Box::new(ring::Broadcast::new(three)));
    all.push(Box::new(ring::Broadcast::new(three.posted())));
    let three_hosts = Setting {
        hosts: 3,
        ..Setting::TWICE
    };
    all.push(Box::new(ring::Broadcast::new(Setting {
        rounds: 3,
        ..three_hosts
    })));
    all.push(Box::new(ring::ManyToOne::new(three_hosts)));
}

fn barriers(all: &mut List) {
    fn each<B: HostBarrier + 'static>(all: &mut List, name: &'static str) {
        all.push(Box::new(barrier::Epoch::<B>::new(name, Setting::TWICE)));
        all.push(Box::new(barrier::Epoch::<B>::new(
            name,
            Setting::TWICE.posted(),
        )));
        for hosts in 3..=4 {
            all.push(Box::new(barrier::Epoch::<B>::new(
                name,
                Setting::once(hosts),
            )));
        }
    }
    each::<AllToAll>(all, "all-to-all");
    each::<Dissemination>(all, "dissemination");
    each::<Central>(all, "central");
    each::<RcceLinear>(all, "rcce-linear");
    each::<Tournament>(all, "tournament");
    each::<TreeBarrier>(all, "tree");
    let two_lanes = Setting {
        hosts: 1,
        ..Setting::TWICE.lanes(2)
    };
    all.push(Box::new(barrier::Epoch::<AllToAll>::new(
        "two-level",
        two_lanes,
    )));
    let both = Setting::TWICE.lanes(2);
    all.push(Box::new(barrier::Epoch::<AllToAll>::new("two-level", both)));
    let wrong = ByHardware::new("hardware", Setting::TWICE).expecting(&[Kind::HostAtomic]);
    all.push(Box::new(wrong));
    all.push(Box::new(ByHardware::new(
        "hardware",
        Setting::TWICE.coherent(),
    )));
}

/// A lock whose members write one register and then decide by another.
fn register_lock<L: Lock + 'static>(all: &mut List, name: &'static str) {
    other_lock::<L>(all, name);
    let posted = Setting::once(2).unconfirmed();
    // Both get in, or both miss what would let them in: which shows first depends on the lock.
    let ways = [Kind::MutualExclusion, Kind::LostUpdate, Kind::Deadlock];
    let wrong = Section::<Of<L>>::new(name, posted).expecting(&ways);
    all.push(Box::new(wrong));
}

/// Twice by two hosts, once by three and by four; on a posted pod; with time running out; with
/// hosts that die.
fn other_lock<L: Lock + 'static>(all: &mut List, name: &'static str) {
    all.push(Box::new(Section::<Of<L>>::new(name, Setting::TWICE)));
    all.push(Box::new(Section::<Of<L>>::new(
        name,
        Setting::TWICE.posted(),
    )));
    for hosts in 3..=4 {
        all.push(Box::new(Section::<Of<L>>::new(name, Setting::once(hosts))));
    }
    all.push(Box::new(Timed::<L>::new(name, Setting::once(2))));
    all.push(Box::new(Dying::<L>::new(name, Setting::once(2))));
}

fn special_locks(all: &mut List) {
    all.push(Box::new(Section::<OfPeterson>::new(
        "peterson",
        Setting::TWICE,
    )));
    all.push(Box::new(Section::<OfPeterson>::new(
        "peterson",
        Setting::TWICE.posted(),
    )));
    let fischer = || Section::<Of<Fischer>>::new("fischer", Setting::TWICE);
    all.push(Box::new(fischer().expecting(&[Kind::MutualExclusion])));
    all.push(Box::new(fischer().with_bounded_delays()));
    let lanes = Setting::once(2).lanes(2);
    all.push(Box::new(Section::<TwoLevels>::new("two-level", lanes)));
    all.push(Box::new(read_write::Readers::new(Setting::TWICE)));
    all.push(Box::new(read_write::Readers::new(Setting::TWICE.posted())));
}

/// Wrong between hosts that no hardware keeps coherent; right on a coherent pod and inside a host.
fn hardware_lock<L: Lock + 'static>(all: &mut List, name: &'static str) {
    let wrong = Section::<Of<L>>::new(name, Setting::TWICE).expecting(&[Kind::HostAtomic]);
    all.push(Box::new(wrong));
    all.push(Box::new(Section::<Of<L>>::new(
        name,
        Setting::TWICE.coherent(),
    )));
    let one_host = Setting {
        hosts: 1,
        ..Setting::TWICE.lanes(2)
    };
    all.push(Box::new(Section::<Of<L>>::new(name, one_host)));
}

fn atomics(all: &mut List) {
    fn each<A: Atomic64 + 'static>(all: &mut List, name: &'static str) {
        all.push(Box::new(atomic::Operations::<A>::new(name, Setting::TWICE)));
        all.push(Box::new(atomic::Operations::<A>::new(
            name,
            Setting::TWICE.posted(),
        )));
        all.push(Box::new(atomic::Operations::<A>::new(
            name,
            Setting::once(3),
        )));
    }
    each::<ServerAtomic>(all, "server");
    each::<CombiningAtomic>(all, "combining");
    each::<LockedAtomic>(all, "lock");
    each::<ShardedAtomic>(all, "sharded");
    let wrong = OfHardware::new("hardware", Setting::TWICE).expecting(&[Kind::HostAtomic]);
    all.push(Box::new(wrong));
    all.push(Box::new(OfHardware::new(
        "hardware",
        Setting::TWICE.coherent(),
    )));
}

fn hash_tables(all: &mut List) {
    let writes = WriteMode::Synchronous;
    all.push(Box::new(hash_table::Owned::new(2, 1, writes)));
    all.push(Box::new(hash_table::Owned::new(2, 2, writes)));
    all.push(Box::new(hash_table::Locked::new(writes)));
    for sharing in [Sharing::Partitioned, Sharing::Seqlock] {
        let dying = hash_table::dying::Dying::new(sharing, 1, writes);
        all.push(Box::new(dying));
    }
}
