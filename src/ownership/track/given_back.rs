//! References to parts of objects that the code takes, and gives up again while it still uses the
//! part: from then on the part lives in its object as it did before.
//!
//! ```c
//! part = PyTuple_GET_ITEM(item, 0);
//! Py_INCREF(part);                     /* held over the call … */
//! text = PyObject_Str(part);
//! Py_DECREF(part);
//! return PyObject_Repr(part);          /* … and needs the item here */
//! ```

use std::collections::BTreeSet;

use super::effects::Callees;
use super::step::Stepper;
use crate::ast::{ExprId, ExprKind, LocalId, StmtKind, Tree};
use crate::calls::{self, Count};
use crate::capi::Counts;
use crate::cfg::{Base, BlockId, Callee, Cfg, Instr, InstrKind, Operand, Point, Source};

/// Whether the function releases what `local` holds, by this name or that of a copy, or what took
/// the reference over, and uses it by one of them behind that, or a pointer into it. To release it
/// once more is wrong with the object and without it.
pub fn is_given_back(cfg: &Cfg, tree: &Tree, callees: &dyn Callees, local: LocalId) -> bool {
    let names = copies(tree, local);
    let owners = owners(tree, callees, &names);
    let released = releases(tree, callees).filter_map(|(call, name, arg)| {
        let is_it = |it: &LocalId| names.contains(it) || owners.contains(it);
        let released = tree.as_local(arg).filter(is_it)?;
        Some((cfg.call(call)?.next(), name, released))
    });
    let mut released = released.peekable();
    if released.peek().is_none() {
        return false;
    }
    let pointers = pointers(tree, callees, &names);
    released.any(|(behind, name, released)| {
        // Py_CLEAR(part);
        let is_cleared = matches!(name, "Py_CLEAR" | "Py_SETREF" | "Py_XSETREF");
        let mut used = names.union(&pointers);
        used.any(|&it| (it != released || !is_cleared) && only_releases(cfg, it, behind).is_none())
    })
}

/// The variables whose objects one of `names` is given to: `PyTuple_SET_ITEM(args, 0, part);`.
fn owners(tree: &Tree, callees: &dyn Callees, names: &BTreeSet<LocalId>) -> BTreeSet<LocalId> {
    let owners = tree.calls().filter_map(|(call, _)| {
        let (_, args) = tree.call(call)?;
        let effects = calls::effects_at(tree, call, callees)?;
        let steals = |&(at, arg): &(usize, &ExprId)| {
            let local = tree.as_local(tree.without_casts(*arg));
            local.is_some_and(|it| names.contains(&it))
                && matches!(effects.count(at), Count::Consumed(_))
        };
        args.iter().enumerate().skip(1).find(steals)?;
        tree.as_local(tree.without_casts(args[0]))
    });
    owners.collect()
}

/// The variables that get a pointer into what one of `names` holds, or what lives in it:
/// `text = PyUnicode_AsUTF8(part);`.
fn pointers(tree: &Tree, callees: &dyn Callees, names: &BTreeSet<LocalId>) -> BTreeSet<LocalId> {
    let pointers = tree.stores().filter_map(|(given, value)| {
        let (name, args) = tree.call(tree.without_casts(value))?;
        let at = callees.derived_from(name)?;
        let from = tree.as_local(tree.without_casts(*args.get(at)?))?;
        names.contains(&from).then_some(given)
    });
    pointers.collect()
}

/// The variables that hold what `local` holds: those that get it, or that it gets it from, if each
/// of them gets nothing else. `lock = part; part = next(); Py_DECREF(lock);` is about another object.
fn copies(tree: &Tree, local: LocalId) -> BTreeSet<LocalId> {
    let stores = || tree.stores().filter(|&(_, value)| !tree.is_null(value));
    let is_plain = |local: LocalId| stores().filter(|&(given, _)| given == local).count() <= 1;
    let pairs = stores().filter_map(|(given, value)| {
        let value = tree.as_local(tree.without_casts(value))?;
        let is_copy = given == local || value == local;
        (is_copy && is_plain(given) && is_plain(value)).then_some([given, value])
    });
    pairs.flatten().chain([local]).collect()
}

