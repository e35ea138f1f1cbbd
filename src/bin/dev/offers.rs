//! What runs of `ungil check` offer, before and after a patch: the second must have nothing that
//! the first did not have.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::report::Findings;

/// An element of what `ungil check --output-format json` prints, as far as it is counted here.
#[derive(Deserialize)]
struct Finding {
    code: String,
    location: Location,
    function: Option<String>,
    api: Option<String>,
    outcome: Outcome,
}

#[derive(Deserialize)]
struct Location {
    path: String,
}

#[derive(Deserialize)]
struct Outcome {
    kind: String,
    confidence: Option<String>,
}

/// The findings of one run.
#[derive(Default)]
pub(crate) struct Offers(Vec<Finding>);

/// How many fixes a rule has in a place, by their confidence.
type Fixes<'f> = BTreeMap<(String, &'f str), u32>;

impl Offers {
    /// Reads the output of a run.
    pub(crate) fn read(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json).map(Self)
    }

    /// How many findings there are, by rule code and outcome.
    pub(crate) fn count(&self) -> Findings {
        let mut counts = Findings::new();
        for finding in &self.0 {
            let by_outcome = counts.entry(finding.code.clone()).or_default();
            *by_outcome.entry(finding.outcome.kind.clone()).or_default() += 1;
        }
        counts
    }

    /// The places where this run, over what a patch made, has more fixes of a confidence than the
    /// one `before` it: lines change, so places are functions.
    pub(crate) fn new_since(&self, before: &Self) -> Vec<String> {
        let old = before.fixes();
        let new = self.fixes().into_iter().filter_map(|(key, count)| {
            let was = old.get(&key).copied().unwrap_or(0);
            let (place, confidence) = &key;
            (count > was).then(|| format!("{place}: {confidence} fixes: {count}, before: {was}"))
        });
        new.collect()
    }

    fn fixes(&self) -> Fixes<'_> {
        let mut fixes = Fixes::new();
        for finding in &self.0 {
            if let Some(confidence) = &finding.outcome.confidence {
                *fixes.entry((finding.place(), confidence)).or_default() += 1;
            }
        }
        fixes
    }
}

impl Finding {
    fn place(&self) -> String {
        let words = [Some(&self.code), self.api.as_ref(), self.function.as_ref()];
        let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
        format!("{}: {}", self.location.path, words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(found: &[(&str, &str, &str)]) -> Offers {
        let found = found.iter().map(|(code, function, outcome)| {
            format!(
                r#"{{"code": "{code}", "message": "", "location": {{"path": "a.c", "line": 1}},
                    "function": "{function}", "api": null, "outcome": {outcome}}}"#
            )
        });
        let json = format!("[{}]", found.collect::<Vec<_>>().join(","));
        Offers::read(json.as_bytes()).unwrap()
    }

    const SAFE: &str = r#"{"kind": "fix", "confidence": "safe", "edits": []}"#;
    const REVIEW: &str = r#"{"kind": "fix", "confidence": "review"}"#;
    const MANUAL: &str = r#"{"kind": "manual"}"#;

    #[test]
    fn findings_are_counted_by_rule_and_outcome() {
        let all = [
            ("UG101", "f", SAFE),
            ("UG101", "f", MANUAL),
            ("UG101", "g", REVIEW),
        ];
        let counts = offers(&all).count();
        assert_eq!(counts["UG101"]["fix"], 2);
        assert_eq!(counts["UG101"]["manual"], 1);
        assert!(Offers::read(b"thread panicked").is_err());
    }

    #[test]
    fn fixes_that_are_new_or_safer_are_told() {
        let before = [
            ("UG101", "f", SAFE),
            ("UG101", "g", REVIEW),
            ("UG504", "h", MANUAL),
        ];
        let before = offers(&before);
        let left = offers(&[("UG101", "g", REVIEW), ("UG504", "h", MANUAL)]);
        assert!(left.new_since(&before).is_empty());
        let changed = [
            ("UG101", "f", REVIEW),
            ("UG101", "g", SAFE),
            ("UG504", "h", REVIEW),
        ];
        assert_eq!(
            offers(&changed).new_since(&before),
            [
                "a.c: UG101 f: review fixes: 1, before: 0",
                "a.c: UG101 g: safe fixes: 1, before: 0",
                "a.c: UG504 h: review fixes: 1, before: 0"
            ]
        );
    }
}
