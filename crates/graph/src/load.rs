//! Loading, once a process: lanes, verifiers and repeated trials share one graph.
//!
//! A lane must not load by itself. It beats for its host, so it may not be silent for seconds; and
//! threads that it spawned would inherit the one CPU that it is pinned to. So one thread of the
//! process loads, started before any lane is, and lanes look now and then whether it is done.

use std::ops::Range;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use fabric::HostAtomics;
use workload::{Unready, Worker};

use crate::csr::Csr;
use crate::error::GraphError;
use crate::progress::Progress;
use crate::source::{GraphSource, Loaded};

/// How a graph is loaded.
#[derive(Clone, Debug)]
pub struct Load {
    /// Whether edges have a direction. Without, each is stored both ways.
    pub directed: bool,
    /// Of a generated graph.
    pub seed: u64,
    /// Of a generated graph: whose rows, where only one host's are wanted. The others are empty.
    pub share: Option<Share>,
    /// Threads to load with, at least 1.
    pub threads: usize,
    /// Where it says how far it is.
    pub progress: Arc<Progress>,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            directed: false,
            seed: 1,
            share: None,
            threads: 1,
            progress: Arc::default(),
        }
    }
}

impl Load {
    /// With every CPU that this thread may run on.
    pub fn on_all_cpus(directed: bool) -> Self {
        Self {
            directed,
            threads: thread::available_parallelism().map_or(1, usize::from),
            ..Self::default()
        }
    }
}

/// One host's part of a graph's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which host.
    pub host: u32,
    /// Of how many.
    pub hosts: u32,
}

impl Share {
    /// Vertices that a share is a multiple of: eight lines of offsets.
    const GRAIN: usize = 64;

    /// The rows of a host: about as many for each.
    pub fn rows(self, vertices: usize) -> Range<usize> {
        let each = vertices.div_ceil(self.hosts as usize);
        let each = each.next_multiple_of(Self::GRAIN);
        let bound = |host: u32| (host as usize * each).min(vertices);
        bound(self.host)..bound(self.host + 1)
    }
}

/// Graphs that are kept for the next trial: a plan sweeps variants, hosts and lanes over one graph
/// before it comes to the next, and a comparison uses two in turn.
const KEPT: usize = 2;

/// How long a lane is silent at a time: a host beats every 100 ms.
const LOOK: Duration = Duration::from_millis(50);

/// What tells graphs apart.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    source: GraphSource,
    directed: bool,
    seed: u64,
    share: Option<Share>,
}

impl Key {
    fn is_of_same_graph(&self, other: &Self) -> bool {
        let whole = |key: &Self| (key.source.clone(), key.directed, key.seed);
        whole(self) == whole(other)
    }
}

/// Where a graph will be.
#[derive(Default)]
struct Slot {
    graph: Mutex<Option<Loaded>>,
    here: Condvar,
}

impl Slot {
    /// Waits for it.
    fn wait(&self) -> Loaded {
        let mut graph = lock(&self.graph);
        loop {
            if let Some(loaded) = &*graph {
                return loaded.clone();
            }
            graph = self
                .here
                .wait(graph)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for it for a moment.
    fn look(&self) -> Option<Loaded> {
        let absent = |graph: &mut Option<Loaded>| graph.is_none();
        let waited = self
            .here
            .wait_timeout_while(lock(&self.graph), LOOK, absent);
        let (graph, _) = waited.unwrap_or_else(PoisonError::into_inner);
        graph.clone()
    }

    fn put(&self, loaded: Loaded) {
        *lock(&self.graph) = Some(loaded);
        self.here.notify_all();
    }
}

/// No lock here is held while anything can panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Request = (GraphSource, Load, Arc<Slot>);

struct Loader {
    requests: Mutex<Sender<Request>>,
    kept: Mutex<Vec<(Key, Arc<Slot>)>>,
}

/// The process's loader, started by whoever comes first.
pub(crate) fn start() {
    loader();
}

fn loader() -> &'static Loader {
    static LOADER: OnceLock<Loader> = OnceLock::new();
    LOADER.get_or_init(|| {
        let (requests, orders) = channel::<Request>();
        thread::spawn(move || {
            for (source, how, slot) in orders {
                slot.put(load_apart(&source, &how));
            }
        });
        Loader {
            requests: Mutex::new(requests),
            kept: Mutex::default(),
        }
    })
}

/// Loads on a thread of its own, so that a panic in it is an answer and not a silence.
fn load_apart(source: &GraphSource, how: &Load) -> Loaded {
    let loading = thread::scope(|scope| scope.spawn(|| source.load(how).map(Arc::new)).join());
    loading.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(GraphError::Panicked {
            graph: source.to_string(),
            what: text.unwrap_or("without a word").to_owned(),
        })
    })
}

impl Loader {
    /// The graph's slot; whoever asks first also orders it. The whole graph, where it is there or
    /// on its way, serves who wants a share.
    fn slot(&self, source: &GraphSource, how: &Load) -> Arc<Slot> {
        let drawn = source.is_random();
        let whole = Key {
            source: source.clone(),
            directed: how.directed,
            seed: if drawn { how.seed } else { 0 },
            share: None,
        };
        let wanted = Key {
            share: how.share.filter(|_| drawn),
            ..whole.clone()
        };
        let mut kept = lock(&self.kept);
        // A failure is not kept: the file may be there the next time.
        kept.retain(|(_, slot)| !matches!(*lock(&slot.graph), Some(Err(_))));
        let known = [&whole, &wanted].map(|key| kept.iter().position(|(known, _)| known == key));
        if let Some(index) = known.into_iter().flatten().next() {
            let entry = kept.remove(index);
            let slot = entry.1.clone();
            kept.push(entry);
            return slot;
        }
        let slot = Arc::new(Slot::default());
        let request = (source.clone(), how.clone(), slot.clone());
        lock(&self.requests)
            .send(request)
            .expect("the loader lives as long as its process");
        kept.push((wanted, slot.clone()));
        forget(&mut kept);
        slot
    }
}

/// Keeps what is of the last [`KEPT`] graphs, whole or shares.
fn forget(kept: &mut Vec<(Key, Arc<Slot>)>) {
    let mut graphs: Vec<Key> = Vec::new();
    for (key, _) in kept.iter().rev() {
        if !graphs.iter().any(|known| known.is_of_same_graph(key)) {
            graphs.push(key.clone());
        }
    }
    graphs.truncate(KEPT);
    kept.retain(|(key, _)| graphs.iter().any(|known| known.is_of_same_graph(key)));
}

/// A graph that this process holds already, or loads now.
///
/// # Errors
/// As for [`GraphSource::load`].
pub fn loaded(source: &GraphSource, how: &Load) -> Loaded {
    loader().slot(source, how).wait()
}

/// As [`loaded`], from a lane, at least the rows of a share: of the trial's seed, with as many
/// threads as the host has lanes, beating while it waits.
pub(crate) fn loaded_by_lane<P: HostAtomics>(
    worker: &Worker<'_, P>,
    source: &GraphSource,
    directed: bool,
    share: Option<Share>,
) -> Result<Arc<Csr>, Unready> {
    let how = Load {
        directed,
        seed: worker.seed(),
        share,
        threads: worker.pod().lanes as usize,
        ..Load::default()
    };
    let slot = loader().slot(source, &how);
    loop {
        // Blocks a simulated lane, too, and with it all others: nothing that the loader needs.
        if let Some(loaded) = slot.look() {
            return loaded.map_err(|error| Unready::Lacking(error.to_string()));
        }
        worker.port().check_in()?;
    }
}
