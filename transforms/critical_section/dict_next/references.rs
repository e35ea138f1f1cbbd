//! Strong references to key and value while the body of the loop runs.

use crate::ast::{Init, StmtId, StmtKind, Storage, TokenRange};
use crate::edit::{Layout, Need};
use crate::source::{ByteSpan, FileId};
use crate::strong;

use super::exits::Exits;
use super::rewrite::Names;
use super::scope::Scope;
use super::site::{Kind, Site};
use super::text::has_directive;
use super::values::{KEY, Set, VALUE};

/// References that are taken at the top of the body and released wherever it is left.
#[derive(Debug, Default)]
pub(super) struct References {
    /// What is held, in the order in which it is taken.
    pub(super) held: Vec<Held>,
    pub(super) at: At,
    /// `break` and `continue` of the loop itself.
    pub(super) jumps: Vec<StmtId>,
    /// Whether the body can end by its end.
    pub(super) falls_through: bool,
}

/// A reference to a key or value.
#[derive(Debug)]
pub(super) struct Held {
    /// The variable that the iteration fills.
    variable: String,
    /// The variable that keeps the reference where the body gives the other a value of its own.
    own: Option<String>,
}

/// Where references are taken.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// In front of the statement of this index, or of a body that is no block.
    Statement(usize),
    /// Right behind the brace: an `#if` comes before the first statement.
    #[default]
    Brace,
    /// Before the declaration of this index, the last one, gives its value.
    ///
    /// ```c
    /// int n = check(key);         /* int n;            */
    ///                             /* Py_INCREF(key);   */
    ///                             /* n = check(key);   */
    /// ```
    Value(usize),
}

impl References {
    /// References to the items in `needed`; `None` if they cannot be released on every path.
    pub(super) fn new(
        scope: &Scope<'_>,
        site: &Site,
        exits: &Exits,
        needed: Set,
        names: &mut Names<'_>,
    ) -> Option<Self> {
        let mut references = Self::default();
        let mut last = site.body.last;
        let mut is_declared = false;
        references.at = At::Statement(0);
        if let StmtKind::Block(stmts) = scope.stmt(site.body.first)
            && site.kind != Kind::Once
        {
            last = *stmts.last()?;
            (references.at, is_declared) = place(scope, site.body.first, stmts)?;
        }
        for (local, set, name) in [
            (site.key, KEY, "dict_key"),
            (site.value, VALUE, "dict_value"),
        ] {
            let Some(local) = local.filter(|_| needed & set != 0) else {
                continue;
            };
            let elsewhere = |expr| scope.mentions(expr, local);
            let is_elsewhere = site.step.is_some_and(elsewhere)
                || (site.cond != site.call && elsewhere_in_condition(scope, site, local));
            if is_elsewhere {
                return None;
            }
            let is_set = scope.is_written(local, site.body_range(scope), None);
            if is_set && site.kind == Kind::Once {
                return None;
            }
            references.held.push(Held {
                variable: scope.name(local).to_owned(),
                own: (is_set || is_declared).then(|| names.fresh(name)),
            });
        }
        if references.held.is_empty() {
            return Some(Self::default());
        }
        if looks_at_counts(scope, site.body_range(scope)) {
            return None;
        }
        if !site.is_body_after_item(scope) || site.kind == Kind::DoLoop {
            return None;
        }
        references.falls_through = completes(scope, last);
        references.jumps.clone_from(&exits.own);
        Some(references)
    }

    /// The declarations of new variables, which take their references.
    pub(super) fn declare(&self, layout: &Layout<'_>) -> Vec<String> {
        let prefix = layout.pointer("PyObject *");
        let owned = self.held.iter().filter_map(|held| {
            let own = held.own.as_ref()?;
            Some(format!("{prefix}{own} = Py_NewRef({});", held.variable))
        });
        owned.collect()
    }

    /// The statements that take the other references.
    pub(super) fn acquire(&self) -> Vec<String> {
        let plain = self.held.iter().filter(|held| held.own.is_none());
        plain
            .map(|held| format!("Py_INCREF({});", held.variable))
            .collect()
    }

    /// What the text needs where it stands in `file`.
    pub(super) fn need(&self, file: FileId) -> Option<Need> {
        let function = "Py_NewRef";
        let is_new = self.held.iter().any(|held| held.own.is_some());
        is_new.then_some(Need::Compat { file, function })
    }

    pub(super) fn release(&self) -> Vec<String> {
        let held = self.held.iter().rev();
        held.map(|held| {
            let name = held.own.as_ref().unwrap_or(&held.variable);
            format!("Py_DECREF({name});")
        })
        .collect()
    }
}

