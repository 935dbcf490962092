//! Tasks on every core, with results in the order of the tasks.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;

/// Runs `count` tasks; `keep` sees their results in order, on this thread, as soon as all before it
/// are there. Once `interrupted` is set no task is begun. Tasks are begun in order, and each that
/// was begun is ended, so what was kept is a prefix: its length is returned.
pub(crate) fn in_order<T: Send>(
    count: usize,
    interrupted: &AtomicBool,
    task: impl Fn(usize) -> T + Sync,
    mut keep: impl FnMut(usize, T),
) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = Mutex::new(0..count);
    let mut kept = 0;
    std::thread::scope(|scope| {
        let (say, said) = channel();
        for _ in 0..cores.min(count) {
            let (say, next, task) = (say.clone(), &next, &task);
            scope.spawn(move || {
                while !interrupted.load(Relaxed) {
                    let taken = next.lock().expect("no task runs under it").next();
                    let Some(index) = taken else { return };
                    // The receiver goes last.
                    let _ = say.send((index, task(index)));
                }
            });
        }
        drop(say);
        let mut early = BTreeMap::new();
        for (index, result) in said {
            early.insert(index, result);
            while let Some(result) = early.remove(&kept) {
                keep(kept, result);
                kept += 1;
            }
        }
    });
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_an_interrupt_keeps_what_was_begun() {
        let interrupted = AtomicBool::new(false);
        let mut seen = Vec::new();
        let square = |index: usize| index * index;
        assert_eq!(in_order(50, &interrupted, square, |_, r| seen.push(r)), 50);
        assert_eq!(seen, (0..50).map(square).collect::<Vec<_>>());

        let mut seen = Vec::new();
        let strike = |index: usize| {
            interrupted.fetch_or(index == 7, Relaxed);
            index
        };
        let kept = in_order(50_000, &interrupted, strike, |_, r| seen.push(r));
        assert!((8..50_000).contains(&kept), "{kept}");
        assert_eq!(seen, (0..kept).collect::<Vec<_>>());
    }
}
