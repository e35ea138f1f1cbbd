//! What each exit of a section becomes: a recorded outcome, acted on behind the section.

use crate::ast::{ExprKind, Name, StmtId, StmtKind, TypeKind, UnaryOp};

use super::exits::{Exit, ExitKind, Exits, is_return_macro};
use super::leaving::is_same_behind;
use super::owner::keeps_dict;
use super::scope::{Scope, inside};
use super::site::Site;
use super::text::{gil_word, gives_up};
use crate::source::ByteSpan;

/// What becomes of the exits of one region.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// What is done behind the section, by outcome from 1: statements of one line each.
    pub(super) actions: Vec<Vec<String>>,
    /// The exits with what they become.
    pub(super) exits: Vec<Departure>,
    /// The declaration of the result variable without its name: type and initial value.
    pub(super) result: Option<ResultType>,
    /// Whether what stands behind the region does the one action anyway.
    pub(super) happens_anyway: bool,
    /// Whether every way through the region comes to an exit.
    never_ends: bool,
}

/// One exit.
#[derive(Debug)]
pub(super) struct Departure {
    pub(super) exit: Exit,
    /// Index into [`Plan::actions`].
    pub(super) action: usize,
    /// Whether its value is kept in the result variable.
    pub(super) has_value: bool,
    /// Statements before it that have to wait for the end of the section.
    pub(super) moved: Vec<StmtId>,
}

impl Departure {
    /// The texts of what is moved; a macro and the semicolon behind it are one.
    pub(super) fn moved_spans(&self, scope: &Scope<'_>) -> Vec<ByteSpan> {
        let mut spans: Vec<ByteSpan> = Vec::new();
        for (_, span) in self.moved.iter().filter_map(|&stmt| scope.span(stmt)) {
            match spans.last_mut() {
                Some(last) if last.end() == span.start() => *last = last.join(span),
                _ => spans.push(span),
            }
        }
        spans
    }
}

/// How the result variable is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResultType {
    /// `PyObject *` or `int `: the name follows directly.
    pub(super) prefix: String,
    /// `NULL`, or nothing where no constant is known to fit.
    pub(super) initial: &'static str,
}

/// In the place of an action: `return` of the result variable, whose name is not known yet.
pub(super) const RETURN_RESULT: &str = "return {result};";

impl Plan {
    /// Plans all exits of the region of `site`.
    ///
    /// # Errors
    /// What makes it impossible, and what to do by hand.
    pub(super) fn new(scope: &Scope<'_>, site: &Site, exits: &Exits) -> Result<Self, String> {
        let needs_result = exits.out.iter().any(|exit| is_computed(scope, site, exit));
        let mut plan = Self::default();
        if needs_result {
            let result = result_of(scope).ok_or(
                "move the loop into a separate function (it returns a value whose type cannot be \
                 used for a new variable)",
            )?;
            plan.result = Some(result);
        }
        for exit in &exits.out {
            plan.add(scope, site, exit)?;
        }
        releases_in_order(scope, site, &plan)?;
        plan.happens_anyway = plan.happens_anyway(scope, site);
        plan.never_ends = scope.cfg.after(site.region.last).is_none();
        Ok(plan)
    }

    /// Whether every way through the region comes to an exit, and all do the same.
    pub(super) fn is_certain(&self) -> bool {
        self.never_ends && self.actions.len() == 1
    }

    /// Whether an action is what is left to do where none of the others is: no flag tells of it.
    pub(super) fn is_left(&self, action: usize) -> bool {
        self.never_ends && action + 1 == self.actions.len()
    }

    /// Whether all exits do what the next statement does: `return 0;` in front of `return 0;`,
    /// `goto done;` in front of `done:`.
    fn happens_anyway(&self, scope: &Scope<'_>, site: &Site) -> bool {
        let [action] = &self.actions[..] else {
            return false;
        };
        let [action] = &action[..] else {
            return false;
        };
        let Some(StmtKind::Block(stmts)) = scope.parent(site.region.last).map(|at| scope.stmt(at))
        else {
            return false;
        };
        let region = stmts.iter().position(|&stmt| stmt == site.region.last);
        let next = region.and_then(|at| stmts.get(at + 1));
        next.is_some_and(|&next| match scope.stmt(next) {
            StmtKind::Label { name, .. } => *action == format!("goto {name};"),
            StmtKind::Return(_) => scope.stmt_text(next).as_ref() == Some(action),
            _ => false,
        })
    }

