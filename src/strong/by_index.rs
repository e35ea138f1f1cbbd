//! Reads through a pointer to the items of a sequence, as reads of the sequence.
//!
//! ```c
//! items = PySequence_Fast_ITEMS(fast);
//! for (i = 0; i < n; i++)                for (i = 0; i < n; i++)
//!     add(items[i]);                         add(PySequence_Fast_GET_ITEM(fast, i));
//! ```
//!
//! They are the same items, also where one is replaced meanwhile, and such reads can own what they
//! give.

use super::emit::declarations::undeclare;
use super::items::{ITEMS, kept_in, releases};
use super::scene::{Parent, Scene, graph};
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtKind, Storage, UnaryOp};
use crate::cfg::Point;
use crate::edit::Edit;
use crate::rule::{CallSite, PackageCx};
use crate::source::ByteSpan;

/// The edits that write all reads through the pointer that the call `site` gives as reads of the
/// sequence, and take the pointer out; `None` if more is done with it.
#[must_use]
pub fn by_index(cx: &PackageCx<'_>, site: CallSite) -> Option<Vec<Edit>> {
    let function = cx.function(site.item)?;
    let cfg = graph(function);
    let scene = Scene::new(cx, site.item, function, &cfg)?;
    let (ITEMS, [sequence]) = scene.call(site.expr)? else {
        return None;
    };
    let pointer = Pointer {
        scene: &scene,
        local: kept_in(&scene, site.expr)?,
        sequence: scene.as_local(*sequence)?,
    };
    pointer.is_steady().then(|| pointer.edits()).flatten()
}

/// A variable that points at the items of a sequence.
struct Pointer<'s, 'a> {
    scene: &'s Scene<'a>,
    local: LocalId,
    sequence: LocalId,
}

impl Pointer<'_, '_> {
    /// Whether the variable of the sequence holds it wherever the pointer is used.
    fn is_steady(&self) -> bool {
        let scene = self.scene;
        let is_plain = scene.tree.local(self.sequence).storage == Storage::None
            && !scene.cfg.address_taken().contains(&self.sequence);
        let stores = scene.tree.stores();
        let stores = stores.filter(|&(local, _)| local == self.sequence);
        let mut set = stores.map(|(_, value)| self.behind(value));
        let mut released = releases(scene, self.sequence).into_iter();
        let is_used = |at: Point| scene.liveness.is_live(self.local, at);
        is_plain && set.all(|at| at.is_some_and(|at| !is_used(at))) && !released.any(is_used)
    }

    /// The point behind the statement of `expr`.
    fn behind(&self, expr: ExprId) -> Option<Point> {
        self.scene.cfg.after(self.scene.stmt_of(expr)?)
    }

    fn edits(&self) -> Option<Vec<Edit>> {
        let scene = self.scene;
        let names = scene.tree.expr_ids();
        let names = names.filter(|&expr| scene.as_local(expr) == Some(self.local));
        let mut edits: Vec<Edit> = names.map(|name| self.read(name)).collect::<Option<_>>()?;
        edits.push(self.declaration()?);
        edits.sort_by_key(|edit| edit.span);
        Some(edits)
    }

    /// The edit of the use `name` of the pointer.
    fn read(&self, name: ExprId) -> Option<Edit> {
        let scene = self.scene;
        let Parent::Expr(outer) = scene.parent_of_expr(name)? else {
            return None;
        };
        match scene.tree.expr(outer).kind {
            ExprKind::Assign { op: None, lhs, rhs } if lhs == name && self.is_pointer(rhs) => {
                self.assignment(outer)
            }
            ExprKind::Index { base, index } if base == name => {
                self.item(outer, &scene.text(scene.span(index)?))
            }
            ExprKind::Unary {
                op: UnaryOp::Deref, ..
            } => self.item(outer, "0"),
            // *(items + i)
            ExprKind::Binary {
                op: BinaryOp::Plus,
                lhs,
                rhs,
            } if lhs == name => match scene.parent_of_expr(outer)? {
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

    /// Whether the pointer gets `value` of the same sequence, or nothing.
    fn is_pointer(&self, value: ExprId) -> bool {
        let scene = self.scene;
        let of_sequence = |args: &[ExprId]| matches!(args, [sequence] if scene.as_local(*sequence) == Some(self.sequence));
        scene.is_null(value)
            || matches!(scene.call(value), Some((ITEMS, args)) if of_sequence(args))
    }

    /// Takes the statement of an assignment out.
    fn assignment(&self, assignment: ExprId) -> Option<Edit> {
        let Parent::Stmt(stmt) = self.scene.parent_of_expr(assignment)? else {
            return None;
        };
        let is_whole = matches!(self.scene.tree.stmt(stmt).kind, StmtKind::Expr(_));
        let span = self.scene.stmt_span(stmt).filter(|_| is_whole)?;
        Some(self.scene.layout.remove(span))
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
        let name = &scene.tree.local(self.sequence).name;
        let text = format!("PySequence_Fast_GET_ITEM({name}, {index})");
        Some(self.edit(scene.span(read)?, text))
    }

    /// Takes the declaration of the pointer out.
    fn declaration(&self) -> Option<Edit> {
        let scene = self.scene;
        scene.siblings(scene.tree.local(self.local).decl?)?;
        undeclare(scene, self.local, |value| self.is_pointer(value))
    }

    fn edit(&self, span: ByteSpan, text: String) -> Edit {
        Edit {
            file: self.scene.file,
            span,
            text: text.into_bytes(),
        }
    }
}
