//! Numbers and line ends out of bytes.
//!
//! Written by hand, since it decides how fast a graph is loaded: the digits of an identifier take a
//! multiplication and a comparison each, and nothing is copied.

use crate::csr::MAX_VERTICES;

/// What is left of a chunk of whole lines.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of `bytes`, which is empty or ends with the end of a line.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        debug_assert!(bytes.last().is_none_or(|&last| last == b'\n'));
        Self { bytes, at: 0 }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The byte here. Past the end there is another end of line, so that no token runs on.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u8 {
        *self.bytes.get(self.at).unwrap_or(&b'\n')
    }

    /// Passes blanks; whether a token follows on this line.
    #[inline(always)]
    pub(crate) fn has_token(&mut self) -> bool {
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
        !matches!(self.peek(), b'\n' | b'\r')
    }

    /// The next token as an identifier below [`MAX_VERTICES`].
    #[inline(always)]
    pub(crate) fn vertex(&mut self) -> Result<u32, String> {
        let value = self.number(MAX_VERTICES - 1, "a vertex")?;
        Ok(value as u32)
    }

    /// The next token as an identifier that counts from 1, of `vertices`.
    #[inline(always)]
    pub(crate) fn vertex_from_1(&mut self, vertices: u64) -> Result<u32, String> {
        match self.number(vertices, "a vertex")? {
            0 => Err("vertex 0: the first is 1 here".into()),
            number => Ok((number - 1) as u32),
        }
    }

    /// The next token as a whole number up to `most`, which is below 2^60.
    #[inline(always)]
    pub(crate) fn number(&mut self, most: u64, what: &str) -> Result<u64, String> {
        self.has_token();
        let ends = |digits| {
            self.bytes
                .get(self.at + digits)
                .copied()
                .is_some_and(is_blank)
        };
        match self.few_digits() {
            Some((value, digits)) if value <= most && ends(digits) => {
                self.at += digits;
                return Ok(value);
            }
            _ => {}
        }
        self.any_number(most, what)
    }

    /// The first eight of the digits that stand here, or fewer, as their value and how many they
    /// are; nothing where there are none, or near the end of the chunk.
    ///
    /// All at once: a loop over digits ends at another place each time, which no branch predictor
    /// foresees. (Eight ASCII digits by three multiplications: D. Lemire, "Quickly parsing eight
    /// digits", 2018.)
    #[inline(always)]
    fn few_digits(&self) -> Option<(u64, usize)> {
        const ONES: u64 = 0x0101_0101_0101_0101;
        let eight = self.bytes.get(self.at..self.at + 8)?;
        let eight = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
        // A digit becomes its value; adding 0x76 sets the high bit of anything above 9. A carry
        // can only come out of a byte that is no digit, and spoils bytes after it.
        let values = eight ^ (ONES * 0x30);
        let others = (values.wrapping_add(ONES * 0x76) | values) & (ONES * 0x80);
        let digits = others.trailing_zeros() / 8;
        if digits == 0 {
            return None;
        }
        // Leading zeros in front, in the low bytes; what follows the digits is shifted out.
        let values = values << (8 * (8 - digits));
        let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
        let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
        let high = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
        Some((low.wrapping_add(high) >> 32, digits as usize))
    }

    /// As [`number`](Self::number), digit by digit.
    #[cold]
    fn any_number(&mut self, most: u64, what: &str) -> Result<u64, String> {
        let from = self.at;
        let mut value = 0;
        loop {
            let digit = self.peek().wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value * 10 + u64::from(digit);
            if value > most {
                return Err(self.unfit(from, what, most));
            }
            self.at += 1;
        }
        if self.at == from || !self.is_between_tokens() {
            return Err(self.unfit(from, what, most));
        }
        Ok(value)
    }

    #[inline(always)]
    fn is_between_tokens(&self) -> bool {
        is_blank(self.peek())
    }

    #[cold]
    fn unfit(&mut self, from: usize, what: &str, most: u64) -> String {
        self.at = from;
        if !self.has_token() {
            return format!("the line ends where {what} was expected");
        }
        let token = self.token();
        if !token.is_empty() && token.iter().all(u8::is_ascii_digit) {
            return format!("`{}` is too large for {what}: at most {most}", shown(token));
        }
        format!(
            "`{}` is not {what}: a whole number was expected",
            shown(token)
        )
    }

    /// The next token, whatever it is.
    pub(crate) fn token(&mut self) -> &'a [u8] {
        self.has_token();
        let from = self.at;
        while !self.is_between_tokens() {
            self.at += 1;
        }
        &self.bytes[from..self.at.min(self.bytes.len())]
    }

    /// Passes a weight, which nothing here uses: any finite number.
    pub(crate) fn weight(&mut self) -> Result<(), String> {
        if !self.has_token() {
            return Err("the line ends where a weight was expected".into());
        }
        let token = self.token();
        let number = std::str::from_utf8(token)
            .ok()
            .and_then(|text| text.parse::<f64>().ok());
        match number {
            Some(number) if number.is_finite() => Ok(()),
            _ => Err(format!(
                "`{}` is not a weight: a number was expected",
                shown(token)
            )),
        }
    }

    /// Passes the end of a line, on which no token may follow.
    #[inline(always)]
    pub(crate) fn end_line(&mut self, expected: &str) -> Result<(), String> {
        if self.has_token() {
            let token = self.token();
            return Err(format!(
                "`{}` is one too many: a line is {expected}",
                shown(token)
            ));
        }
        self.pass_end()
    }

    /// Passes `\n` or `\r\n`.
    #[inline(always)]
    fn pass_end(&mut self) -> Result<(), String> {
        if self.peek() == b'\r' {
            self.at += 1;
        }
        if self.peek() != b'\n' {
            return Err("a carriage return that no end of line follows".into());
        }
        self.at += 1;
        Ok(())
    }

    /// Passes the rest of the line, whatever it is.
    pub(crate) fn skip_line(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        let length = rest.iter().position(|&byte| byte == b'\n');
        let line = &rest[..length.unwrap_or(rest.len())];
        self.at += line.len() + 1;
        line
    }

    /// Bytes passed.
    pub(crate) fn passed(&self) -> usize {
        self.at.min(self.bytes.len())
    }
}

