//! What is used of an object behind the release of the only reference to it: the object itself, and
//! the text and the items that it lends.
//!
//! ```c
//! name = PyObject_GetAttrString(o, "name");
//! text = PyUnicode_AsUTF8(name);
//! Py_DECREF(name);                          /* `o` has it, until another thread sets it */
//! return PyUnicode_FromString(text);
//! ```

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Why;
use super::body::Body;
use super::loans::{Keeper, Loan, Steps, addressed, field};
use crate::ast::{BinaryOp, ExprId, ExprKind, Function, LocalId, Tree};
use crate::capi::{self, Counts, OutKind, Returns};
use crate::cfg::{
    self, Base, Cfg, Dominators, Instr, InstrKind, Op, Operand, Point, Source, TempId, Terminator,
    reaches,
};

impl Body<'_, '_, '_> {
    /// Names uses of an object by a variable whose own reference has been released.
    ///
    /// ```c
    /// next = PyObject_GetAttrString(o, "next");
    /// Py_DECREF(next);                          /* `o` has it, until another thread sets it */
    /// return PyObject_Repr(next);
    /// ```
    pub(super) fn check_released(&mut self) {
        let known = Rc::clone(&self.known);
        for &at in known.released() {
            self.leave(at, self.text(at), Why::Stale);
        }
    }
}

/// What is given up at a call.
struct Release {
    call: ExprId,
    local: LocalId,
    /// Whether the variable still has what it had.
    stays: bool,
}

/// Uses of objects of which the function has released the only reference that it had, and of what
/// these, and buffers, have lent.
pub(super) fn released(function: &Function) -> Vec<ExprId> {
    let tree = &function.tree;
    let releases: Vec<Release> = tree.calls().filter_map(|it| release(tree, it)).collect();
    if releases.is_empty() {
        return Vec::new();
    }
    let cfg = cfg::build(function, &capi::never_returns);
    let dominators = Dominators::new(&cfg);
    let mut found = Vec::new();
    let mut by_lender: BTreeMap<LocalId, Vec<Point>> = BTreeMap::new();
    for it in &releases {
        if let Some(at) = cfg.call(it.call) {
            by_lender.entry(it.local).or_default().push(at);
            if it.stays {
                found.extend(uses_after(&cfg, &dominators, at, it.local));
            }
        }
    }
    let steps = Steps::new(&cfg, tree);
    for (lender, releases) in by_lender {
        let fills = fills(&steps, lender, &releases).into_iter();
        for loan in steps.loans(lender).into_iter().chain(fills) {
            found.extend(uses_of_loan(&steps, lender, &releases, &loan));
        }
    }
    found
}

fn release(tree: &Tree, (call, name): (ExprId, &str)) -> Option<Release> {
    let arg = tree.without_casts(*tree.call(call)?.1.first()?);
    let of = |local, stays| Release { call, local, stays };
    if capi::releases_buffer(name) {
        return tree.as_address(arg).map(|local| of(local, false));
    }
    let stays = match capi::counts(name)? {
        Counts::Release { .. } => true,
        Counts::Clear => false,
        _ => return None,
    };
    let local = tree.as_local(arg)?;
    is_only_owner(tree, local).then(|| of(local, stays))
}

/// The calls that fill a buffer, which lends its bytes until it is released.
fn fills(steps: &Steps<'_>, buffer: LocalId, releases: &[Point]) -> Vec<Loan> {
    let is_fill = |&(at, instr): &(Point, &Instr)| match &instr.kind {
        InstrKind::Call { args, .. } => {
            let mut places = args.iter().filter_map(addressed);
            places.any(|place| place.as_local() == Some(buffer)) && !releases.contains(&at)
        }
        _ => false,
    };
    let fills = steps.all().filter(is_fill).map(|(from, _)| Loan {
        from,
        keeper: Keeper::Memory(buffer, Some("buf".into())),
    });
    fills.collect()
}

