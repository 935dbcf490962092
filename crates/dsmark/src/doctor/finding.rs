//! What a check found.

use serde_json::{Value, json};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// As it should be.
    Ok,
    /// Worth knowing; figures are right.
    Note,
    /// Figures are disturbed, or part of dsmark does not work here.
    Warn,
    /// Native runs do not work here, or not on this path.
    Fail,
}

impl Status {
    pub(crate) const ALL: [Self; 4] = [Self::Ok, Self::Note, Self::Warn, Self::Fail];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) check: String,
    pub(crate) status: Status,
    pub(crate) found: String,
    /// What it means for dsmark.
    pub(crate) means: &'static str,
    pub(crate) remedy: Option<String>,
    /// Rows of `docs/PAIN_POINTS.md`.
    pub(crate) pain_point: Vec<u32>,
}

impl Finding {
    pub(crate) fn new(
        status: Status,
        check: impl Into<String>,
        found: impl Into<String>,
        means: &'static str,
    ) -> Self {
        Self {
            check: check.into(),
            status,
            found: found.into(),
            means,
            remedy: None,
            pain_point: Vec::new(),
        }
    }

    /// What to do about it; the same finding without anything wrong has none.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        if self.status != Status::Ok {
            self.remedy = Some(remedy.into());
        }
        self
    }

    pub(crate) fn rows(mut self, rows: &[u32]) -> Self {
        self.pain_point = rows.to_vec();
        self
    }
}

/// All findings, by subject.
#[derive(Debug)]
pub(crate) struct Report {
    /// Where, as a sentence ends: here, or on this path.
    pub(crate) place: &'static str,
    pub(crate) groups: Vec<(&'static str, Vec<Finding>)>,
}

impl Report {
    pub(crate) fn new(place: &'static str) -> Self {
        let groups = Vec::new();
        Self { place, groups }
    }

    pub(crate) fn add(&mut self, title: &'static str, findings: Vec<Finding>) {
        self.groups.push((title, findings));
    }

    pub(crate) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.groups.iter().flat_map(|(_, findings)| findings)
    }

    pub(crate) fn count(&self, status: Status) -> usize {
        let of_it = self.findings().filter(|finding| finding.status == status);
        of_it.count()
    }

    /// One object: `findings` and how many there are of each status.
    pub(crate) fn to_json(&self) -> Value {
        let findings: Vec<_> = self
            .groups
            .iter()
            .flat_map(|(title, findings)| findings.iter().map(|it| to_json(title, it)))
            .collect();
        let mut summary: serde_json::Map<_, _> = Status::ALL
            .map(|status| (status.name().to_owned(), json!(self.count(status))))
            .into_iter()
            .collect();
        summary.insert("usable".into(), json!(self.count(Status::Fail) == 0));
        json!({"findings": findings, "summary": summary})
    }
}

fn to_json(group: &str, finding: &Finding) -> Value {
    json!({
        "check": finding.check, "group": group, "status": finding.status.name(),
        "found": finding.found, "means": finding.means, "remedy": finding.remedy,
        "pain_point": finding.pain_point,
    })
}

/// Bytes in the largest binary unit that does not round them.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units
        .iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit))
    {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

/// Bytes to a tenth of a GiB, for amounts that nobody maps to the byte.
pub(crate) fn about(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1_u64 << 30) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_holds_findings_and_summary() {
        let mut report = Report::new("here");
        let bad = Finding::new(Status::Fail, "x", "y", "z")
            .remedy("w")
            .rows(&[1, 5]);
        let good = Finding::new(Status::Ok, "a", "b", "c").remedy("never said");
        report.add("group", vec![bad, good]);
        let json = report.to_json();
        assert_eq!(
            json["summary"],
            json!({"ok": 1, "note": 0, "warn": 0, "fail": 1, "usable": false})
        );
        assert_eq!(json["findings"][0]["pain_point"], json!([1, 5]));
        assert_eq!(json["findings"][0]["remedy"], "w");
        assert_eq!(json["findings"][1]["remedy"], Value::Null);
    }

    #[test]
    fn sizes_are_never_rounded() {
        assert_eq!(size(2 << 20), "2 MiB");
        assert_eq!(size((2 << 20) + 1), "2097153 bytes");
        assert_eq!(size(3 << 30), "3 GiB");
    }
}
