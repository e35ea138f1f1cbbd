//! What a function changes that is there for others after it.
//!
//! ```c
//! self->depth++;
//! sscanf(text, "%d", &self->level);
//! x = PyObject_CallNoArgs(self->on_begin);      /* and nothing reads `x` */
//! ```

use super::View;
use super::acts::{Act, is_array, is_outside, roots, sets_errno};
use super::owed::Change;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, Name, StmtKind, Tree, UnaryOp};
use crate::capi::{self, Counts, Returns, Stored};
use crate::program::Lasting;

impl View<'_> {
    /// Whether what the function changes before `exit` is there for others after it. What becomes of
    /// its references, its memory and its thread is followed elsewhere.
    pub(super) fn stays(&self, change: &Change<'_>, exit: &Exit) -> bool {
        let Change { act, lasting } = change;
        if self.is_lost(change, exit) {
            return true;
        }
        if act.writes {
            let is_value = lasting.iter().all(|it| !it.puts_object());
            let is_told = is_value && self.is_element_or_output(act, exit);
            return !is_told && !sets_errno(self.tree, act.expr) && self.sets_outside(act, lasting);
        }
        let is_followed = |name: &str| {
            let acts = capi::acts(name);
            capi::detaches(name)
                || capi::attaches(name)
                || acts.is_some_and(|acts| acts.gives_memory && !acts.frees)
                || capi::effects(name).is_some_and(|it| it.returns == Returns::New)
        };
        let is_outside = |it: &Lasting| it.stays() && !self.is_held_here(it, act);
        let is_followed = self.tree.called(act.expr).is_some_and(is_followed);
        self.is_for_effect(change)
            || !is_followed && lasting.iter().any(is_outside)
            || self.stores_outside(act)
    }

    /// Whether a reference is counted that is not one of a variable of the function, whose references
    /// are followed. What is released may stay in its place, and what is retained may be given back
    /// later.
    ///
    /// ```c
    /// Py_XDECREF(self->name);
    /// name = PyDict_GetItemString(d, "name");      /* an exit here: `self->name` is released again */
    /// self->name = Py_XNewRef(name);
    /// ```
    pub(super) fn counts_outside(&self, act: &Act) -> bool {
        let Some((name, [object, ..])) = self.tree.call(act.expr) else {
            return false;
        };
        let is_count = matches!(
            capi::counts(name),
            Some(Counts::Take | Counts::Release { .. })
        );
        is_count && !self.is_own_object(*object)
    }

    /// Whether an object is a constant of Python, or in a variable that has a reference of its own: it
    /// was not read from elsewhere, or was retained.
    fn is_own_object(&self, object: ExprId) -> bool {
        let tree = self.tree;
        match &tree.expr(tree.without_casts(object)).kind {
            ExprKind::Name(Name::Global(name)) => capi::is_singleton(name),
            ExprKind::Name(Name::Local(local)) => {
                let mut values = tree.stores().filter(|(to, _)| to == local);
                let is_read = |value: ExprId| {
                    let value = tree.without_casts(value);
                    tree.as_local(value).is_none() && is_outside(tree, value)
                };
                let mut all = self.acts.iter();
                let mut is_retained =
                    || all.any(|act| self.counted(act, Counts::takes) == Some(*local));
                tree.local(*local).is_automatic()
                    && (!values.any(|(_, value)| is_read(value)) || is_retained())
            }
            _ => false,
        }
    }

    /// Whether a write sets what outlives the function: what it made itself is lost with it.
    pub(super) fn sets_outside(&self, act: &Act, lasting: &[Lasting]) -> bool {
        let Some(place) = self.tree.changed(act.expr) else {
            return false;
        };
        // `strchr(self->buf, '=')[0] = 0;`
        let is_of_call = roots(self.tree, place).is_empty();
        is_outside(self.tree, place) && (is_of_call || lasting.iter().any(Lasting::stays))
    }

    /// Whether a call changes a variable of the function, and nothing that lies behind it:
    /// `ctx_init(&ctx)`, `PyUnicode_Append(&text, item)`.
    fn is_held_here(&self, it: &Lasting, act: &Act) -> bool {
        let Some(local) = it.variable().filter(|_| it.is_direct()) else {
            return false;
        };
        let variable = self.tree.local(local);
        let args = self.tree.call(act.expr).map_or(&[][..], |(_, args)| args);
        let mut given = args
            .iter()
            .filter(|arg| roots(self.tree, **arg).contains(&local));
        variable.is_automatic()
            && !variable.is_param
            && given.all(|&arg| is_address_within(self.tree, arg))
    }

    /// Whether a function of the C API, or of C, stores into a place that outlives the function:
    /// `sscanf(text, "%d", &self->level)`.
    fn stores_outside(&self, act: &Act) -> bool {
        let Some((name, args)) = self.tree.call(act.expr) else {
            return false;
        };
        let format = |at: usize| self.tree.as_string(*args.get(at)?);
        let stores = |at: usize| {
            let is_known = matches!(capi::stored(name, at, format), Stored::Known(_));
            // Of a function that the table does not name nothing is known.
            let writes = capi::writes(name).is_none_or(|it| it.behind(at) || it.place(at));
            (is_known || writes) && !capi::reads_unit(name, at, format)
        };
        let leads_out = |arg: ExprId| match self.tree.expr(self.tree.without_casts(arg)).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => is_outside(self.tree, operand),
            _ => capi::writes(name).is_some() && is_outside(self.tree, arg),
        };
        let mut args = args.iter().enumerate();
        args.any(|(at, &arg)| !self.tree.is_null(arg) && stores(at) && leads_out(arg))
    }

    /// Whether Python code is called for what it does: nothing reads the result but a test for failure.
    fn is_for_effect(&self, change: &Change<'_>) -> bool {
        let tree = self.tree;
        let act = change.act;
        let runs_code = tree.called(act.expr).is_some_and(|name| {
            match self.changed.original.program.has_function(name) {
                true => change.lasting.iter().any(Lasting::runs_code),
                false => capi::acts(name).is_some_and(|acts| acts.runs_code()),
            }
        });
        if !runs_code {
            return false;
        }
        let mut stores = tree.stores();
        let result = stores.find(|(_, value)| tree.without_casts(*value) == act.expr);
        let Some((result, _)) = result else {
            return !act.is_looked_at;
        };
        let is_release = |call: &str| capi::counts(call).is_some_and(Counts::releases);
        let handed = tree.calls().filter(|(_, name)| !is_release(name));
        let mut handed = handed.filter_map(|(call, _)| tree.call(call));
        let is_result = |&arg: &ExprId| tree.as_local(tree.without_casts(arg)) == Some(result);
        let is_returned = || {
            tree.stmts.iter().any(|stmt| match stmt.kind {
                StmtKind::Return(Some(value)) => roots(tree, value).contains(&result),
                _ => false,
            })
        };
        let is_copied = || {
            tree.expr_ids().any(|expr| match tree.expr(expr).kind {
                ExprKind::Assign { rhs, .. } => is_result(&rhs),
                _ => false,
            })
        };
        !handed.any(|(_, args)| args.iter().any(is_result)) && !is_returned() && !is_copied()
    }
}

/// Whether an argument is the address of a variable of the function, or of a part of one: no pointer
/// leads there.
fn is_address_within(tree: &Tree, arg: ExprId) -> bool {
    let arg = tree.without_casts(arg);
    match tree.expr(arg).kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => !is_outside(tree, operand),
        _ => tree.as_local(arg).is_some_and(|it| is_array(tree, it)),
    }
}
