//! A machine under a policy, and a thread's view of it.

use crate::machine::{Access, Area, Entry, Mechanism, Page, Payer};
use crate::policy::{Fault, Policy};

/// A machine and the policy that decides on it.
pub struct World {
    /// The hardware and the kernel.
    pub mechanism: Mechanism,
    /// What decides.
    pub policy: Box<dyn Policy>,
}

impl World {
    /// A machine under a policy.
    pub fn new(mut mechanism: Mechanism, mut policy: Box<dyn Policy>) -> Self {
        policy.start(&mut mechanism);
        Self { mechanism, policy }
    }

    /// Maps so many bytes from address 0 on, and touches every base page of them on thread 0.
    pub fn map_all(&mut self, bytes: u64) {
        let mut lane = Lane {
            world: self,
            thread: 0,
        };
        let area = lane.map(bytes, true);
        for offset in (0..bytes).step_by(lane.page_bytes() as usize) {
            lane.place(area.at(offset), 1);
        }
    }

    /// Maps so many bytes and writes the first base pages of each huge page only.
    #[cfg(test)]
    pub(crate) fn map_slab(&mut self, bytes: u64, pages: u64) {
        let mut lane = Lane {
            world: self,
            thread: 0,
        };
        let area = lane.map(bytes, true);
        for page in 0..pages {
            lane.place(area.at(page * lane.page_bytes()), 1);
        }
    }

    /// One access.
    #[inline]
    pub fn access(&mut self, thread: usize, address: u64, access: Access) {
        let vpn = self.mechanism.vpn(address);
        loop {
            match self.mechanism.entry(vpn) {
                Entry::Mapped(entry) => {
                    return self.mechanism.reach(thread, address, entry, access);
                }
                Entry::Absent => self.fault(thread, vpn),
                Entry::Protected => self.hint_fault(thread, vpn),
            }
        }
    }

    #[cold]
    fn fault(&mut self, thread: usize, vpn: u32) {
        let machine = &mut self.mechanism;
        let may_be_huge = machine.pages().may_be_huge(vpn);
        let fault = Fault {
            thread,
            vpn,
            may_be_huge,
        };
        let placement = self.policy.on_fault(fault, machine);
        let page = if may_be_huge && placement.huge {
            Page::Huge(vpn / crate::scale::SUBPAGES)
        } else {
            Page::Base(vpn)
        };
        machine.first_touch(thread, page, placement.tier);
        self.policy.on_mapped(page, machine);
    }

    #[cold]
    fn hint_fault(&mut self, thread: usize, vpn: u32) {
        let Some((page, _)) = self.mechanism.pages().at(vpn) else {
            return;
        };
        self.mechanism.hint_fault(thread, page);
        self.policy.on_hint_fault(page, thread, &mut self.mechanism);
    }
}

/// What an application's thread can do.
pub struct Lane<'a> {
    /// The machine.
    pub(crate) world: &'a mut World,
    /// Which thread.
    pub(crate) thread: usize,
}

impl Lane<'_> {
    /// A load that the next access depends on.
    #[inline]
    pub fn chase(&mut self, address: u64) {
        self.world.access(self.thread, address, Access::Chase);
    }

    /// A load that overlaps with others.
    #[inline]
    pub fn gather(&mut self, address: u64) {
        self.world.access(self.thread, address, Access::Gather);
    }

    /// A store.
    #[inline]
    pub fn store(&mut self, address: u64, value: u64) {
        self.world.access(self.thread, address, Access::Store);
        if value != 0 {
            let vpn = self.world.mechanism.vpn(address);
            self.world.mechanism.write_page(vpn);
        }
    }

    /// A store of a setup that is too long to be simulated whole: the page is faulted in and holds
    /// the value, but only its fault takes time.
    pub fn place(&mut self, address: u64, value: u64) {
        let vpn = self.world.mechanism.vpn(address);
        while self.world.mechanism.entry(vpn) == Entry::Absent {
            self.world.fault(self.thread, vpn);
        }
        if value != 0 {
            self.world.mechanism.write_page(vpn);
        }
    }

    /// Instructions, in nanoseconds.
    #[inline]
    pub fn work(&mut self, ns: f64) {
        let cost_ps = (ns * 1000.0) as u64;
        self.world.mechanism.compute(self.thread, cost_ps);
    }

    /// Maps an area. Huge pages may map it if `huge`.
    pub fn map(&mut self, bytes: u64, huge: bool) -> Area {
        self.world.mechanism.map_area(bytes, huge, 0)
    }

    /// Maps an area for a tenant.
    pub fn map_for(&mut self, tenant: u8, bytes: u64, huge: bool) -> Area {
        self.world.mechanism.map_area(bytes, huge, tenant)
    }

    /// Frees an area.
    pub fn unmap(&mut self, area: Area) {
        let payer = Payer::Thread(self.thread);
        let World { mechanism, policy } = &mut *self.world;
        for (page, tier) in mechanism.unmap_area(area, payer) {
            policy.on_release(page, tier, mechanism);
        }
    }

    /// Bytes of a base page.
    pub fn page_bytes(&self) -> u64 {
        self.world.mechanism.page_bytes()
    }

    /// Which thread.
    pub fn thread(&self) -> usize {
        self.thread
    }
}
