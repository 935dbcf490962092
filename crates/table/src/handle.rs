//! One lane's way into a table.

use fabric::{Fence, Gone, HostAtomics, Seat, Ticks, wait_until};
use sync::lock::{Lock, LockVisitor, Member, NotAcquired};
use sync::{Arrival, Patience};

use crate::bucket::{FREE, Version};
use crate::cache::Cache;
use crate::error::TableError;
use crate::layout::{Table, send_along};
use crate::mail::{Outcome, Post};
use crate::section::{Change, Refused, Section, Way};
use crate::shape::{MAX_VALUE_WORDS, Sharing};

/// How long an acquire of a lock that all hosts pass around goes on before this lane passes the
/// other locks on: a few hand-overs of about 2 us.
const TEND_EVERY_NS: f64 = 10_000.0;

/// One lane's end of a table. It opens a table whose lines are zero, or that was used and closed,
/// or repaired; every lane of the pod opens it.
///
/// Values are slices of words, from one to what the table was laid out for.
pub struct Handle<'a, P: HostAtomics> {
    pub(crate) table: &'a Table,
    pub(crate) port: &'a P,
    pub(crate) seat: Seat,
    way: Way,
    /// Alone, and a value lies beside its key: what the fast paths ask.
    pub(crate) direct: bool,
    pub(crate) patience_ns: Option<f64>,
    members: Vec<Member>,
    cache: Option<Cache<'a, P>>,
    post: Option<Post<'a>>,
}

impl<'a, P: HostAtomics> Handle<'a, P> {
    /// The end of the lane at `seat`.
    pub fn open(table: &'a Table, port: &'a P, seat: Seat) -> Self {
        let way = match table.config.sharing {
            _ if table.is_alone() => Way::Alone,
            Sharing::Partitioned => Way::Owner,
            _ => Way::Lock,
        };
        let member = Member::new(table.lane(seat));
        let cached = table.config.sharing == Sharing::Cached
            && way == Way::Lock
            && table.config.value_words > 1;
        Self {
            table,
            port,
            seat,
            way,
            direct: way == Way::Alone && table.config.value_words == 1,
            patience_ns: None,
            members: vec![member; table.locks.len()],
            cache: cached.then(|| Cache::new(table, port)),
            post: table.mail.as_ref().map(|mail| mail.open(port, seat)),
        }
    }

    /// Gives up an operation after `ns` nanoseconds of waiting for another host
    /// ([`TableError::Held`]); otherwise only the end of the run ends a wait.
    pub fn set_patience(&mut self, ns: Option<f64>) {
        self.patience_ns = ns;
    }

    /// Puts a key that is not there.
    ///
    /// Cost of this and the next three, where nobody else is in the key's group: `partitioned`: at
    /// the owner 1 publish, elsewhere a message to it and one back; with locks, those of the lock,
    /// 1 observe, 1 publish. A value elsewhere than beside its key costs 1 publish more.
    ///
    /// # Errors
    /// [`TableError`]; `Duplicate` if it is there.
    #[inline]
    #[track_caller]
    pub fn insert(&mut self, key: u64, value: &[u64]) -> Result<(), TableError> {
        self.change(key, Change::Insert(value)).map(drop)
    }

    /// Replaces the value of a key; whether it was there.
    ///
    /// # Errors
    /// [`TableError`].
    #[inline]
    #[track_caller]
    pub fn update(&mut self, key: u64, value: &[u64]) -> Result<bool, TableError> {
        self.change(key, Change::Update(value))
    }

    /// Puts a key or replaces its value; whether it was there.
    ///
    /// # Errors
    /// [`TableError`].
    #[inline]
    #[track_caller]
    pub fn upsert(&mut self, key: u64, value: &[u64]) -> Result<bool, TableError> {
        self.change(key, Change::Upsert(value))
    }

