//! Whether what a new exit cleans up is ready for that where it leaves.
//!
//! ```c
//! t.n = n;
//! t.names = malloc(n * sizeof(char *));
//! for (i = 0; i < n; i++) {
//!     item = PyList_GetItemRef(list, i);        /* `fail` frees names that nobody has set */
//!     if (item == NULL)
//!         goto fail;
//!     t.names[i] = copy(item);
//! }
//! …
//! fail:
//!     names_free(&t);
//! ```
//!
//! What a clean-up needs is not asked: it is ready in a state in which the function does the same by
//! itself. Where nothing is looked at but a variable, any state is one, as long as nobody else was
//! given what the variable points at.

use rustc_hash::FxHashSet;

use super::View;
use super::acts::{Act, is_added};
use super::ways::Exit;
use crate::ast::{Below, ExprId, ExprKind, LocalId, StmtKind, Tree, UnaryOp};
use crate::capi::{self, Counts};
use crate::cfg::{InstrKind, Point, Reach, reaches};
use crate::program::{Handed, Hands};

/// What a call on the way out needs of a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// That nobody else frees what it holds: `free(text)`.
    Ownership,
    /// That what its destructor reads is there: `Py_DECREF(self)`.
    Object,
    /// That all is as the call finds it elsewhere: `names_free(&t)`, `free(names[i])`.
    Content,
    /// That it has a value as elsewhere: `if (used > 0)`.
    Value,
}

/// A variable whose state matters, and the expression that looks at it.
#[derive(Clone, Copy)]
struct Needed {
    local: LocalId,
    need: Need,
    by: ExprId,
}

/// What changes the state that a call on the way out needs.
struct Changes<'v> {
    acts: Vec<&'v Act>,
    /// Where they are made, and where variables get something else.
    points: Vec<Point>,
}

