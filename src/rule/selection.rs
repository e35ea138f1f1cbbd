//! Which rules run: `--select` and `--ignore`.

use super::Rule;

/// A rule's code, its name, or the beginning of codes (`UG1`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(String);

/// A selector that fits no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no rule has the code, name or code prefix `{selector}`{hint}")]
pub struct UnknownRule {
    selector: String,
    hint: String,
}

impl Selector {
    /// Reads a selector that must fit one of `rules`.
    ///
    /// # Errors
    /// [`UnknownRule`] with the nearest code or name.
    pub fn new(text: &str, rules: &[&Rule]) -> Result<Self, UnknownRule> {
        let selector = Self(text.to_owned());
        if rules.iter().any(|rule| selector.matches(rule)) {
            return Ok(selector);
        }
        let names = rules.iter().flat_map(|rule| [rule.code, rule.name]);
        let near = names
            .max_by(|a, b| strsim::jaro_winkler(a, text).total_cmp(&strsim::jaro_winkler(b, text)));
        let hint = match near {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        };
        Err(UnknownRule {
            selector: text.to_owned(),
            hint,
        })
    }

    /// The selector that fits `rule` alone.
    #[must_use]
    pub fn of(rule: &Rule) -> Self {
        Self(rule.code.to_owned())
    }

    /// Whether the selector fits `rule`.
    #[must_use]
    pub fn matches(&self, rule: &Rule) -> bool {
        self.precision(rule).is_some()
    }

    /// How closely the selector fits: a name or whole code most, a longer prefix more.
    fn precision(&self, rule: &Rule) -> Option<usize> {
        if self.0 == rule.name || self.0.eq_ignore_ascii_case(rule.code) {
            return Some(usize::MAX);
        }
        let prefix = self.0.to_ascii_uppercase();
        (!prefix.is_empty() && rule.code.starts_with(&prefix)).then_some(prefix.len())
    }
}

/// Which rules run. All of them by default.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Rules that run; all if empty.
    pub select: Vec<Selector>,
    /// Rules that do not.
    pub ignore: Vec<Selector>,
}

impl Selection {
    /// Whether `rule` runs. Where both lists fit, the closer fit wins: `--select UG101 --ignore
    /// UG1` leaves `UG101`; equally close, `ignore` wins.
    #[must_use]
    pub fn includes(&self, rule: &Rule) -> bool {
        let closest = |list: &[Selector]| list.iter().filter_map(|s| s.precision(rule)).max();
        let selected = if self.select.is_empty() {
            Some(0)
        } else {
            closest(&self.select)
        };
        selected > closest(&self.ignore)
    }
}

#[cfg(test)]
mod tests {
    use super::{Selection, Selector};
    use crate::rule::{Check, Rule, Severity};

    const fn rule(code: &'static str, name: &'static str) -> Rule {
        Rule {
            code,
            name,
            summary: "",
            severity: Severity::Memory,
            docs: "",
            since: "0.1.0",
            best: None,
            triggers: &[],
            check: Check::Code(|_, _| {}),
        }
    }

    static LIST: Rule = rule("UG101", "borrowed-list-item");
    static DICT: Rule = rule("UG102", "borrowed-dict-item");
    static SLOT: Rule = rule("UG201", "gil-slot");
    static RULES: &[&Rule] = &[&LIST, &DICT, &SLOT];

    fn chosen(select: &[&str], ignore: &[&str]) -> Vec<&'static str> {
        let read = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| Selector::new(text, RULES).unwrap())
                .collect()
        };
        let selection = Selection {
            select: read(select),
            ignore: read(ignore),
        };
        RULES
            .iter()
            .filter(|rule| selection.includes(rule))
            .map(|rule| rule.code)
            .collect()
    }

    #[test]
    fn the_closer_fit_wins() {
        assert_eq!(chosen(&[], &[]), ["UG101", "UG102", "UG201"]);
        assert_eq!(chosen(&["UG1"], &[]), ["UG101", "UG102"]);
        assert_eq!(chosen(&["UG1"], &["borrowed-dict-item"]), ["UG101"]);
        assert_eq!(chosen(&["ug101"], &["UG1"]), ["UG101"]);
        assert_eq!(chosen(&["UG1"], &["UG1"]), [""; 0]);
    }

    #[test]
    fn an_unknown_selector_names_the_nearest_rule() {
        let error = Selector::new("borrowed-list-items", RULES).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no rule has the code, name or code prefix `borrowed-list-items`; did you mean \
             `borrowed-list-item`?"
        );
    }
}
