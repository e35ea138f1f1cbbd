//! Reads through a pointer to the items of a sequence, as reads of the sequence.
//!
//! ```c
//! items = PySequence_Fast_ITEMS(fast);
//! for (i = 0; i < n; i++)                for (i = 0; i < n; i++)
//!     add(items[i]);                         add(PySequence_Fast_GET_ITEM(fast, i));
//! ```
//!
//! They are the same items, also where one is replaced meanwhile, and such reads can own what they
//! give. A pointer that walks over the items turns into an index:
//!
//! ```c
//! add(*items);                           add(PySequence_Fast_GET_ITEM(fast, items_index));
//! items++;                               items_index++;
//! ```

mod counted;
mod declared;

use std::collections::{BTreeMap, BTreeSet};

use super::items::{ITEMS, kept_in, releases};
use super::scene::{Scene, graph};
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Parent, StmtKind, Storage, UnaryOp};
use crate::capi::{Stored, stored};
use crate::cfg::Point;
use crate::edit::Edit;
use crate::rule::{CallSite, PackageCx};
use crate::source::ByteSpan;

/// The edits that write all reads through the pointer that the call `site` gives as reads of the
/// sequence, and take the pointer out; `None` if more is done with it. It is one of `sites`, whose
/// pointers go as well if they can.
#[must_use]
pub fn by_index(cx: &PackageCx<'_>, site: CallSite, sites: &[CallSite]) -> Option<Vec<Edit>> {
    let function = cx.function(site.item)?;
    let cfg = graph(function);
    let scene = Scene::new(cx, site.item, function, &cfg)?;
    let pointer = Pointer::new(&scene, site.expr)?;
    let here = sites.iter().filter(|it| it.item == site.item);
    let all = here.filter_map(|it| Pointer::new(&scene, it.expr));
    let all = all.filter(|it| it.edits(&Gone::new()).is_some());
    let all: BTreeMap<LocalId, _> = all.map(|it| (it.local, it)).collect();
    let mut taken = BTreeSet::new();
    let gone: Gone = all
        .values()
        .map(|it| (it.local, it.index(&mut taken)))
        .collect();
    let mut edits = pointer.edits(&gone)?;
    edits.extend(pointer.declaration(&gone)?);
    edits.sort_by_key(Edit::place);
    Some(edits)
}

/// Pointers that are taken out, and the names of the indices that those which walk turn into.
type Gone = BTreeMap<LocalId, Option<String>>;

/// A variable that points at the items of a sequence.
struct Pointer<'s, 'a> {
    scene: &'s Scene<'a>,
    local: LocalId,
    sequence: LocalId,
}

impl<'s, 'a> Pointer<'s, 'a> {
    /// The pointer that `call` gives, if that is good as long as the variable is used.
    fn new(scene: &'s Scene<'a>, call: ExprId) -> Option<Self> {
        let (ITEMS, [sequence]) = scene.call(call)? else {
            return None;
        };
        let pointer = Self {
            scene,
            local: kept_in(scene, call)?,
            sequence: scene.as_local(*sequence)?,
        };
        pointer.is_steady().then_some(pointer)
    }

    /// Whether the variable of the sequence holds it wherever the pointer is used.
    fn is_steady(&self) -> bool {
        let scene = self.scene;
        let is_plain = scene.tree.local(self.sequence).storage == Storage::None;
        let stores = scene.tree.stores();
        let stores = stores.filter(|&(local, _)| local == self.sequence);
        let set = stores.map(|(_, value)| self.behind(value));
        let addresses = scene.tree.expr_ids();
        let addresses =
            addresses.filter(|&expr| scene.tree.as_address(expr) == Some(self.sequence));
        let mut set = set.chain(addresses.map(|address| self.filled(address)));
        let mut released = releases(scene, self.sequence).into_iter();
        let is_used = |at: Point| scene.liveness.is_live(self.local, at);
        is_plain && set.all(|at| at.is_some_and(|at| !is_used(at))) && !released.any(is_used)
    }