fn elsewhere_in_condition(scope: &Scope<'_>, site: &Site, local: crate::ast::LocalId) -> bool {
    let call = scope.expr(site.call).range;
    scope.mentions_outside(site.cond, local, call)
}

/// Where references come first in `block`, and whether only declarations can take them there;
/// `None` if there is no such place, or configurations would disagree about it.
///
/// ```c
/// PyObject *dict_key = Py_NewRef(key);
/// const int n = check(key);           /* C89 has no statement in front of it */
/// ```
fn place(scope: &Scope<'_>, block: StmtId, stmts: &[StmtId]) -> Option<(At, bool)> {
    let is_decl = |stmt: &&StmtId| matches!(scope.stmt(**stmt), StmtKind::Decl(_));
    let leading = stmts.iter().take_while(is_decl).count();
    let calls = stmts[..leading]
        .iter()
        .position(|&stmt| scope.stmt_calls(stmt));
    let is_c99 = scope.declares_anywhere();
    let is_last = |at: usize| at + 1 == leading && late_value(scope, stmts[at]).is_some();
    let (at, index) = match calls {
        None => (At::Statement(leading), leading),
        Some(first) if is_c99 => (At::Statement(first), first),
        Some(first) if is_last(first) => (At::Value(first), first),
        Some(first) => (At::Statement(first), first),
    };
    let is_declared = at == At::Statement(index) && calls == Some(index) && !is_c99;
    match is_behind_directive(scope, block, *stmts.get(index)?) {
        false => Some((at, is_declared)),
        true if leading == 0 || is_c99 => Some((At::Brace, false)),
        true => None,
    }
}

/// The name and the value of the variable that a declaration gives one, if an assignment can do it
/// later.
pub(super) fn late_value(scope: &Scope<'_>, stmt: StmtId) -> Option<(ByteSpan, ByteSpan)> {
    let StmtKind::Decl(decls) = scope.stmt(stmt) else {
        return None;
    };
    let (decl, others) = decls.split_last()?;
    let variable = scope.tree().local(decl.local);
    let is_const = variable.ty.is_const || scope.cx.types().is_const_by_name(&variable.ty);
    let is_plain = variable.storage == Storage::None && !is_const;
    let has_value = matches!(decl.init, Some(Init::Expr(_)));
    if !is_plain || !has_value || others.iter().any(|other| other.init.is_some()) {
        return None;
    }
    let tokens = &scope.cx.item(scope.item).tokens;
    let (file, name) = tokens.file_span(variable.name_range)?;
    // `int n = (check(key));`: the parentheses are no part of the expression.
    let (_, value) = tokens.file_span(TokenRange {
        start: variable.name_range.end + 1,
        end: decl.range.end,
    })?;
    let (_, whole) = scope.span(stmt)?;
    let text = |start, end| scope.cx.file(file).text(ByteSpan::new(start, end));
    // `int n __attribute__((unused)) = check(key);`
    let is_bare = text(name.end().0, value.start().0).trim() == "=";
    let head = text(whole.start().0, name.start().0);
    let mut words = head.split(|c: char| !c.is_alphanumeric() && c != '_');
    // The value gives the type, or is what the name stands for: `auto n`, `int &n`.
    let is_bound = words.any(|word| matches!(word, "auto" | "__auto_type")) || head.contains('&');
    (is_bare && !is_bound).then_some((name, value))
}

/// Whether a directive stands between the beginning of `from`, the brace of a block, and `stmt`.
pub(super) fn is_behind_directive(scope: &Scope<'_>, from: StmtId, stmt: StmtId) -> bool {
    let (Some((file, from)), Some((_, stmt))) = (scope.span(from), scope.span(stmt)) else {
        return true;
    };
    let above = ByteSpan::new(from.start().0, stmt.start().0);
    let tokens = &scope.cx.program.index[file.index()].tokens;
    has_directive(scope.cx.file(file).bytes(), tokens, above)
}

/// Whether what stands in `range` asks how many references something has: one more would show.
pub(super) fn looks_at_counts(scope: &Scope<'_>, range: TokenRange) -> bool {
    let tree = scope.tree();
    let summaries = scope.cx.summaries();
    let exprs = tree.exprs_in(range).map(|(expr, _)| expr);
    strong::looks_at_counts(tree, exprs, summaries)
}

/// Whether flow comes out behind `stmt`.
fn completes(scope: &Scope<'_>, stmt: StmtId) -> bool {
    let after = scope.cfg.after(stmt);
    after.is_some_and(|point| scope.cfg.is_reachable(point.block))
}
