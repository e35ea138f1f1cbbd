//! What a run says of each extension module, for the statistics.

use std::collections::BTreeSet;

use super::readiness::{Open, Readiness};
use super::{Declared, Init, ModuleStatus};
use crate::edit::Confidence;
use crate::modules::{self, Module, Route, find_modules};
use crate::package::Package;
use crate::rule::{Finding, Outcome, PackageCx};

/// The modules of the analysed files by file and place. A module is declared by a fix if a
/// finding about it has one.
pub(super) fn statuses(
    cx: &PackageCx<'_>,
    package: &Package,
    readiness: &Readiness<'_, '_>,
    findings: &[Finding],
) -> Vec<ModuleStatus> {
    let analysed = |module: &Module| {
        let info = package.info_of(module.place.0);
        info.is_some_and(|info| info.kind.is_analysed())
    };
    let modules = find_modules(cx).into_iter().filter(analysed);
    let mut statuses = Vec::new();
    for module in modules {
        for made in &module.made {
            let open = readiness.open(findings, made.file);
            statuses.push(ModuleStatus {
                files: readiness.files_of(made.file),
                name: made.name.clone(),
                file: made.file,
                ..status(&module, findings, open)
            });
        }
    }
    statuses
}

fn status(module: &Module, findings: &[Finding], open: Open) -> ModuleStatus {
    let about = findings.iter().filter(|finding| {
        (finding.file, finding.span) == module.place && finding.rule.code.starts_with("UG2")
    });
    let outcomes: Vec<&Outcome> = about.map(|finding| &finding.outcome).collect();
    let fixes = || {
        outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Fix(fix) => Some(fix.confidence),
            Outcome::Safe(_) | Outcome::Manual(_) => None,
        })
    };
    // A module with two ways of initialisation is declared when both are.
    let all_fixed = fixes().count() == outcomes.len();
    let declared = match (module.declared, fixes().min()) {
        (modules::Declared::Already, _) => Declared::Already,
        (modules::Declared::NeedsGil, _) => Declared::NeedsGil,
        (_, Some(Confidence::Safe)) if all_fixed => Declared::Safe,
        (_, Some(Confidence::Review)) if all_fixed => Declared::Review,
        _ => Declared::No,
    };
    let init = match module.route {
        Route::Multi(_) | Route::Both(..) => Init::Multi,
        Route::Single(_) | Route::Unknown(_) => Init::Single,
    };
    ModuleStatus {
        name: module.name.clone(),
        file: module.place.0,
        files: BTreeSet::new(),
        init,
        declared,
        open,
    }
}
