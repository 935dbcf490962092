//! Tasks on every core, with results in the order of the tasks.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time between two looks for an interrupt while nothing ends.
const LOOK: Duration = Duration::from_millis(100);

/// What a run of tasks says, on the thread that began it.
pub(crate) enum Heard<T> {
    /// The result of a task, in the order of tasks, as soon as all before it are there.
    Done(usize, T),
    /// No task is begun any more, and so many still run; said once.
    Interrupted(usize),
}

/// Runs `count` tasks, and `hear`s of them. Once `interrupted` is set no task is begun. Tasks are
/// begun in order, and each that was begun is ended, so what was done is a prefix: its length is
/// returned.
pub(crate) fn in_order<T: Send>(
    count: usize,
    interrupted: &AtomicBool,
    task: impl Fn(usize) -> T + Sync,
    mut hear: impl FnMut(Heard<T>),
) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = Mutex::new(0..count);
    let mut done = 0;
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
        let (mut early, mut told) = (BTreeMap::new(), false);
        loop {
            let word = said.recv_timeout(LOOK);
            let ended = matches!(word, Err(RecvTimeoutError::Disconnected));
            early.extend(word);
            while let Some(result) = early.remove(&done) {
                hear(Heard::Done(done, result));
                done += 1;
            }
            if !told && interrupted.load(Relaxed) {
                let begun = next.lock().expect("no task runs under it").start;
                hear(Heard::Interrupted(begun - done - early.len()));
                told = true;
            }
            if ended {
                return;
            }
        }
    });
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hears results into a list, and how often of an interrupt.
    fn listen<'a>(seen: &'a mut Vec<usize>, told: &'a mut usize) -> impl FnMut(Heard<usize>) + 'a {
        move |heard| match heard {
            Heard::Done(index, result) => {
                assert_eq!(index, seen.len());
                seen.push(result);
            }
            Heard::Interrupted(_) => *told += 1,
        }
    }

    #[test]
    fn results_come_in_order_and_an_interrupt_keeps_what_was_begun() {
        let interrupted = AtomicBool::new(false);
        let (mut seen, mut told) = (Vec::new(), 0);
        let square = |index: usize| index * index;
        let hear = listen(&mut seen, &mut told);
        assert_eq!(in_order(50, &interrupted, square, hear), 50);
        assert_eq!((seen, told), ((0..50).map(square).collect(), 0));

        let (mut seen, mut told) = (Vec::new(), 0);
        let strike = |index: usize| {
            interrupted.fetch_or(index == 7, Relaxed);
            index
        };
        let kept = in_order(50_000, &interrupted, strike, listen(&mut seen, &mut told));
        assert!((8..50_000).contains(&kept), "{kept}");
        assert_eq!((seen, told), ((0..kept).collect(), 1));
    }

    /// Whoever interrupts long tasks hears that it was understood before they end: the task here
    /// ends only once that was heard.
    #[test]
    fn an_interrupt_is_acknowledged_while_a_task_runs() {
        let interrupted = AtomicBool::new(false);
        let (acknowledge, acknowledged) = channel();
        let acknowledged = Mutex::new(acknowledged);
        let task = |_| {
            interrupted.store(true, Relaxed);
            let heard = acknowledged.lock().expect("one task at a time").recv();
            heard.expect("the listener lives");
        };
        let mut running = Vec::new();
        let kept = in_order(1, &interrupted, task, |heard| match heard {
            Heard::Interrupted(tasks) => {
                running.push(tasks);
                acknowledge.send(()).expect("the task waits");
            }
            Heard::Done(..) => running.push(0),
        });
        assert_eq!((kept, running), (1, vec![1, 0]));
    }
}
