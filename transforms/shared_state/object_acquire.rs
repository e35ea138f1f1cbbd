//! UG504: methods that let the lock of their object go where they use a field. They read the field under
//! the lock and use what they have read without it.
//!
//! ```c
//! static PyObject *call_with_hook(Event *self, PyObject *arg, PyObject *hook)
//! {
//!     return PyObject_CallOneArg(hook, arg);          /* self->hook, as it was */
//! }
//!
//! static PyObject *call(Event *self, PyObject *arg)
//! {
//!     PyObject *hook;
//!     PyObject *result;
//!     Py_BEGIN_CRITICAL_SECTION(self);
//!     hook = Py_XNewRef(self->hook);
//!     Py_END_CRITICAL_SECTION();
//!     result = call_with_hook(self, arg, hook);
//!     Py_XDECREF(hook);
//!     return result;
//! }
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::object_body::field_of;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, LocalId, Name, StmtId, StmtKind, TokenRange, Tree, Type, UnaryOp,
};
use crate::capi;
use crate::edit::{Edit, Need};
use crate::ownership::summary::Param;
use crate::ownership::track::Callees;
use crate::rule::{Head, ItemId, Method, ObjectState, PackageCx};
use crate::source::{ByteSpan, FileId};
use crate::state::Own;

/// A method that can be split behind the reads of its fields.
pub(super) struct Acquire<'a> {
    head: Head<'a>,
    state: &'a ObjectState,
    fields: BTreeMap<&'a str, Field>,
    /// The lines that declare names of the object which are not used any more.
    unused: Vec<ByteSpan>,
}

/// A field that the method reads.
struct Field {
    /// What stands in front of the name in a declaration: `PyObject *`, `int `.
    prefix: String,
    is_object: bool,
    uses: Vec<ByteSpan>,
}

impl<'a> Acquire<'a> {
    /// `None` if the method sets a field, or uses one in any other way than by its value: an object, or a
    /// number.
    pub(super) fn new(
        cx: &'a PackageCx<'a>,
        state: &'a ObjectState,
        method: &Method,
    ) -> Option<Self> {
        let head = Head::new(cx, method.item).ok()?;
        let function = head.function;
        let tree = &function.tree;
        let own = Own::new(function, 0)?;
        let lent = lent_uses(cx, tree);
        let has_directive = cx.file(head.file).text(head.whole).contains("\n#");
        let mut fields: BTreeMap<&str, Field> = BTreeMap::new();
        let mut read: Vec<TokenRange> = Vec::new();
        for expr in tree.expr_ids() {
            let Some((base, name)) = field_of(cx, tree, expr, state) else {
                continue;
            };
            let is_place = matches!(tree.expr(expr).kind, ExprKind::Member { .. });
            if !is_place || !state.guards(name) {
                continue;
            }
            let types = cx.types();
            let ty: &Type = types.of(tree, expr)?;
            let is_object = types.is_plain_object(ty);
            let (file, span) = cx.span(method.item, expr)?;
            let is_value = match is_object {
                true => lent.contains(&expr),
                false => types.is_number(ty) && !is_address(tree, expr),
            };
            if !is_value || !own.is_object(tree, base) || file != head.file {
                return None;
            }
            let prefix = ty.result_prefix()?;
            let field = fields.entry(name).or_insert(Field {
                prefix,
                is_object,
                uses: Vec::new(),
            });
            field.uses.push(span);
            read.push(tree.expr(expr).range);
        }
        let acquire = Self {
            head,
            state,
            fields,
            unused: unused(cx, method.item, &own, &read)?,
        };
        let all_seen = method
            .reads
            .iter()
            .all(|name| acquire.fields.contains_key(&**name));
        let is_fit = !has_directive
            && method.writes.is_empty()
            && method.objects.iter().eq(&[0])
            && all_seen;
        (is_fit && acquire.has_names(cx) && !hands_object_on(cx, tree, &own)).then_some(acquire)
    }

