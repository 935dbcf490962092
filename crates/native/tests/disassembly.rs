//! What hot loops compile to, read from the machine code of `examples/hot_paths.rs`.
//!
//! The design rests on it: an algorithm written once against a trait costs natively what
//! hand-written code costs. A check per access, a call, or a reload of the base address would not
//! fail any other test; it would only make every measured number wrong.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Formatter, Instruction, InstructionInfoFactory,
    IntelFormatter, Mnemonic, OpAccess, Register,
};
use object::{Object, ObjectSection, ObjectSymbol};

/// Builds the example with the release profile and returns its executable.
fn build() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--release",
            "--package",
            "native",
            "--example",
            "hot_paths",
            "--quiet",
        ])
        // Compiled along with the example, and not what is examined.
        .args(["--config", "profile.release.package.iced-x86.opt-level=0"])
        .arg("--target-dir")
        .arg(target)
        .status()
        .unwrap();
    assert!(status.success(), "building the example failed: {status}");
    target.join("release/examples/hot_paths")
}

/// The instructions of one function.
struct Code {
    name: &'static str,
    instructions: Vec<Instruction>,
}

impl Code {
    fn of(binary: &[u8], name: &'static str) -> Self {
        let file = object::File::parse(binary).unwrap();
        // Mangled names hold the plain one, with its length before it.
        let marked = format!("{}{name}", name.len());
        let mut found = file.symbols().filter(|symbol| {
            symbol.size() > 0 && symbol.name().is_ok_and(|symbol| symbol.contains(&marked))
        });
        let symbol = found
            .next()
            .unwrap_or_else(|| panic!("{name} was inlined or dropped"));
        assert!(found.next().is_none(), "{name} exists more than once");
        let section = file
            .section_by_index(symbol.section_index().unwrap())
            .unwrap();
        let bytes = section
            .data_range(symbol.address(), symbol.size())
            .unwrap()
            .unwrap();
        let decoder = Decoder::with_ip(64, bytes, symbol.address(), DecoderOptions::NONE);
        Self {
            name,
            instructions: decoder.into_iter().collect(),
        }
    }

    /// Every innermost loop: a backward jump and what lies between its target and itself.
    fn loops(&self) -> Vec<&[Instruction]> {
        let all = &self.instructions;
        let spans: Vec<_> = (0..all.len())
            .filter(|&end| all[end].flow_control() == FlowControl::ConditionalBranch)
            .filter_map(|end| {
                let target = all[end].near_branch_target();
                let start = all
                    .iter()
                    .position(|instruction| instruction.ip() == target)?;
                (start <= end).then_some((start, end))
            })
            .collect();
        let holds_another = |&(start, end): &(usize, usize)| {
            spans
                .iter()
                .any(|&(s, e)| (s, e) != (start, end) && s >= start && e <= end)
        };
        let innermost = spans.iter().filter(|span| !holds_another(span));
        innermost.map(|&(start, end)| &all[start..=end]).collect()
    }

    fn count(&self, mnemonic: Mnemonic) -> usize {
        count(&self.instructions, mnemonic)
    }

    /// Holds `fact`, and shows the code if it does not.
    #[track_caller]
    fn expect(&self, fact: bool, what: &str) {
        assert!(fact, "{}: expected {what}\n{}", self.name, self.listing());
    }

    fn listing(&self) -> String {
        let mut formatter = IntelFormatter::new();
        let mut text = String::new();
        for instruction in &self.instructions {
            write!(text, "{:x}  ", instruction.ip()).unwrap();
            formatter.format(instruction, &mut text);
            text.push('\n');
        }
        text
    }

    #[track_caller]
    fn expect_no_call(&self) {
        let calls = self.instructions.iter().any(|instruction| {
            matches!(
                instruction.flow_control(),
                FlowControl::Call | FlowControl::IndirectCall
            )
        });
        self.expect(!calls, "no call");
    }
}

fn count(code: &[Instruction], mnemonic: Mnemonic) -> usize {
    code.iter()
        .filter(|instruction| instruction.mnemonic() == mnemonic)
        .count()
}

/// Memory operands that are read or written; an address that is only computed is none.
fn memory_accesses(code: &[Instruction]) -> usize {
    let mut factory = InstructionInfoFactory::new();
    let touched = |instruction: &Instruction| {
        let info = factory.info(instruction);
        info.used_memory()
            .iter()
            .filter(|used| used.access() != OpAccess::NoMemAccess)
            .count()
    };
    code.iter()
        .filter(|instruction| !is_padding(instruction))
        .map(touched)
        .sum()
}

fn is_padding(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
}

/// Additions, decrements and compares of registers, and the jump: what it takes to count.
fn is_loop_arithmetic(instruction: &Instruction) -> bool {
    let counts = matches!(
        instruction.mnemonic(),
        Mnemonic::Add
            | Mnemonic::Sub
            | Mnemonic::Inc
            | Mnemonic::Dec
            | Mnemonic::Cmp
            | Mnemonic::Test
            | Mnemonic::Lea
    );
    let counts = counts && memory_accesses(std::slice::from_ref(instruction)) == 0;
    counts || instruction.flow_control() == FlowControl::ConditionalBranch
}

