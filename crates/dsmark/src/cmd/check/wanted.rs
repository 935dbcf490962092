//! Which programs a command line asks for.

/// Names as they were typed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) names: &'a [String],
    /// Whether a name stands for that program only, and not for all that begin so.
    pub(super) exact: bool,
}

impl Wanted<'_> {
    /// Whether any of them is `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|wanted| self.is(wanted, name))
    }

    /// Whether `name` is asked for: by its beginning, by what follows its group, or by its
    /// beginning and its end with an asterisk in between.
    pub(super) fn is(&self, wanted: &str, name: &str) -> bool {
        if let Some((begins, ends)) = wanted.split_once('*') {
            let rest = name.strip_prefix(begins);
            return rest.is_some_and(|rest| rest.ends_with(ends));
        }
        let bare = name.split_once('/').map(|(_, bare)| bare);
        bare == Some(wanted) || name == wanted || !self.exact && name.starts_with(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(wanted: &str, exact: bool, name: &str) -> bool {
        let names = [wanted.to_owned()];
        let names = &names;
        Wanted { names, exact }.has(name)
    }

    #[test]
    fn a_name_is_a_beginning_unless_it_is_to_be_whole() {
        assert!(has("lock/bakery", false, "lock/bakery-3-hosts"));
        assert!(!has("lock/bakery", true, "lock/bakery-3-hosts"));
        assert!(has("bakery", true, "lock/bakery"));
        assert!(!has("bakery", false, "lock/bakery-3-hosts"));
    }

    #[test]
    fn an_asterisk_is_anything() {
        assert!(has("lock/*-4-hosts", true, "lock/bakery-4-hosts"));
        assert!(!has("lock/*-4-hosts", false, "lock/bakery-3-hosts"));
        assert!(!has("ab*ba", false, "aba"));
    }
}
