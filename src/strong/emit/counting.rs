//! Counting that goes or comes with a new reference.

use std::collections::BTreeSet;

use super::Draft;
use crate::ast::{ExprId, ExprKind, Name, StmtKind};
use crate::capi::{Form, replacement};
use crate::cfg::{Point, reaches};
use crate::source::ByteSpan;
use crate::strong::follow::web::{Given, definitions};
use crate::strong::lifetimes::point_of;
use crate::strong::plan::Planned;
use crate::strong::reason::Reason;

impl Draft<'_, '_> {
    /// Takes out the counting that the new reference makes needless, and adds what it needs.
    pub(in crate::strong) fn counting(&mut self, planned: &Planned) -> Result<(), Reason> {
        let (mut removed, mut owned) = (
            planned.decisions.removed.clone(),
            planned.decisions.owned.clone(),
        );
        for &value in &planned.decisions.owned {
            if let Some(count) = self.counted_next(value, &planned.decisions.removed) {
                removed.remove(&count);
                owned.remove(&value);
            }
        }
        removed.extend(planned.decisions.taken.keys());
        let (mut gone, mut unwrapped) = (BTreeSet::new(), planned.decisions.unwrapped.clone());
        for call in removed {
            match self.stays_without(call, &planned.home.name)? {
                true => unwrapped.insert(call),
                false => gone.insert(call),
            };
        }
        self.remove(&gone, &planned.home.name)?;
        for call in unwrapped {
            self.unwrap(call, &planned.home.name)?;
        }
        for value in owned {
            self.taken_in_time(planned, value)?;
            let no_place = || Reason::NoPlace(planned.home.name.clone());
            let counted = self.uncast(planned, value).ok_or_else(no_place)?;
            let span = self.scene.span(counted).ok_or_else(no_place)?;
            let is_there = self.scene.is_never_null(value) || self.is_counted(planned, value);
            let function = if is_there { "Py_NewRef" } else { "Py_XNewRef" };
            self.insert(span.start(), format!("{function}("));
            self.insert(span.end(), ")");
            self.compat(function);
        }
        Ok(())
    }

    /// Whether the argument of a call that goes stays as a statement, because it does something itself.
    ///
    /// ```c
    /// Py_XINCREF(v = PyList_GetItem(list, 0));
    /// ```
    ///
    /// # Errors
    /// It does, and is no statement that one would write.
    fn stays_without(&self, call: ExprId, name: &str) -> Result<bool, Reason> {
        let tree = self.scene.tree;
        let Some((_, [arg, ..])) = self.scene.call(call) else {
            return Ok(false);
        };
        let inner = || tree.exprs_in(tree.expr(*arg).range);
        let mut acts = inner().filter(|(id, expr)| {
            matches!(expr.kind, ExprKind::Call { .. }) || tree.changed(*id).is_some()
        });
        // A lookup that gives its result through an argument is a statement in front of the call.
        let mut lookups = inner().filter_map(|(id, _)| replacement(tree.called(id)?));
        if acts.next().is_none() || lookups.any(|it| matches!(it.form, Form::Out { .. })) {
            return Ok(false);
        }
        match tree.expr(tree.without_casts(*arg)).kind {
            ExprKind::Assign { .. } => Ok(true),
            _ => Err(Reason::NoPlace(name.to_owned())),
        }
    }

    /// An error if a reference is taken to something that nobody holds, after the variable has released
    /// what it held: a destructor may free it.
    ///
    /// ```c
    /// Py_DECREF(name);
    /// name = Py_NewRef(next);               /* borrowed from a dict */
    /// ```
    fn taken_in_time(&self, planned: &Planned, value: ExprId) -> Result<(), Reason> {
        let scene = self.scene;
        let stmt = scene.stmt_of(value);
        let taken = stmt.and_then(|stmt| scene.cfg.before(stmt));
        let mut releases = planned.decisions.releases.keys();
        let is_late = releases.any(|&slot| point_of(scene.cfg, slot) == taken);
        let value = scene.tree.without_casts(value);
        let is_held = match scene.tree.expr(value).kind {
            ExprKind::Name(Name::Global(_)) => true,
            // The caller holds its arguments.
            ExprKind::Name(Name::Local(local)) => {
                let mut stores = scene.tree.stores();
                scene.function.params.contains(&local) && !stores.any(|(given, _)| given == local)
            }
            _ => false,
        };
        match scene.span(value).filter(|_| is_late && !is_held) {
            Some(span) => Err(Reason::TakenLate(
                planned.home.name.clone(),
                scene.text(span).to_owned(),
            )),
            None => Ok(()),
        }
    }

