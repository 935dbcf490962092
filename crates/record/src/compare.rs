//! Which rows may be compared.
//!
//! Two figures may stand in one ratio only if everything but the subject of the comparison is
//! equal. The fields that must be equal are the *comparability key*; its hash stands in every row
//! as `digest`, so that a reader groups rows without knowing the key.

use std::fmt;
use std::hash::Hasher;

use fnv::FnvHasher;
use serde::Serialize;
use serde_json::Value;

use crate::row::Row;

/// A field of the comparability key in which two rows differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field, `params.NAME` for a parameter.
    pub field: String,
    /// The first row's value as JSON; empty where it has no such parameter.
    pub left: String,
    /// The second row's value.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |side: &str| {
            if side.is_empty() {
                "nothing".into()
            } else {
                side.to_owned()
            }
        };
        write!(
            f,
            "{}: {} against {}",
            self.field,
            shown(&self.left),
            shown(&self.right)
        )
    }
}

/// Whether two rows may be compared.
///
/// # Errors
/// Every field of the comparability key in which they differ, parameters by name.
pub fn comparable(left: &Row, right: &Row) -> Result<(), Vec<Difference>> {
    let (left, right) = (left.comparability_key(), right.comparability_key());
    let value_of = |key: &[(String, String)], field: &str| {
        key.iter()
            .find(|(name, _)| name == field)
            .map_or(String::new(), |(_, value)| value.clone())
    };
    let mut fields: Vec<&String> = left.iter().map(|(name, _)| name).collect();
    fields.extend(
        right
            .iter()
            .map(|(name, _)| name)
            .filter(|name| !left.iter().any(|(known, _)| known == *name)),
    );
    let differences: Vec<Difference> = fields
        .into_iter()
        .map(|field| Difference {
            field: field.clone(),
            left: value_of(&left, field),
            right: value_of(&right, field),
        })
        .filter(|difference| difference.left != difference.right)
        .collect();
    if differences.is_empty() {
        Ok(())
    } else {
        Err(differences)
    }
}

impl Row {
    /// The comparability key: fields and their values in JSON, a parameter as `params.NAME`, in an
    /// order that depends on the names alone.
    pub fn comparability_key(&self) -> Vec<(String, String)> {
        let params = self.params.iter();
        let mut params: Vec<(String, String)> = params
            .map(|(name, value)| (format!("params.{name}"), canonical(value)))
            .collect();
        params.sort();
        let others = [
            ("substrate", json(&self.substrate)),
            ("label", json(&self.label)),
            ("pod", json(&self.pod)),
            ("coherence", json(&self.coherence)),
            ("device", json(&self.device)),
            ("hosts", json(&self.hosts)),
            ("lanes", json(&self.lanes)),
            ("host", json(&self.host)),
            ("peer", json(&self.peer)),
            ("lane", json(&self.lane)),
            ("metric", json(&self.metric)),
            ("unit", json(&self.unit)),
        ];
        let mut key = vec![("workload".to_owned(), json(&self.workload))];
        key.extend(params);
        key.extend(others.map(|(field, value)| (field.to_owned(), value)));
        key
    }

    /// The hash of the comparability key as 16 hexadecimal digits (FNV-1a, 64 bits): workload,
    /// params, substrate, label, pod, coherence, device, hosts, lanes, host, peer, lane, metric,
    /// unit.
    /// The order of the parameters does not matter.
    pub fn comparability_digest(&self) -> String {
        let mut hasher = FnvHasher::default();
        for (field, value) in self.comparability_key() {
            for part in [&field, &value] {
                // The length keeps ("ab", "c") and ("a", "bc") apart.
                hasher.write(&(part.len() as u64).to_le_bytes());
                hasher.write(part.as_bytes());
            }
        }
        format!("{:016x}", hasher.finish())
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("words and numbers always serialize")
}

/// JSON with the keys of every object sorted.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Vec<String> = fields
                .into_iter()
                .map(|(name, value)| format!("{}:{}", json(name), canonical(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(canonical).collect::<Vec<_>>().join(",")
            )
        }
        scalar => json(scalar),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::row::{Label, tests::example};

    #[test]
    fn figures_do_not_decide_comparability() {
        let left = example();
        let mut right = left.clone();
        right.p50 = Some(9.0);
        right.seed = 7;
        right.trial = 3;
        assert_eq!(comparable(&left, &right), Ok(()));
        assert_eq!(left.comparability_digest(), right.comparability_digest());
    }

    #[test]
    fn parameters_compare_in_any_order() {
        let mut left = example();
        let mut right = example();
        left.params = serde_json::from_value(json!({"a": {"x": 1, "y": 2}, "b": 1})).unwrap();
        right.params = serde_json::from_value(json!({"b": 1, "a": {"y": 2, "x": 1}})).unwrap();
        assert_eq!(left.comparability_digest(), right.comparability_digest());
    }

    #[test]
    fn every_difference_is_named() {
        let left = example();
        let mut right = example();
        right.label = Label::StandIn;
        right.params.insert("lines".into(), json!(4));
        right.params.insert("skew".into(), json!("none"));
        let differences = comparable(&left, &right).unwrap_err();
        let said: Vec<String> = differences.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "params.lines: 1 against 4",
                "label: \"simulated\" against \"coherent stand-in\"",
                "params.skew: nothing against \"none\"",
            ]
        );
        assert_ne!(left.comparability_digest(), right.comparability_digest());
    }
}