    /// Takes a key away; whether it was there.
    ///
    /// # Errors
    /// [`TableError`].
    #[inline]
    #[track_caller]
    pub fn remove(&mut self, key: u64) -> Result<bool, TableError> {
        self.change(key, Change::Remove)
    }

    /// One change; whether the key was there.
    ///
    /// # Errors
    /// [`TableError`].
    #[inline(always)]
    #[track_caller]
    pub fn change(&mut self, key: u64, change: Change<'_>) -> Result<bool, TableError> {
        self.check(key, change)?;
        match self.way {
            Way::Alone => self.change_alone(key, change),
            Way::Owner if self.table.owner(key) != self.seat.host => self.send(key, change),
            Way::Owner | Way::Lock => self.change_here(key, change, false),
        }
    }

    #[inline(always)]
    fn check(&self, key: u64, change: Change<'_>) -> Result<(), TableError> {
        if key == FREE {
            return Err(TableError::Reserved { key });
        }
        let capacity = self.table.config.value_words;
        let words = change.value().map_or(1, <[u64]>::len);
        if words == 0 || words > capacity {
            return Err(TableError::Oversized { words, capacity });
        }
        Ok(())
    }

    /// Reads a key's value into `value`; how many words it has, if it is there.
    ///
    /// Cost: 1 observe of the bucket, 1 of the value where it is elsewhere and not cached; none at
    /// the owner of a partition; with `bucket-locks` those of the lock besides. More where a writer
    /// comes in between, or the key lies elsewhere than at home.
    ///
    /// # Errors
    /// [`TableError`]; `NoRoom` if the value is longer than `value`.
    #[inline(always)]
    #[track_caller]
    pub fn get(&mut self, key: u64, value: &mut [u64]) -> Result<Option<usize>, TableError> {
        // Alone, nothing is observed: a host's hardware keeps its lanes' caches equal, and the
        // bucket's version vouches for what is read between its two loads.
        if self.direct
            && key != FREE
            && let [first, ..] = value
            && let Some(hit) = self.table.home(key).hit(self.port, key)
        {
            *first = hit.entry;
            return Ok(Some(1));
        }
        self.get_any(key, value)
    }

    #[inline(never)]
    #[track_caller]
    fn get_any(&mut self, key: u64, value: &mut [u64]) -> Result<Option<usize>, TableError> {
        if key == FREE {
            return Err(TableError::Reserved { key });
        }
        if self.direct
            && let [first, ..] = value
            && let Ok(answer) = self.look_alone(key)
        {
            if let Some(entry) = answer {
                *first = entry;
            }
            return Ok(answer.map(|_| 1));
        }
        self.get_validated(key, value)
    }

    /// A read by any way, as often as it takes. Apart, so that the short way above saves fewer
    /// registers.
    #[inline(never)]
    #[track_caller]
    fn get_validated(&mut self, key: u64, value: &mut [u64]) -> Result<Option<usize>, TableError> {
        let here = self.way == Way::Owner && self.table.owner(key) == self.seat.host;
        match self.table.config.sharing {
            _ if self.way == Way::Alone => self.read(key, value, false),
            Sharing::BucketLocks => self.get_locked(key, value),
            Sharing::Partitioned if here => self.get_owned(key, value),
            _ => self.read(key, value, true),
        }
    }

