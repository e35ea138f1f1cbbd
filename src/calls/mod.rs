//! What a call does with the references that it gets: the one place that joins the tables of the C
//! API, formats, and what is known of the package's own functions.
//!
//! What is not known of a call is never "nothing": it is [`Count::Unknown`]. A name alone is evidence
//! for doubt, never for a proof.

mod lists;

pub use lists::passes_list_on;

use crate::ast::{ExprId, ExprKind, Tree};
use crate::capi::{self, Built, Counts, StealWhen};
use crate::cfg::{Callee, Operand};

/// What a call does to the count of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Nothing: it only looks.
    Unchanged,
    /// It is there for counting: `Py_INCREF`, `Py_CLEAR`.
    Counts(Counts),
    /// The reference is taken over.
    Consumed(StealWhen),
    /// It may take the reference over, for all that is known.
    Unknown,
}

impl Count {
    /// Whether it takes a reference, for the caller or as its result.
    #[must_use]
    pub fn takes(self) -> bool {
        matches!(self, Self::Counts(counts) if counts.takes())
    }

    /// Whether it is there to release what the argument holds: `Py_DECREF`, `Py_CLEAR`.
    #[must_use]
    pub fn releases(self) -> bool {
        matches!(self, Self::Counts(_)) && !self.takes()
    }

    /// Whether the caller may have one reference less behind the call.
    #[must_use]
    pub fn may_lose(self) -> bool {
        match self {
            Self::Unchanged => false,
            Self::Counts(_) => self.releases(),
            Self::Consumed(_) | Self::Unknown => true,
        }
    }
}

/// Where it is known from what a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The tables of the C API.
    Table,
    /// A format that is a literal.
    Format,
    /// The code of the package, or what the project says of it.
    Package,
    /// A format that is no literal, or nothing at all.
    Nothing,
}

/// What a call does with one argument, and where that is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnArgument {
    /// What it does to the count.
    pub count: Count,
    /// Where that is known from.
    pub evidence: Evidence,
}

/// What is known of the package's own functions, by their code or because the project says so.
pub trait Package {
    /// What becomes of the reference that is argument `arg`; `None` if nobody knows the function.
    fn consumes(&self, name: &str, arg: usize) -> Option<Count>;

    /// Whether the function looks at the reference count of argument `arg`, or calls what does.
    fn counts_references(&self, name: &str, arg: usize) -> bool;
}

/// What one call does.
pub struct CallEffects<'c> {
    /// Empty for a call through a pointer.
    name: &'c str,
    package: &'c dyn Package,
    values: Values<'c>,
}

/// The arguments that a format stands for.
enum Values<'c> {
    /// There is no format.
    None,
    /// From this argument on, as the format says; `None` if it is no literal.
    From(usize, Option<&'c [u8]>),
}

/// What the call of `callee` with `args` does.
#[must_use]
pub fn effects<'c>(
    tree: &'c Tree,
    callee: &'c Callee,
    args: &[Operand],
    package: &'c dyn Package,
) -> CallEffects<'c> {
    let name = match callee {
        Callee::Named(name) => &**name,
        Callee::Indirect(_) => "",
    };
    effects_of(name, package, args.len(), |at| match args.get(at)? {
        Operand::Str(text) => tree.as_string(*text),
        _ => None,
    })
}

/// The same for the call expression `call`; `None` if it is none.
#[must_use]
pub fn effects_at<'c>(
    tree: &'c Tree,
    call: ExprId,
    package: &'c dyn Package,
) -> Option<CallEffects<'c>> {
    let ExprKind::Call { callee, args } = &tree.expr(call).kind else {
        return None;
    };
    let name = tree.callee_name(*callee).unwrap_or("");
    let literal = |at: usize| tree.as_string(tree.without_casts(*args.get(at)?));
    Some(effects_of(name, package, args.len(), literal))
}

/// The same for a call of `name` with this many arguments; `literal` gives the text of those that are
/// string literals.
pub fn effects_of<'c>(
    name: &'c str,
    package: &'c dyn Package,
    args: usize,
    literal: impl Fn(usize) -> Option<&'c [u8]>,
) -> CallEffects<'c> {
    let of_api = capi::effects(name).and_then(|effects| effects.format);
    let values = match of_api {
        Some(format) => Values::From(usize::from(format) + 1, literal(usize::from(format))),
        // self->build("(N)", v): a function behind a pointer may be one that takes a format.
        None if name.is_empty() => match (0..args).find(|&at| literal(at).is_some()) {
            Some(format) => Values::From(format + 1, None),
            None => Values::None,
        },
        None => Values::None,
    };
    CallEffects {
        name,
        package,
        values,
    }
}

impl CallEffects<'_> {
    /// What the call does with argument `at`.
    #[must_use]
    pub fn argument(&self, at: usize) -> OnArgument {
        let known = |count, evidence| OnArgument { count, evidence };
        if let Some(counts) = capi::counts(self.name).filter(|_| at == 0) {
            return known(Count::Counts(counts), Evidence::Table);
        }
        if let Some(count) = self.package.consumes(self.name, at) {
            let evidence = match count {
                Count::Unknown => Evidence::Nothing,
                _ => Evidence::Package,
            };
            return known(count, evidence);
        }
        if let Values::From(first, format) = self.values
            && let Some(value) = at.checked_sub(first)
        {
            return match format.and_then(capi::built) {
                Some(built) => known(of_unit(built.get(value)), Evidence::Format),
                None => known(Count::Unknown, Evidence::Nothing),
            };
        }
        match capi::effects(self.name) {
            Some(effects) => {
                let stolen = effects.steals(at);
                known(
                    stolen.map_or(Count::Unchanged, Count::Consumed),
                    Evidence::Table,
                )
            }
            None => known(Count::Unchanged, Evidence::Nothing),
        }
    }

    /// What the call does to the count of argument `at`.
    #[must_use]
    pub fn count(&self, at: usize) -> Count {
        self.argument(at).count
    }

    /// Whether it matters to the call how many references there are to argument `at`.
    #[must_use]
    pub fn counts_references(&self, at: usize) -> bool {
        at == 0 && capi::looks_at_count(self.name) || self.package.counts_references(self.name, at)
    }
}

/// The objects of which an expression asks how many references there are: one more would show.
///
/// ```c
/// if (v->ob_refcnt == 1)       if (Py_REFCNT(v) == 1)       if (is_alone(v))
/// ```
#[must_use]
pub fn counts_asked(tree: &Tree, expr: ExprId, package: &dyn Package) -> Vec<ExprId> {
    match &tree.expr(expr).kind {
        ExprKind::Member { base, field, .. } if &**field == "ob_refcnt" => vec![*base],
        ExprKind::Call { args, .. } => {
            let effects = effects_at(tree, expr, package);
            let counts = |at: usize| effects.as_ref().is_some_and(|it| it.counts_references(at));
            let asked = args.iter().enumerate().filter(|(at, _)| counts(*at));
            asked.map(|(_, &arg)| arg).collect()
        }
        _ => Vec::new(),
    }
}

/// What becomes of the argument that a unit of a format stands for. There is none for an argument too
/// many.
fn of_unit(unit: Option<&Built>) -> Count {
    match unit {
        Some(Built::Used | Built::Copied) | None => Count::Unchanged,
        Some(Built::Consumed) => Count::Consumed(StealWhen::Always),
        Some(Built::Converted) => Count::Unknown,
    }
}

#[cfg(test)]
mod tests;
