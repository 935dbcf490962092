//! A lock of your own, checked: `cargo run -p check --example check_my_lock`.
//!
//! Two hosts, a flag each: *I want in*; whoever sees the other's flag waits until it is down. The
//! first version publishes its flag and looks. That is right on pods where a fence means arrival,
//! and wrong on posted ones: both may look before either flag has arrived. With `confirm` it is
//! right on both. Lest both wait for each other, host 1 gives way.

// An example prints.
#![allow(clippy::print_stdout)]

use check::{Bounds, End, Options, Shape, Subject, Violation, WriteMode, with_checker};
use fabric::{Arena, Gone, HostAtomics, Mark, Port, Program, Ptr, Seat, Slice, wait_until};

struct MyLock {
    arena: Arena,
    flags: Vec<Slice<u64>>,
    counter: Ptr<u64>,
    confirms: bool,
}

impl MyLock {
    fn new(confirms: bool) -> Self {
        let mut arena = Arena::new();
        Self {
            flags: arena.per_host("flag", 2, 1),
            counter: arena.word("counter"),
            arena,
            confirms,
        }
    }

    fn raise<P: Port>(&self, port: &P, host: usize) {
        let flag = self.flags[host].start();
        if self.confirms {
            port.store(flag, 1);
            port.confirm(flag.line());
        } else {
            port.write_published(flag, &[1]);
        }
    }

    fn is_up<P: Port>(&self, port: &P, host: usize) -> bool {
        let flag = self.flags[host].start();
        port.observe(flag.line());
        port.load(flag) == 1
    }

    fn acquire<P: Port>(&self, port: &P, me: usize) -> Result<(), Gone> {
        self.raise(port, me);
        if me == 0 {
            return wait_until(port, || (!self.is_up(port, 1)).then_some(()));
        }
        while self.is_up(port, 0) {
            // Gives way, and tries again once host 0 is through.
            self.release(port, me);
            wait_until(port, || (!self.is_up(port, 0)).then_some(()))?;
            self.raise(port, me);
        }
        Ok(())
    }

    fn release<P: Port>(&self, port: &P, me: usize) {
        port.write_published(self.flags[me].start(), &[0]);
    }
}

impl Program for MyLock {
    type Out = Result<(), Gone>;

    fn lane<P: HostAtomics>(&self, seat: Seat, port: &P) -> Self::Out {
        self.acquire(port, seat.host as usize)?;
        port.mark(Mark::Enter(0));
        port.observe(self.counter.line());
        let count = port.load(self.counter);
        port.write_published(self.counter, &[count + 1]);
        port.mark(Mark::Leave(0));
        self.release(port, seat.host as usize);
        Ok(())
    }
}

impl Subject for MyLock {
    fn name(&self) -> String {
        "my-lock".to_owned()
    }

    fn shape(&self) -> Shape {
        Shape::software(2, 1, WriteMode::Posted)
    }

    fn arena(&self) -> &Arena {
        &self.arena
    }

    fn judge(&self, end: &End<'_, Self::Out>) -> Result<(), Violation> {
        match end.word(self.counter) {
            2 => Ok(()),
            count => Err(Violation::lost_update(format!(
                "the counter is {count}, not 2"
            ))),
        }
    }
}

fn main() {
    for confirms in [false, true] {
        let report = with_checker(&MyLock::new(confirms), Options::default(), |checker| {
            checker.check(Bounds::SATURATED)
        });
        println!(
            "confirms: {confirms}: {:?}, {} states",
            report.verdict, report.states
        );
        if let Some(finding) = report.finding {
            println!("\n{finding}");
        }
    }
}
