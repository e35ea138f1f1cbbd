//! The function whose struct is filled: it releases what the fields hold where it leaves.

use std::collections::BTreeSet;

use super::holders::{self, Filled};
use super::{Fields, quiet};
use crate::ast::{ExprId, ExprKind, Init, LocalId, Name, Parent, StmtId, StmtKind, UnaryOp};
use crate::cfg::{Dominators, Point, Terminator, reaches};
use crate::edit::Fix;
use crate::rule::{CallSite, PackageCx};
use crate::strong::emit::Draft;
use crate::strong::scene::{Scene, graph};
use crate::strong::weak;

/// The releases in front of each `return` behind the call at `site`; `None` if the struct may hold
/// something else there, or is needed for what is returned.
pub(super) fn fix(cx: &PackageCx<'_>, site: CallSite, fields: &Fields) -> Option<Fix> {
    let function = cx.function(site.item)?;
    let cfg = graph(function);
    let scene = Scene::new(cx, site.item, function, &cfg)?;
    let (filled, path) = filled(&scene, site, fields)?;
    let variable = filled.variable;
    let call = cfg.call(site.expr)?;
    let empty = emptied(&scene, variable)?;
    let dominators = Dominators::new(&cfg);
    let behind = call.next();
    let is_empty = dominators.dominates_point(empty, call);
    let is_steady = || holders::leave_it_alone(cx, &filled) && quiet::is_quiet(cx, scene.tree);
    if !is_empty || reaches(&cfg, behind, call, &[]) || !is_steady() {
        return None;
    }
    let mut draft = Draft::new(&scene, String::new());
    let releases = fields
        .names
        .iter()
        .map(|field| format!("Py_XDECREF({path}.{field});"));
    let releases: Vec<String> = releases.collect();
    for end in cfg.returns().filter(|&end| reaches(&cfg, behind, end, &[])) {
        let Terminator::Return(_, stmt) = cfg.block(end.block).terminator else {
            return None;
        };
        let is_right =
            is_in_scope(&scene, stmt, variable) && returns_plainly(&scene, stmt, variable);
        if !dominators.dominates_point(empty, end) || !is_right {
            return None;
        }
        draft.before(stmt, releases.clone());
    }
    draft.finish().ok()
}

/// The variable of which `&variable.field` is a part, and the text of that part.
fn filled(scene: &Scene<'_>, site: CallSite, fields: &Fields) -> Option<(Filled, String)> {
    let types = scene.cx.types();
    let (_, args) = scene.call(site.expr)?;
    let ExprKind::Unary {
        op: UnaryOp::AddressOf,
        operand,
    } = scene.tree.expr(*args.get(fields.param)?).kind
    else {
        return None;
    };
    let mut parts: BTreeSet<Box<str>> = fields.names.iter().cloned().collect();
    let mut kinds = BTreeSet::from([types.key(types.of(scene.tree, operand)?)?]);
    let mut base = operand;
    while let ExprKind::Member {
        base: outer,
        field,
        arrow: false,
    } = &scene.tree.expr(base).kind
    {
        parts.insert(field.clone());
        base = *outer;
        kinds.insert(types.key(types.of(scene.tree, base)?)?);
    }
    let local = scene.as_local(base)?;
    let variable = scene.tree.local(local);
    let is_own = variable.is_automatic() && !variable.is_param;
    let filled = Filled {
        site,
        param: fields.param,
        variable: local,
        parts,
        kinds,
    };
    is_own.then_some((filled, scene.text(scene.span(operand)?)))
}

