//! Licences and origins of everything that is compiled in, against `deny.toml`.
//!
//! `cargo deny check licenses bans sources` reads the same file where it is installed; this check
//! needs nothing but cargo.

use serde::Deserialize;

use super::{Finding, Package, Tree};

const POLICY: &str = "deny.toml";

#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

/// Finds packages whose licence or registry `deny.toml` does not allow.
pub fn licences_allowed(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.texts.iter().find(|text| text.path == POLICY) else {
        return vec![Finding::new(POLICY, 0, "does not exist")];
    };
    let policy: Policy = match toml::from_str(&text.text) {
        Ok(policy) => policy,
        Err(error) => return vec![Finding::new(POLICY, 0, error.message())],
    };
    let packages = tree.packages.iter();
    packages
        .flat_map(|package| [licence(package, &policy), origin(package, &policy)])
        .flatten()
        .collect()
}

fn licence(package: &Package, policy: &Policy) -> Option<Finding> {
    let name = &package.name;
    let Some(expression) = &package.licence else {
        return Some(Finding::new(POLICY, 0, format!("{name} states no licence")));
    };
    let allowed = |licence: &str| policy.licenses.allow.iter().any(|it| it == licence);
    match satisfied(expression, &allowed) {
        Some(true) => None,
        Some(false) => {
            let what = format!("{name} is under {expression}, which is not allowed");
            Some(Finding::new(POLICY, 0, what))
        }
        None => {
            let what = format!("{name}: {expression:?} is no licence expression");
            Some(Finding::new(POLICY, 0, what))
        }
    }
}

fn origin(package: &Package, policy: &Policy) -> Option<Finding> {
    let origin = package.origin.as_ref()?;
    let registry = origin.strip_prefix("registry+").unwrap_or(origin);
    let known = policy.sources.allow_registry.iter();
    if known.into_iter().any(|it| it == registry) {
        return None;
    }
    let what = format!("{} comes from {origin}, which is not allowed", package.name);
    Some(Finding::new(POLICY, 0, what))
}

/// Whether `allowed` licences satisfy an SPDX expression; none if it is malformed.
///
/// Old manifests write `MIT/Apache-2.0` for OR.
fn satisfied(expression: &str, allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let answer = any(&mut rest, allowed)?;
    rest.is_empty().then_some(answer)
}

fn any(rest: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut answer = all(rest, allowed)?;
    while took(rest, "OR") {
        answer |= all(rest, allowed)?;
    }
    Some(answer)
}

fn all(rest: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut answer = one(rest, allowed)?;
    while took(rest, "AND") {
        answer &= one(rest, allowed)?;
    }
    Some(answer)
}

fn one(rest: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> Option<bool> {
    if took(rest, "(") {
        let answer = any(rest, allowed)?;
        return took(rest, ")").then_some(answer);
    }
    let (licence, after) = rest.split_first()?;
    *rest = after;
    if took(rest, "WITH") {
        let (exception, after) = rest.split_first()?;
        *rest = after;
        return Some(allowed(&format!("{licence} WITH {exception}")));
    }
    Some(allowed(licence))
}

fn took(rest: &mut &[&str], word: &str) -> bool {
    match rest.split_first() {
        Some((first, after)) if *first == word => {
            *rest = after;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::satisfied;

    #[test]
    fn expressions_are_ors_of_ands() {
        let allowed = |it: &str| ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&it);
        let answer = |expression| satisfied(expression, &allowed);
        assert_eq!(answer("MIT"), Some(true));
        assert_eq!(answer("GPL-3.0 OR MIT"), Some(true));
        assert_eq!(answer("GPL-3.0/MIT"), Some(true));
        assert_eq!(answer("GPL-3.0 AND MIT"), Some(false));
        assert_eq!(answer("(GPL-3.0 OR MIT) AND ISC"), Some(true));
        assert_eq!(answer("GPL-3.0 OR MIT AND BSD"), Some(false));
        assert_eq!(answer("Apache-2.0 WITH LLVM-exception"), Some(true));
        assert_eq!(answer("Apache-2.0"), Some(false));
        assert_eq!(answer("MIT OR"), None);
        assert_eq!(answer("(MIT"), None);
        assert_eq!(answer(""), None);
    }
}
