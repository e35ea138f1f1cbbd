//! Sums up one function.

use std::collections::BTreeSet;

use super::outs::{Outs, outs};
use super::{Param, Summaries, Summary};
use crate::ast::{ExprId, ExprKind, Function, LocalId, Tree, Type, TypeKind};
use crate::calls;
use crate::capi::StealWhen;
use crate::cfg::{Cfg, Source};
use crate::ownership::track::{
    Exit, Followed, Gives, Handed, Ledger, Origin, Problem, Seed, follow, follow_roughly,
    is_number, is_plain_pointer,
};
use crate::program::Types;

/// What `function` does with its parameters, if its callees do what `known` says.
pub(super) fn sum_up(
    function: &Function,
    graph: &Cfg,
    known: &Summaries,
    types: &Types<'_>,
) -> Summary {
    let pointers: Vec<usize> = (0..function.params.len())
        .filter(|&at| may_be_object(function, function.params[at]))
        .collect();
    let seeds: Vec<Seed> = pointers
        .iter()
        .map(|&at| Seed {
            origin: Origin::Param(function.params[at]),
            gives: Gives::Always,
            owned: false,
        })
        .collect();
    let walks = Walks::new(function, graph, &seeds, known);
    let mut summary = Summary {
        params: vec![Param::Used; function.params.len()],
        rest: rest(function, graph, known),
        counted: BTreeSet::new(),
        result_of: Vec::new(),
        gives_pointer: is_plain_pointer(&function.ret),
        contents_of: BTreeSet::new(),
    };
    for (seed, &at) in pointers.iter().enumerate() {
        match walks.of(seed) {
            Some((followed, seed)) => {
                if has(followed, seed, Problem::CountMatters) {
                    summary.counted.insert(at);
                }
                let contents = contents(function, followed, seed, types);
                if !contents.is_empty() {
                    summary.contents_of.insert(at);
                }
                let copied = contents.into_iter().filter_map(|at| match at {
                    Source::Expr(step) => is_part(&function.tree, types, step).then_some(step),
                    Source::Stmt(_) => None,
                });
                summary.params[at] = param(function, followed, seed, copied, known);
                let taken = summary.params[at] == Param::Taken(StealWhen::Always);
                // memcpy(&result, &v, sizeof(v)): what is read through its address is not followed.
                let is_read = has(followed, seed, Problem::AddressTaken);
                let is_given = || is_in_result(&followed.exits, seed, taken);
                if !is_number(&function.ret) && (is_read || is_given()) {
                    summary.result_of.push(at);
                }
            }
            None => {
                summary.params[at] = Param::Unsure;
                summary.counted.insert(at);
                summary.result_of.push(at);
                summary.contents_of.insert(at);
            }
        }
    }
    summary
}

/// What following each parameter by itself showed. What the others are is not known then, `NULL`
/// included:
///
/// ```c
/// static PyObject *pick(PyObject *a, PyObject *b) { return a ? a : b; }    /* either of them */
/// ```
struct Walks(Vec<Option<Followed>>);

impl Walks {
    fn new(function: &Function, graph: &Cfg, seeds: &[Seed], known: &Summaries) -> Self {
        let tree = &function.tree;
        let alone = |seed| {
            let exact = follow(graph, tree, seed, known);
            exact.or_else(|| follow_roughly(graph, tree, seed, known))
        };
        Self(seeds.chunks(1).map(alone).collect())
    }

    /// What shows of a seed, with its index there; `None` if it has too many paths.
    fn of(&self, seed: usize) -> Option<(&Followed, usize)> {
        self.0[seed].as_ref().map(|followed| (followed, 0))
    }
}

/// Where anything but a number that was read through the parameter is stored elsewhere.
fn contents(
    function: &Function,
    followed: &Followed,
    seed: usize,
    types: &Types<'_>,
) -> Vec<Source> {
    let tree = &function.tree;
    let is_number = |expr: ExprId| types.of(tree, expr).is_some_and(|ty| types.is_number(ty));
    let stored = followed.contents.iter().filter(|(of, _)| *of == seed);
    let stored = stored.map(|(_, at)| *at).filter(|at| match at {
        Source::Expr(at) => match tree.expr(*at).kind {
            ExprKind::Assign { lhs, rhs, .. } => !is_number(lhs) && !is_number(rhs),
            // What a call keeps has nothing to do with what it gives.
            ExprKind::Call { .. } => true,
            _ => !is_number(*at),
        },
        Source::Stmt(_) => true,
    });
    stored.collect()
}

/// Whether a step stores a pointer to text or numbers that the object holds,
/// `*out = ((Outer *)v)->text`, or a struct with one: objects and other structs may live by
/// themselves.
fn is_part(tree: &Tree, types: &Types<'_>, step: ExprId) -> bool {
    let ExprKind::Assign { op: None, lhs, rhs } = tree.expr(step).kind else {
        return false;
    };
    let is_plain = |expr: ExprId| types.of(tree, expr).is_some_and(|ty| has_part(types, ty));
    let reads = matches!(
        tree.expr(tree.without_casts(rhs)).kind,
        ExprKind::Member { .. } | ExprKind::Index { .. }
    );
    reads && (is_plain(lhs) || is_plain(rhs))
}

fn has_part(types: &Types<'_>, ty: &Type) -> bool {
    let def = types.key(ty).and_then(|key| types.definition(&key));
    let mut fields = def.iter().flat_map(|def| &def.fields);
    is_plain_pointer(ty) || fields.any(|field| is_plain_pointer(&field.ty))
}

fn may_be_object(function: &Function, param: LocalId) -> bool {
    let ty = &function.tree.local(param).ty;
    match ty.pointee() {
        Some(inner) => !matches!(inner.kind, TypeKind::Function(..)),
        None => !is_number(ty),
    }
}