/// Where all of the variable gets zero; `None` if that is not once, or part of it is set as a whole
/// elsewhere.
fn emptied(scene: &Scene<'_>, variable: LocalId) -> Option<Point> {
    let mut at = None;
    for expr in scene.tree.expr_ids() {
        match scene.call(expr) {
            Some(("memset", [to, value, size])) if names(scene, *to, variable) => {
                let is_whole = matches!(scene.tree.expr(scene.tree.without_casts(*to)).kind,
                    ExprKind::Unary { op: UnaryOp::AddressOf, operand }
                        if scene.as_local(operand) == Some(variable));
                let is_all = is_size(scene, *size, variable);
                if !is_whole || !is_all || !scene.is_null(*value) || at.is_some() {
                    return None;
                }
                at = Some(scene.cfg.call(expr)?);
            }
            Some(("memcpy" | "memmove", args))
                if args.iter().any(|&arg| names(scene, arg, variable)) =>
            {
                return None;
            }
            _ => {}
        }
        if let ExprKind::Assign { lhs, .. } = scene.tree.expr(expr).kind
            && scene.as_local(lhs) == Some(variable)
        {
            return None;
        }
    }
    at.or_else(|| declared_empty(scene, variable))
}

/// Whether it is the size of all of the variable.
fn is_size(scene: &Scene<'_>, size: ExprId, variable: LocalId) -> bool {
    let types = scene.cx.types();
    match &scene.tree.expr(size).kind {
        ExprKind::SizeOfExpr(operand) => scene.as_local(*operand) == Some(variable),
        ExprKind::TypeQuery(ty) => {
            let key = types.key(ty);
            key.is_some() && key == types.key(&scene.tree.local(variable).ty)
        }
        _ => false,
    }
}

/// Where the variable is declared, if it is `= {0}` or `= {{NULL}}` there.
fn declared_empty(scene: &Scene<'_>, variable: LocalId) -> Option<Point> {
    let stmts = (0u32..).zip(&scene.tree.stmts);
    stmts
        .map(|(at, stmt)| (StmtId(at), stmt))
        .find_map(|(id, stmt)| {
            let StmtKind::Decl(decls) = &stmt.kind else {
                return None;
            };
            let decl = decls.iter().find(|decl| decl.local == variable)?;
            let Some(Init::List(list)) = &decl.init else {
                return None;
            };
            let is_zero = list
                .entries
                .iter()
                .all(|entry| is_zero(scene, &entry.value));
            scene.cfg.after(id).filter(|_| is_zero)
        })
}

fn is_zero(scene: &Scene<'_>, init: &Init) -> bool {
    match init {
        Init::Expr(value) => scene.is_null(*value),
        Init::List(list) => list.entries.iter().all(|it| is_zero(scene, &it.value)),
    }
}

/// Whether the variable is declared in a block around the statement.
fn is_in_scope(scene: &Scene<'_>, stmt: StmtId, variable: LocalId) -> bool {
    let mut outer = scene.siblings(stmt);
    let mut at = stmt;
    loop {
        let declares = |&sibling: &StmtId| match &scene.tree.stmt(sibling).kind {
            StmtKind::Decl(decls) => decls.iter().any(|decl| decl.local == variable),
            _ => false,
        };
        if outer.is_some_and(|(stmts, _)| stmts.iter().any(declares)) {
            return true;
        }
        let Some(Parent::Stmt(parent)) = scene.parent_of_stmt(at) else {
            return false;
        };
        at = parent;
        outer = scene.siblings(at);
    }
}

/// Whether an expression names the variable.
fn names(scene: &Scene<'_>, expr: ExprId, variable: LocalId) -> bool {
    let range = scene.tree.expr(expr).range;
    let mut parts = scene.tree.exprs_in(range);
    parts.any(|(part, _)| scene.as_local(part) == Some(variable))
}

/// Whether the value is there before the releases as behind them.
fn returns_plainly(scene: &Scene<'_>, stmt: StmtId, variable: LocalId) -> bool {
    let StmtKind::Return(Some(value)) = scene.tree.stmt(stmt).kind else {
        return false;
    };
    let value = scene.tree.without_casts(value);
    match &scene.tree.expr(value).kind {
        ExprKind::Int(_) | ExprKind::Name(Name::Global(_)) => true,
        ExprKind::Name(Name::Local(local)) => *local != variable,
        // `Py_RETURN_NONE;`
        ExprKind::Call { args, .. } => {
            let is_new = matches!(scene.call(value), Some(("Py_NewRef", _)));
            is_new && args.iter().all(|&arg| weak::is_none(scene, arg))
        }
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        } => {
            matches!(scene.tree.expr(*operand).kind, ExprKind::Int(_))
        }
        _ => false,
    }
}