    /// The point behind the call that stores a sequence through `address`, and keeps that no longer:
    /// `PyArg_UnpackTuple(args, "f", 1, 1, &list)`.
    fn filled(&self, address: ExprId) -> Option<Point> {
        let scene = self.scene;
        let Parent::Expr(call) = scene.parent_of_expr(address)? else {
            return None;
        };
        let (name, args) = scene.call(call)?;
        let at = args.iter().position(|&arg| arg == address)?;
        let format = |at: usize| scene.tree.as_string(*args.get(at)?);
        let is_stored =
            matches!(stored(name, at, format), Stored::Known(kind) if kind.is_pointer());
        let at = scene.cfg.call(call).filter(|_| is_stored)?;
        Some(at.next())
    }

    /// The point behind the statement of `expr`.
    fn behind(&self, expr: ExprId) -> Option<Point> {
        self.scene.cfg.after(self.scene.stmt_of(expr)?)
    }

    fn names(&self) -> impl Iterator<Item = ExprId> {
        let scene = self.scene;
        let names = scene.tree.expr_ids();
        names.filter(move |&expr| scene.as_local(expr) == Some(self.local))
    }

    /// The name of the index that stands for the pointer, if it walks.
    fn index(&self, taken: &mut BTreeSet<String>) -> Option<String> {
        let mut names = self.names();
        let name = &self.scene.tree.local(self.local).name;
        let stem = format!("{name}_index");
        let walks = names.any(|name| self.step(name).is_some());
        walks.then(|| self.scene.unused_name(&stem, taken))
    }

    /// `items++`, where `name` is that of the pointer.
    fn step(&self, name: ExprId) -> Option<ExprId> {
        let Parent::Expr(outer) = self.scene.parent_of_expr(name)? else {
            return None;
        };
        let is_step = matches!(
            self.scene.tree.expr(outer).kind,
            ExprKind::Unary {
                op: UnaryOp::PostIncrement | UnaryOp::PreIncrement,
                ..
            }
        );
        is_step.then_some(outer)
    }

    /// The edits of all uses of the pointer.
    fn edits(&self, gone: &Gone) -> Option<Vec<Edit>> {
        let index = match gone.get(&self.local) {
            Some(index) => index.clone(),
            None => self.index(&mut BTreeSet::new()),
        };
        let read = |name| self.read(name, index.as_deref());
        self.names().map(read).collect()
    }

