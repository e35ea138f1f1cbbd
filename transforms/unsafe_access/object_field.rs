//! UG702: fields of objects that the API gives by functions.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, Function, StmtKind, Tree, UnaryOp};
use crate::declare_rule;
use crate::edit::{Confidence, Fix, Need, replacing};
use crate::program::{Body, Types};
use crate::rule::{Finding, ItemId, Outcome, PackageCx};
use crate::source::{ByteSpan, FileId};

use super::{settle, stands_for_api, told_at};

/// Names without which the rule has nothing to say.
pub const TRIGGERS: &[&str] = &["ob_refcnt", "ob_type", "ob_size", "ob_item"];

declare_rule! {
    /// ## What it does
    /// Replaces direct access to `ob_refcnt`, `ob_type` and `ob_size` of Python objects with
    /// `Py_REFCNT`, `Py_TYPE`, `Py_SIZE` and, for assignments, `Py_SET_REFCNT`, `Py_SET_TYPE`,
    /// `Py_SET_SIZE`. Reports direct access to the array of a list (`ob_item`).
    ///
    /// ## Why
    /// The free-threaded build has no `ob_refcnt`: the count has two parts. `Py_SIZE` and `Py_TYPE` read
    /// sizes and types atomically there. Another thread can replace and free the array of a list at any
    /// time.
    ///
    /// ## Example
    /// Before:
    ///
    ///     name = value->ob_type->tp_name;
    ///     item->ob_refcnt = 1;
    ///
    /// After:
    ///
    ///     name = Py_TYPE(value)->tp_name;
    ///     Py_SET_REFCNT(item, 1);
    ///
    /// ## Confidence
    /// Safe: on builds with the GIL the macros read and write the same fields. Review for an
    /// assignment to the count, as `Py_SET_REFCNT` reads the old count first, and for the size of what
    /// may be an int, as `Py_SIZE` is not for ints.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The array of a list: use `PyList_GetItemRef`, a critical section, or a tuple instead | manual | `((PyListObject *)list)->ob_item[0]` | Use one of the three. |
    /// | The size of an int: since Python 3.12 an int has no size, and `Py_SIZE` reads something else | manual | `((PyVarObject *)number)->ob_size < 0` | Use `_PyLong_Sign` or `PyLong_AsNativeBytes`. |
    /// | The access is in the body of a macro, its address is taken, or the assignment is part of a larger expression | manual | `n = (object->ob_refcnt = 1);` | Call the function that the finding names in a statement of its own. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/structures.html#c.Py_SET_TYPE>
    pub static DIRECT_OBJECT_FIELD {
        code: "UG702",
        name: "direct-object-field",
        summary: "a field of an object is used directly instead of through the API",
        severity: Race,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: TRIGGERS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let types = Types::new(cx.program);
    let mut found = Vec::new();
    for (at, item) in (0u32..).zip(&cx.program.items) {
        let Some(Body::Function(function)) = &item.body else {
            continue;
        };
        if stands_for_api(&function.name) {
            continue;
        }
        let look = Look {
            cx,
            types: &types,
            item: ItemId(at),
            function,
            written: written(&function.tree),
            at_init: cx.runs_at_init_only(&function.name),
        };
        let all = (0u32..).zip(&function.tree.exprs);
        found.extend(all.filter_map(|(number, _)| look.finding(ExprId(number))));
    }
    drop_inner(&mut found);
    settle(cx, found, findings);
}

/// Leaves out what the fix of another finding rewrites as well: `a->ob_type` in
/// `a->ob_type = b->ob_type;` and in `((PyObject *)a->ob_type)->ob_type`.
fn drop_inner(found: &mut Vec<Finding>) {
    let rewritten = |finding: &Finding| match &finding.outcome {
        Outcome::Fix(fix) => fix.edits.first().map(|edit| (edit.file, edit.span)),
        Outcome::Safe(_) | Outcome::Manual(_) => None,
    };
    let mut places: Vec<(FileId, ByteSpan)> = found.iter().filter_map(rewritten).collect();
    // Outer ones come before what they hold.
    places.sort_by_key(|(file, span)| (*file, span.start(), Reverse(span.end())));
    let mut inner = BTreeSet::new();
    let mut outer: Option<(FileId, ByteSpan)> = None;
    for place in places {
        match outer {
            Some((file, span)) if file == place.0 && span.contains(place.1) => {
                if span != place.1 {
                    inner.insert(place);
                }
            }
            _ => outer = Some(place),
        }
    }
    found.retain(|finding| rewritten(finding).is_none_or(|place| !inner.contains(&place)));
}

/// Expressions that are more than read: targets of assignments, `++`, `&`.
fn written(tree: &Tree) -> BTreeSet<ExprId> {
    let targets = tree.exprs.iter().filter_map(|expr| match &expr.kind {
        ExprKind::Assign { lhs, .. } => Some(*lhs),
        ExprKind::Unary {
            op:
                UnaryOp::AddressOf
                | UnaryOp::PostIncrement
                | UnaryOp::PostDecrement
                | UnaryOp::PreIncrement
                | UnaryOp::PreDecrement,
            operand,
        } => Some(*operand),
        _ => None,
    });
    targets.collect()
}

/// The function that reads a field, and the one that sets it.
fn functions(field: &str) -> Option<(&'static str, &'static str)> {
    Some(match field {
        "ob_refcnt" => ("Py_REFCNT", "Py_SET_REFCNT"),
        "ob_type" => ("Py_TYPE", "Py_SET_TYPE"),
        "ob_size" => ("Py_SIZE", "Py_SET_SIZE"),
        _ => return None,
    })
}

struct Look<'a> {
    cx: &'a PackageCx<'a>,
    types: &'a Types<'a>,
    item: ItemId,
    function: &'a Function,
    written: BTreeSet<ExprId>,
    /// The function runs only while a module is made.
    at_init: bool,
}