/// The calls that release something, each with its name and what that is.
fn releases<'t>(
    tree: &'t Tree,
    callees: &'t dyn Callees,
) -> impl Iterator<Item = (ExprId, &'t str, ExprId)> {
    tree.calls().filter_map(|(call, name)| {
        let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
            return None;
        };
        let releases = calls::effects_at(tree, call, callees)?.count(0).releases();
        let arg = args.first().filter(|_| releases)?;
        Some((call, name, tree.without_casts(*arg)))
    })
}

/// The releases of `local` behind `point`; `None` if it is read there for anything else. What it
/// held is given away at `point`, so that they are too many, with the new reference as without it:
///
/// ```c
/// Py_INCREF(item);
/// if (PyList_SetItem(list, i, item) < 0) {   /* takes the item even if it fails */
///     Py_DECREF(item);
///     return -1;
/// }
/// ```
pub fn only_releases(cfg: &Cfg, local: LocalId, point: Point) -> Option<BTreeSet<ExprId>> {
    let mut releases = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![point];
    while let Some(point) = waiting.pop() {
        let block = cfg.block(point.block);
        match walk(&block.instrs[point.index..], local, &mut releases) {
            Walk::Used => return None,
            Walk::Ended => {}
            Walk::GoesOn => {
                let next = block.terminator.targets().into_iter();
                let new: Vec<BlockId> = next.filter(|&target| seen.insert(target)).collect();
                waiting.extend(new.into_iter().map(|block| Point { block, index: 0 }));
            }
        }
    }
    Some(releases)
}

enum Walk {
    Used,
    /// The variable gets another value or goes out of scope.
    Ended,
    GoesOn,
}

fn walk(instrs: &[Instr], local: LocalId, releases: &mut BTreeSet<ExprId>) -> Walk {
    for (at, instr) in instrs.iter().enumerate() {
        match &instr.kind {
            InstrKind::Load { dst, place } if place.base == Base::Local(local) => {
                let release = instrs.get(at + 1).filter(|next| {
                    matches!(&next.kind, InstrKind::Call { callee: Callee::Named(name), args, .. }
                        if matches!(&**name, "Py_DECREF" | "Py_XDECREF")
                            && matches!(args[..], [Operand::Temp(arg)] if arg == *dst))
                });
                match release.map(|release| release.source) {
                    Some(Source::Expr(call)) => releases.insert(call),
                    _ => return Walk::Used,
                };
            }
            InstrKind::Store { place, .. } if place.as_local() == Some(local) => {
                return Walk::Ended;
            }
            InstrKind::Declare { local: ended } if *ended == local => return Walk::Ended,
            InstrKind::ScopeEnd { locals } if locals.contains(&local) => return Walk::Ended,
            _ => {}
        }
    }
    Walk::GoesOn
}

impl Stepper<'_> {
    /// Whether the variable that is argument `at` of a call is released further on, and used yet.
    pub(super) fn gives_back(&self, source: Source, at: usize) -> bool {
        let (tree, facts) = (self.facts.tree, self.facts);
        let Source::Expr(call) = source else {
            return false;
        };
        let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
            return false;
        };
        let local = args
            .get(at)
            .and_then(|&arg| tree.as_local(tree.without_casts(arg)));
        local.is_some_and(|it| is_given_back(facts.cfg, tree, self.callees, it))
    }

    /// Whether the reference that the call at `source` takes to its argument stays with it: nothing
    /// releases what the place holds and leaves it there, nor takes it over, nor stores it elsewhere.
    pub(super) fn stays_counted(&self, source: Source) -> bool {
        let tree = self.facts.tree;
        let Source::Expr(call) = source else {
            return true;
        };
        let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
            return true;
        };
        let Some(place) = args.first().map(|&arg| tree.without_casts(arg)) else {
            return true;
        };
        let is_it = |expr: ExprId| is_same(tree, tree.without_casts(expr), place);
        let loses = |(call, _): (ExprId, &str)| {
            let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
                return false;
            };
            let mut args = args.iter().enumerate().filter(|&(_, &arg)| is_it(arg));
            let Some(effects) = calls::effects_at(tree, call, self.callees) else {
                return false;
            };
            args.any(|(at, _)| match effects.count(at) {
                Count::Counts(Counts::Clear | Counts::Take | Counts::Copy) => false,
                Count::Counts(_) => !is_set_behind(tree, call, &is_it),
                Count::Consumed(_) | Count::Unknown => true,
                Count::Unchanged => false,
            })
        };
        let stores = |&(lhs, rhs): &(ExprId, ExprId)| {
            is_it(rhs)
                && match tree.as_local(lhs) {
                    Some(copy) => releases(tree, self.callees)
                        .any(|(_, _, arg)| tree.as_local(arg) == Some(copy)),
                    None => true,
                }
        };
        let mut assigned = tree.exprs.iter().filter_map(|expr| match expr.kind {
            ExprKind::Assign { op: None, lhs, rhs } => Some((lhs, rhs)),
            _ => None,
        });
        !tree.calls().any(loses) && !assigned.any(|it| stores(&it))
    }
}

