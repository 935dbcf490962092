//! How wide text is, without fonts.
//!
//! A figure is drawn where no font may be installed and shown where another one is. Widths are
//! therefore those of `DejaVu Sans`, the widest of the common sans-serif fonts: text set in Arial,
//! Helvetica or Liberation Sans is narrower than the room it was given.

/// Advance widths of U+0020 to U+007E in thousandths of the font size (`DejaVu Sans` 2.37, table
/// hmtx, rounded up).
const ADVANCE: [u16; 95] = [
    318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361, 318, 337, //
    637, 637, 637, 637, 637, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531, //
    1000, 685, 687, 699, 771, 632, 576, 775, 752, 295, 295, 656, 558, 863, 749, 788, //
    604, 788, 695, 635, 611, 732, 685, 989, 686, 611, 686, 391, 337, 391, 838, 500, //
    500, 613, 635, 550, 635, 616, 353, 635, 634, 278, 278, 580, 278, 975, 634, 612, //
    635, 635, 412, 521, 393, 634, 592, 818, 592, 592, 525, 637, 337, 637, 838,
];

/// For a character outside the table: as wide as they come.
const WIDEST: u16 = 1000;

/// The width of a text in pixels at a font size in pixels, rounded up: that of `DejaVu Sans`, which
/// other sans-serif fonts stay below.
pub fn width(text: &str, size: i32) -> i32 {
    let thousandths: i32 = text
        .chars()
        .map(|character| i32::from(advance(character)))
        .sum();
    (thousandths * size + 999) / 1000
}

fn advance(character: char) -> u16 {
    let index = (character as usize).checked_sub(' ' as usize);
    index
        .and_then(|index| ADVANCE.get(index))
        .copied()
        .unwrap_or(WIDEST)
}

/// A space at which no line breaks: between a number and its unit.
const NO_BREAK: char = '\u{a0}';

/// A text that stays on one line.
pub(crate) fn unbroken(text: &str) -> String {
    text.replace(' ', &NO_BREAK.to_string())
}

/// Breaks a text into lines no wider than `limit` pixels: at spaces, and within a word that is
/// wider than a line by itself.
pub(crate) fn wrap(text: &str, size: i32, limit: i32) -> Vec<String> {
    wrap_by(text, |line| width(line, size) <= limit)
}

/// Breaks a text into lines of at most `columns` characters.
pub(crate) fn wrap_columns(text: &str, columns: usize) -> Vec<String> {
    wrap_by(text, |line| line.chars().count() <= columns)
}

fn wrap_by(text: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let breaks = |character: char| character.is_whitespace() && character != NO_BREAK;
    for word in text.split(breaks).filter(|word| !word.is_empty()) {
        let word = word.replace(NO_BREAK, " ");
        let joined = if line.is_empty() {
            word.clone()
        } else {
            format!("{line} {word}")
        };
        if fits(&joined) {
            line = joined;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for character in word.chars() {
            line.push(character);
            if !fits(&line) && line.chars().count() > 1 {
                line.pop();
                lines.push(std::mem::replace(&mut line, character.to_string()));
            }
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_the_font_s() {
        assert_eq!(width("", 10), 0);
        assert_eq!(width("i", 1000), 278);
        assert_eq!(width("W~", 1000), 989 + 838);
        assert_eq!(width("\u{e9}", 1000), 1000);
    }

    #[test]
    fn lines_break_at_spaces_and_within_long_words() {
        assert_eq!(wrap_columns("one two three", 7), ["one two", "three"]);
        assert_eq!(
            wrap_columns("a /dev/dax0.0/long b", 8),
            ["a", "/dev/dax", "0.0/long", "b"]
        );
        assert_eq!(wrap_columns("", 8), Vec::<String>::new());
        for line in wrap("a cache line is published, then observed", 13, 120) {
            assert!(width(&line, 13) <= 120, "{line}");
        }
    }

    #[test]
    fn a_number_keeps_its_unit() {
        let text = format!("it takes {}", unbroken("312 ns"));
        assert_eq!(wrap_columns(&text, 12), ["it takes", "312 ns"]);
    }

    #[test]
    fn a_limit_below_one_character_still_ends() {
        assert_eq!(wrap_columns("abc", 0), ["a", "b", "c"]);
    }
}
