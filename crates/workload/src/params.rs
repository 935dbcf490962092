//! A workload's knobs: typed, with defaults, and strict about names.

use fabric::{nearest, suggestion};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

/// What a parameter struct must be: readable and writable by name, with defaults.
pub trait Params: Serialize + DeserializeOwned + Default + Clone + Sync + Send {}

impl<T: Serialize + DeserializeOwned + Default + Clone + Sync + Send> Params for T {}

/// A parameter that was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// No such parameter.
    #[error("{workload} has no parameter `{key}`{}; it has: {known}", suggestion(.near.as_deref()))]
    Unknown {
        /// Of which workload.
        workload: &'static str,
        /// As written.
        key: String,
        /// The nearest that exists.
        near: Option<String>,
        /// All that exist.
        known: String,
    },
    /// A value of the wrong kind.
    #[error("{workload}: {key} = {value}: {why}")]
    Value {
        /// Of which workload.
        workload: &'static str,
        /// Which parameter.
        key: String,
        /// As written.
        value: String,
        /// What was expected.
        why: String,
    },
}

/// Reads one cell of a sweep into typed parameters; what is not given keeps its default.
///
/// # Errors
/// An unknown name, with the nearest known one, or a value that does not fit.
///
/// # Panics
/// If `T` is not a struct of plain values: a mistake in the workload.
pub fn read_params<T: Params>(
    workload: &'static str,
    given: &Map<String, Value>,
) -> Result<T, ParamError> {
    let defaults = serde_json::to_value(T::default()).expect("parameters are plain values");
    let Value::Object(mut all) = defaults else {
        unreachable!("parameters of {workload} are a struct");
    };
    for (key, value) in given {
        let Some(place) = all.get_mut(key) else {
            let known: Vec<_> = all.keys().cloned().collect();
            return Err(ParamError::Unknown {
                workload,
                key: key.clone(),
                near: nearest(key, known.iter().map(String::as_str)),
                known: if known.is_empty() {
                    "none".into()
                } else {
                    known.join(", ")
                },
            });
        };
        let before = std::mem::replace(place, value.clone());
        // One at a time, so that the error is about this key and no other.
        if let Err(error) = T::deserialize(Value::Object(all.clone())) {
            let near = suggestion(meant(value, &error.to_string()).as_deref());
            return Err(ParamError::Value {
                workload,
                key: key.clone(),
                value: value.to_string(),
                why: format!("{error}{near} (the default is {before})"),
            });
        }
    }
    Ok(T::deserialize(Value::Object(all)).expect("each value was read just above"))
}

/// The words that a parameter takes, in their order: what `"*"` stands for. None of one that takes
/// other values, or does not exist.
///
/// # Panics
/// As [`read_params`].
pub fn words_of<T: Params>(key: &str) -> Option<Vec<Value>> {
    let defaults = serde_json::to_value(T::default()).expect("parameters are plain values");
    let Value::Object(mut all) = defaults else {
        unreachable!("parameters are a struct");
    };
    *all.get_mut(key)? = "*".into();
    // Serde tells what it would have taken, and nothing else does.
    let error = T::deserialize(Value::Object(all)).err()?.to_string();
    let (start, words) = error.split_once("expected ")?;
    let words = words.split('`').skip(1).step_by(2).map(Value::from);
    start
        .starts_with("unknown variant `*`")
        .then(|| words.collect())
}

/// The nearest of the words that serde expected, which it names between backticks.
fn meant(value: &Value, error: &str) -> Option<String> {
    let (_, expected) = error.split_once("expected ")?;
    nearest(value.as_str()?, expected.split('`').skip(1).step_by(2))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Way {
        There,
        ThereAndBack,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Knobs {
        lines: u32,
        rounds: u64,
        way: Way,
    }

    impl Default for Knobs {
        fn default() -> Self {
            Self {
                lines: 1,
                rounds: 100,
                way: Way::There,
            }
        }
    }

    fn read(given: &Value) -> Result<Knobs, ParamError> {
        read_params("knobs", given.as_object().expect("an object"))
    }

    #[test]
    fn what_is_not_given_keeps_its_default() {
        assert_eq!(
            read(&json!({"lines": 4})),
            Ok(Knobs {
                lines: 4,
                ..Knobs::default()
            })
        );
    }

    #[test]
    fn a_typo_names_the_nearest() {
        let error = read(&json!({"lnies": 4}))
            .expect_err("no such parameter")
            .to_string();
        assert!(error.contains("did you mean `lines`?"), "{error}");
    }

    #[test]
    fn a_wrong_value_names_its_key() {
        let error = read(&json!({"rounds": 5, "lines": -1}))
            .expect_err("negative")
            .to_string();
        assert!(error.contains("lines = -1"), "{error}");
    }

    #[test]
    fn a_star_is_every_word_of_a_parameter_that_takes_words() {
        let words = [json!("there"), json!("there-and-back")];
        assert_eq!(words_of::<Knobs>("way").as_deref(), Some(&words[..]));
        assert_eq!(words_of::<Knobs>("lines"), None);
        assert_eq!(words_of::<Knobs>("wya"), None);
    }

    #[test]
    fn a_word_that_is_none_of_those_expected_names_the_nearest() {
        let error = read(&json!({"way": "there-and-bakc"}))
            .expect_err("no such way")
            .to_string();
        assert!(error.contains("did you mean `there-and-back`?"), "{error}");
        let error = read(&json!({"rounds": "many"}))
            .expect_err("no number")
            .to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }
}