/// Whether the statement behind that of `call` gives the place another value:
/// `Py_XDECREF(*out); *out = NULL;`.
fn is_set_behind(tree: &Tree, call: ExprId, is_it: &dyn Fn(ExprId) -> bool) -> bool {
    let mut pairs = tree.stmts.iter().flat_map(|stmt| match &stmt.kind {
        StmtKind::Block(stmts) => stmts.windows(2),
        _ => [].windows(2),
    });
    pairs.any(|pair| {
        let [StmtKind::Expr(first), StmtKind::Expr(next)] =
            [&tree.stmt(pair[0]).kind, &tree.stmt(pair[1]).kind]
        else {
            return false;
        };
        *first == call
            && matches!(tree.expr(*next).kind, ExprKind::Assign { op: None, lhs, .. } if is_it(lhs))
    })
}

/// Whether two expressions name the same place: `*out`, `self->part`.
pub fn is_same(tree: &Tree, one: ExprId, other: ExprId) -> bool {
    match (&tree.expr(one).kind, &tree.expr(other).kind) {
        (ExprKind::Name(one), ExprKind::Name(other)) => one == other,
        (
            ExprKind::Member { base, field, arrow },
            ExprKind::Member {
                base: other_base,
                field: other_field,
                arrow: other_arrow,
            },
        ) => field == other_field && arrow == other_arrow && is_same(tree, *base, *other_base),
        (
            ExprKind::Unary { op, operand },
            ExprKind::Unary {
                op: other_op,
                operand: other,
            },
        ) => op == other_op && is_same(tree, *operand, *other),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::ownership::track::tests::troubles;

    /// The item goes right behind the reference to a part of it.
    fn part(behind: &str) -> String {
        troubles(&format!(
            "PyObject *part, *copy, *v = PyList_GetItemRef(self, 0);
            if (v == NULL) return NULL;
            part = PyTuple_GET_ITEM(v, 0);
            Py_INCREF(part);
            Py_DECREF(v);
            {behind}"
        ))
    }

    #[test]
    fn a_part_is_used_behind_its_own_reference() {
        let used = |at: &str| format!("UseAfterRelease at {at}");
        assert_eq!(part("run(part); Py_DECREF(part); return NULL;"), "");
        assert_eq!(part("return part;"), "");
        assert_eq!(
            part("run(part); Py_CLEAR(part); if (part) run(part); return NULL;"),
            ""
        );
        assert_eq!(
            part("Py_DECREF(part); part = PyList_New(0); run(part); return NULL;"),
            ""
        );
        // A release too many is the code's own.
        assert_eq!(part("Py_DECREF(part); Py_XDECREF(part); return NULL;"), "");
        let into = "const char *s = PyUnicode_AsUTF8(part); Py_DECREF(part);";
        assert_eq!(part(&format!("{into} return NULL;")), "");
        let into = part(&format!("{into} puts(s); return NULL;"));
        assert!(into.starts_with(&used("")), "{into}");
        let given = "PyObject *l = PyList_New(1); PyList_SET_ITEM(l, 0, part);";
        assert_eq!(part(&format!("{given} run(part); return l;")), "");
        let given = part(&format!("{given} Py_DECREF(l); run(part); return NULL;"));
        assert!(given.starts_with(&used("")), "{given}");
        let behind = part("Py_DECREF(part); run(part); return NULL;");
        assert!(behind.contains(&used("Py_DECREF(part)")), "{behind}");
        assert!(behind.contains(&used("run(part)")), "{behind}");
        let other = "copy = part; part = PyList_New(0); Py_DECREF(copy); return part;";
        assert_eq!(part(other), "");
        let copied = part("copy = part; Py_DECREF(copy); run(part); return NULL;");
        assert!(copied.contains(&used("run(part)")), "{copied}");
    }
}
