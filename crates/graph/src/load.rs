//! Loading, once a process: lanes, verifiers and repeated trials share one graph.
//!
//! A lane must not load by itself. It beats for its host, so it may not be silent for seconds; and
//! threads that it spawned would inherit the one CPU that it is pinned to. So one thread of the
//! process loads, started before any lane is, and lanes look now and then whether it is done.

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
    /// The graph's slot; whoever asks first also orders it.
    fn slot(&self, source: &GraphSource, how: &Load) -> Arc<Slot> {
        let key = Key {
            source: source.clone(),
            directed: how.directed,
            seed: if source.is_random() { how.seed } else { 0 },
        };
        let mut kept = lock(&self.kept);
        // A failure is not kept: the file may be there the next time.
        kept.retain(|(_, slot)| !matches!(*lock(&slot.graph), Some(Err(_))));
        if let Some(index) = kept.iter().position(|(known, _)| *known == key) {
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
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((key, slot.clone()));
        slot
    }
}

/// A graph that this process holds already, or loads now.
///
/// # Errors
/// As for [`GraphSource::load`].
pub fn loaded(source: &GraphSource, how: &Load) -> Loaded {
    loader().slot(source, how).wait()
}

/// As [`loaded`], from a lane: of the trial's seed, with as many threads as the host has lanes,
/// beating while it waits.
pub(crate) fn loaded_by_lane<P: HostAtomics>(
    worker: &Worker<'_, P>,
    source: &GraphSource,
    directed: bool,
) -> Result<Arc<Csr>, Unready> {
    let how = Load {
        directed,
        seed: worker.seed(),
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
