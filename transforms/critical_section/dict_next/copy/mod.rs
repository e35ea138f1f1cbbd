//! A copy of the dict to iterate over, where no section can be shown to hold: it owns every key and
//! value, nobody else changes it, and its size is that of the loop.
//!
//! ```c
//! PyObject *fields_copy = PyDict_Copy(self->fields);
//! if (fields_copy == NULL)
//!     return NULL;
//! while (PyDict_Next(fields_copy, &pos, &key, &value)) {
//!     if (call_back(key, value) < 0) {
//!         Py_DECREF(fields_copy);
//!         return NULL;
//!     }
//! }
//! Py_DECREF(fields_copy);
//! ```

mod dict;
mod late;
mod life;
mod shown;
mod text;

use crate::ast::{ExprId, ExprKind, StmtKind, Type};
use crate::edit::{Fix, Need};
use crate::strong;

use super::bound;
use super::emptied;
use super::errno::assume_kept_by_copy;
use super::exits::{ExitKind, Exits};
use super::field::sets_its_dict;
use super::operand::Operand;
use super::owner::is_let_go;
use super::references::looks_at_counts;
use super::rewrite::Names;
use super::scope::{Scope, inside};
use super::site::{Kind, Site};
use super::size::{self, Asked};
use super::text::gil_word;
use super::thread::gives_up_unseen;
use super::waiting;
use dict::Known;
use life::Life;

/// The loops that share a copy.
pub(super) struct Copy<'a> {
    scope: &'a Scope<'a>,
    /// In the order of the text.
    loops: Vec<&'a Site>,
    /// The sizes that have to be those of the copy.
    asked: Vec<Asked<'a>>,
    /// How long it is kept.
    life: Life,
    exits: Exits,
    /// What is known of the dict where it is copied.
    known: Known,
    /// The statements that leave the function where it cannot be made.
    failure: Vec<String>,
}

impl<'a> Copy<'a> {
    /// The copy for the loop `site`, and those of `sites` that have to see the same items; `None` if
    /// it may be missed that they read one, or what they lend would outlive it.
    pub(super) fn new(scope: &'a Scope<'a>, site: &'a Site, sites: &[&'a Site]) -> Option<Self> {
        if is_let_go(scope, site) {
            return None;
        }
        let loops = with_counted(scope, site, sites);
        let mut asked: Vec<Asked<'a>> = Vec::new();
        for site in &loops {
            let own = size::asked_outside(scope, site);
            let is_new = |one: &Asked<'_>| asked.iter().all(|other| other.call != one.call);
            let new: Vec<Asked<'a>> = own.into_iter().filter(is_new).collect();
            asked.extend(new);
        }
        if asked.iter().any(|asked| asked.of_list) {
            return None;
        }
        let life = Life::new(scope, &loops, &asked)?;
        let region = life.site.range(scope);
        let is_possible = |site: &&Site| {
            let operand = Operand::read(scope, site, region);
            let is_stable = matches!(operand, Ok(Operand::Variable(_) | Operand::Shared(_)));
            site.kind == Kind::Loop
                && is_stable
                && !sets_its_dict(scope, &life.site)
                && emptied::clear_behind(scope, site).is_none()
        };
        if !loops.iter().all(is_possible)
            || !loops.iter().all(|site| shown::begins_at_zero(scope, site))
            || looks_at_counts(scope, region)
            || is_changed(scope, &loops, life.site)
            || gives_up_unseen(scope)
            || waiting::jumps(scope, &life.site).is_some()
        {
            return None;
        }
        let first = life.site.region.first;
        let exit = strong::failure_exit(scope.cx, scope.item, first, life.reader)
            .filter(|_| !gives_gil_away(scope));
        let failure = exit.or_else(|| next_turn(scope, &life))?;
        let life = life.up_to_label(scope, &failure);
        let exits = Exits::of_region(scope, &life.site).ok()?;
        Some(Self {
            scope,
            known: Known::new(scope, &life),
            loops,
            asked,
            life,
            exits,
            failure,
        })
    }

    /// The calls of `PyDict_Next` that read from the copy.
    pub(super) fn calls(&self) -> impl Iterator<Item = ExprId> {
        self.loops.iter().map(|site| site.call)
    }

    /// The fix; `None` if the text cannot be edited.
    pub(super) fn fix(&self, names: &mut Names<'_>) -> Option<Fix> {
        let mut fix = text::fix(self, names)?;
        for doubt in shown::doubts(self) {
            fix.assume(doubt);
        }
        let left = self.exits.out.iter();
        let left = left.filter(|exit| self.is_free(&exit.kind));
        let last = self.life.site.region.last;
        assume_kept_by_copy(self.scope, last, left, &self.exits.own, &mut fix);
        if self.known == Known::Sized {
            let (file, _) = self.scope.cx.item(self.scope.item).place;
            let function = "Py_NewRef";
            fix.needs.push(Need::Compat { file, function });
        }
        Some(fix)
    }

    /// Whether a value that an exit returns can be computed once the copy is gone.
    fn is_free(&self, kind: &ExitKind) -> bool {
        let ExitKind::Return(Some(value)) = *kind else {
            return true;
        };
        is_free(self.scope, value)
    }
}