    /// The edit of the use `name` of the pointer, for which `index` stands if it walks.
    fn read(&self, name: ExprId, index: Option<&str>) -> Option<Edit> {
        let scene = self.scene;
        let Parent::Expr(outer) = scene.parent_of_expr(name)? else {
            return None;
        };
        match scene.tree.expr(outer).kind {
            ExprKind::Assign { op: None, lhs, rhs } if lhs == name && self.is_pointer(rhs) => {
                self.assignment(outer, rhs, index)
            }
            ExprKind::Index { base, index: at } if base == name && index.is_none() => {
                self.item(outer, &scene.text(scene.span(at)?))
            }
            ExprKind::Unary {
                op: UnaryOp::Deref, ..
            } => self.item(outer, index.unwrap_or("0")),
            ExprKind::Unary { .. } if self.step(name) == Some(outer) => {
                let whole = self.is_discarded(outer).then_some(name)?;
                Some(self.edit(scene.span(whole)?, index?.to_owned()))
            }
            // *(items + i)
            ExprKind::Binary {
                op: BinaryOp::Plus,
                lhs,
                rhs,
            } if lhs == name && index.is_none() => match scene.parent_of_expr(outer)? {
                Parent::Expr(deref) if self.is_deref(deref) => {
                    self.item(deref, &scene.text(scene.span(rhs)?))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn is_deref(&self, expr: ExprId) -> bool {
        let kind = &self.scene.tree.expr(expr).kind;
        matches!(
            kind,
            ExprKind::Unary {
                op: UnaryOp::Deref,
                ..
            }
        )
    }

    /// Whether nothing looks at the value of `expr`: it is a statement, or a step of a loop.
    fn is_discarded(&self, expr: ExprId) -> bool {
        match self.scene.parent_of_expr(expr) {
            Some(Parent::Stmt(stmt)) => match self.scene.tree.stmt(stmt).kind {
                StmtKind::Expr(_) => true,
                StmtKind::For { step, .. } => step == Some(expr),
                _ => false,
            },
            Some(Parent::Expr(outer)) => match self.scene.tree.expr(outer).kind {
                ExprKind::Binary {
                    op: BinaryOp::Comma,
                    lhs,
                    ..
                } => lhs == expr || self.is_discarded(outer),
                _ => false,
            },
            None => false,
        }
    }

    /// Whether the pointer gets `value` of the same sequence, or nothing.
    fn is_pointer(&self, value: ExprId) -> bool {
        let scene = self.scene;
        let of_sequence = |args: &[ExprId]| matches!(args, [sequence] if scene.as_local(*sequence) == Some(self.sequence));
        scene.is_null(value)
            || matches!(scene.call(value), Some((ITEMS, args)) if of_sequence(args))
    }

    /// Takes the statement of an assignment out; an index begins there.
    fn assignment(&self, assignment: ExprId, value: ExprId, index: Option<&str>) -> Option<Edit> {
        let scene = self.scene;
        let Parent::Stmt(stmt) = scene.parent_of_expr(assignment)? else {
            return None;
        };
        let is_whole = matches!(scene.tree.stmt(stmt).kind, StmtKind::Expr(_));
        match index {
            None => {
                let span = scene.stmt_span(stmt).filter(|_| is_whole)?;
                Some(scene.layout.remove(span))
            }
            Some(_) if scene.is_null(value) || !is_whole => None,
            Some(index) => Some(self.edit(scene.span(assignment)?, format!("{index} = 0"))),
        }
    }

    /// The item that `read` is the value of, and no more.
    fn item(&self, read: ExprId, index: &str) -> Option<Edit> {
        let scene = self.scene;
        if let Parent::Expr(outer) = scene.parent_of_expr(read)? {
            match scene.tree.expr(outer).kind {
                ExprKind::Assign { lhs, .. } if lhs == read => return None,
                ExprKind::Unary { op, .. } if op != UnaryOp::Not => return None,
                _ => {}
            }
        }
        if !self.is_named_at(read) {
            return None;
        }
        if let Some(taken) = self.counted_next(read) {
            return Some(scene.layout.remove(scene.stmt_span(taken)?));
        }
        let name = &scene.tree.local(self.sequence).name;
        let item = format!("PySequence_Fast_GET_ITEM({name}, {index})");
        let text = match self.is_counted_before(read) {
            true => format!("Py_NewRef({item})"),
            false => item,
        };
        Some(self.edit(scene.span(read)?, text))
    }

    /// Whether the name of the sequence means it at `read`.
    ///
    /// ```c
    /// if (PyList_Check(arg)) {
    ///     PyObject *fast = arg;
    ///     items = PySequence_Fast_ITEMS(fast);
    /// }
    /// use(*items);                            /* no `fast` here */
    /// ```
    fn is_named_at(&self, read: ExprId) -> bool {
        let tree = self.scene.tree;
        let sequence = tree.local(self.sequence);
        let is_only = tree
            .locals
            .iter()
            .filter(|it| it.name == sequence.name)
            .count()
            == 1;
        let is_inside = sequence.decl.is_none_or(|decl| {
            let range = tree.expr(read).range;
            let block = self.scene.siblings(decl);
            block.is_some_and(|(stmts, at)| {
                let mut behind = stmts[at..].iter();
                behind.any(|&stmt| tree.stmt(stmt).range.contains(range))
            })
        });
        is_only && is_inside
    }

    fn edit(&self, span: ByteSpan, text: String) -> Edit {
        Edit::new(self.scene.file, span, text.into_bytes())
    }
}
