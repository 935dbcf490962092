//! Hosts that were started apart compare what they are about to run, and where.
//!
//! Each host has read its own command line and its own plan. What differs is refused by its name,
//! on every host, before anything is measured: a hash would only say that something does.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What one host is about to run, and on what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effective {
    /// Hosts, lanes, every trial with all parameters and limits, layouts: equal on all hosts.
    pub settings: Value,
    /// The pool as its device identifies itself; equal where two hosts know it.
    pub pool: Option<Value>,
    /// The machine.
    pub site: Site,
}

/// Where a host is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Its name, for messages.
    pub hostname: String,
    /// The kernel's random number of this boot: equal on two hosts only if they are one machine,
    /// whatever names and addresses they have. Empty if the kernel does not tell.
    pub boot_id: String,
    /// CPUs that it may use.
    pub cpus: Vec<usize>,
}

/// A host's place on its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// How many of the pod's hosts before it share its machine and its CPUs.
    pub index: u32,
    /// How many of the pod's hosts do.
    pub sharing: u32,
    /// Whether lanes outnumber CPUs on its machine.
    pub oversubscribed: bool,
    /// Machines that the pod is on.
    pub machines: u32,
}

/// What host 0 made of all hosts' settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// All are about to run the same: each one's place.
    Agreed(Vec<Placement>),
    /// Why not.
    Refused(String),
}

/// Compares every host with host 0; none for a host that said nothing.
pub(crate) fn judge(hosts: &[Option<Effective>], lanes: u32) -> Verdict {
    let all: Option<Vec<&Effective>> = hosts.iter().map(Option::as_ref).collect();
    let Some(all) = all else {
        let silent = hosts.iter().position(Option::is_none).unwrap_or_default();
        return Verdict::Refused(format!("host {silent} did not say what it is about to run"));
    };
    for (host, one) in all.iter().enumerate().skip(1) {
        let name = format!("host {host} ({})", one.site.hostname);
        if let Some(what) = difference("", &all[0].settings, &one.settings) {
            return Verdict::Refused(format!(
                "{name} differs from host 0 in {what}; run the same plan with the same options on \
                 every host"
            ));
        }
        if let (Some(first), Some(pool)) = (&all[0].pool, &one.pool)
            && first != pool
        {
            return Verdict::Refused(format!(
                "{name} has another pool than host 0: {pool} there, {first} at host 0; name the \
                 same device with --device-for {host}=PATH"
            ));
        }
    }
    let sites: Vec<&Site> = all.iter().map(|one| &one.site).collect();
    Verdict::Agreed(
        (0..sites.len())
            .map(|host| place(&sites, host, lanes))
            .collect(),
    )
}

/// The first difference of two settings: where, and both values.
fn difference(at: &str, own: &Value, theirs: &Value) -> Option<String> {
    match (own, theirs) {
        _ if own == theirs => None,
        (Value::Object(own), Value::Object(theirs)) => {
            let keys: Vec<&String> = own.keys().chain(theirs.keys()).collect();
            let sub = |key: &String| {
                let at = if at.is_empty() {
                    key.clone()
                } else {
                    format!("{at}.{key}")
                };
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned();
                difference(
                    &at,
                    &of(own).unwrap_or_default(),
                    &of(theirs).unwrap_or_default(),
                )
            };
            keys.into_iter().find_map(sub)
        }
        (Value::Array(own), Value::Array(theirs)) if own.len() != theirs.len() => Some(format!(
            "the number of its {at}: {} there, {} at host 0",
            theirs.len(),
            own.len()
        )),
        (Value::Array(own), Value::Array(theirs)) => {
            let pairs = own.iter().zip(theirs).enumerate();
            let mut found = pairs
                .map(|(index, (own, theirs))| difference(&format!("{at}[{index}]"), own, theirs));
            found.find_map(|found| found)
        }
        _ => Some(format!("{at}: {theirs} there, {own} at host 0")),
    }
}