/// What is done without a copy where nobody can be told, and nothing comes behind the loops: the
/// loop around them goes on.
///
/// ```c
/// for (;;) {
///     sleep(1);
///     while (PyDict_Next(modules, &pos, &name, &module))
///         reload_if_changed(module);
/// }
/// ```
fn next_turn(scope: &Scope<'_>, life: &Life) -> Option<Vec<String>> {
    let last = life.site.region.last;
    let block = scope.parent(last)?;
    let StmtKind::Block(stmts) = scope.stmt(block) else {
        return None;
    };
    let is_turn = stmts.last() == Some(&last)
        && scope
            .parent(block)
            .is_some_and(|outer| scope.is_loop(outer));
    let is_thread = scope.function.ret.pointee().is_some_and(Type::is_void);
    let lines = ["PyErr_WriteUnraisable(NULL);", "continue;"].map(str::to_owned);
    (is_turn && (is_thread || scope.function.ret.is_void())).then(|| lines.to_vec())
}

/// Whether the function lets other threads run by words of its own: what an exit has to give back
/// does not show.
fn gives_gil_away(scope: &Scope<'_>) -> bool {
    let (file, place) = scope.cx.item(scope.item).place;
    let tokens = &scope.cx.program.index[file.index()].tokens;
    let own = |word: &[u8]| !word.starts_with(b"PyGILState_") && !word.starts_with(b"PyEval_");
    gil_word(scope.cx.file(file).bytes(), tokens, place, &[]).is_some_and(own)
}

/// Whether an expression reads nothing but a variable or a constant, or only calls a function.
fn is_free(scope: &Scope<'_>, value: ExprId) -> bool {
    match &scope.expr(value).kind {
        ExprKind::Int(_) | ExprKind::Float | ExprKind::Name(_) => true,
        ExprKind::Unary { operand, .. } | ExprKind::Cast { operand, .. } => {
            is_free(scope, *operand)
        }
        ExprKind::Call { args, .. } => args.is_empty(),
        _ => false,
    }
}

/// `site` and the loops over the same dict that count for it, or that it counts for, or that ask
/// for the same size.
fn with_counted<'a>(scope: &Scope<'_>, site: &'a Site, sites: &[&'a Site]) -> Vec<&'a Site> {
    let mut loops = vec![site];
    let mut at = 0;
    while let Some(&one) = loops.get(at) {
        at += 1;
        for other in sites {
            let is_new = loops.iter().all(|known| known.call != other.call);
            if is_new && scope.is_same_text(one.dict, other.dict) && are_bound(scope, one, other) {
                loops.push(other);
            }
        }
    }
    loops.sort_by_key(|site| scope.expr(site.call).range.start);
    loops
}

fn are_bound(scope: &Scope<'_>, one: &Site, other: &Site) -> bool {
    let counts = |one: &Site, other: &Site| {
        size::comes_to(scope, other.call, one.call)
            && !inside(scope.range(other.iteration), one.range(scope))
            && !inside(scope.range(one.iteration), other.range(scope))
            && bound::fills_what_was_counted(scope, one, other.iteration)
    };
    let sizes = size::asked_outside(scope, one);
    let others = size::asked_outside(scope, other);
    let mut shared = sizes.iter();
    counts(one, other)
        || counts(other, one)
        || shared.any(|size| others.iter().any(|other| other.call == size.call))
}

/// Whether the function changes the dict while the copy is in use, other than at the key of the
/// present turn: a copy would not show that.
fn is_changed(scope: &Scope<'_>, loops: &[&Site], life: Site) -> bool {
    const CHANGES: [&str; 12] = [
        "PyDict_Clear",
        "PyDict_DelItem",
        "PyDict_DelItemString",
        "PyDict_Merge",
        "PyDict_MergeFromSeq2",
        "PyDict_Pop",
        "PyDict_SetDefault",
        "PyDict_SetDefaultRef",
        "PyDict_SetItem",
        "PyDict_SetItemString",
        "PyDict_Update",
        "_PyDict_Pop",
    ];
    let region = life.range(scope);
    scope.tree().exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Call { callee, args } if inside(expr.range, region) => {
            let name = scope.tree().callee_name(*callee);
            let changes = name.is_some_and(|name| CHANGES.contains(&name));
            let is_dict = |arg: &ExprId| scope.is_same_text(*arg, life.dict);
            let is_present = |site: &&Site| {
                let key = args.get(1).and_then(|&key| scope.local(scope.uncast(key)));
                inside(expr.range, site.turn(scope)) && key.is_some() && key == site.key
            };
            let is_at_key = matches!(name, Some("PyDict_SetItem" | "PyDict_DelItem"))
                && loops.iter().any(is_present);
            changes && args.first().is_some_and(is_dict) && !is_at_key
        }
        _ => false,
    })
}
