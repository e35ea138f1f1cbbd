//! JUnit XML: a suite for each file, a failing test case for each finding.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::place::Region;
use super::{Named, View, what_to_do};
use crate::rule::{Finding, Outcome};
use crate::source::FileId;

pub(super) fn report(view: View<'_>, findings: &[Named<'_>]) -> String {
    let mut report = Report::new("ungil");
    let mut suites = BTreeMap::<FileId, TestSuite>::new();
    for Named { finding, .. } in findings {
        let suite = suites
            .entry(finding.file)
            .or_insert_with(|| TestSuite::new(view.root_path(finding.file)));
        suite.add_test_case(case(view, finding));
    }
    if suites.is_empty() {
        // A report without any case is an error for those who read it.
        let mut suite = TestSuite::new("ungil");
        suite.add_test_case(TestCase::new("no findings", TestCaseStatus::success()));
        report.add_test_suite(suite);
    }
    report.add_test_suites(suites.into_values());
    report.to_string().expect("writing to a string cannot fail")
}

fn case(view: View<'_>, finding: &Finding) -> TestCase {
    let region = Region::new(view.package.files.get(finding.file), finding.span);
    let (code, name, message) = (finding.rule.code, finding.rule.name, &finding.message);
    let advice = what_to_do(&finding.outcome);
    let status = match finding.outcome {
        Outcome::Safe(_) => TestCaseStatus::success(),
        Outcome::Fix(_) | Outcome::Manual(_) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status
                .set_type(code)
                .set_message(message.as_str())
                .set_description(format!(
                    "line {}, column {}: {message} [{advice}]",
                    region.line, region.column
                ));
            status
        }
    };
    let place = format!("{}:{}", region.line, region.column);
    let mut case = TestCase::new(format!("{code} {name} at {place}"), status);
    case.set_classname(view.root_path(finding.file));
    let severity = finding.rule.severity;
    case.add_property(("severity", severity.name()));
    case.add_property(("level", severity.level().name()));
    case
}
