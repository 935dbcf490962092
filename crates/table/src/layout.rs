//! Where a table lies.

use fabric::{Arena, HostSlice, Line, Lines, Pod, Port, Ptr, Seat, Slice};
use sync::lock::{AnyLock, Options};

use crate::bucket::{Bucket, WORDS};
use crate::mail::Mail;
use crate::shape::{Config, Shape, Sharing};
use crate::value::{PLACES, Place, room};

/// A table's lines, the same on every host. They are zero when the first lane opens it.
#[derive(Debug)]
pub struct Table {
    pub(crate) config: Config,
    pub(crate) shape: Shape,
    pub(crate) pod: Pod,
    buckets: Slice<u64>,
    /// Empty where a value lies beside its key.
    values: Slice<u64>,
    pub(crate) locks: Vec<AnyLock>,
    pub(crate) mail: Option<Mail>,
    /// What each lane is at: see [`Table::intent`].
    intents: Vec<Slice<u64>>,
    /// Locks, rings and intents: what a repair clears.
    pub(crate) control: Slice<u64>,
    /// A word a group for the lanes of its owner; see [`crate::Sharing::Partitioned`].
    pub(crate) local: HostSlice<u64>,
}

impl Table {
    /// Lays a table out.
    ///
    /// # Panics
    /// If [`Config::check`] refuses it.
    pub fn lay_out(arena: &mut Arena, name: &str, pod: Pod, config: &Config) -> Self {
        if let Err(why) = config.check(pod) {
            panic!("{name}: {why}");
        }
        let shape = Shape::of(config, pod);
        let buckets = arena.per_host(&format!("{name}.bucket"), 1, shape.buckets as usize * WORDS);
        let value_words = if config.value_words == 1 {
            0
        } else {
            shape.buckets as usize * PLACES * room(config.value_words)
        };
        let values = arena.per_host(&format!("{name}.value"), 1, value_words);
        let from = arena.region_bytes();
        let lanes = pod.hosts * pod.lanes;
        let intents = arena.per_host(&format!("{name}.intent"), lanes, 1);
        let locks = locks(arena, name, pod, config, shape);
        let partitioned = pod.hosts > 1 && config.sharing == Sharing::Partitioned;
        let mail = partitioned.then(|| Mail::lay_out(arena, name, pod, config));
        let words = (arena.region_bytes() - from) / 8;
        let control = arena.resolve(from).expect("intents were laid out there");
        let groups = if partitioned && pod.lanes > 1 {
            shape.groups() as usize
        } else {
            0
        };
        Self {
            config: *config,
            shape,
            pod,
            buckets: buckets[0],
            values: values[0],
            locks,
            mail,
            intents,
            control: control.slice(words as usize),
            local: arena.host_shared(format!("{name}.local"), groups),
        }
    }

    /// The host that owns a key's part: it alone writes there where sharing is partitioned.
    pub fn owner(&self, key: u64) -> u32 {
        self.shape.owner(key)
    }

    /// Bytes of region that the entries take: buckets, and values that do not lie beside their key.
    pub fn bytes(&self) -> u64 {
        self.buckets.bytes() + self.values.bytes()
    }

    /// The lines that readers validate by themselves: buckets, and values that lie elsewhere.
    pub fn validated(&self) -> [Lines; 2] {
        [self.buckets.lines(), self.values.lines()]
    }

    /// Whether several lanes of one host alone share it by atomic instructions on its buckets.
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.pod.hosts == 1
    }

    #[inline(always)]
    pub(crate) fn bucket(&self, bucket: u64) -> Bucket {
        // Not `range`, which checks its bounds: this is every access.
        let first = self.buckets.at(bucket as usize * WORDS);
        Bucket::new(first.slice(WORDS))
    }

    /// The bucket that a key belongs to.
    #[inline(always)]
    pub(crate) fn home(&self, key: u64) -> Bucket {
        self.bucket(self.shape.home(key))
    }

    /// The lines of `count` buckets from `first`.
    pub(crate) fn bucket_lines(&self, first: u64, count: u64) -> Lines {
        Lines::from_first(self.bucket(first).line(), count)
    }

    pub(crate) fn place(&self, bucket: u64, place: usize) -> Place {
        let each = room(self.config.value_words);
        let first = (bucket as usize * PLACES + place) * each;
        Place(self.values.range(first, first + each))
    }

    /// What lane `lane` of the pod is at: the group that it is about to write, plus one; 0 when it
    /// is done. The word goes out with the first flush of the lock, so that it is at the device
    /// before anything of the group changes.
    pub(crate) fn intent(&self, lane: u32) -> Ptr<u64> {
        self.intents[lane as usize].start()
    }

    pub(crate) fn intent_lanes(&self) -> u32 {
        self.intents.len() as u32
    }

    pub(crate) fn lane(&self, seat: Seat) -> u32 {
        seat.host * self.pod.lanes + seat.lane
    }

    /// Its locks, for whoever serves them; none where sharing needs none.
    pub fn locks(&self) -> &[AnyLock] {
        &self.locks
    }

    /// The lock of a group.
    pub(crate) fn lock_of(&self, group: u64) -> usize {
        (group % self.locks.len() as u64) as usize
    }

    /// The lines of the buckets that a key displaced from `home` may lie in, up to `distance` off.
    pub(crate) fn neighbours(&self, home: u64, distance: u64) -> Lines {
        let group = self.shape.group_buckets;
        let first = home & !(group - 1);
        if home + distance < first + group {
            self.bucket_lines(home + 1, distance)
        } else {
            self.bucket_lines(first, group)
        }
    }

    pub(crate) fn line_of(&self, bucket: u64) -> Line {
        self.bucket(bucket).line()
    }
}

fn locks(arena: &mut Arena, name: &str, pod: Pod, config: &Config, shape: Shape) -> Vec<AnyLock> {
    if !config.uses_locks(pod) {
        return Vec::new();
    }
    let options = Options {
        arrival: config.arrival,
        ..Options::of(pod)
    };
    let count = u64::from(config.locks).min(shape.groups());
    let lock = |index| {
        let name = format!("{name}.lock{index}");
        AnyLock::lay_out(config.lock, arena, &name, &options)
    };
    (0..count).map(lock).collect()
}

/// Starts writing a line to the device, by the discipline, without a fence of its own: it goes out
/// with the next one.
#[track_caller]
pub(crate) fn send_along<P: Port>(port: &P, line: Line) {
    use fabric::{Flush, PublishBy};
    match port.discipline().publish {
        PublishBy::None => {}
        // Serves a load that follows the next fence, here and in the next two arms.
        PublishBy::Clwb => port.writeback(line),
        PublishBy::ClFlush => port.flush(line, Flush::ClFlush),
        _ => port.flush(line, Flush::ClFlushOpt),
    }
}
