//! Fields whose pointers nobody else has: all that is ever stored there is new memory.
//!
//! ```c
//! self->buffer = PyMem_Malloc(size);       /* owned: the destructor may write there */
//! self->pool = pool;                       /* maybe the pool of other objects too */
//! …
//! static void dealloc(Conn *self) { self->buffer[0] = 0; self->pool->open--; }
//! ```

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::guards::{Path, Paths};
use crate::ast::{ExprId, ExprKind, Function, LocalId, Tree, Type, UnaryOp};
use crate::capi::{Gives, copies_memory, writes};
use crate::program::Types;
use crate::rule::PackageCx;

/// A struct and its field.
pub(super) type Field = (String, Box<str>);

/// The fields in which something other than new memory may be.
#[derive(Debug, Default)]
pub(super) struct Lent {
    /// Their names, whatever the structs: one memory may have two.
    names: FxHashSet<Box<str>>,
}

impl Lent {
    pub(super) fn new(cx: &PackageCx<'_>) -> Self {
        let types = cx.types();
        let mut lent = FxHashSet::default();
        let mut moved = Vec::new();
        for (_, function) in cx.program.functions() {
            let of = Stores::new(types, function);
            for (field, value) in of.fields() {
                match value.and_then(|value| of.origins(value)) {
                    Some(from) => moved.extend(from.into_iter().map(|from| (from, field.clone()))),
                    None => {
                        lent.insert(field);
                    }
                }
            }
        }
        // What comes from a lent field is lent too.
        loop {
            let reached = moved.iter().filter(|(from, _)| lent.contains(from));
            let reached: Vec<Field> = reached.map(|(_, to)| to.clone()).collect();
            let before = lent.len();
            lent.extend(reached);
            if lent.len() == before {
                let names = lent.iter().map(|(_, name)| name.clone()).collect();
                return Self { names };
            }
        }
    }

    /// Whether some struct has a field of this name, with something other than new memory in it.
    pub(super) fn has(&self, field: &str) -> bool {
        self.names.contains(field)
    }
}

/// What one function stores.
struct Stores<'c, 'a> {
    types: &'c Types<'a>,
    tree: &'a Tree,
    paths: Paths<'a>,
    /// The places that are set, and where.
    set: BTreeSet<(Path, ExprId)>,
}

impl<'c, 'a> Stores<'c, 'a> {
    fn new(types: &'c Types<'a>, function: &'a Function) -> Self {
        let tree = &function.tree;
        let paths = Paths::new(function);
        let places = tree.expr_ids().filter_map(|at| match tree.expr(at).kind {
            ExprKind::Assign { lhs, .. } => Some((paths.place(lhs)?, at)),
            _ => None,
        });
        let set = places.collect();
        Self {
            types,
            tree,
            paths,
            set,
        }
    }

    /// The fields for pointers that are set, with the value; `None` for the value that another
    /// function may store by the address of the field.
    fn fields(&self) -> Vec<(Field, Option<ExprId>)> {
        let (types, tree) = (self.types, self.tree);
        let is_number = |place| types.of(tree, place).is_some_and(|ty| types.is_number(ty));
        let stores = tree.exprs.iter().filter_map(|expr| match expr.kind {
            ExprKind::Assign { lhs, rhs, .. } if !is_number(lhs) => {
                Some((field_of(types, tree, lhs)?, Some(rhs)))
            }
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } if types.is_pointer(tree, operand) => Some((field_of(types, tree, operand)?, None)),
            _ => None,
        });
        let mut found: Vec<_> = stores.collect();
        for (name, args) in tree.calls().filter_map(|(call, _)| tree.call(call)) {
            // `Py_XSETREF(self->ring, Py_NewRef(ring))`
            let replaced = args
                .first()
                .filter(|_| writes(name).is_some_and(|row| row.place(0)));
            let field = replaced.and_then(|&place| field_of(types, tree, place));
            found.extend(field.map(|field| (field, args.get(1).copied())));
        }
        let copied = self.copied().into_iter();
        let fields = copied.flat_map(|ty| types.fields_within(ty));
        let pointers = fields.filter(|(_, field)| types.pointee(&field.ty).is_some());
        found.extend(pointers.map(|(owner, field)| ((owner, field.name.as_str().into()), None)));
        found
    }

    /// The types of structs that are copied as a whole: two of them have what their pointers lead to.
    ///
    /// ```c
    /// copy->body = self->body;
    /// memcpy(copy, self, sizeof *copy);
    /// ```
    fn copied(&self) -> Vec<&Type> {
        let (types, tree) = (self.types, self.tree);
        let is_made = |value| {
            let value = tree.without_casts(value);
            matches!(
                tree.expr(value).kind,
                ExprKind::Compound { .. } | ExprKind::Call { .. }
            )
        };
        let copied = tree.expr_ids().filter_map(|at| match &tree.expr(at).kind {
            ExprKind::Assign { op: None, lhs, rhs } if !is_made(*rhs) => types.of(tree, *lhs),
            ExprKind::Call { args, .. } => {
                let copy = copies_memory(tree.called(at)?)?;
                types.pointed_at(tree, *args.get(copy.to)?)
            }
            _ => None,
        });
        copied.collect()
    }

    /// The fields that a value is moved from, none if it is new memory or nothing; `None` if it
    /// may be anything else. What is moved is set anew: `node->next = list->first` and then
    /// `list->first = node`.
    fn origins(&self, value: ExprId) -> Option<Vec<Field>> {
        let tree = self.tree;
        let value = tree.without_casts(value);
        if tree.is_null(value) {
            return Some(Vec::new());
        }
        if let Some(from) = field_of(self.types, tree, value) {
            let place = self.paths.place(value)?;
            let is_set_after = self
                .set
                .iter()
                .any(|(set, at)| *set == place && *at > value);
            return is_set_after.then(|| vec![from]);
        }
        match &tree.expr(value).kind {
            ExprKind::Call { callee, .. } => {
                let row = tree.callee_name(*callee).and_then(writes)?;
                (row.gives == Gives::Fresh).then(Vec::new)
            }
            ExprKind::Assign { rhs, .. } => self.origins(*rhs),
            _ => self.of_local(tree.as_local(value)?),
        }
    }

    /// The same for all that a local gets; one that gets what another local holds may be anything.
    fn of_local(&self, local: LocalId) -> Option<Vec<Field>> {
        let tree = self.tree;
        let given = tree.stores().filter(|(to, _)| *to == local);
        let values: Vec<ExprId> = given.map(|(_, value)| value).collect();
        let is_named = |&value: &ExprId| tree.as_local(tree.without_casts(value)).is_some();
        if tree.local(local).is_param || values.is_empty() || values.iter().any(is_named) {
            return None;
        }
        let origins: Option<Vec<_>> = values.into_iter().map(|it| self.origins(it)).collect();
        Some(origins?.concat())
    }
}

/// The field that a place is, or an element of which it is.
pub(super) fn field_of(types: &Types<'_>, tree: &Tree, place: ExprId) -> Option<Field> {
    match &tree.expr(place).kind {
        ExprKind::Member { base, field, arrow } => match types.owner(tree, *base, *arrow) {
            Some(owner) => Some((owner, field.clone())),
            None => field_of(types, tree, *base),
        },
        ExprKind::Index { base: of, .. }
        | ExprKind::Unary {
            op: UnaryOp::Deref,
            operand: of,
        }
        | ExprKind::Cast { operand: of, .. } => field_of(types, tree, *of),
        _ => None,
    }
}