impl Look<'_> {
    fn finding(&self, expr: ExprId) -> Option<Finding> {
        let tree = &self.function.tree;
        let ExprKind::Member { base, field, arrow } = &tree.expr(expr).kind else {
            return None;
        };
        let (object, is_pointer) = object(tree, *base, *arrow);
        if !is_pointer {
            return None;
        }
        if &**field == "ob_item" {
            if !self.is_list(object) || self.at_init || self.is_private(object) {
                return None;
            }
            let advice = "use `PyList_GetItemRef` and `PyList_SetItem`, a critical section on the \
                          list, or a tuple made from it";
            let message =
                "`ob_item` of a list is used directly; another thread can free it".to_owned();
            return self.tell(expr, message, Outcome::Manual(advice.to_owned()));
        }
        if &**field == "ob_size" && self.is_int(object) {
            let advice = "use `_PyLong_Sign`, read the value with `PyLong_AsNativeBytes`, and \
                          create an int with `PyLong_FromNativeBytes` (`Py_SIZE` is not for an \
                          int)";
            let message = "`ob_size` of an int is used directly; ints have no such field since \
                           Python 3.12"
                .to_owned();
            return self.tell(expr, message, Outcome::Manual(advice.to_owned()));
        }
        let (_, functions) = self.access(expr)?;
        let message = match &**field {
            "ob_refcnt" => {
                "`ob_refcnt` is used directly; the free-threaded build has no such field".to_owned()
            }
            _ => {
                format!("`{field}` is used directly; other threads may change it during the access")
            }
        };
        self.tell(expr, message, self.outcome(expr, object, functions))
    }

    /// The object of which a field is used that the API gives by functions, and these.
    fn access(&self, expr: ExprId) -> Option<(ExprId, (&'static str, &'static str))> {
        let tree = &self.function.tree;
        let ExprKind::Member { base, field, arrow } = &tree.expr(expr).kind else {
            return None;
        };
        let functions = functions(field)?;
        let (object, is_pointer) = object(tree, *base, *arrow);
        if &**field == "ob_size" && self.is_int(object) {
            return None;
        }
        let key = self.types.owner(tree, object, true)?;
        // `((PyObject *)&Thing_Type)->ob_type = &PyType_Type;`: only a count is not there to be
        // set.
        if !is_pointer || &**field != "ob_refcnt" && self.at_init {
            return None;
        }
        // A type of the package may have a field of its own by this name.
        let own = self.types.definition(&key);
        let is_own = own.is_some_and(|def| def.fields.iter().any(|each| each.name == **field));
        let ty = self.types.of(tree, object)?;
        (!is_own && (self.types.is_object_pointer(ty) || key == "PyObject"))
            .then_some((object, functions))
    }

    fn tell(&self, expr: ExprId, message: String, outcome: Outcome) -> Option<Finding> {
        let (file, span) = told_at(self.cx, self.item, expr)?;
        Some(Finding {
            rule: &DIRECT_OBJECT_FIELD,
            file,
            span,
            function: Some(self.function.name.clone()),
            api: None,
            message,
            notes: Vec::new(),
            outcome,
        })
    }

    fn outcome(
        &self,
        expr: ExprId,
        object: ExprId,
        (get, set): (&'static str, &'static str),
    ) -> Outcome {
        let mut fix = if self.written.contains(&expr) {
            self.set(expr, object, set)
        } else {
            self.get(expr, object, get)
        };
        if let Some(fix) = &mut fix
            && get == "Py_SIZE"
            && self.may_be_int(object)
        {
            fix.assume("the object is not an int, which has no size since Python 3.12");
        }
        fix.map_or_else(
            || Outcome::Manual(format!("use `{get}`, or `{set}` to change it")),
            Outcome::Fix,
        )
    }

    fn title(&self, expr: ExprId, function: &str) -> String {
        let field = match &self.function.tree.expr(expr).kind {
            ExprKind::Member { field, .. } => field,
            _ => "",
        };
        replacing("use the C API", [(field, function)])
    }

    fn get(&self, expr: ExprId, object: ExprId, get: &'static str) -> Option<Fix> {
        let (file, span) = self.cx.span(self.item, expr)?;
        let object = self.text(object)?;
        let mut fix = Fix::safe(self.title(expr, get));
        fix.replace(file, span, format!("{get}({object})"));
        Some(fix)
    }

    /// What is read in the text at `place`, outermost first, with what it becomes.
    fn reads_in(&self, place: (FileId, ByteSpan)) -> Vec<(ByteSpan, String)> {
        let all = self.function.tree.expr_ids();
        let mut inside: Vec<(ByteSpan, ExprId, &str)> = all
            .filter(|expr| !self.written.contains(expr))
            .filter_map(|expr| {
                let (object, (get, _)) = self.access(expr)?;
                let (file, span) = self.cx.span(self.item, expr)?;
                (file == place.0 && place.1.contains(span)).then_some((span, object, get))
            })
            .collect();
        inside.sort_by_key(|(span, ..)| (span.start(), std::cmp::Reverse(span.end())));
        let mut reads: Vec<(ByteSpan, String)> = Vec::new();
        for (span, object, get) in inside {
            if reads.last().is_some_and(|(outer, _)| outer.contains(span)) {
                continue;
            }
            if let Some(object) = self.text(object) {
                reads.push((span, format!("{get}({object})")));
            }
        }
        reads
    }

    /// `x->ob_type = type;` as a statement of its own.
    fn set(&self, expr: ExprId, object: ExprId, set: &'static str) -> Option<Fix> {
        let tree = &self.function.tree;
        let assignment = tree.stmts.iter().find_map(|stmt| match stmt.kind {
            StmtKind::Expr(whole) => match tree.expr(whole).kind {
                ExprKind::Assign { op: None, lhs, rhs } if lhs == expr => Some((whole, rhs)),
                _ => None,
            },
            _ => None,
        });
        let (whole, value) = assignment?;
        let (file, span) = self.cx.span(self.item, whole)?;
        let (object, value) = (self.text(object)?, self.text(value)?);
        let mut fix = Fix::safe(self.title(expr, set));
        fix.replace(file, span, format!("{set}({object}, {value})"));
        if set == "Py_SET_REFCNT" {
            // From 3.12 on it looks at the old count, and leaves immortal objects alone.
            fix.assume("the count was set before (this does not initialise new memory)");
        }
        fix.needs.push(Need::Compat {
            file,
            function: set,
        });
        Some(fix)
    }

    /// The text of an expression, if it can stand as an argument, with what it reads replaced as
    /// well.
    fn text(&self, expr: ExprId) -> Option<String> {
        let (file, span) = self.cx.span(self.item, expr)?;
        let source = self.cx.file(file);
        let mut text = String::new();
        let mut at = span.start();
        for (inner, new) in self.reads_in((file, span)) {
            text += &source.text(ByteSpan::new(at.0, inner.start().0));
            text += &new;
            at = inner.end();
        }
        text += &source.text(ByteSpan::new(at.0, span.end().0));
        let is_comma = matches!(
            self.function.tree.expr(expr).kind,
            ExprKind::Binary {
                op: crate::ast::BinaryOp::Comma,
                ..
            }
        );
        (!is_comma).then_some(text)
    }

    /// Whether the pointer is a `PyListObject *` in so many words: a type of the package may have
    /// the layout of a list, and its own ways to lock it.
    fn is_list(&self, object: ExprId) -> bool {
        self.points_to(object, "PyListObject")
    }

    /// Whether the pointer is a `PyLongObject *`, under casts or not, or one that the function asks
    /// whether it is an int: that keeps sign and number of digits in a field of its own since 3.12.
    ///
    /// ```c
    /// if (PyLong_Check(o))
    ///     negative = ((PyVarObject *)o)->ob_size < 0;
    /// ```
    fn is_int(&self, object: ExprId) -> bool {
        let tree = &self.function.tree;
        let inner = tree.without_casts(object);
        let is_asked = |call: ExprId| match tree.call(call) {
            Some(("PyLong_Check" | "PyLong_CheckExact", [asked])) => {
                let asked = tree.as_local(tree.without_casts(*asked));
                asked.is_some() && asked == tree.as_local(inner)
            }
            _ => false,
        };
        let is_long = |expr| self.points_to(expr, "PyLongObject");
        is_long(object) || is_long(inner) || tree.calls().any(|(call, _)| is_asked(call))
    }

    /// Whether a pointer may be one to any object, casts or not: `((PyVarObject *)o)->ob_size`.
    fn may_be_int(&self, object: ExprId) -> bool {
        let inner = self.function.tree.without_casts(object);
        let is_any = |name| self.points_to(inner, name);
        is_any("PyVarObject") || is_any("PyObject")
    }

    fn points_to(&self, object: ExprId, name: &str) -> bool {
        let ty = self.types.of(&self.function.tree, object);
        let named = ty.and_then(crate::ast::Type::pointee);
        named.and_then(crate::ast::Type::name) == Some(name)
    }

    /// Whether the list is made in this function: `list = PyList_New(n)`.
    fn is_private(&self, object: ExprId) -> bool {
        let tree = &self.function.tree;
        let Some(variable) = variable(tree, object) else {
            return false;
        };
        let made = |value: ExprId| match &tree.expr(value).kind {
            ExprKind::Call { callee, .. } => matches!(
                tree.callee_name(*callee),
                Some("PyList_New" | "PySequence_List" | "PyList_GetSlice")
            ),
            _ => false,
        };
        tree.stores()
            .any(|(local, value)| local == variable && made(value))
    }
}

/// The pointer to the object of which a field is used, through `ob_base`, and whether it is one:
/// of `self->ob_base.ob_type` that is `self`.
fn object(tree: &Tree, base: ExprId, arrow: bool) -> (ExprId, bool) {
    let (mut base, mut arrow) = (base, arrow);
    while let ExprKind::Member {
        base: inner,
        field,
        arrow: inner_arrow,
    } = &tree.expr(base).kind
        && &**field == "ob_base"
        && !arrow
    {
        (base, arrow) = (*inner, *inner_arrow);
    }
    (base, arrow)
}

/// The variable behind casts.
fn variable(tree: &Tree, expr: ExprId) -> Option<crate::ast::LocalId> {
    tree.as_local(tree.without_casts(expr))
}
