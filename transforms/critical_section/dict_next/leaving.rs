//! Uses of macros, as statements, that always leave the region.
//!
//! ```c
//! #define FAIL(text) do { report(text, __LINE__); return -1; } while (0)
//!
//! while (PyDict_Next(d, &pos, &key, &value)) {
//!     if (!PyUnicode_Check(key))
//!         FAIL("no name");              /* an exit like `return`: done behind the section */
//! }
//! ```

use crate::ast::{ExprKind, LocalId, Name, StmtId, StmtKind, TokenRange};

use super::scope::{Scope, inside};
use super::site::Site;

/// Whether `stmt` is the use of a macro with its semicolon, and every way through it leaves the
/// region.
pub(super) fn always_leaves(scope: &Scope<'_>, region: TokenRange, stmt: StmtId) -> bool {
    is_use(scope, stmt) && never_ends(scope, region, stmt)
}

/// Whether one use of a macro makes all of `stmt` but the semicolon.
fn is_use(scope: &Scope<'_>, stmt: StmtId) -> bool {
    let TokenRange { start, end } = scope.range(stmt);
    let tokens = &scope.cx.item(scope.item).tokens;
    let Some(id) = tokens.tokens[start as usize].expansion else {
        return false;
    };
    let made = tokens.root(id).tokens;
    let semicolon = &tokens.tokens[end as usize - 1];
    made == (TokenRange {
        start,
        end: end - 1,
    }) && semicolon.expansion.is_none()
        && scope.span(stmt).is_some()
}

/// Whether `stmt` leaves the region and never ends by its end, as its form says.
fn never_ends(scope: &Scope<'_>, region: TokenRange, stmt: StmtId) -> bool {
    match scope.stmt(stmt) {
        StmtKind::Return(_) => true,
        StmtKind::Goto(name) => !scope.has_label(name, region),
        StmtKind::Block(stmts) => stmts.iter().any(|&stmt| never_ends(scope, region, stmt)),
        StmtKind::DoWhile { body, .. } => {
            !is_cut_short(scope, *body) && never_ends(scope, region, *body)
        }
        StmtKind::If {
            then,
            otherwise: Some(otherwise),
            ..
        } => never_ends(scope, region, *then) && never_ends(scope, region, *otherwise),
        _ => false,
    }
}

/// Whether something in `body` may jump past what follows it: `do { if (x) break; return; } while (0)`.
fn is_cut_short(scope: &Scope<'_>, body: StmtId) -> bool {
    let range = scope.range(body);
    let mut stmts = scope.tree().stmts.iter();
    stmts.any(|stmt| {
        let jumps = matches!(
            stmt.kind,
            StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Label { .. }
                | StmtKind::ComputedGoto(_)
        );
        jumps && inside(stmt.range, range)
    })
}

/// Whether `stmt` does behind the region what it does in it: it names no variable of the region,
/// nor key or value, nor a pointer that the region sets.
pub(super) fn is_same_behind(scope: &Scope<'_>, site: &Site, stmt: StmtId) -> bool {
    let (region, own) = (site.range(scope), scope.range(stmt));
    let named = scope
        .tree()
        .exprs
        .iter()
        .filter_map(|expr| match expr.kind {
            ExprKind::Name(Name::Local(local)) if inside(expr.range, own) => Some(local),
            _ => None,
        });
    let declared_in = |local: LocalId, range: TokenRange| {
        let decl = scope.tree().local(local).decl;
        decl.is_some_and(|decl| inside(scope.range(decl), range))
    };
    let is_same = |local: LocalId| {
        !declared_in(local, region)
            && (scope.tree().local(local).ty.is_number() || !scope.is_written(local, region, None))
    };
    let mut open = named.filter(|&local| !declared_in(local, own));
    open.all(is_same)
}
