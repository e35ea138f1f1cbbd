//! What a value is that is put somewhere: an object, a handle or memory, which has to be released.

use super::look::Look;
use super::{Lasting, Place};
use crate::ast::{ExprId, Function, Init, LocalDecl, LocalId, Name, StmtKind};
use crate::capi::{self, Returns};

impl Look<'_> {
    /// Whether a value is an object, or something of a call that is to be closed.
    pub(super) fn is_held(&self, value: ExprId, depth: usize) -> bool {
        let local = self.tree.as_local(value);
        let is_object = |local| self.tree.local(local).ty.is_py_object_pointer();
        let opens = |name: &str| capi::acts(name).is_some_and(|acts| acts.opens);
        let mut stores = self.tree.stores();
        local.is_some_and(is_object)
            || self.gives_object(value)
            || depth > 0 && self.gives_filled(value)
            || self.comes_from(value, &opens, depth)
            || stores.any(|(given, value)| {
                Some(given) == local && self.gives_object(self.tree.without_casts(value))
            })
    }

    /// Whether a value is memory that is to be freed.
    pub(super) fn is_memory(&self, value: ExprId, depth: usize) -> bool {
        let gives = |name: &str| capi::acts(name).is_some_and(|acts| acts.gives_memory);
        self.comes_from(value, &gives, depth)
    }

    /// Whether a value, or one that a variable gets, is that of such a function outside of the package,
    /// be it by one of the package that returns it: `return open(path, O_RDONLY);`.
    fn comes_from(&self, value: ExprId, is_one: &dyn Fn(&str) -> bool, depth: usize) -> bool {
        let returns = |function: &Function| {
            let look = Look {
                program: self.program,
                tree: &function.tree,
            };
            let mut stmts = function.tree.stmts.iter();
            stmts.any(|stmt| match stmt.kind {
                StmtKind::Return(Some(value)) => {
                    let value = look.tree.without_casts(value);
                    depth > 0 && look.comes_from(value, is_one, depth - 1)
                }
                _ => false,
            })
        };
        let gives = |value: ExprId| {
            self.tree.called(value).is_some_and(|name| {
                let mut own = self.program.functions_named(name).peekable();
                match own.peek() {
                    Some(_) => own.any(|(_, function)| returns(function)),
                    None => is_one(name),
                }
            })
        };
        let local = self.tree.as_local(value);
        let mut stores = self.tree.stores();
        gives(value)
            || stores
                .any(|(given, value)| Some(given) == local && gives(self.tree.without_casts(value)))
    }

    /// Whether a call gives a reference.
    pub(super) fn gives_object(&self, call: ExprId) -> bool {
        self.tree.called(call).is_some_and(|name| {
            let is_new = capi::effects(name).is_some_and(|it| it.returns == Returns::New);
            let mut own = self.program.functions_named(name);
            is_new || own.any(|(_, function)| function.ret.is_py_object_pointer())
        })
    }

    /// What gets the value of `call`: a variable, or a part of one that it begins with.
    pub(super) fn opened(&self, call: ExprId) -> Option<Lasting> {
        let tree = self.tree;
        let mut stores = tree.stores();
        let stored = stores.find(|(_, value)| tree.without_casts(*value) == call);
        let begun = |local: LocalId| Lasting {
            place: Some(Place::of(Name::Local(local))),
            is_deep: true,
            is_plain: true,
            holds: true,
            is_own: true,
            ..Lasting::ELSEWHERE
        };
        if let Some((local, _)) = stored {
            if self.gives_filled(call) {
                return Some(begun(local));
            }
            let is_object = tree.local(local).ty.is_py_object_pointer();
            let is_followed = is_object && self.gives_object(call) && !self.is_of_code(call);
            return (!is_followed).then(|| Lasting {
                place: Some(Place::of(Name::Local(local))),
                opens: is_object,
                ..Lasting::ELSEWHERE
            });
        }
        let range = tree.expr(call).range;
        let begins = |decl: &&LocalDecl| match &decl.init {
            Some(Init::List(list)) => list.range.contains(range),
            _ => false,
        };
        let decl = tree.declarations().find(begins)?;
        Some(begun(decl.local))
    }

    /// Whether a call gives a struct in which a function of the package has put an object or a handle:
    /// `Pair pair = pair_of(d);`.
    pub(super) fn gives_filled(&self, call: ExprId) -> bool {
        let fills = |function: &Function| {
            let ret = &function.ret;
            let is_struct = !ret.is_number() && ret.pointee().is_none();
            let look = Look {
                program: self.program,
                tree: &function.tree,
            };
            let mut exprs = function.tree.expr_ids();
            is_struct && exprs.any(|expr| look.fills_own(expr))
        };
        self.tree.called(call).is_some_and(|name| {
            let mut own = self.program.functions_named(name);
            own.any(|(_, function)| fills(function))
        })
    }

    /// Whether an assignment puts an object or a handle into a variable of the function.
    fn fills_own(&self, expr: ExprId) -> bool {
        let place = self.tree.changed(expr);
        let written = place.map(|place| self.written(expr, place, 0));
        let mut written = written.into_iter().flatten();
        written.any(|it| it.holds && it.is_own)
    }

    /// Whether the code of others makes what a call gives.
    fn is_of_code(&self, call: ExprId) -> bool {
        let acts = self.tree.called(call).and_then(capi::acts);
        acts.is_some_and(|acts| acts.runs_code())
    }
}
