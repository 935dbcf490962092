//! What to say to a typo.

/// The name among `known` nearest to `word`, if one is near enough to be meant.
pub fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    known
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|&(distance, name)| distance <= name.len().max(word.len()) / 2)
        .min()
        .map(|(_, name)| name.to_owned())
}

/// What an error says of the nearest name, or nothing where none is near.
pub fn suggestion(near: Option<&str>) -> String {
    near.map(|near| format!(" (did you mean `{near}`?)"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_near_and_another_word_is_not() {
        let known = || ["latency", "bandwidth"].into_iter();
        assert_eq!(nearest("latnecy", known()).as_deref(), Some("latency"));
        assert_eq!(nearest("lock", known()), None);
        assert_eq!(suggestion(Some("latency")), " (did you mean `latency`?)");
        assert_eq!(suggestion(None), "");
    }
}
