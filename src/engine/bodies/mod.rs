//! Fixes in the bodies of macros: planned and proven on a copy of the package in which every use of
//! the macro is written out, and taken back into the `#define` if all uses ask for the same.
//!
//! ```c
//! #define SET_DATA \
//!     for (i = 0; i < n; i++) \
//!         data[i] = PyFloat_AsDouble(PyList_GET_ITEM(arg, i)); \
//!     Py_RETURN_NONE;
//!
//! static PyObject *set_data(Table *self, PyObject *arg) { SET_DATA }
//! ```

mod agreed;
pub(super) mod chosen;
mod continued;
mod copy;
mod edited;
pub(super) mod enclosed;
pub(super) mod indexed;
pub(super) mod named;
pub(super) mod opened;
mod same;
pub(super) mod settled;
mod uses;
mod written_out;

use std::collections::BTreeSet;

use super::Config;
use super::plan::{Effort, prove_alone};
use super::workspace::Workspace;
use crate::edit::{Edit, Fix, Need};
use crate::package::Package;
use crate::program::Program;
use crate::rule::{Finding, Outcome};
use crate::source::{ByteSpan, FileId};
use copy::Copy;
use uses::Target;

/// What one use of a macro asks of its body: bytes of the file of the `#define`, and new text, in
/// the order in which insertions at one place have to stand.
type BodyEdits = Vec<(ByteSpan, Vec<u8>)>;

/// Looks again at what rules about borrowed references left to be done by hand because a macro
/// makes it.
pub(super) fn solve(
    package: &Package,
    config: &Config,
    workspace: &Workspace,
    program: &Program<'_>,
    findings: &mut [Finding],
) {
    let open = findings.iter().filter(|finding| is_open(program, finding));
    let places: BTreeSet<_> = open.map(|finding| (finding.file, finding.span)).collect();
    let targets = uses::targets(program, &places);
    if targets.is_empty() {
        return;
    }
    let copy = Copy::new(package, targets);
    let copied = Workspace::near(&copy.package, config, program);
    let found = prove_alone(&copy.package, config, &copied, Effort::Rules, &|finding| {
        copy.region_of(finding.file, finding.span).is_some()
    });
    let solver = Solver {
        program,
        workspace,
        copy: &copy,
        copied: &copied,
        found: &found,
    };
    for finding in findings.iter_mut().filter(|it| is_open(program, it)) {
        let target = copy
            .targets
            .iter()
            .position(|target| target.def.file == finding.file && target.def.span == finding.span);
        let outcome = target.and_then(|target| solver.outcome(target, finding));
        finding.outcome = outcome.unwrap_or(finding.outcome.clone());
    }
}

/// Whether the finding is about a macro, and without an answer.
fn is_open(program: &Program<'_>, finding: &Finding) -> bool {
    let code = finding.rule.code;
    (code.starts_with("UG1") || code == "UG301")
        && matches!(finding.outcome, Outcome::Manual(_))
        && program.index[finding.file.index()]
            .define_at(finding.span)
            .is_some()
}

struct Solver<'s, 'p> {
    program: &'s Program<'p>,
    workspace: &'s Workspace,
    copy: &'s Copy<'p>,
    copied: &'s Workspace,
    /// What the rules say of the copy, proven on it.
    found: &'s [Finding],
}

impl Solver<'_, '_> {
    /// What becomes of a finding about the macro `target`; `None` if no use shows it.
    fn outcome(&self, target: usize, finding: &Finding) -> Option<Outcome> {
        let here = self.found.iter().filter(|found| {
            let region = self.copy.region_of(found.file, found.span);
            found.rule.code == finding.rule.code
                && region.is_some_and(|region| region.target == target)
        });
        let here: Vec<&Finding> = here.collect();
        let first = here.first()?;
        if let Some(manual) = here.iter().find_map(|found| self.by_hand(found)) {
            return Some(manual);
        }
        let Some(whole) = together(&here) else {
            return Some(first.outcome.clone());
        };
        let name = self.name(target);
        Some(match self.body_edits(target, &whole) {
            Err(Outside) => Outcome::Manual(format!(
                "write the call in the functions that use the macro `{name}`, without the macro \
                 (these functions have to change around the call)"
            )),
            Ok(None) => Outcome::Manual(format!(
                "expand the macro `{name}` by hand in the functions that use it (they need \
                 different changes)"
            )),
            Ok(Some(edits)) => Outcome::Fix(self.fix(target, whole, &edits)?),
        })
    }

    /// The reason for which one use has no fix.
    fn by_hand(&self, found: &Finding) -> Option<Outcome> {
        let Outcome::Manual(reason) = &found.outcome else {
            return None;
        };
        let region = self.copy.region_of(found.file, found.span)?;
        let target = &self.copy.targets[region.target];
        let used = &target.uses[region.number];
        let file = self.program.files.get(used.file);
        let line = file.position(used.span.start()).line.0;
        let name = self.name(region.target);
        let path = file.path().display();
        Some(Outcome::Manual(format!(
            "where the macro `{name}` is used at {path}:{line}, {reason}"
        )))
    }

    /// What all uses ask for; `None` if they differ, or fixes of one use clash.
    fn body_edits(&self, target: usize, fix: &Fix) -> Result<Option<BodyEdits>, Outside> {
        let clash = fix
            .edits
            .windows(2)
            .any(|pair| pair[0].file == pair[1].file && pair[0].span.end() > pair[1].span.start());
        if clash {
            return Ok(None);
        }
        let target_of = &self.copy.targets[target];
        let mut asked: Vec<BodyEdits> = vec![Vec::new(); target_of.uses.len()];
        for edit in &fix.edits {
            let (number, edit) = self.copy.in_body(target, edit).ok_or(Outside)?;
            asked[number].push(edit);
        }
        let bytes = self.program.files.get(target_of.def.file).bytes();
        Ok(agreed::edits(target_of, bytes, &asked).filter(|edits| !edits.is_empty()))
    }

    /// The fix of the `#define` for `whole`, which is one of the copy, if it makes of each use what
    /// was proven.
    fn fix(&self, target: usize, whole: Fix, edits: &BodyEdits) -> Option<Fix> {
        let target = &self.copy.targets[target];
        let file = target.def.file;
        let bytes = self.program.files.get(file).bytes();
        let on_copy = whole.edits.clone();
        let functions: BTreeSet<&'static str> = whole
            .needs
            .iter()
            .map(|Need::Compat { function, .. }| *function)
            .collect();
        let fix = Fix {
            edits: continued::edits(target.def, bytes, edits),
            needs: functions
                .into_iter()
                .map(|function| Need::Compat { file, function })
                .collect(),
            alternatives: Vec::new(),
            ..whole
        };
        same::holds(self, target, &fix.edits, &on_copy).then_some(fix)
    }

    fn name(&self, target: usize) -> String {
        let Target { def, .. } = &self.copy.targets[target];
        self.program.files.get(def.file).text(def.name).into_owned()
    }
}

/// The fixes among `findings` as one; `None` if there is none.
fn together(findings: &[&Finding]) -> Option<Fix> {
    let mut fixes = findings.iter().filter_map(|found| found.fix());
    let mut whole = fixes.next()?.clone();
    fixes.for_each(|fix| whole.include(fix));
    // Stable: insertions at one place keep their order.
    whole.edits.sort_by_key(Edit::place);
    Some(whole)
}

/// An edit lies outside of what the macro makes.
struct Outside;

/// A place in a file.
type Place = (FileId, ByteSpan);