    fn add(&mut self, scope: &Scope<'_>, site: &Site, exit: &Exit) -> Result<(), String> {
        let text = scope
            .stmt_text(exit.stmt)
            .ok_or("an exit of the loop is in a macro")?;
        let has_value = self.result.is_some()
            && matches!(exit.kind, ExitKind::Return(Some(_)))
            && !is_return_macro(&text);
        let mut departure = Departure {
            exit: exit.clone(),
            action: 0,
            has_value,
            moved: releases_before(scope, site, exit),
        };
        if departure.moved.is_empty() && !has_value {
            departure.moved = ended_before(scope, site, exit);
        }
        let file = scope.cx.file(scope.cx.item(scope.item).place.0);
        let moved = departure.moved_spans(scope).into_iter();
        let mut action: Vec<String> = moved.map(|span| file.text(span).into_owned()).collect();
        action.push(match &exit.kind {
            ExitKind::Return(_) if has_value => RETURN_RESULT.to_owned(),
            ExitKind::Return(_) => text,
            ExitKind::Macro => unindented(scope, exit.stmt, &text),
            ExitKind::Goto(label) => format!("goto {label};"),
            ExitKind::Break => "break;".to_owned(),
            ExitKind::Continue => "continue;".to_owned(),
        });
        let known = self.actions.iter().position(|other| *other == action);
        departure.action = known.unwrap_or_else(|| {
            self.actions.push(action);
            self.actions.len() - 1
        });
        self.exits.push(departure);
        Ok(())
    }
}