impl View<'_> {
    /// What `exit` does on its way out, and the function itself never does in that state.
    pub(super) fn unready(&self, exit: &Exit) -> Option<&Act> {
        let way = Reach::new(self.cfg, exit.start, &[exit.from]);
        let tested = exit.tested(self.tree);
        let calls = self.acts.iter().filter(|act| !act.writes);
        let mut done = calls.filter(|act| way.contains(act.point));
        done.find(|act| {
            let mut needs = self.needs(act, exit).into_iter();
            needs.any(|needed| {
                !tested.contains(&needed.local)
                    && !is_added(self.changed, needed.local)
                    && !self.is_ready(act, exit, needed, &way)
            })
        })
    }

    /// What a call needs, and what decides whether it is made.
    fn needs(&self, act: &Act, exit: &Exit) -> Vec<Needed> {
        let tree = self.tree;
        let needed = |need, local, by| Needed { local, need, by };
        let own = locals(tree, act.expr).into_iter();
        let mut needs: Vec<Needed> = own
            .map(|local| needed(self.need(act, local), local, act.expr))
            .collect();
        let inner = tree.stmt(exit.test).range;
        let mut at = Some(act.stmt);
        while let Some(stmt) = at.filter(|&it| !tree.stmt(it).range.contains(inner)) {
            at = self.nesting.around(stmt);
            let (StmtKind::If { cond, .. }
            | StmtKind::While { cond, .. }
            | StmtKind::DoWhile { cond, .. }
            | StmtKind::For {
                cond: Some(cond), ..
            }
            | StmtKind::Switch { value: cond, .. }) = tree.stmt(stmt).kind
            else {
                continue;
            };
            for local in locals(tree, cond) {
                // `if (text) free(text);`
                let is_asked = needs.iter().any(|it| {
                    it.local == local && matches!(it.need, Need::Ownership | Need::Object)
                });
                let need = match self.is_followed(cond, local) {
                    true => Need::Content,
                    false => Need::Value,
                };
                needs.extend((!is_asked).then_some(needed(need, local, cond)));
            }
        }
        needs
    }

    fn need(&self, act: &Act, local: LocalId) -> Need {
        let tree = self.tree;
        let variable = tree.local(local);
        let types = &self.changed.original.types;
        if types.is_number(&variable.ty) {
            return Need::Value;
        }
        let Some((name, at)) = self.given_to_api(act, local) else {
            return Need::Content;
        };
        let is_object = types.is_object_pointer(&variable.ty);
        match capi::counts(name) {
            Some(counts) if counts.releases() => Need::Object,
            _ if is_object && capi::effects(name).is_some() => Need::Object,
            _ if ends(name, at) => Need::Ownership,
            _ => Need::Content,
        }
    }

    /// The function that the package does not have, and which argument a variable is, where it is
    /// nothing else.
    fn given_to_api<'s>(&'s self, act: &Act, local: LocalId) -> Option<(&'s str, usize)> {
        let tree = self.tree;
        let (name, args) = tree.call(act.expr)?;
        let is_it = |arg: &ExprId| tree.as_local(tree.without_casts(*arg)) == Some(local);
        let uses = args
            .iter()
            .filter(|arg| locals(tree, **arg).contains(&local));
        let at = args.iter().position(is_it)?;
        (uses.count() == 1 && !self.has_body(name)).then_some((name, at))
    }

    /// Whether an expression looks at what a pointer leads to, or at a part of a struct.
    fn is_followed(&self, expr: ExprId, local: LocalId) -> bool {
        let tree = self.tree;
        let mut inner = tree.exprs_in(tree.expr(expr).range);
        inner.any(|(_, part)| {
            let base = match &part.kind {
                ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => *base,
                ExprKind::Unary { operand, .. } => *operand,
                ExprKind::Call { args, .. } => {
                    return args.iter().any(|&arg| locals(tree, arg).contains(&local));
                }
                _ => return false,
            };
            let is_not = matches!(
                part.kind,
                ExprKind::Unary {
                    op: UnaryOp::Not,
                    ..
                }
            );
            !is_not && locals(tree, base).contains(&local)
        })
    }

    fn has_body(&self, name: &str) -> bool {
        self.changed.original.program.has_function(name)
    }

    /// Whether the function makes the same call, by itself, in the state in which `exit` leaves.
    fn is_ready(&self, act: &Act, exit: &Exit, needed: Needed, way: &Reach) -> bool {
        let (acts, aliases) = self.changing(needed);
        let leads = |point: Point| reaches(self.cfg, point.next(), exit.from, &[]);
        let is_ready = match needed.need {
            Need::Ownership => !acts.iter().any(|act| leads(act.point)),
            // What is set later is not there yet.
            Need::Object => acts.is_empty(),
            Need::Content | Need::Value => false,
        };
        if is_ready {
            return true;
        }
        let stores = self.cfg.steps().filter(|(_, instr)| match &instr.kind {
            InstrKind::Store { place, .. } => {
                place.as_local().is_some_and(|it| aliases.contains(&it))
            }
            _ => false,
        });
        let stores = stores.map(|(point, _)| point);
        let given = self.cfg.addressing(needed.local);
        let points = acts.iter().map(|act| act.point).chain(stores).chain(given);
        // What comes after `exit` alone changes nothing for it.
        let points = points.filter(|&point| !way.contains(point) || leads(point));
        let changes = Changes {
            points: points.collect(),
            acts,
        };
        if needed.need == Need::Value && !changes.points.iter().any(|&point| leads(point)) {
            return true;
        }
        let does = |old: &&Exit| self.done_from(old.start, exit.from).contains(&act.key);
        let mut old = self.old.iter().filter(does);
        self.goes_on_to_same(act, exit, &changes)
            || old.any(|old| {
                self.fails_next(act, old, exit, &changes)
                    || self.leaves_in_state(old, exit, &changes)
            })
    }

    /// Whether the function comes from `exit` to such a call before anything changes.
    fn goes_on_to_same(&self, act: &Act, exit: &Exit, changes: &Changes<'_>) -> bool {
        let asks = |old: &&Exit| changes.acts.iter().any(|it| self.asks_for(it, old));
        let asking = self.old.iter().filter(asks).map(|old| old.start);
        let points = changes.points.iter().copied();
        let barriers: Vec<Point> = points.chain(self.starts()).chain(asking).collect();
        let onward = Reach::new(self.cfg, exit.from, &barriers);
        let mut same = self.acts.iter().filter(|other| other.key == act.key);
        same.any(|other| onward.contains(other.point))
    }

    /// Whether `old` leaves because the next change could not be made, and nothing has changed then
    /// for `act`.
    ///
    /// ```c
    /// item = PySequence_Fast_GET_ITEM(list, i);
    /// if (PyObject_GetBuffer(item, &views[i], PyBUF_SIMPLE) < 0)
    ///     goto fail;                                /* releases `i` of them */
    /// ```
    fn fails_next(&self, act: &Act, old: &Exit, exit: &Exit, changes: &Changes<'_>) -> bool {
        let mut tried = changes.acts.iter();
        tried.any(|tried| {
            let others = changes.points.iter().filter(|it| **it != tried.point);
            let others: Vec<Point> = others.copied().chain(self.starts()).collect();
            let is_without = match tried.writes {
                true => self.asks_for(tried, old) && self.spares(act, old, exit, tried),
                false => old.asks(self.tree, tried) && self.is_of_python(tried),
            };
            is_without && reaches(self.cfg, exit.from, old.start, &others)
        })
    }

    /// Whether a function of Python is called, which has changed nothing where it fails.
    fn is_of_python(&self, act: &Act) -> bool {
        let name = self.tree.called(act.expr);
        name.is_some_and(|name| capi::effects(name).is_some() && !self.has_body(name))
    }

    /// Whether what `old` does like `act` is done to the elements below the one that `tried` sets.
    ///
    /// ```c
    /// if ((names[i] = copy(item)) == NULL) {
    ///     while (--i >= 0)
    ///         free(names[i]);
    /// ```
    fn spares(&self, act: &Act, old: &Exit, exit: &Exit, tried: &Act) -> bool {
        let tree = self.tree;
        let Some(place) = tree.changed(tried.expr) else {
            return false;
        };
        let is_same = |one, other| self.spelling(one) == self.spelling(other);
        let is_below = |act: &Act| {
            let mut around = std::iter::successors(Some(act.stmt), |&it| self.nesting.around(it));
            around.any(|stmt| {
                Below::of(tree, stmt).is_some_and(|below| below.is_end(tree, place, is_same))
            })
        };
        let way = Reach::new(self.cfg, old.start, &[exit.from]);
        let same = self
            .acts
            .iter()
            .filter(|it| it.key == act.key && way.contains(it.point));
        let mut all = std::iter::once(act).chain(same);
        all.all(is_below)
    }

    /// Whether nothing changes between `exit` and `old`, which leaves after it or before it.
    fn leaves_in_state(&self, old: &Exit, exit: &Exit, changes: &Changes<'_>) -> bool {
        let all = &changes.points;
        let onward = [&all[..], &self.starts()].concat();
        let is_asked = changes.acts.iter().any(|it| self.asks_for(it, old));
        if !is_asked && reaches(self.cfg, exit.from, old.start, &onward) {
            return true;
        }
        let passed = [&all[..], &[old.from]].concat();
        let is_last = |point: &Point| reaches(self.cfg, point.next(), exit.from, &passed);
        reaches(self.cfg, old.from, exit.from, all)
            && !all.iter().any(is_last)
            && changes.acts.iter().all(|it| self.is_beside(it, old, all))
    }

    /// The acts that change the state of a variable, and the variables whose stores do.
    fn changing(&self, needed: Needed) -> (Vec<&Act>, FxHashSet<LocalId>) {
        let Needed { local, need, by } = needed;
        let original = self.changed.original;
        let hands = Hands::new(original.program, &original.types, self.tree);
        let it = || FxHashSet::from_iter([local]);
        let (aliases, least) = match need {
            Need::Value => return (Vec::new(), it()),
            Need::Ownership => (hands.aliases(local), Handed::Taken),
            Need::Object => (it(), Handed::Written),
            Need::Content => (hands.aliases(local), Handed::Written),
        };
        let fields = parts(self.tree, by, local);
        // `text_free(&t.text)` and `visit(t.nodes)`
        let is_beside = |act: &Act| {
            let own = fields.as_ref().zip(parts(self.tree, act.expr, local));
            own.is_some_and(|(fields, own)| fields.is_disjoint(&own))
        };
        let acts = self.acts.iter();
        let acts = acts.filter(|act| !self.is_count_of(act, &aliases) && !is_beside(act));
        // `PyUnicode_Append(&text, item)` leaves another object, whole as well.
        let is_set = |act: &Act| need == Need::Object && self.is_of_python(act);
        let acts = acts.filter(|act| !is_set(act) && hands.at(act.expr, &aliases) >= least);
        (acts.collect(), aliases)
    }

    /// Whether a call just counts the object of one of these: references are followed elsewhere.
    fn is_count_of(&self, act: &Act, locals: &FxHashSet<LocalId>) -> bool {
        let counted = self.counted(act, |counts| counts.takes() || counts.releases());
        counted.is_some_and(|local| locals.contains(&local))
            && !matches!(
                self.tree.called(act.expr).and_then(capi::counts),
                Some(Counts::Clear)
            )
    }
}