    /// Whether the names for its body, and for what was read, are free.
    fn has_names(&self, cx: &PackageCx<'_>) -> bool {
        let function = self.head.function;
        let tree = &function.tree;
        let is_own = |name: &str| self.fields.contains_key(name);
        let mut locals = (0u32..).map(LocalId).take(tree.locals.len());
        let mut exprs = tree.exprs.iter();
        let names_own = |kind: &ExprKind| match kind {
            ExprKind::Name(Name::Global(name)) => is_own(name) || **name == *function.name,
            _ => false,
        };
        self.head.is_free(&self.body_name())
            && !locals.any(|local| is_own(&tree.local(local).name))
            && !exprs.any(|expr| names_own(&expr.kind))
            && !self
                .fields
                .keys()
                .any(|name| cx.is_macro(name) || *name == "result")
    }

    fn suffix(&self) -> String {
        let names: Vec<&str> = self.fields.keys().copied().collect();
        format!("_with_{}", names.join("_and_"))
    }

    fn body_name(&self) -> String {
        format!("{}{}", self.head.function.name, self.suffix())
    }

    /// The file, and the functions of newer Pythons that the wrapper needs.
    pub(super) fn needs(&self) -> impl Iterator<Item = Need> {
        let file: FileId = self.head.file;
        let has_object = self.fields.values().any(|field| field.is_object);
        let functions = [
            Some("Py_BEGIN_CRITICAL_SECTION"),
            has_object.then_some("Py_XNewRef"),
        ];
        let functions = functions.into_iter().flatten();
        functions.map(move |function| Need::Compat { file, function })
    }

    /// What a person has to confirm.
    pub(super) fn assumption(&self) -> String {
        let names: Vec<String> = self.fields.keys().map(|name| format!("`{name}`")).collect();
        format!(
            "`{}` may continue with the value of {} at its beginning, even if it changes while \
             the method runs",
            self.head.function.name,
            names.join(", ")
        )
    }

    /// Gives the body what was read as parameters, and adds the wrapper.
    pub(super) fn edits(&self) -> Vec<Edit> {
        let head = &self.head;
        let mut edits = head.renamed(&self.suffix());
        let end = head.span.end().0 - 1;
        let params = self.fields.iter();
        let params = params.map(|(name, field)| format!(", {}{name}", field.prefix));
        edits.push(head.edit(ByteSpan::new(end, end), params.collect::<String>()));
        for (name, field) in &self.fields {
            edits.extend(field.uses.iter().map(|&span| head.edit(span, *name)));
        }
        edits.extend(self.unused.iter().map(|&lines| head.edit(lines, "")));
        edits.push(head.edit(ByteSpan::empty(head.whole.end()), self.wrapper()));
        edits
    }

    /// The function under the old name.
    fn wrapper(&self) -> String {
        let head = &self.head;
        let tree = &head.function.tree;
        let params = head.function.params.iter();
        let params: Vec<&str> = params.map(|&param| &*tree.local(param).name).collect();
        let object = params.first().copied().unwrap_or_default();
        let is_typed = tree
            .local(head.function.params[0])
            .ty
            .pointee()
            .and_then(Type::name)
            == Some(&*self.state.type_name);
        let base = match is_typed {
            true => object.to_owned(),
            false => format!("(({} *){object})", self.state.type_name),
        };
        let result = if params.contains(&"result") {
            "res"
        } else {
            "result"
        };
        let fields = || self.fields.iter();
        let all = params.iter().copied().chain(self.fields.keys().copied());
        let all: Vec<&str> = all.collect();
        let call = format!("{}({});", self.body_name(), all.join(", "));
        let declaration = head.result_variable(result);
        let is_void = declaration.is_none();
        let mut lines: Vec<String> = Vec::new();
        lines.extend(fields().map(|(name, field)| format!("{}{name};", field.prefix)));
        lines.extend(declaration);
        lines.push(format!("Py_BEGIN_CRITICAL_SECTION({object});"));
        lines.extend(fields().map(|(name, field)| match field.is_object {
            true => format!("{name} = Py_XNewRef({base}->{name});"),
            false => format!("{name} = {base}->{name};"),
        }));
        lines.push("Py_END_CRITICAL_SECTION();".to_owned());
        lines.push(if is_void {
            call
        } else {
            format!("{result} = {call}")
        });
        let objects = fields().filter(|(_, field)| field.is_object);
        lines.extend(objects.map(|(name, _)| format!("Py_XDECREF({name});")));
        lines.extend((!is_void).then(|| format!("return {result};")));
        let (ending, step) = (head.line_ending(), head.indentation());
        let mut text = format!("{ending}{ending}{}{}", head.text(), head.opening_brace());
        for line in lines {
            text += &format!("{ending}{step}{line}");
        }
        text + ending + "}"
    }
}