#[inline(always)]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A token for a message: readable, and not longer than a message bears.
pub(crate) fn shown(token: &[u8]) -> String {
    const MOST: usize = 40;
    let text: String = String::from_utf8_lossy(&token[..token.len().min(MOST)])
        .chars()
        .flat_map(char::escape_default)
        .collect();
    if token.len() > MOST {
        format!("{text}...")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_ends_where_its_token_ends() {
        let mut cursor = Cursor::new(b" 12\t7\r\n");
        assert_eq!(cursor.vertex(), Ok(12));
        assert_eq!(cursor.vertex(), Ok(7));
        assert_eq!(cursor.end_line(""), Ok(()));
        assert!(cursor.is_at_end());
    }

    #[test]
    fn numbers_of_any_length_are_those_of_the_standard_library() {
        for number in [
            0u64,
            7,
            10,
            99,
            12_345,
            999_999,
            1_234_567,
            12_345_678,
            123_456_789,
        ] {
            for behind in ["\n", " 1 2 3 4 5 6\n", "\t55555555555\n"] {
                let text = format!("{number}{behind}");
                let read = Cursor::new(text.as_bytes()).number(1 << 40, "a number");
                assert_eq!(read, Ok(number), "{text:?}");
            }
        }
    }

    #[test]
    fn what_is_no_vertex_is_quoted() {
        let why = |text: &str| Cursor::new(text.as_bytes()).vertex().unwrap_err();
        assert!(why("12x\n").contains("`12x`"));
        assert!(why("-1\n").contains("`-1`"));
        assert!(why("\n").contains("the line ends"));
        assert!(why("2147483647\n").contains("too large"));
        assert!(why("99999999999999999999999999\n").contains("too large"));
        assert_eq!(Cursor::new(b"2147483646\n").vertex(), Ok(2_147_483_646));
    }
}
