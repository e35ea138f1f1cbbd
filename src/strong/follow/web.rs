//! The web of a variable: definitions that reach common uses.

use std::collections::{BTreeMap, BTreeSet};

use super::arms;
use crate::ast::{ExprId, ExprKind, LocalId, Name, Parent, StmtKind};
use crate::capi::Returns;
use crate::cfg::{Definition, Instr, InstrKind, Point, Source};
use crate::strong::scene::Scene;

/// What a definition gives the variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::strong) enum Given {
    /// The result of a lookup that is rewritten.
    Lookup(ExprId),
    /// `NULL`.
    Null,
    /// A reference that the function owns: the result of a call.
    New,
    /// What somebody else owns; the expression.
    Borrowed(ExprId),
    /// What the caller passed.
    Parameter,
}

/// Where a variable gets a value: its index in [`definitions`].
type Def = usize;

/// Definitions that belong together, by the point of their store; the parameter's own value is
/// at `None`.
pub(in crate::strong) type Web = BTreeMap<Option<Point>, Given>;

/// The webs of `local` with a lookup of `lookups` in them.
pub(in crate::strong) fn webs(
    scene: &Scene<'_>,
    local: LocalId,
    lookups: &BTreeSet<ExprId>,
) -> Vec<Web> {
    let defs = definitions(scene, local, lookups);
    let classes = classes(scene, local, &defs);
    let mut webs: BTreeMap<Def, Web> = BTreeMap::new();
    for ((at, given), class) in defs.into_iter().zip(classes) {
        webs.entry(class).or_default().insert(at, given);
    }
    webs.into_values()
        .filter(|web| web.values().any(|given| matches!(given, Given::Lookup(_))))
        .collect()
}

/// Where `local` gets a value, and what; the parameter's own value comes first.
pub(in crate::strong) fn definitions(
    scene: &Scene<'_>,
    local: LocalId,
    lookups: &BTreeSet<ExprId>,
) -> Vec<(Option<Point>, Given)> {
    let mut defs = Vec::new();
    if scene.tree.local(local).is_param {
        defs.push((None, Given::Parameter));
    }
    for (block, content) in scene.cfg.iter() {
        for (index, instr) in content.instrs.iter().enumerate() {
            let at = Some(Point { block, index });
            if clears(scene, instr, local) {
                defs.push((at, Given::Null));
            } else if stores(instr, local) {
                defs.push((at, given(scene, instr, local, lookups)));
            }
        }
    }
    defs
}

fn stores(instr: &Instr, local: LocalId) -> bool {
    matches!(&instr.kind, InstrKind::Store { place, .. } if place.as_local() == Some(local))
}

/// `Py_CLEAR(v)` assigns to its argument.
pub(in crate::strong) fn clears(scene: &Scene<'_>, instr: &Instr, local: LocalId) -> bool {
    let (InstrKind::Call { .. }, Source::Expr(call)) = (&instr.kind, instr.source) else {
        return false;
    };
    matches!(scene.call(call), Some(("Py_CLEAR", [arg])) if scene.as_local(*arg) == Some(local))
}

fn given(scene: &Scene<'_>, instr: &Instr, local: LocalId, lookups: &BTreeSet<ExprId>) -> Given {
    match assigned(scene, instr.source, local) {
        Some(value) => classify(scene, value, lookups),
        // `v++` and the like: not the business of objects.
        None => Given::New,
    }
}

/// The expression whose value a store to `local` made by `source` stores.
pub(in crate::strong) fn assigned(
    scene: &Scene<'_>,
    source: Source,
    local: LocalId,
) -> Option<ExprId> {
    let Source::Expr(expr) = source else {
        return None;
    };
    match scene.tree.expr(expr).kind {
        ExprKind::Assign { op: None, lhs, rhs } if scene.as_local(lhs) == Some(local) => Some(rhs),
        // The store of an initialiser is made by the initialiser.
        _ => match scene.parent_of_expr(expr) {
            Some(Parent::Stmt(stmt)) => {
                let declares = matches!(scene.tree.stmt(stmt).kind, StmtKind::Decl(_));
                declares.then_some(expr)
            }
            _ => None,
        },
    }
}

fn classify(scene: &Scene<'_>, value: ExprId, lookups: &BTreeSet<ExprId>) -> Given {
    if lookups.contains(&value) {
        return Given::Lookup(value);
    }
    if scene.is_null(value) {
        return Given::Null;
    }
    match &scene.tree.expr(value).kind {
        ExprKind::Cast { operand, .. } => classify(scene, *operand, lookups),
        ExprKind::Conditional { .. } => {
            let mut lookups = lookups.iter();
            let chosen = lookups.find(|&&call| arms::choice(scene, call) == Some(value));
            chosen.map_or(Given::New, |&call| Given::Lookup(call))
        }
        // `a = b = lookup()`
        ExprKind::Assign { op: None, rhs, .. } => match classify(scene, *rhs, lookups) {
            Given::Borrowed(_) => Given::Borrowed(value),
            other => other,
        },
        ExprKind::Call { .. } => {
            let called = scene.call(value);
            match called.and_then(|(name, _)| scene.cx.summaries().returns(name)) {
                Some(Returns::Borrowed) => Given::Borrowed(value),
                Some(Returns::Null) => Given::Null,
                _ => Given::New,
            }
        }
        ExprKind::Name(Name::Local(_) | Name::Global(_))
        | ExprKind::Member { .. }
        | ExprKind::Index { .. }
        | ExprKind::Unary { .. } => Given::Borrowed(value),
        _ => Given::New,
    }
}

/// For each definition the first of its class: definitions that reach one read belong together.
fn classes(scene: &Scene<'_>, local: LocalId, defs: &[(Option<Point>, Given)]) -> Vec<Def> {
    let numbers: BTreeMap<Definition, Def> = (0..).zip(defs).map(|(at, def)| (def.0, at)).collect();
    let definitions = numbers.keys().copied().collect();
    let Some(loads) = scene.cfg.reaching_definitions(local, &definitions) else {
        return vec![0; defs.len()];
    };
    let mut class: Vec<Def> = (0..defs.len()).collect();
    for (_, reaching) in loads {
        let reaching = reaching.iter().map(|it| numbers[it]).collect();
        unite(&mut class, &reaching);
    }
    class
}

fn unite(class: &mut [Def], defs: &BTreeSet<Def>) {
    let Some(first) = defs.iter().map(|&def| class[def]).min() else {
        return;
    };
    let merged: BTreeSet<Def> = defs.iter().map(|&def| class[def]).collect();
    for entry in class {
        if merged.contains(entry) {
            *entry = first;
        }
    }
}
