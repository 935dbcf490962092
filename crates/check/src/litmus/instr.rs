//! One instruction of a thread's column.

use fabric::{Fence, Flush, Ptr};
use model::explore::Instr;

/// An instruction, and the register that it loads into.
pub(super) struct Parsed {
    pub(super) instr: Instr,
    pub(super) register: Option<String>,
}

/// Reads `text`, whose words `place` finds; nothing if it is no instruction.
pub(super) fn parse(text: &str, place: impl Fn(&str) -> Option<Ptr<u64>>) -> Option<Parsed> {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    if let [to, "=", word] = tokens[..]
        && let Some(at) = place(word)
    {
        // A word to a register: no instruction moves from memory to memory.
        return (is_register(to) && place(to).is_none()).then(|| Parsed {
            instr: Instr::Load(at),
            register: Some(to.to_owned()),
        });
    }
    let value = |text: &str| text.parse::<u64>().ok();
    let instr = match tokens[..] {
        [word, "=", bits] => Instr::Store(place(word)?, value(bits)?),
        ["nt", word, "=", bits] => Instr::StoreNt(place(word)?, value(bits)?),
        ["line", word, "=", bits] => Instr::StoreLine(place(word)?.line(), value(bits)?),
        ["flush", word] => Instr::Flush(place(word)?.line(), Flush::ClFlushOpt),
        ["clflush", word] => Instr::Flush(place(word)?.line(), Flush::ClFlush),
        ["clwb", word] => Instr::Writeback(place(word)?.line()),
        ["sfence"] => Instr::Fence(Fence::Store),
        ["lfence"] => Instr::Fence(Fence::Load),
        ["mfence"] => Instr::Fence(Fence::Full),
        _ => return None,
    };
    Some(Parsed {
        instr,
        register: None,
    })
}

fn is_register(name: &str) -> bool {
    name.strip_prefix('r')
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use fabric::Arena;

    use super::*;

    #[test]
    fn every_instruction_is_read() {
        let x = Arena::new().word::<u64>("x");
        let read = |text: &str| {
            let parsed = parse(text, |word| (word == "x").then_some(x));
            parsed.map(|parsed| (parsed.instr, parsed.register))
        };
        let alone = |instr| Some((instr, None));
        let table = [
            ("x = 7", alone(Instr::Store(x, 7))),
            ("r3  =  x", Some((Instr::Load(x), Some("r3".to_owned())))),
            ("nt x = 1", alone(Instr::StoreNt(x, 1))),
            ("line x = 1", alone(Instr::StoreLine(x.line(), 1))),
            ("flush x", alone(Instr::Flush(x.line(), Flush::ClFlushOpt))),
            ("clflush x", alone(Instr::Flush(x.line(), Flush::ClFlush))),
            ("clwb x", alone(Instr::Writeback(x.line()))),
            ("sfence", alone(Instr::Fence(Fence::Store))),
            ("lfence", alone(Instr::Fence(Fence::Load))),
            ("mfence", alone(Instr::Fence(Fence::Full))),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text}");
        }
        for wrong in [
            "y = 1", "x = y", "x = x", "q = x", "flush", "x = -1", "fence", "x",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
