//! Pieces of work on a few threads: taken in order, results in order.

use std::sync::Mutex;
use std::thread;

/// Calls `f` once with each item, on up to `threads` threads, which take them in order.
///
/// # Errors
/// That of the first item which failed. Every item before it was done; later ones may be left out.
pub(crate) fn each<I: Send, T: Send, E: Send>(
    threads: usize,
    items: impl IntoIterator<Item = I, IntoIter: Send>,
    f: impl Fn(I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    each_with(threads, items, || (), |(), item| f(item))
}

/// As [`each`], with something that each thread has for itself.
pub(crate) fn each_with<S, I: Send, T: Send, E: Send>(
    threads: usize,
    items: impl IntoIterator<Item = I, IntoIter: Send>,
    own: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, I) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let source = Mutex::new(Some(items.into_iter().enumerate()));
    let next = || {
        let mut source = source.lock().expect("taking an item does not panic");
        source.as_mut()?.next()
    };
    let work = || {
        let (mut done, mut own) = (Vec::new(), own());
        while let Some((index, item)) = next() {
            let result = f(&mut own, item);
            if result.is_err() {
                *source.lock().expect("taking an item does not panic") = None;
            }
            done.push((index, result));
        }
        done
    };
    let mut all: Vec<(usize, Result<T, E>)> = if threads <= 1 {
        work()
    } else {
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut all = work();
            for other in others {
                match other.join() {
                    Ok(done) => all.extend(done),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all
        })
    };
    all.sort_unstable_by_key(|&(index, _)| index);
    all.into_iter().map(|(_, result)| result).collect()
}