/// A load whose address comes from the register that it fills, as that of a base address does not.
fn follows_a_link(instruction: &Instruction) -> bool {
    let filled = instruction.op0_register();
    instruction.mnemonic() == Mnemonic::Mov
        && filled != Register::None
        && [instruction.memory_base(), instruction.memory_index()].contains(&filled)
}

/// A hop is one `mov`. The compiler may unroll: then the loop is nothing but hops and its counter.
fn chase_is_one_load_a_hop(binary: &[u8]) {
    let code = Code::of(binary, "hot_chase");
    code.expect_no_call();
    let loops = code.loops();
    code.expect(!loops.is_empty(), "a loop");
    for body in loops {
        let hops = body.iter().filter(|one| follows_a_link(one)).count();
        code.expect(
            hops >= 1 && memory_accesses(body) == hops,
            "no access but the hops",
        );
        let counting = body.iter().filter(|one| is_loop_arithmetic(one)).count();
        code.expect(counting <= 3, "at most three instructions to count");
        code.expect(
            hops + counting == body.len(),
            "hops and counting, nothing else",
        );
        let jumps = body
            .iter()
            .filter(|i| i.flow_control() != FlowControl::Next)
            .count();
        code.expect(jumps == 1, "no branch but the loop's own");
    }
}

/// k lines are k flushes in a loop of their own for each method, then one full fence.
fn lines_are_one_flush_each(binary: &[u8], name: &'static str, methods: &[Mnemonic]) {
    let code = Code::of(binary, name);
    code.expect_no_call();
    let loops = code.loops();
    code.expect(loops.len() == methods.len(), "one loop for each method");
    for &method in methods {
        let own = loops.iter().filter(|body| count(body, method) > 0).count();
        code.expect(
            own == 1 && code.count(method) == 1,
            "each method in one loop, once",
        );
    }
    for body in loops {
        let rest = body.iter().filter(|one| !methods.contains(&one.mnemonic()));
        let rest: Vec<_> = rest.filter(|one| !is_padding(one)).collect();
        code.expect(rest.len() <= 4, "at most four instructions to count");
        code.expect(
            rest.iter().all(|one| is_loop_arithmetic(one)),
            "counting beside the flush",
        );
    }
    code.expect(code.count(Mnemonic::Mfence) == 1, "one full fence");
    code.expect(
        code.count(Mnemonic::Sfence) + code.count(Mnemonic::Lfence) == 0,
        "no other fence",
    );
    let end = code
        .instructions
        .iter()
        .rposition(|one| one.mnemonic() == Mnemonic::Mfence);
    let last_flush = code
        .instructions
        .iter()
        .rposition(|one| methods.contains(&one.mnemonic()));
    code.expect(last_flush < end, "the fence after the flushes");
}

/// The compiler keeps stores, and loads, in the order of the source: words 2, 0, 1, then 4, 3.
fn accesses_keep_their_order(binary: &[u8]) {
    let code = Code::of(binary, "hot_message");
    code.expect_no_call();
    let word = |instruction: &Instruction| instruction.memory_displacement64() / 8;
    let mut factory = InstructionInfoFactory::new();
    let mut of = |access: OpAccess| -> Vec<u64> {
        let moves = code.instructions.iter().filter(|one| {
            let used = factory.info(one).used_memory().to_vec();
            used.iter()
                .any(|used| used.access() == access && used.index() != used.base())
                && used.iter().any(|used| used.index() != Register::None)
        });
        moves.map(word).collect()
    };
    let (stores, loads) = (of(OpAccess::Write), of(OpAccess::Read));
    code.expect(stores == [2, 0, 1], "stores of words 2, 0, 1 in this order");
    code.expect(loads == [4, 3], "loads of words 4, 3 in this order");
}

/// A frozen range is scanned as a slice would be: vectors, and no check of an index.
fn scan_vectorizes(binary: &[u8]) {
    let code = Code::of(binary, "hot_scan");
    code.expect_no_call();
    code.expect(code.count(Mnemonic::Paddq) > 0, "vector additions");
}

#[test]
fn hot_loops_are_what_a_hand_would_write() {
    let binary = std::fs::read(build()).unwrap();
    chase_is_one_load_a_hop(&binary);
    let flushes = [Mnemonic::Clflush, Mnemonic::Clflushopt];
    lines_are_one_flush_each(&binary, "hot_observe", &flushes);
    let publishes = [Mnemonic::Clflush, Mnemonic::Clflushopt, Mnemonic::Clwb];
    lines_are_one_flush_each(&binary, "hot_publish", &publishes);
    accesses_keep_their_order(&binary);
    scan_vectorizes(&binary);
}
