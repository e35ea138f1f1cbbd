//! Whose dict the keyword arguments are.
//!
//! `f(**d)` makes a dict for the call, and so do `functools.partial` and `super().__init__(**d)`. C
//! that calls passes on the dict that it has, whatever is called: seen in CPython 3.13 with
//! `PyObject_Call` of a function, a method, a type, and an object with `tp_call`.
//!
//! ```c
//! return PyObject_Call(self->function, args, self->keywords);      /* a dict that others have */
//! ```

use crate::ast::{ExprKind, Tree, TypeKind, UnaryOp};
use crate::capi::{KEYWORD_CALLS, KEYWORD_STARTERS, is_keyword_call, passes_keywords};
use crate::cfg::{Operand, Point, Source};
use crate::program::Types;
use crate::roles::{Param, Role};

use super::Cx;
use super::api::{Gives, gives};
use super::flow::{Flow, Origin};
use super::sharing::{Root, Until};

/// How many helpers deep a dict is followed that is passed on.
const DEPTH: u32 = 3;

impl Cx<'_> {
    /// Whether a function of this role gets a dict that is made for the call. Types are called by C
    /// with whatever it has; functions are, if the package itself does so.
    pub(super) fn has_own_keywords(&self, role: &Role) -> bool {
        let passes_others = || *self.passes_keywords.get_or_init(|| self.passes_keywords());
        role.is_method() && !passes_others()
    }

    /// Whether the package calls something with keywords that others may have, or may do so where
    /// it cannot be seen.
    fn passes_keywords(&self) -> bool {
        let hides =
            |name: &str| self.calls.is_address_taken(name) || self.calls.is_named_unread(name);
        KEYWORD_CALLS.iter().any(|(name, _)| hides(name))
            || self
                .program
                .items
                .iter()
                .filter_map(|item| item.tree())
                .any(starts_with_keywords)
            || self.program.unread.passes_keywords()
            || self.passes_keywords_in_sight()
    }

    fn passes_keywords_in_sight(&self) -> bool {
        let types = self.types();
        let mut flows = self
            .definitions
            .values()
            .flatten()
            .filter_map(|&item| self.flow(item));
        flows.any(|flow| {
            flow.instrs().any(|(call, _)| {
                let Some((name, args)) = flow.call(call) else {
                    return false;
                };
                let at = match name {
                    Some(name) => passes_keywords(name),
                    None => is_call_by_pointer(flow, types, call).then_some(2),
                };
                let dict = at.and_then(|at| args.get(at));
                dict.is_some_and(|dict| !self.is_for_call(flow, dict, call, DEPTH))
            })
        })
    }

    /// Whether nobody else has the dict that a call at `site` gets, or it is the one of the
    /// function's own call.
    fn is_for_call(&self, flow: &Flow<'_>, dict: &Operand, site: Point, depth: u32) -> bool {
        let origins = flow.origins(dict);
        let is_new = |made: Point| {
            let name = flow.call(made).and_then(|(name, _)| name);
            name.and_then(gives) == Some(Gives::Fresh)
                && self
                    .shared_at(flow, Root::Step(made), site, Until::Site, DEPTH)
                    .is_none()
        };
        let is_own = |origin: &Origin| match origin {
            Origin::Call(made) => is_new(*made),
            Origin::Param(index) => {
                let root = Root::Param(*index);
                let shared = self.shared_at(flow, root, site, Until::Site, DEPTH);
                shared.is_none() && self.is_passed_for_call(flow, *index, depth)
            }
            _ => false,
        };
        dict.is_zero() || !origins.is_empty() && origins.iter().all(is_own)
    }

    /// The same of what a function gets as parameter `index`.
    fn is_passed_for_call(&self, flow: &Flow<'_>, index: usize, depth: u32) -> bool {
        let function = flow.function;
        let mut roles = self.roles.of(flow.item, function).peekable();
        if roles.peek().is_some() {
            return roles
                .all(|role| role.param(index) == Some(Param::Keywords) && !role.makes_object());
        }
        let is_open = !function.is_static || self.calls.is_mentioned(&function.name);
        !is_open
            && depth > 0
            && self.calls_of(flow).into_iter().all(|call| {
                let caller = self.flow(call.item);
                let site = caller.and_then(|caller| caller.cfg.call(call.expr));
                let (Some(caller), Some(site)) = (caller, site) else {
                    return false;
                };
                let passed = caller.call(site).and_then(|(_, args)| args.get(index));
                passed.is_some_and(|dict| self.is_for_call(caller, dict, site, depth - 1))
            })
    }
}

/// Whether the call at `point` goes through a pointer to a function with keywords:
/// `Py_TYPE(f)->tp_call(f, args, d)`, `((PyCFunctionWithKeywords)m->ml_meth)(self, args, d)`.
fn is_call_by_pointer(flow: &Flow<'_>, types: &Types<'_>, point: Point) -> bool {
    let tree = &flow.function.tree;
    let Some(Source::Expr(call)) = flow.source(point) else {
        return false;
    };
    let ExprKind::Call { mut callee, .. } = tree.expr(call).kind else {
        return false;
    };
    // (*p)(self, args, d)
    while let ExprKind::Unary {
        op: UnaryOp::Deref,
        operand,
    } = tree.expr(callee).kind
    {
        callee = operand;
    }
    let ty = types.of(tree, callee).map(|ty| &ty.kind);
    let by_type = matches!(ty, Some(TypeKind::Named(name)) if is_keyword_call(name));
    by_type || flow.called_field(point).is_some_and(is_keyword_call)
}

/// Whether a name stands in a string that starts a thread with such a dict:
/// `PyObject_CallMethod(threads, "start_new_thread", "OOO", f, args, d)`.
fn starts_with_keywords(tree: &Tree) -> bool {
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Str(text) => KEYWORD_STARTERS
            .iter()
            .any(|name| name.as_bytes() == &text[..]),
        _ => false,
    })
}