/// Whether the result may be the parameter, or point into it, and has no reference of its own: that
/// which the function took, or the one that the caller gave it.
fn is_in_result(exits: &BTreeSet<Exit>, seed: usize, taken: bool) -> bool {
    exits.iter().any(|exit| match exit.value {
        Handed::Instance { seed: of, count } => of == seed && count + i8::from(taken) <= 0,
        Handed::Inside(of) => of == seed,
        Handed::Null | Handed::Int(_) | Handed::Other => false,
    })
}

/// What leaves open what becomes of a parameter.
const DOUBTS: [Problem; 3] = [
    Problem::MayBeKept,
    Problem::MayBePassedOn,
    Problem::AddressTaken,
];

/// What becomes of a parameter of which these steps have `copied` pointers elsewhere.
fn param(
    function: &Function,
    followed: &Followed,
    seed: usize,
    copied: impl Iterator<Item = ExprId>,
    known: &Summaries,
) -> Param {
    let stored = followed.troubles.iter().filter_map(|trouble| {
        let escapes = matches!(
            trouble.problem,
            Problem::DerivedEscapes | Problem::BorrowedEscapes
        );
        match trouble.at {
            Some(Source::Expr(step)) if trouble.seed == seed && escapes => Some(step),
            _ => None,
        }
    });
    let used = match outs(function, stored.chain(copied), known) {
        None => return Param::Inside,
        Some(outs) if outs == Outs::default() => Param::Used,
        Some(outs) => Param::Through(outs),
    };
    let has = |problem| has(followed, seed, problem);
    // A callee releases what this function took itself, maybe.
    let unsure = DOUBTS.into_iter().any(has);
    let ledger = followed.ledgers.get(&seed);
    let keeps_none = ledger.is_none_or(|ledger| ledger.gifts.is_empty());
    let partly = match ledger.and_then(|ledger| out_param(function, ledger)) {
        _ if keeps_none => Param::Released,
        Some(out) => Param::At(out),
        None => Param::Unsure,
    };
    let count = |exit: &Exit| {
        let of_seed = exit.counts.iter().filter(|(of, _)| *of == seed);
        of_seed.map(|(_, count)| *count).sum::<i8>().min(0)
    };
    let counts: BTreeSet<i8> = followed.exits.iter().map(count).collect();
    let counts: Vec<i8> = counts.into_iter().collect();
    match counts[..] {
        _ if unsure => Param::Unsure,
        [] | [0] if used == Param::Used && has(Problem::BorrowedPassedOn) => Param::Released,
        [] | [0] => used,
        // What it keeps of the rest cannot be told as well.
        _ if used != Param::Used => Param::Unsure,
        [-1] => Param::Taken(StealWhen::Always),
        // PyObject *as_bytes(PyObject *v) { if (PyBytes_Check(v)) return v; … Py_DECREF(v); return b; }
        [-1, 0]
            if followed
                .exits
                .iter()
                .all(|exit| count(exit) < 0 || returns(exit, seed)) =>
        {
            Param::Taken(StealWhen::Always)
        }
        // static int keep(Foo *self, PyObject *v) { if (self->v) return -1; self->v = v; … }
        [-1, 0] if is_number(&function.ret) => {
            let fits = |exit: &Exit| is_failure(exit) == (count(exit) == 0);
            if followed.exits.iter().all(fits) {
                Param::Taken(StealWhen::Success)
            } else {
                partly
            }
        }
        [-1, 0] => partly,
        _ => Param::Unsure,
    }
}

fn has(followed: &Followed, seed: usize, problem: Problem) -> bool {
    let mut troubles = followed.troubles.iter();
    troubles.any(|trouble| trouble.seed == seed && trouble.problem == problem)
}

/// What becomes of the arguments behind `...`, each of which any `va_arg` may give.
fn rest(function: &Function, graph: &Cfg, known: &Summaries) -> Param {
    let tree = &function.tree;
    if calls::passes_list_on(function, &|name| known.consumes_list(name)) {
        return Param::Unsure;
    }
    let given = tree.expr_ids().filter(|&expr| match &tree.expr(expr).kind {
        ExprKind::VaArg { ty, .. } => !is_number(ty) && !is_plain_pointer(ty),
        _ => false,
    });
    let is_used = |given: ExprId| {
        let seed = Seed {
            origin: Origin::Call(given),
            // A list may end with `NULL`.
            gives: Gives::Result,
            owned: false,
        };
        let followed = follow_roughly(graph, tree, &[seed], known);
        followed.is_some_and(|followed| {
            let is_returned = is_in_result(&followed.exits, 0, false);
            !is_returned && param(function, &followed, 0, [].into_iter(), known) == Param::Used
        })
    };
    match given.into_iter().all(is_used) {
        true => Param::Used,
        false => Param::Unsure,
    }
}

/// The parameter that is where all gifts go: `*out = v`.
fn out_param(function: &Function, ledger: &Ledger) -> Option<usize> {
    let mut outs = ledger.outs.values();
    let out = outs.next()?;
    let is_set = function.tree.stores().any(|(local, _)| local == *out);
    let is_only = outs.all(|other| other == out) && ledger.gifts.len() == ledger.outs.len();
    let position = || function.params.iter().position(|param| param == out);
    (is_only && !is_set).then(position)?
}

fn returns(exit: &Exit, seed: usize) -> bool {
    matches!(exit.value, Handed::Instance { seed: of, count: 0 } if of == seed)
}

fn is_failure(exit: &Exit) -> bool {
    matches!(exit.value, Handed::Int(..0))
}
