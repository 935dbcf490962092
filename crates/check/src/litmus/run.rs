//! One thread of a litmus test on a port.

use fabric::{Port, Seat};
use model::explore::Instr;

use super::Litmus;

impl Litmus {
    /// The thread that a seat runs: threads of a host take its lanes in their order.
    pub fn thread_of(&self, seat: Seat) -> Option<usize> {
        let of_host = (0..self.threads.len()).filter(|&it| self.threads[it].host == seat.host);
        of_host.skip(seat.lane as usize).take(1).next()
    }

    /// Runs a thread, with every word `shift` lines further on; returns what it loaded, in program
    /// order.
    pub fn perform<P: Port>(&self, port: &P, thread: usize, shift: u64) -> Vec<u64> {
        let mut loads = Vec::new();
        for &instr in &self.threads[thread].instrs {
            step(port, shifted(instr, shift), &mut loads);
        }
        loads
    }
}

fn shifted(instr: Instr, lines: u64) -> Instr {
    let line = |line: fabric::Line| fabric::Line(line.0 + lines);
    let word = |at: fabric::Ptr<u64>| {
        let index = at.offset() % fabric::LINE_BYTES / 8;
        line(at.line()).start().slice(8).at(index as usize)
    };
    match instr {
        Instr::Load(at) => Instr::Load(word(at)),
        Instr::Store(at, value) => Instr::Store(word(at), value),
        Instr::StoreNt(at, value) => Instr::StoreNt(word(at), value),
        Instr::StoreLine(at, value) => Instr::StoreLine(line(at), value),
        Instr::Writeback(at) => Instr::Writeback(line(at)),
        Instr::Flush(at, how) => Instr::Flush(line(at), how),
        Instr::Fence(fence) => Instr::Fence(fence),
    }
}

/// The instructions under test: which later load each maintenance serves is the test's question.
#[inline]
fn step<P: Port>(port: &P, instr: Instr, loads: &mut Vec<u64>) {
    match instr {
        Instr::Load(at) => loads.push(port.load(at)),
        Instr::Store(at, value) => port.store(at, value),
        Instr::StoreNt(at, value) => port.store_nt(at, value),
        Instr::StoreLine(line, value) => port.store_line(line, &[value; 8]),
        Instr::Writeback(line) => port.writeback(line),
        Instr::Flush(line, how) => port.flush(line, how),
        Instr::Fence(fence) => port.fence(fence),
    }
}
