//! What a host process does.

use fabric::{HostAtomics, Port, Program, Seat, Slice, SplitMix64, wait_until};
use table::{Handle, TableError};

use crate::place::{HEAD, HOSTS, KEYS, Layout, WORDS, value};

/// Set in what was asked for, if that was a removal.
pub(crate) const REMOVED: u64 = 1 << 63;
/// Why a change was not answered: it took too long, or the test ended.
pub(crate) const GIVEN_UP: u64 = 1;
const STOPPED: u64 = 2;
/// How long an operation waits for another host, and so often before a change is given up. Times
/// are counted, not time: whoever was suspended meanwhile has waited once.
const PATIENCE_NS: f64 = 20e6;
const TRIES: u32 = 50;

/// Until it is stopped or killed it writes its own keys, those whose index has its remainder, and
/// reads everybody's.
pub(crate) struct Writer<'l>(pub(crate) &'l Layout);

impl Program for Writer<'_> {
    type Out = ();

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) {
        let Layout {
            keys,
            table,
            reports,
            stop,
            ..
        } = self.0;
        let report = reports[seat.host as usize];
        let mut handle = Handle::open(table, port, seat);
        handle.set_patience(Some(PATIENCE_NS));
        let mut random = SplitMix64::of_lane(port.now().0, u64::from(seat.host));
        let (mut done, mut torn) = (1, 0);
        let mut room = [0; WORDS];
        port.store(report.at(0), done);
        port.publish(report.at(0).line());
        await_all(port, reports);
        loop {
            port.observe(stop.line());
            if port.load(*stop) != 0 || handle.serve().is_err() {
                break;
            }
            let index = random.below(KEYS as u64) as usize;
            let key = keys[index];
            if index % HOSTS as usize != seat.host as usize {
                if let Ok(Some(_)) = handle.get(key, &mut room) {
                    torn += u64::from(room != value(key, room[0]));
                }
                port.store(report.at(1), torn);
                continue;
            }
            if port.load(report.at(HEAD + 3 * index + 2)) != 0 {
                continue;
            }
            let removed = u64::from(random.below(4) == 0) * REMOVED;
            self.write(port, &mut handle, index, removed | done);
            done += 1;
            port.store(report.at(0), done);
        }
        handle.close();
    }
}

impl Writer<'_> {
    /// Has one change made, however often it takes, and reports on it.
    fn write<P: HostAtomics>(
        &self,
        port: &P,
        handle: &mut Handle<'_, P>,
        index: usize,
        asked: u64,
    ) {
        let (seat, key) = (index % HOSTS as usize, self.0.keys[index]);
        let report = self.0.reports[seat];
        let at = HEAD + 3 * index;
        port.store(report.at(at), asked);
        let (mut tries, mut last) = (0, port.now());
        loop {
            let answer = if asked & REMOVED == 0 {
                handle.upsert(key, &value(key, asked))
            } else {
                handle.remove(key)
            };
            match answer {
                Ok(_) => return port.store(report.at(at + 1), asked),
                Err(TableError::Held { .. }) => {
                    let _ = handle.serve();
                    port.observe_each(&[self.0.stop.line(), self.0.dead.line()]);
                    // Before anybody has died it was merely slow.
                    let died = port.load(self.0.dead) != 0;
                    let now = port.now();
                    // A peer that has not answered is not waited for a second time.
                    if port.clock().span_ns(last, now) >= PATIENCE_NS {
                        (tries, last) = (tries + 1, now);
                    }
                    if port.load(self.0.stop) != 0 {
                        // Whom it waits for may have stopped already.
                        return port.store(report.at(at + 2), STOPPED);
                    }
                    if tries >= TRIES && died {
                        return port.store(report.at(at + 2), GIVEN_UP);
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Nobody is waited for in vain because it has not started yet.
fn await_all<P: Port>(port: &P, reports: &[Slice<u64>]) {
    let started = wait_until(port, || {
        let up = reports.iter().all(|report| {
            // Serves the load of what that host has published when it began.
            port.observe(report.at(0).line());
            port.load(report.at(0)) != 0
        });
        up.then_some(())
    });
    started.unwrap();
}