/// Whether a function outside of the package ends what its argument `at` is, or leads to.
fn ends(name: &str, at: usize) -> bool {
    let acts = capi::acts(name);
    acts.is_some_and(|acts| acts.changes(at) && !acts.only_adds && !acts.runs_code())
}

/// The variables that an expression names.
fn locals(tree: &Tree, expr: ExprId) -> Vec<LocalId> {
    let inner = tree.exprs_in(tree.expr(expr).range);
    let named = inner.filter(|(_, part)| matches!(part.kind, ExprKind::Name(_)));
    let mut found: Vec<LocalId> = named.filter_map(|(id, _)| tree.as_local(id)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The fields of a struct that an expression names, if it names nothing of it but fields; `None` for
/// what is no struct, and what a pointer leads to.
fn parts(tree: &Tree, expr: ExprId, local: LocalId) -> Option<FxHashSet<&str>> {
    let range = tree.expr(expr).range;
    let named = tree.exprs_in(range);
    let named = named.filter(|(id, part)| {
        matches!(part.kind, ExprKind::Name(_)) && tree.as_local(*id) == Some(local)
    });
    let fields = tree
        .exprs_in(range)
        .filter_map(|(_, part)| match &part.kind {
            ExprKind::Member {
                base,
                field,
                arrow: false,
            } if tree.as_local(*base) == Some(local) => Some(&**field),
            _ => None,
        });
    let fields: Vec<&str> = fields.collect();
    let is_all = !fields.is_empty() && fields.len() == named.count();
    is_all.then(|| fields.into_iter().collect())
}