/// The expressions that use what `lender` has lent behind one of its `releases`.
fn uses_of_loan(
    steps: &Steps<'_>,
    lender: LocalId,
    releases: &[Point],
    loan: &Loan,
) -> Vec<ExprId> {
    let (cfg, from) = (steps.cfg, loan.from.next());
    let ends = match &loan.keeper {
        Keeper::Local(local) => steps.ends(*local),
        Keeper::Memory(..) | Keeper::Outside => vec![loan.from],
    };
    // Behind these the variable has another object.
    let others = steps.ends(lender);
    let others = others.iter().filter(|at| !releases.contains(at));
    let barriers: Vec<Point> = ends.iter().chain(others).copied().collect();
    let is_reached = |&&release: &&Point| reaches(cfg, from, release, &barriers);
    let released: Vec<Point> = releases.iter().filter(is_reached).copied().collect();
    // *out = PyTuple_GetItem(pair, 0); Py_INCREF(*out); Py_DECREF(pair);
    let takes = |&(at, instr): &(Point, &Instr)| {
        let is_take = matches!(&instr.kind, InstrKind::Load { dst, place }
            if place.as_local().is_none() && is_taken(cfg, *dst));
        is_take && reaches(cfg, from, at, releases)
    };
    if !matches!(loan.keeper, Keeper::Local(_)) && steps.all().any(|it| takes(&it)) {
        return Vec::new();
    }
    if loan.keeper == Keeper::Outside {
        // self->name = PyUnicode_AsUTF8(v);
        // if (self->name == NULL) { Py_DECREF(v); return NULL; }      /* lives on else */
        let is_kept = cfg.returns().any(|end| reaches(cfg, from, end, releases));
        let stored = cfg.instr(loan.from).and_then(expr);
        return stored
            .filter(|_| !is_kept && !released.is_empty())
            .into_iter()
            .collect();
    }
    let is_stale = |at: Point| {
        let mut released = released.iter();
        released.any(|release| reaches(cfg, release.next(), at, &ends))
    };
    let uses = steps
        .all()
        .filter(|(at, instr)| uses(steps, &loan.keeper, lender, instr) && is_stale(*at));
    uses.filter_map(|(_, instr)| expr(instr)).collect()
}

/// Whether a step uses what a variable, or memory that is reached by it, has.
fn uses(steps: &Steps<'_>, keeper: &Keeper, lender: LocalId, instr: &Instr) -> bool {
    match (&instr.kind, keeper) {
        (InstrKind::Load { dst, place }, Keeper::Local(local)) => {
            place.as_local() == Some(*local)
                && (is_used(steps.cfg, *dst) || is_taken(steps.cfg, *dst))
        }
        (InstrKind::Load { dst, place }, Keeper::Memory(root, field_of)) => {
            let is_whole = place.as_local().is_some();
            steps.root(place) == Some(*root)
                && !is_whole
                && (field(place) == *field_of)
                && is_used(steps.cfg, *dst)
        }
        // run(&conf);
        (InstrKind::Call { callee, args, .. }, Keeper::Memory(root, _)) => {
            let is_own = callee.name().is_some_and(capi::is_unknown);
            let mut args = args.iter();
            *root != lender && is_own && args.any(|arg| steps.root_of(arg) == Some(*root))
        }
        _ => false,
    }
}

/// Whether a function or macro counts a reference to a temporary.
fn is_taken(cfg: &Cfg, temp: TempId) -> bool {
    let mut instrs = cfg.blocks.iter().flat_map(|block| &block.instrs);
    instrs.any(|instr| match &instr.kind {
        InstrKind::Call { callee, args, .. } => {
            let counts = callee.name().and_then(capi::counts);
            counts.is_some_and(Counts::takes) && args.first() == Some(&Operand::Temp(temp))
        }
        InstrKind::Cast { dst, src, .. } => *src == Operand::Temp(temp) && is_taken(cfg, *dst),
        _ => false,
    })
}

fn expr(instr: &Instr) -> Option<ExprId> {
    match instr.source {
        Source::Expr(expr) => Some(expr),
        Source::Stmt(_) => None,
    }
}

/// Whether a function of the C API takes, or keeps, a reference to its argument `at`.
pub(super) fn keeps(name: &str, at: usize) -> bool {
    capi::effects(name).is_some() && may_keep(name, at)
}