/// The lines that declare a name of the object which nothing but the places `read` uses:
/// `Counter *self = (Counter *)op;`. `None` if such a name does not stand in a line of its own.
fn unused(
    cx: &PackageCx<'_>,
    item: ItemId,
    own: &Own,
    read: &[TokenRange],
) -> Option<Vec<ByteSpan>> {
    let tree = cx.tree(item)?;
    let mut lines = Vec::new();
    for (local, value) in tree
        .stores()
        .filter(|(_, value)| own.is_object(tree, *value))
    {
        let is_read = |range: TokenRange| read.iter().any(|place| place.contains(range));
        let named = tree.exprs.iter().zip((0u32..).map(ExprId));
        let named: Vec<TokenRange> = named
            .filter(|(_, at)| tree.as_local(*at) == Some(local))
            .map(|(expr, _)| expr.range)
            .collect();
        if named.is_empty() || !named.iter().all(|&range| is_read(range)) {
            continue;
        }
        let declared = |kind: &StmtKind| match kind {
            StmtKind::Decl(decls) => decls.len() == 1 && decls[0].local == local,
            _ => false,
        };
        let range = tree.expr(value).range;
        let mut stmts = tree.stmts.iter().zip((0u32..).map(StmtId));
        let (_, stmt) =
            stmts.find(|(stmt, _)| stmt.range.contains(range) && declared(&stmt.kind))?;
        let (file, span) = cx.stmt_span(item, stmt)?;
        let source = cx.file(file);
        let whole = source.lines().whole_lines(span);
        let is_alone = source.text(whole).trim() == source.text(span).trim();
        lines.push(is_alone.then_some(whole)?);
    }
    Some(lines)
}

/// The expressions whose objects are only used where they stand: tested, or passed to what neither keeps
/// nor counts them, nor gives a part of them.
fn lent_uses(cx: &PackageCx<'_>, tree: &Tree) -> BTreeSet<ExprId> {
    let mut lent: BTreeSet<ExprId> = BTreeSet::new();
    for stmt in &tree.stmts {
        if let StmtKind::If { cond, .. } | StmtKind::While { cond, .. } = stmt.kind {
            lent.insert(cond);
        }
    }
    for (expr, at) in tree.exprs.iter().zip((0u32..).map(ExprId)) {
        match &expr.kind {
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            } => lent.extend([*operand]),
            ExprKind::Binary { op, lhs, rhs } if *op != BinaryOp::Comma => {
                lent.extend([*lhs, *rhs])
            }
            ExprKind::Conditional { cond, .. } => lent.extend([*cond]),
            ExprKind::Call { args, .. } => {
                let name = tree.called(at);
                let is_lent = |arg: &usize| name.is_some_and(|name| only_uses(cx, name, *arg));
                let args = args.iter().enumerate().filter(|(arg, _)| is_lent(arg));
                lent.extend(args.map(|(_, arg)| tree.without_casts(*arg)));
            }
            _ => {}
        }
    }
    lent
}

/// Whether a function only uses its argument: a macro may do anything.
fn only_uses(cx: &PackageCx<'_>, name: &str, arg: usize) -> bool {
    let summaries = cx.summaries();
    let is_used = match capi::effects(name) {
        Some(effects) => effects.steals(arg).is_none() && !capi::keeps_pointer(name, arg),
        None => summaries
            .param(name, arg)
            .is_none_or(|param| param == Param::Used),
    };
    is_used
        && capi::counts(name).is_none()
        && !summaries.may_derive(name, arg)
        && !cx.is_macro(name)
}

/// Whether the address of a place is taken.
fn is_address(tree: &Tree, place: ExprId) -> bool {
    tree.expr_ids().any(|expr| match tree.expr(expr).kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => operand == place,
        _ => false,
    })
}

/// Whether a function of the package gets the object: it may read the fields again.
fn hands_object_on(cx: &PackageCx<'_>, tree: &Tree, own: &Own) -> bool {
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Call { callee, args } => {
            let name = tree.callee_name(*callee);
            let is_seen = name.is_none_or(|name| cx.definitions(name).next().is_some());
            is_seen && args.iter().any(|&arg| own.is_object(tree, arg))
        }
        _ => false,
    })
}