/// The place of `host`. Hosts share CPUs if they are on one machine and may use the same.
fn place(sites: &[&Site], host: usize, lanes: u32) -> Placement {
    let own = sites[host];
    // Who does not know its machine is taken to be on one of its own.
    let neighbour = |other: usize| {
        other == host || (!own.boot_id.is_empty() && sites[other].boot_id == own.boot_id)
    };
    let neighbours: Vec<usize> = (0..sites.len()).filter(|&other| neighbour(other)).collect();
    let same = |other: &&usize| sites[**other].cpus == own.cpus;
    let cpus: BTreeSet<usize> = neighbours
        .iter()
        .flat_map(|&other| sites[other].cpus.iter().copied())
        .collect();
    // Sets that overlap without being equal may put two lanes on one CPU: taken for too few.
    let apart = neighbours.iter().all(|&other| {
        let mut theirs = sites[other].cpus.iter();
        sites[other].cpus == own.cpus || !theirs.any(|cpu| own.cpus.contains(cpu))
    });
    let sharing = neighbours.iter().filter(same).count();
    let crowded =
        sharing * lanes as usize > own.cpus.len() || neighbours.len() * lanes as usize > cpus.len();
    let boots: BTreeSet<&str> = sites.iter().map(|site| site.boot_id.as_str()).collect();
    let unknown = sites.iter().filter(|site| site.boot_id.is_empty()).count();
    Placement {
        index: neighbours
            .iter()
            .filter(same)
            .filter(|&&other| other < host)
            .count() as u32,
        sharing: sharing as u32,
        oversubscribed: crowded || !apart,
        machines: (boots.iter().filter(|boot| !boot.is_empty()).count() + unknown) as u32,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[allow(clippy::unnecessary_wraps)] // as `judge` takes them
    fn host(settings: Value, boot_id: &str, cpus: &[usize]) -> Option<Effective> {
        Some(Effective {
            settings,
            pool: None,
            site: Site {
                hostname: "b".into(),
                boot_id: boot_id.into(),
                cpus: cpus.to_vec(),
            },
        })
    }

    fn refusal(own: Value, theirs: Value) -> String {
        match judge(&[host(own, "x", &[0]), host(theirs, "y", &[0])], 1) {
            Verdict::Refused(why) => why,
            Verdict::Agreed(_) => panic!("they differ"),
        }
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let own =
            json!({"hosts": 2, "trials": [{"params": {"lines": 1}}, {"params": {"lines": 2}}]});
        let theirs =
            json!({"hosts": 2, "trials": [{"params": {"lines": 1}}, {"params": {"lines": 8}}]});
        assert_eq!(
            refusal(own, theirs),
            "host 1 (b) differs from host 0 in trials[1].params.lines: 8 there, 2 at host 0; \
             run the same plan with the same options on every host"
        );
    }

    #[test]
    fn a_key_that_only_one_has_is_a_difference() {
        let why = refusal(json!({"seed": 1}), json!({"seed": 1, "smoke": true}));
        assert!(why.contains("smoke: true there, null at host 0"), "{why}");
        let why = refusal(json!({"trials": [1, 2]}), json!({"trials": [1]}));
        assert!(
            why.contains("number of its trials: 1 there, 2 at host 0"),
            "{why}"
        );
    }

    #[test]
    fn pools_are_compared_where_both_hosts_know_theirs() {
        let with = |pool| host(json!({}), "x", &[0, 1]).map(|one| Effective { pool, ..one });
        let hosts = |pool| [with(Some(json!(["0x12"]))), with(pool)];
        assert!(matches!(judge(&hosts(None), 1), Verdict::Agreed(_)));
        assert!(matches!(
            judge(&hosts(Some(json!(["0x12"]))), 1),
            Verdict::Agreed(_)
        ));
        let Verdict::Refused(why) = judge(&hosts(Some(json!(["0x13"]))), 1) else {
            panic!("two pools");
        };
        assert!(why.contains("--device-for 1=PATH"), "{why}");
    }

    #[test]
    fn hosts_of_one_machine_take_its_cpus_in_turn() {
        let hosts: Vec<_> = (0..4).map(|_| host(json!({}), "x", &[0, 1])).collect();
        let Verdict::Agreed(places) = judge(&hosts, 1) else {
            panic!("they are alike");
        };
        let told: Vec<_> = places.iter().map(|it| (it.index, it.sharing)).collect();
        assert_eq!(told, [(0, 4), (1, 4), (2, 4), (3, 4)]);
        assert!(
            places
                .iter()
                .all(|it| it.oversubscribed && it.machines == 1)
        );
    }

    #[test]
    fn hosts_that_a_launcher_bound_apart_do_not_share() {
        let hosts = [host(json!({}), "x", &[0]), host(json!({}), "x", &[1])];
        let Verdict::Agreed(places) = judge(&hosts, 1) else {
            panic!("they are alike");
        };
        assert!(
            places
                .iter()
                .all(|it| !it.oversubscribed && it.sharing == 1)
        );
        let hosts = [host(json!({}), "x", &[0, 1]), host(json!({}), "x", &[1, 2])];
        let Verdict::Agreed(places) = judge(&hosts, 1) else {
            panic!("they are alike");
        };
        assert!(places.iter().all(|it| it.oversubscribed));
    }

    #[test]
    fn machines_are_told_apart_by_their_boot() {
        let hosts = [
            host(json!({}), "x", &[0, 1]),
            host(json!({}), "y", &[0, 1]),
            host(json!({}), "", &[0, 1]),
        ];
        let Verdict::Agreed(places) = judge(&hosts, 2) else {
            panic!("they are alike");
        };
        assert!(places.iter().all(|it| it.machines == 3 && it.sharing == 1));
        assert!(places.iter().all(|it| !it.oversubscribed));
    }
}
