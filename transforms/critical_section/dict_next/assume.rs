//! What a person has to confirm where a section cannot be shown to hold.

use crate::ast::LocalId;
use crate::cfg::{Callee, InstrKind};
use crate::edit::Fix;
use crate::strong::jumped_back;

use super::API;
use super::field::keeps_its_dict;
use super::null::may_be_null;
use super::operand::Operand;
use super::owner::{is_let_go, needs_reference};
use super::scope::{Scope, is_address_of};
use super::site::Site;
use super::values::{KEY, Set, Uses, VALUE, WAYS, Way};

/// Assumes what is not known of key and value; no reference of the loop holds those in `unheld`.
pub(super) fn assume_values(
    scope: &Scope<'_>,
    site: &Site,
    uses: Uses,
    unheld: Set,
    fix: &mut Fix,
) {
    for (local, set) in [(site.key, KEY), (site.value, VALUE)] {
        let Some(local) = local else {
            continue;
        };
        let name = scope.name(local);
        if uses.released & set != 0 {
            let line = uses.line_of(scope, set, Way::Behind);
            fix.assume(match is_only_lent(scope, local) {
                true => format!(
                    "`{name}`, which only holds what it borrows from `PyDict_Next`, is not \
                     released after the section{line}"
                ),
                false => format!(
                    "`{name}` holds a reference that the function owns, not one borrowed from \
                     `PyDict_Next`, where it is released after the section{line}"
                ),
            });
        }
        for way in WAYS.into_iter().filter(|&way| uses.has(set, way)) {
            let line = uses.line_of(scope, set, way);
            if way != Way::Behind || uses.released & set == 0 {
                fix.assume(outlives(name, way, &line));
            }
        }
        if unheld & set != 0 {
            fix.assume(format!(
                "another reference keeps `{name}` alive in the loop while calls run Python code"
            ));
        }
    }
}

/// What must be true where the key or value `name` outlives its turn.
fn outlives(name: &str, way: Way, line: &str) -> String {
    match way {
        Way::Behind => {
            format!(
                "another reference keeps `{name}` alive where it is used after the section{line}"
            )
        }
        Way::Later => {
            format!(
                "another reference keeps `{name}` alive in the loop for a later iteration{line}"
            )
        }
        Way::Stored => format!(
            "another reference keeps `{name}` alive as long as other code uses what the loop \
             stores{line}"
        ),
        Way::Given => format!(
            "`{name}` holds a reference that the function owns, not one borrowed from \
             `PyDict_Next`, where the loop gives it away{line}"
        ),
    }
}

/// Assumes that nothing jumps out of the loop by the C library.
pub(super) fn assume_no_jump(scope: &Scope<'_>, site: &Site, fix: &mut Fix) {
    if let Some(name) = jumped_back(scope.tree(), &scope.cfg, site.call) {
        fix.assume(format!(
            "nothing in the loop jumps back to `{name}` (the section would stay open, and \
             references would not be released)"
        ));
    }
}

/// Whether a variable never gets anything but `NULL` and what `PyDict_Next` lends: its release is a
/// mistake.
fn is_only_lent(scope: &Scope<'_>, local: LocalId) -> bool {
    let tree = scope.tree();
    let mut stored = tree.stores().filter(|(to, _)| *to == local);
    let mut steps = scope.steps_in(scope.function.range);
    stored.all(|(_, value)| tree.is_null(value))
        && steps.all(|step| {
            let gets = step.operands().any(|operand| is_address_of(operand, local));
            !gets || matches!(&step.kind, InstrKind::Call { callee: Callee::Named(name), .. } if &**name == API)
        })
}

/// Assumes what is not known of the dict of a loop inside, which is locked before that loop is known
/// to run.
///
/// ```c
/// PyObject *other = NULL;                     /* "O|O" */
/// while (PyDict_Next(dict, &pos, &key, &value)) {
///     if (other == NULL)
///         continue;
///     while (PyDict_Next(other, …
/// ```
pub(super) fn assume_second(
    scope: &Scope<'_>,
    site: &Site,
    inner: &Site,
    operand: &Operand,
    fix: &mut Fix,
) {
    let text = operand.text();
    let begin = scope.cfg.before(site.region.first);
    if begin.is_none_or(|begin| may_be_null(scope, inner.dict, begin)) {
        fix.assume(format!("`{text}` is not NULL here"));
    }
    if needs_reference(scope, inner) {
        fix.assume(format!(
            "another reference keeps `{text}` alive until the section ends"
        ));
    }
}

/// Assumes what is not known of the object that is locked.
pub(super) fn assume_operand(scope: &Scope<'_>, site: &Site, operand: &Operand, fix: &mut Fix) {
    if is_let_go(scope, site) {
        fix.assume(format!(
            "another reference keeps `{}` alive until the section begins",
            operand.text()
        ));
    }
    match operand {
        Operand::Variable(_) | Operand::Borrowed(_) => {}
        Operand::Held { .. } if keeps_its_dict(scope, site) => {}
        Operand::Held { text, .. } | Operand::Shared(text) => {
            fix.assume(format!("no other code sets `{text}` while the loop runs"))
        }
        Operand::Bound(text) => fix.assume(format!(
            "`{text}` returns the same dict each time, and the dict stays alive"
        )),
    }
}
