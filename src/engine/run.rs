//! Every selected rule over the package, each by itself.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;

use super::{Config, is_wanted, polyfills};
use crate::package::Package;
use crate::rule::{Finding, PackageCx, Rule};
use crate::transforms;

/// A rule that a defect of this program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// Its code: `UG301`.
    pub rule: &'static str,
    /// What went wrong, in the words of the panic.
    pub reason: String,
}

pub(super) fn rules(config: &Config) -> Vec<&'static Rule> {
    let all = transforms::ALL.iter().copied();
    all.filter(|rule| config.selection.includes(rule)).collect()
}

/// What the rules find in `package` where it is asked for.
pub(super) fn run(
    rules: &[&'static Rule],
    cx: &PackageCx<'_>,
    package: &Package,
    config: &Config,
) -> (Vec<Finding>, Vec<Stopped>) {
    let (mut findings, stopped) = each(rules, cx);
    findings.retain(|finding| is_wanted(package, config, finding));
    polyfills::leave_alone(&mut findings);
    (findings, stopped)
}

/// What each rule finds; one that panics says nothing, and the others go on.
fn each(rules: &[&'static Rule], cx: &PackageCx<'_>) -> (Vec<Finding>, Vec<Stopped>) {
    let check = |rule: &&'static Rule| {
        let mut findings = Vec::new();
        // What a rule leaves half done is its own list, and that is thrown away.
        let check = AssertUnwindSafe(|| rule.check.code(cx, &mut findings));
        catch_unwind(check).map_err(|panic| Stopped {
            rule: rule.code,
            reason: words(panic.as_ref()),
        })?;
        Ok(findings)
    };
    let results: Vec<Result<Vec<Finding>, Stopped>> = rules.par_iter().map(check).collect();
    let (mut findings, mut stopped) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(found) => findings.extend(found),
            Err(rule) => stopped.push(rule),
        }
    }
    (findings, stopped)
}

fn words(panic: &(dyn Any + Send)) -> String {
    let fixed = panic.downcast_ref::<&str>().map(ToString::to_string);
    let words = fixed.or_else(|| panic.downcast_ref::<String>().cloned());
    words.unwrap_or_else(|| "no reason given".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Stopped, each};
    use crate::rule::{Check, Rule, Severity};
    use crate::testing::with_package;
    use crate::transforms::borrowed::list_item::BORROWED_LIST_ITEM;

    static BROKEN: Rule = Rule {
        code: "UG999",
        name: "broken",
        summary: "panics",
        severity: Severity::Memory,
        docs: "",
        since: "0.1.0",
        best: None,
        triggers: &[],
        check: Check::Code(|_, _| panic!("no such {}", "thing")),
    };

    #[test]
    fn a_rule_that_panics_is_named_and_the_others_go_on() {
        let code = "long f(PyObject *l) { return PyLong_AsLong(PyList_GetItem(l, 0)); }";
        let (findings, stopped) =
            with_package(code, |cx| each(&[&BROKEN, &BORROWED_LIST_ITEM], cx));
        let codes: Vec<&str> = findings.iter().map(|found| found.rule.code).collect();
        assert_eq!(codes, ["UG101"]);
        let reason = "no such thing".to_owned();
        assert_eq!(
            stopped,
            [Stopped {
                rule: "UG999",
                reason
            }]
        );
    }
}