    /// The part of `value` that gets the call around it, which gives a `PyObject *`: a cast to
    /// another type stays outside. `None` if it would take a cast that is not there.
    ///
    /// ```c
    /// thing = (Thing *)Py_NewRef(fallback);
    /// ```
    fn uncast(&self, planned: &Planned, value: ExprId) -> Option<ExprId> {
        let tree = self.scene.tree;
        match &tree.expr(value).kind {
            ExprKind::Cast { ty, operand } if !ty.is_py_object_pointer() => Some(*operand),
            ExprKind::Cast { .. } => Some(value),
            // v = (count++, other);
            _ if tree.is_comma(value) => None,
            _ => {
                let local = planned.home.local.map(|local| &tree.local(local).ty);
                local
                    .is_none_or(crate::ast::Type::is_py_object_pointer)
                    .then_some(value)
            }
        }
    }

    /// The one of `counts` that follows the assignment of `value` at once, and so may stay.
    ///
    /// ```c
    /// v = PyTuple_GET_ITEM(pair, 0);
    /// Py_INCREF(v);
    /// ```
    fn counted_next(&self, value: ExprId, counts: &BTreeSet<ExprId>) -> Option<ExprId> {
        let (scene, stmt) = (self.scene, self.scene.stmt_of(value)?);
        let StmtKind::Expr(assignment) = scene.tree.stmt(stmt).kind else {
            return None;
        };
        let ExprKind::Assign { op: None, lhs, rhs } = scene.tree.expr(assignment).kind else {
            return None;
        };
        let StmtKind::Expr(next) = scene.tree.stmt(scene.next_sibling(stmt)?).kind else {
            return None;
        };
        let counted = scene
            .call(next)
            .and_then(|(_, args)| scene.as_local(*args.first()?));
        let same = rhs == value && counted == scene.as_local(lhs);
        (same && counted.is_some() && counts.contains(&next)).then_some(next)
    }

    /// Whether the code counts what `value` gives the variable on all paths: it is not `NULL`.
    ///
    /// ```c
    /// result = kind;
    /// Py_INCREF(result);      /* goes */
    /// ```
    fn is_counted(&self, planned: &Planned, value: ExprId) -> bool {
        let (scene, home) = (self.scene, &planned.home);
        let Some(local) = home.local else {
            return false;
        };
        let mut stored = home.web.iter();
        let Some((&Some(at), _)) = stored.find(|(_, given)| **given == Given::Borrowed(value))
        else {
            return false;
        };
        let counts = planned.decisions.removed.iter().copied();
        let counts = counts.filter(|&call| match scene.call(call) {
            Some(("Py_INCREF", [arg])) => scene.as_local(*arg) == Some(local),
            _ => false,
        });
        let counts: Vec<Point> = counts.filter_map(|call| scene.cfg.call(call)).collect();
        let others = definitions(scene, local, &BTreeSet::new());
        let others = others.into_iter().filter_map(|(at, _)| at);
        let mut lost = others.chain(scene.cfg.returns());
        !lost.any(|end| reaches(scene.cfg, at.next(), end, &counts))
    }

    /// `Py_NewRef(v)` turns into `v`.
    fn unwrap(&mut self, call: ExprId, name: &str) -> Result<(), Reason> {
        let no_place = || Reason::NoPlace(name.to_owned());
        let (_, args) = self.scene.call(call).ok_or_else(no_place)?;
        let [arg] = args else { return Err(no_place()) };
        let whole = self.scene.span(call).ok_or_else(no_place)?;
        let kept = self.scene.span(*arg).ok_or_else(no_place)?;
        self.replace(ByteSpan::new(whole.start().0, kept.start().0), "");
        self.replace(ByteSpan::new(kept.end().0, whole.end().0), "");
        Ok(())
    }
}
