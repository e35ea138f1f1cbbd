//! The object that a section locks: the dict, evaluated once.

use crate::ast::{ExprId, ExprKind, Name, TokenRange, UnaryOp};

use super::owner::needs_reference;
use super::scope::Scope;
use super::site::{Kind, Site};

/// How the dict is written in the section's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operand {
    /// As it stands: a variable that keeps its value.
    Variable(String),
    /// The same, which only borrows what a field or file-scope variable holds: the function takes a
    /// reference for it.
    Borrowed(String),
    /// As it stands: a field or file-scope variable, which other code may set.
    Shared(String),
    /// The same, kept in a new variable by a reference of its own.
    Held {
        /// As it stands.
        text: String,
        /// The last word of it, which the variable is called after.
        field: String,
    },
    /// What a call gives, kept in a new variable.
    Bound(String),
}

impl Operand {
    /// Reads the dict of `site`; it must stay the same all through `range`.
    ///
    /// # Errors
    /// Why the dict cannot be named once for all of the iteration.
    pub(super) fn read(scope: &Scope<'_>, site: &Site, range: TokenRange) -> Result<Self, String> {
        let text = scope
            .text(site.dict)
            .ok_or("put the loop into a critical section by hand (a macro names the dict)")?;
        match stability(scope, site.dict, range) {
            Stability::Fixed => Ok(Self::Variable(text)),
            Stability::Shared => Ok(Self::Shared(text)),
            Stability::Computed if site.is_unconditional && site.kind == Kind::Loop => {
                Ok(Self::Bound(text))
            }
            Stability::Computed => Err(format!(
                "store `{text}` in a variable before the loop (it is evaluated for each item)"
            )),
            Stability::Changed => Err(format!(
                "iterate over a copy (`PyDict_Copy`), because `{text}` is assigned in the loop and \
                 no single section can lock it"
            )),
        }
    }

    /// The expression as written.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Variable(text)
            | Self::Borrowed(text)
            | Self::Shared(text)
            | Self::Held { text, .. }
            | Self::Bound(text) => text,
        }
    }

    /// Whether it is a variable that points at an object, for which `None` can be locked.
    pub(super) fn is_object(&self, scope: &Scope<'_>, site: &Site) -> bool {
        let local = scope.local(site.dict);
        let is_object = |local| scope.tree().local(local).ty.is_py_object_pointer();
        matches!(self, Self::Variable(_) | Self::Borrowed(_)) && local.is_some_and(is_object)
    }

    /// What the new variable gets.
    pub(super) fn value(&self) -> String {
        match self {
            Self::Variable(text)
            | Self::Borrowed(text)
            | Self::Shared(text)
            | Self::Bound(text) => text.clone(),
            Self::Held { text, .. } => format!("Py_NewRef({text})"),
        }
    }

    /// With a reference of its own where other code may set what holds the dict: the section must
    /// not outlive it.
    pub(super) fn held(self, scope: &Scope<'_>, site: &Site) -> Self {
        if !site.is_unconditional {
            // It may be `NULL`.
            return self;
        }
        let text = match &self {
            Self::Shared(text) => text,
            Self::Variable(text) if needs_reference(scope, site) => {
                return Self::Borrowed(text.clone());
            }
            _ => return self,
        };
        let field = match &scope.expr(site.dict).kind {
            ExprKind::Member { field, .. } => field.to_string(),
            _ => String::from("dict"),
        };
        Self::Held {
            text: text.clone(),
            field,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Fixed,
    Shared,
    Computed,
    Changed,
}

/// How far `expr` keeps its value in `range`: the worst of its parts.
fn stability(scope: &Scope<'_>, expr: ExprId, range: TokenRange) -> Stability {
    match &scope.expr(expr).kind {
        ExprKind::Name(Name::Local(local)) if scope.is_written(*local, range, None) => {
            Stability::Changed
        }
        ExprKind::Name(Name::Local(local)) if scope.tree().is_static(*local) => Stability::Shared,
        ExprKind::Name(Name::Local(_)) | ExprKind::Int(_) => Stability::Fixed,
        ExprKind::Name(Name::Global(_)) => Stability::Shared,
        ExprKind::Member { field, .. } if scope.is_field_written(field, range) => {
            Stability::Changed
        }
        ExprKind::Member { base: inner, .. }
        | ExprKind::Unary {
            op: UnaryOp::Deref,
            operand: inner,
        } => stability(scope, *inner, range).max(Stability::Shared),
        ExprKind::Index { base, .. } if scope.is_element_written(*base, range) => {
            Stability::Changed
        }
        ExprKind::Index { base, index } => stability(scope, *base, range)
            .max(stability(scope, *index, range))
            .max(Stability::Shared),
        ExprKind::Cast { operand, .. } => stability(scope, *operand, range),
        ExprKind::Call { args, .. } => {
            let args = args.iter().map(|&arg| stability(scope, arg, range));
            args.max()
                .unwrap_or(Stability::Fixed)
                .max(Stability::Computed)
        }
        _ => Stability::Changed,
    }
}
