//! From what rules say to fixes that are joined, complete and proven.

use super::needs::{NewFile, Origins};
use super::workspace::Workspace;
use super::{Config, bodies, converge, examine, needs, reported, run};
use crate::package::Package;
use crate::rule::{Finding, PackageCx};
use crate::validate::{Reload, Validation, Validator};

/// Most times that fixes are looked for in the result of others.
const MAX_ROUNDS: usize = 3;

/// A package that is looked at.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s, 'a> {
    pub(super) package: &'s Package,
    pub(super) config: &'s Config,
    pub(super) workspace: &'s Workspace,
    pub(super) cx: &'s PackageCx<'a>,
}

/// What fixes need beside, and how they fared.
pub(super) struct Served {
    pub(super) new_files: Vec<NewFile>,
    pub(super) origins: Origins,
    pub(super) validation: Validation,
}

impl<'s> Scope<'s, '_> {
    /// Proves changes of the package with `reload` of its workspace.
    pub(super) fn validator(self, reload: &'s Reload<'s>) -> Validator<'s> {
        let cx = self.cx;
        Validator::new(&self.workspace.files, cx.program, cx.summaries(), reload)
            .with_confirmed(&self.config.confirmed)
    }

    /// Joins fixes, and finds more where a copy of the text that is written otherwise has them.
    pub(super) fn plan(self, validator: &mut Validator<'_>, findings: &mut [Finding]) {
        let Self {
            package,
            config,
            workspace,
            cx,
        } = self;
        bodies::indexed::solve(package, config, cx, findings);
        converge::join(package, config, cx.program, findings);
        bodies::chosen::solve(package, config, cx, findings);
        bodies::opened::solve(package, config, cx, findings);
        bodies::named::solve(package, config, cx, findings);
        bodies::solve(package, config, workspace, cx.program, findings);
        bodies::enclosed::solve(package, config, cx, findings);
        reported::solve((package, config), cx, validator, findings);
    }

    /// Completes and proves fixes, and looks for more in the result of those that are safe.
    pub(super) fn serve(
        self,
        validator: &mut Validator<'_>,
        findings: &mut Vec<Finding>,
    ) -> Served {
        let Self {
            package, config, ..
        } = self;
        let mut rounds = 0..MAX_ROUNDS;
        let mut seen = bodies::settled::Seen::new();
        loop {
            let mut proven = findings.clone();
            let (new_files, origins) = needs::serve(package, config, self.workspace, &mut proven);
            let validation = validator.fixes(&mut proven);
            let scope = (package, config, self.cx.program);
            let is_last = rounds.next().is_none();
            if is_last || !bodies::settled::solve(scope, validator, &mut seen, &proven, findings) {
                *findings = proven;
                return Served {
                    new_files,
                    origins,
                    validation,
                };
            }
        }
    }
}

/// How much is made of what rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Each fix as its rule made it.
    Rules,
    /// As a run makes it.
    Plan,
}

/// What the rules say of the places of `package`, whose workspace is known, that are wanted: each
/// fix proven, without what it needs beside.
pub(super) fn prove_alone(
    package: &Package,
    config: &Config,
    workspace: &Workspace,
    effort: Effort,
    is_wanted: &dyn Fn(&Finding) -> bool,
) -> Vec<Finding> {
    examine(config, workspace, |cx, rules| {
        let scope = Scope {
            package,
            config,
            workspace,
            cx,
        };
        let reload: &Reload<'_> = &|files, places, look| workspace.reload(files, places, look);
        let mut validator = scope.validator(reload);
        let (mut findings, _) = run(rules, cx, package, config);
        findings.retain(is_wanted);
        if effort == Effort::Plan {
            scope.plan(&mut validator, &mut findings);
        }
        validator.fixes(&mut findings);
        findings
    })
}