    /// `lazy`: the caller's fence ends it.
    pub(crate) fn section(&self, home: u64, way: Way, lazy: bool) -> Section<'a, P> {
        Section {
            table: self.table,
            port: self.port,
            host: self.seat.host,
            way,
            home,
            lazy,
        }
    }

    /// A change under the group's lock, or of a part that this host owns.
    #[track_caller]
    pub(crate) fn change_here(
        &mut self,
        key: u64,
        change: Change<'_>,
        lazy: bool,
    ) -> Result<bool, TableError> {
        let home = self.table.shape.home(key);
        self.enter(key, home)?;
        let done = self.section(home, self.way, lazy).change(key, change);
        self.leave(home)?;
        match done {
            Ok(outcome) => Ok(outcome == Outcome::WasThere),
            Err(Refused::Error(error)) => Err(error),
            Err(Refused::Again) => unreachable!("only lanes of one host alone give way"),
        }
    }

    /// Gets the group of a home bucket.
    #[track_caller]
    fn enter(&mut self, key: u64, home: u64) -> Result<(), TableError> {
        let group = self.table.shape.group(home);
        if self.way == Way::Owner {
            return self.enter_local(group).map_err(TableError::from);
        }
        let intent = self.table.intent(self.table.lane(self.seat));
        self.port.store(intent, group + 1);
        // Serves a repair's load; goes out with the lock's first fence, before anything changes.
        send_along(self.port, intent.line());
        self.acquire(group)
            .map_err(|error| TableError::of_lock(error, key, self.table.pod.lanes))?;
        // Serves the loads of the home bucket: its last writer may have been another host.
        self.port.observe(self.table.line_of(home));
        Ok(())
    }

    /// Gives it up. What was changed has been published.
    #[track_caller]
    fn leave(&mut self, home: u64) -> Result<(), Gone> {
        let group = self.table.shape.group(home);
        if self.way == Way::Owner {
            self.leave_local(group);
            return Ok(());
        }
        let index = self.table.lock_of(group);
        let release = Release(self.port, &mut self.members[index]);
        self.table.locks[index].visit(release)?;
        // Not flushed: the next intent overwrites it, and a close clears it.
        self.port
            .store(self.table.intent(self.table.lane(self.seat)), 0);
        Ok(())
    }

    fn acquire(&mut self, group: u64) -> Result<(), NotAcquired> {
        let index = self.table.lock_of(group);
        let patience = match self.patience_ns {
            Some(ns) => Patience::for_ns(self.port, ns),
            None => Patience::Endless,
        };
        let tended = self.table.config.lock.is_tended();
        loop {
            let turn = if tended {
                Patience::for_ns(self.port, TEND_EVERY_NS)
            } else {
                patience
            };
            let acquire = Acquire(self.port, &mut self.members[index], turn);
            match self.table.locks[index].visit(acquire) {
                Err(NotAcquired::TimedOut { .. }) if tended && !self.is_over(patience) => {
                    // Others may wait for a token that has come to this host meanwhile; the one
                    // that this lane waits for stays.
                    self.tend(Some(index));
                }
                done => return done,
            }
        }
    }

    fn is_over(&self, patience: Patience) -> bool {
        matches!(patience, Patience::Until(end) if self.port.now() >= end)
    }

    /// Takes the owner's local word of a group: odd while a lane of the owner is in it.
    fn enter_local(&self, group: u64) -> Result<(), Gone> {
        if self.table.pod.lanes == 1 {
            return Ok(());
        }
        let word = self.table.local.at(group as usize);
        wait_until(self.port, || {
            let now = self.port.atomic_load(word);
            let free =
                now.is_multiple_of(2) && self.port.compare_exchange(word, now, now + 1).is_ok();
            free.then_some(())
        })
    }

    fn leave_local(&self, group: u64) {
        if self.table.pod.lanes > 1 {
            let word = self.table.local.at(group as usize);
            let now = self.port.atomic_load(word);
            self.port.atomic_store(word, now + 1);
        }
    }

    /// A read under the group's lock.
    #[track_caller]
    fn get_locked(&mut self, key: u64, value: &mut [u64]) -> Result<Option<usize>, TableError> {
        let home = self.table.shape.home(key);
        self.enter(key, home)?;
        let read = self.read(key, value, true);
        self.leave(home)?;
        read
    }

    /// A read of what this host owns: from its own cache. Another lane of this host may have a
    /// change in its cache that is not at the device yet, so that whoever reads it here would be
    /// ahead of a reader elsewhere that comes later: the local word tells.
    #[track_caller]
    fn get_owned(&mut self, key: u64, value: &mut [u64]) -> Result<Option<usize>, TableError> {
        if self.table.pod.lanes == 1 {
            return self.read(key, value, false);
        }
        let group = self.table.shape.group(self.table.shape.home(key));
        let word = self.table.local.at(group as usize);
        loop {
            let before = wait_until(self.port, || {
                let now = self.port.atomic_load(word);
                now.is_multiple_of(2).then_some(now)
            })?;
            let read = self.read(key, value, false)?;
            if self.port.atomic_load(word) == before {
                return Ok(read);
            }
        }
    }

    /// A read that validates what it finds; `afar`: others may have written it.
    #[track_caller]
    fn read(
        &mut self,
        key: u64,
        value: &mut [u64],
        afar: bool,
    ) -> Result<Option<usize>, TableError> {
        let mut cache = self.cache.take();
        let read = wait(self.port, self.patience_ns, key, || {
            let tried = self.try_read(&mut cache, key, value, afar);
            self.serve_if(tried)
        });
        self.cache = cache;
        read?
    }

    /// Between two attempts an owner makes the changes that it is asked for: what it waits for may
    /// belong to a host that is gone, and nobody else's part waits with it.
    #[track_caller]
    fn serve_if<R>(&mut self, tried: Result<R, Version>) -> Result<R, Version> {
        if tried.is_err()
            && let Some(mut post) = self.post.take()
        {
            // What ends a wait in there ends the caller's, too.
            let _ = post.serve(self);
            self.post = Some(post);
        }
        tried
    }

    /// Does something for others: as an owner, the requests that have come; and passes locks on.
    /// A lane that works for long on something else calls it now and then.
    ///
    /// # Errors
    /// Whatever ended a wait.
    pub fn serve(&mut self) -> Result<(), TableError> {
        if self.table.config.lock.is_tended() {
            self.tend(None);
        }
        let Some(mut post) = self.post.take() else {
            return Ok(());
        };
        let served = post.serve(self);
        self.post = Some(post);
        served
    }

    fn tend(&mut self, wanted: Option<usize>) {
        let locks = self.table.locks.iter().zip(&mut self.members);
        for (index, (lock, member)) in locks.enumerate() {
            if Some(index) != wanted {
                lock.visit(Tend(self.port, member));
            }
        }
    }

    fn send(&mut self, key: u64, change: Change<'_>) -> Result<bool, TableError> {
        let mut done = Ok(false);
        self.change_all(&[(key, change)], |_, outcome| done = outcome);
        done
    }

    /// Several changes at once, in no particular order; what became of each is told to `done` by
    /// its index. Where sharing is partitioned each owner gets its requests in batches, up to
    /// [`crate::MAX_BATCH`] at a time; otherwise they are done one by one.
    #[track_caller]
    pub fn change_all(
        &mut self,
        changes: &[(u64, Change<'_>)],
        mut done: impl FnMut(usize, Result<bool, TableError>),
    ) {
        let Some(mut post) = self.post.take() else {
            for (index, &(key, change)) in changes.iter().enumerate() {
                done(index, self.change(key, change));
            }
            return;
        };
        let lazy = self.may_be_lazy();
        for (index, &(key, change)) in changes.iter().enumerate() {
            let owner = self.table.owner(key);
            let checked = self.check(key, change);
            if let Err(error) = checked {
                done(index, Err(error));
            } else if owner == self.seat.host {
                done(index, self.change_here(key, change, lazy));
            } else {
                post.put(self, owner, (index, key, change), &mut done);
            }
        }
        if lazy {
            // Serves the others' looks at what was changed here, with one fence for all of it.
            self.port.fence(Fence::Full);
        }
        post.finish(self, &mut done);
        self.post = Some(post);
    }

    /// Whether several changes of this owner's may share a fence: nobody else on this host can
    /// see them before it, and the fence means arrival.
    pub(crate) fn may_be_lazy(&self) -> bool {
        self.way == Way::Owner
            && self.table.pod.lanes == 1
            && self.table.config.arrival == Arrival::Fence
    }

    /// How long it waits for another host.
    pub(crate) fn patience_ns(&self) -> Option<f64> {
        self.patience_ns
    }

    /// Calls `see` for each entry. Each is one that was there at some moment of the call; entries
    /// that come or go meanwhile may be missed.
    ///
    /// Cost: 1 observe of each group, 1 of each value elsewhere than beside its key.
    ///
    /// # Errors
    /// [`TableError::Held`] for a bucket that a dead host left half-changed.
    #[track_caller]
    pub fn for_each(&mut self, mut see: impl FnMut(u64, &[u64])) -> Result<(), TableError> {
        let mut value = [0; MAX_VALUE_WORDS];
        let shape = self.table.shape;
        for bucket in 0..shape.buckets {
            if bucket.is_multiple_of(shape.group_buckets) {
                let lines = self.table.bucket_lines(bucket, shape.group_buckets);
                // Serves the looks at the group's buckets: most are not written meanwhile, and
                // those that are look again.
                self.port.observe(lines);
                self.port.check_in()?;
            }
            for slot in 0..crate::bucket::SLOTS {
                let mut first = true;
                let seen = wait(self.port, self.patience_ns, FREE, || {
                    let seen = self.try_slot(bucket, slot, &mut value, first);
                    first = false;
                    self.serve_if(seen)
                })?;
                if let Some((key, words)) = seen {
                    see(key, &value[..words]);
                }
            }
        }
        Ok(())
    }

    /// Leaves the table in order: what this lane was at is cleared.
    pub fn close(self) {
        if let Some(post) = &self.post {
            post.close(self.port);
        }
        if self.way == Way::Lock {
            let intent = self.table.intent(self.table.lane(self.seat));
            self.port.store(intent, 0);
            // Serves a repair's load.
            self.port.publish(intent.line());
        }
    }
}

/// Waits for `ready`, which says whose version it waits for, as long as patience lasts.
#[track_caller]
pub(crate) fn wait<P: HostAtomics, R>(
    port: &P,
    patience_ns: Option<f64>,
    key: u64,
    mut ready: impl FnMut() -> Result<R, Version>,
) -> Result<R, TableError> {
    // The clock is read once there is something to wait for.
    let mut until: Option<Ticks> = None;
    wait_until(port, || match ready() {
        Ok(answer) => Some(Ok(answer)),
        Err(version) => {
            let host = version.is_busy().then(|| version.host());
            match (until, patience_ns) {
                (None, Some(ns)) => until = Some(deadline(port, ns)),
                (Some(end), _) if port.now() >= end => {
                    return Some(Err(TableError::Held { key, host }));
                }
                _ => {}
            }
            None
        }
    })?
}

/// `ns` nanoseconds from now.
pub(crate) fn deadline<P: HostAtomics>(port: &P, ns: f64) -> Ticks {
    let ticks = ns * port.clock().ticks_per_ns;
    Ticks(port.now().0.saturating_add(ticks as u64))
}

struct Acquire<'m, P>(&'m P, &'m mut Member, Patience);

impl<P: HostAtomics> LockVisitor for Acquire<'_, P> {
    type Out = Result<(), NotAcquired>;

    fn visit<L: Lock>(self, lock: &L) -> Self::Out {
        lock.acquire(self.0, self.1, self.2)
    }
}

struct Release<'m, P>(&'m P, &'m mut Member);

impl<P: HostAtomics> LockVisitor for Release<'_, P> {
    type Out = Result<(), Gone>;

    fn visit<L: Lock>(self, lock: &L) -> Self::Out {
        lock.release(self.0, self.1)
    }
}

struct Tend<'m, P>(&'m P, &'m mut Member);

impl<P: HostAtomics> LockVisitor for Tend<'_, P> {
    type Out = ();

    fn visit<L: Lock>(self, lock: &L) {
        lock.tend(self.0, self.1);
    }
}
