//! The feature `mpi`: results and settings travel by MPI instead of the region.
//!
//! Nothing else changes: the hosts still meet in the region, and what they measure is the region.
//! A binary with this feature is tied to the MPI that it was built with; the plain one runs under
//! any.
//!
//! A collective of MPI has no deadline. So every host first says over the region that it is ready,
//! where a lost one is noticed, and host 0 gives the word; what then still waits too long ends the
//! process. Last words do without MPI, since their senders may be the only ones left.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ::mpi::datatype::PartitionMut;
use ::mpi::environment::{Threading, Universe};
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator, CommunicatorCollectives, Root};
use fabric::{Gone, Substrate, Watch};
use harness::post::Between;
use harness::wire::{Arrived, Carrier, WireEnds};

use crate::failure::Failure;

/// How long a collective may take that everybody is ready for: what they move are megabytes.
const PATIENCE: Duration = Duration::from_secs(60);

/// This process's part in an MPI job; dropping it ends that.
pub(crate) struct Job(Option<Universe>);

impl Job {
    /// Joins the MPI job that this process was started in, as `host` of `hosts`.
    pub(crate) fn join(host: u32, hosts: u32) -> Result<Self, Failure> {
        let (universe, _) = ::mpi::initialize_with_threading(Threading::Serialized)
            .ok_or_else(|| Failure::usage("MPI was started twice in this process"))?;
        let world = universe.world();
        let (rank, size) = (world.rank().cast_unsigned(), world.size().cast_unsigned());
        if (rank, size) != (host, hosts) {
            return Err(Failure::usage(format!(
                "the launcher says rank {host} of {hosts}, MPI says {rank} of {size}: this binary \
                 was built with another MPI than it was started by; build it with that one, or \
                 take one without the feature mpi"
            )));
        }
        Ok(Self(Some(universe)))
    }

    /// Ends a job that failed at this host. To leave MPI in order, all would have to, and one of
    /// them may never.
    pub(crate) fn give_up(mut self) {
        std::mem::forget(self.0.take());
    }
}

/// Carries by MPI, once the region says that everybody is there; by the region where no MPI
/// launcher has started the hosts.
pub(crate) struct ByMpi<'w> {
    pub(crate) region: WireEnds<'w>,
    pub(crate) in_job: bool,
}

impl ByMpi<'_> {
    /// Everybody is about to take part in a collective.
    fn ready<S: Substrate, W: Watch>(
        &self,
        on: &Between<'_, S>,
        watch: &W,
    ) -> Result<SimpleCommunicator, Gone> {
        self.region.up(on, watch, &[]).1?;
        self.region.down(on, watch, &[])?;
        Ok(SimpleCommunicator::world())
    }
}

impl Carrier for ByMpi<'_> {
    fn up<S: Substrate, W: Watch>(&self, on: &Between<'_, S>, watch: &W, bytes: &[u8]) -> Arrived {
        if !self.in_job {
            return self.region.up(on, watch, bytes);
        }
        let world = match self.ready(on, watch) {
            Ok(world) => world,
            Err(gone) => return (Vec::new(), Err(gone)),
        };
        let _watchdog = Watchdog::start("gather");
        (gather(&world, on.host, bytes), Ok(()))
    }

    fn last<S: Substrate, W: Watch>(
        &self,
        on: &Between<'_, S>,
        watch: &W,
        bytes: &[u8],
    ) -> Arrived {
        self.region.last(on, watch, bytes)
    }

    fn down<S: Substrate, W: Watch>(
        &self,
        on: &Between<'_, S>,
        watch: &W,
        bytes: &[u8],
    ) -> Result<Vec<u8>, Gone> {
        if !self.in_job {
            return self.region.down(on, watch, bytes);
        }
        let world = self.ready(on, watch)?;
        let _watchdog = Watchdog::start("broadcast");
        world.barrier();
        let root = world.process_at_rank(0);
        let mut count = bytes.len() as u64;
        root.broadcast_into(&mut count);
        let mut told = bytes.to_vec();
        told.resize(count as usize, 0);
        if !told.is_empty() {
            root.broadcast_into(&mut told[..]);
        }
        Ok(told)
    }
}

/// What every other host has to say, at host 0.
fn gather(world: &SimpleCommunicator, host: u32, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let root = world.process_at_rank(0);
    // Never nothing: the address of an empty Rust buffer is 1, which is Open MPI's MPI_IN_PLACE,
    // and refused. What is carried is lines, among which an empty one says nothing.
    let bytes = [bytes, b"\n"].concat();
    let count = i32::try_from(bytes.len()).expect("reports of one trial are below 2 GiB");
    if host != 0 {
        root.gather_into(&count);
        root.gather_varcount_into(&bytes[..]);
        return Vec::new();
    }
    let mut counts = vec![0; world.size() as usize];
    root.gather_into_root(&count, &mut counts[..]);
    let starts: Vec<i32> = counts
        .iter()
        .scan(0, |next, count| {
            let start = *next;
            *next += count;
            Some(start)
        })
        .collect();
    let mut all = vec![0; counts.iter().sum::<i32>() as usize];
    {
        let mut parts = PartitionMut::new(&mut all[..], &counts[..], &starts[..]);
        root.gather_varcount_into_root(&bytes[..], &mut parts);
    }
    let of = |host: u32| {
        let (start, count) = (
            starts[host as usize] as usize,
            counts[host as usize] as usize,
        );
        (host, all[start..start + count].to_vec())
    };
    (1..counts.len() as u32).map(of).collect()
}

/// Ends the process if what it watches takes too long.
struct Watchdog {
    _done: Sender<()>,
}

impl Watchdog {
    fn start(what: &'static str) -> Self {
        let (done, waits) = channel();
        std::thread::spawn(move || {
            if waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                eprintln!(
                    "dsmark: MPI's {what} has not ended within {} s, though all hosts had begun \
                     it; giving up. What was measured before is on disk",
                    PATIENCE.as_secs()
                );
                std::process::exit(1);
            }
        });
        Self { _done: done }
    }
}