/// The lines of a statement, each as far to the right of the first as it stands.
fn unindented(scope: &Scope<'_>, stmt: StmtId, text: &str) -> String {
    let place = scope.span(stmt);
    let blanks = place.map_or(&b""[..], |(file, span)| {
        scope.cx.layout(file, span).indentation(span.start())
    });
    let blanks = String::from_utf8_lossy(blanks);
    let lines = text
        .lines()
        .map(|line| line.strip_prefix(&*blanks).unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether the exit returns something that must be computed where it stands.
pub(super) fn is_computed(scope: &Scope<'_>, site: &Site, exit: &Exit) -> bool {
    let ExitKind::Return(Some(value)) = exit.kind else {
        return false;
    };
    let text = scope.stmt_text(exit.stmt).unwrap_or_default();
    !is_return_macro(&text) && !is_simple(scope, site, value)
}

/// A constant, or a variable that the section does not hold in its block: the same behind it.
fn is_simple(scope: &Scope<'_>, site: &Site, value: crate::ast::ExprId) -> bool {
    match &scope.expr(value).kind {
        ExprKind::Int(_) => true,
        ExprKind::Name(Name::Global(name)) => {
            let is_upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
            matches!(&**name, "true" | "false") || name.chars().all(is_upper)
        }
        ExprKind::Name(Name::Local(local)) => {
            let region = site.range(scope);
            let decl = scope.tree().local(*local).decl;
            decl.is_none_or(|decl| !inside(scope.range(decl), region))
        }
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        }
        | ExprKind::Cast { operand, .. } => is_simple(scope, site, *operand),
        _ => false,
    }
}

/// How a variable for what the function returns is declared, which gets its value later; `None` if
/// that cannot be told, or the type has a name that is `const`.
pub(super) fn result_of(scope: &Scope<'_>) -> Option<ResultType> {
    let ty = &scope.function.ret;
    if scope.cx.types().is_const_by_name(ty) {
        return None;
    }
    let initial = match &ty.kind {
        TypeKind::Pointer(_) => "NULL",
        TypeKind::Named(name) if is_arithmetic(name) => "0",
        _ => "",
    };
    let prefix = ty.result_prefix()?;
    Some(ResultType { prefix, initial })
}

fn is_arithmetic(name: &str) -> bool {
    let known = [
        "int", "long", "short", "char", "unsigned", "signed", "float", "double", "_Bool",
    ];
    name.split(' ').all(|word| known.contains(&word))
        || matches!(
            name,
            "Py_ssize_t" | "Py_hash_t" | "size_t" | "ssize_t" | "bool" | "_Bool"
        )
}

/// Statements right before the exit from the one that gives up the reference to the dict on: the
/// section needs the dict until its end.
///
/// ```c
/// Py_DECREF(dict);
/// return NULL;
/// ```
fn releases_before(scope: &Scope<'_>, site: &Site, exit: &Exit) -> Vec<StmtId> {
    let block = scope.parent(exit.stmt).map(|block| scope.stmt(block));
    let Some(StmtKind::Block(stmts)) = block else {
        return Vec::new();
    };
    let at = stmts
        .iter()
        .position(|&stmt| stmt == exit.stmt)
        .unwrap_or(0);
    let before = stmts[..at].iter().rev();
    let mut tail: Vec<StmtId> = before
        .copied()
        .take_while(|&stmt| released(scope, stmt).is_some())
        .collect();
    tail.reverse();
    let first = tail.iter().position(|&stmt| {
        released(scope, stmt).is_some_and(|object| keeps_dict(scope, site, object))
    });
    first.map_or_else(Vec::new, |first| tail.split_off(first))
}

/// Statements right before the exit from the one on for which a section has to end first, if they do
/// behind it what they do in it: that one detaches the thread, or gives up the reference to the dict.
///
/// ```c
/// RELEASE_GIL;                Py_DECREF(dict);
/// return NULL;                *found = 1;
///                             return NULL;
/// ```
fn ended_before(scope: &Scope<'_>, site: &Site, exit: &Exit) -> Vec<StmtId> {
    let block = scope.parent(exit.stmt).map(|block| scope.stmt(block));
    let Some(StmtKind::Block(stmts)) = block else {
        return Vec::new();
    };
    let (file, _) = scope.cx.item(scope.item).place;
    let tokens = &scope.cx.program.index[file.index()].tokens;
    let bytes = scope.cx.file(file).bytes();
    let ends = |stmt: &StmtId| {
        let span = scope.span(*stmt);
        let word = span.and_then(|(_, span)| gil_word(bytes, tokens, span, &[]));
        let is_release =
            || released(scope, *stmt).is_some_and(|object| keeps_dict(scope, site, object));
        word.is_some_and(gives_up) || is_release()
    };
    let is_simple = |&stmt: &StmtId| {
        let text = scope.stmt_text(stmt);
        let is_plain = match scope.stmt(stmt) {
            StmtKind::Expr(_) => text.is_some(),
            _ => text.as_deref() == Some(";"),
        };
        is_plain && is_same_behind(scope, site, stmt)
    };
    let before: Vec<StmtId> = stmts
        .iter()
        .copied()
        .take_while(|&stmt| stmt != exit.stmt && inside(scope.range(stmt), site.range(scope)))
        .collect();
    let first = before.iter().position(ends);
    let moved = first.map_or_else(Vec::new, |first| before[first..].to_vec());
    match moved.iter().all(is_simple) {
        true => moved,
        false => Vec::new(),
    }
}

/// What `Py_DECREF(x);` or `free(x);` gives up.
fn released(scope: &Scope<'_>, stmt: StmtId) -> Option<crate::ast::ExprId> {
    let StmtKind::Expr(expr) = scope.stmt(stmt) else {
        return None;
    };
    let ExprKind::Call { callee, args } = &scope.expr(*expr).kind else {
        return None;
    };
    let name = scope.tree().callee_name(*callee)?;
    const RELEASES: &[&str] = &["Py_DECREF", "Py_XDECREF", "Py_CLEAR", "free", "PyMem_Free"];
    RELEASES
        .contains(&name)
        .then(|| args.first().copied())
        .flatten()
}

/// An error if the dict is released in the region other than right before an exit, or if what is
/// moved behind the section does not exist there.
fn releases_in_order(scope: &Scope<'_>, site: &Site, plan: &Plan) -> Result<(), String> {
    let region = site.range(scope);
    for (stmt, id) in scope.tree().stmts.iter().zip((0..).map(StmtId)) {
        if !inside(stmt.range, region) {
            continue;
        }
        let Some(object) = released(scope, id) else {
            continue;
        };
        let departure = plan
            .exits
            .iter()
            .find(|departure| departure.moved.contains(&id));
        if departure.is_none() && keeps_dict(scope, site, object) {
            return Err(
                "release the dict after the loop (a critical section needs it until its end)"
                    .into(),
            );
        }
        if departure.is_some() && !is_simple(scope, site, scope.uncast(object)) {
            return Err(
                "release first the variable that exists only in the loop (it is released after the \
                 dict)"
                    .into(),
            );
        }
    }
    Ok(())
}