/// Whether all that a local holds are new references of the C API, which nothing else in the
/// function keeps.
fn is_only_owner(tree: &Tree, local: LocalId) -> bool {
    let it = tree.local(local);
    let given: Vec<ExprId> = tree
        .stores()
        .filter(|(to, value)| *to == local && !tree.is_null(*value))
        .map(|(_, value)| tree.without_casts(value))
        .collect();
    let is_new = |&value: &ExprId| {
        let effects = tree.called(value).and_then(capi::effects);
        effects.is_some_and(|it| it.returns == Returns::New)
    };
    let is_it = |expr: ExprId| tree.as_local(tree.without_casts(expr)) == Some(local);
    let is_address = |arg: ExprId| tree.as_address(tree.without_casts(arg)) == Some(local);
    let has_out = tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Call { args, .. } => args.iter().any(|&arg| is_address(arg)),
        _ => false,
    });
    let mut exprs = tree.exprs.iter();
    !it.is_param
        && it.is_automatic()
        && (has_out || !given.is_empty())
        && given.iter().all(is_new)
        && !exprs.any(|expr| match &expr.kind {
            ExprKind::Assign { rhs, .. } => is_it(*rhs),
            ExprKind::Call { callee, args } => {
                let name = tree.callee_name(*callee);
                let effects = name.and_then(capi::effects);
                let is_new = |at| effects.and_then(|it| it.out(at)) == Some(OutKind::New);
                let mut args = args.iter().enumerate();
                args.any(|(at, &arg)| {
                    is_it(arg) && name.is_none_or(|name| may_keep(name, at))
                        || is_address(arg) && !is_new(at)
                })
            }
            _ => false,
        })
}

/// Whether a call may take, or keep, a reference to its argument `arg`.
fn may_keep(name: &str, arg: usize) -> bool {
    if let Some(counts) = capi::counts(name) {
        return !counts.releases();
    }
    let keeps = capi::writes(name).and_then(|row| row.keeps);
    capi::effects(name).is_none_or(|effects| {
        effects.steals(arg).is_some()
            || effects.format.is_some()
            || keeps.is_some_and(|first| first <= arg)
    })
}

/// The expressions that use what `local` held at its `release`, on every path to which that runs.
fn uses_after(cfg: &Cfg, dominators: &Dominators, release: Point, local: LocalId) -> Vec<ExprId> {
    let sets = cfg.steps().filter(|(_, instr)| match &instr.kind {
        InstrKind::Store { place, .. } => place.as_local() == Some(local),
        InstrKind::Declare { local: declared } => *declared == local,
        _ => false,
    });
    let sets: Vec<Point> = sets.map(|(at, _)| at).collect();
    let loads = cfg
        .steps()
        .filter_map(|(at, instr)| match (&instr.kind, instr.source) {
            (InstrKind::Load { dst, place }, Source::Expr(expr))
                if place.as_local() == Some(local) =>
            {
                Some((at, *dst, expr))
            }
            _ => None,
        });
    let stale = loads.filter(|(at, temp, _)| {
        dominators.dominates_point(release, *at)
            && reaches(cfg, release.next(), *at, &sets)
            && is_used(cfg, *temp)
    });
    stale.map(|(_, _, expr)| expr).collect()
}

/// Whether a call or a caller gets a temporary, or the code reads through it.
fn is_used(cfg: &Cfg, temp: TempId) -> bool {
    let is_it = |operand: &Operand| *operand == Operand::Temp(temp);
    cfg.blocks.iter().any(|block| {
        let is_returned = matches!(&block.terminator, Terminator::Return(Some(it), _) if is_it(it));
        let mut instrs = block.instrs.iter();
        is_returned
            || instrs.any(|instr| match &instr.kind {
                InstrKind::Call { args, callee, .. } => {
                    let is_count = || callee.name().and_then(capi::counts).is_some();
                    args.iter().any(is_it) && !is_count()
                }
                InstrKind::Cast { dst, src, .. } | InstrKind::Copy { dst, src } => {
                    is_it(src) && is_used(cfg, *dst)
                }
                // text + 1
                InstrKind::Op {
                    dst,
                    op: Op::Binary(BinaryOp::Plus | BinaryOp::Minus),
                    operands,
                } => operands.iter().any(is_it) && is_used(cfg, *dst),
                _ => instr
                    .place()
                    .is_some_and(|place| matches!(&place.base, Base::Deref(it) if is_it(it))),
            })
    })
}
