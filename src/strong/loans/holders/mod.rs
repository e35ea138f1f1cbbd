//! Everybody who may get the address of the struct that a function fills, and what they do with it.
//!
//! ```c
//! walk(table, each, &args);        /* calls each(item, arg), which … */
//! state.args = (Args *)arg;        /* … keeps it in a struct of its own, … */
//! show(state.args->filter.tag);    /* … reads the fields: they hold what they did */
//! memset(arg, 0, size);            /* … or clears them: the references are lost */
//! ```

mod place;

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, Init, InitList, LocalId, Name, StmtKind, Tree, UnaryOp};
use crate::rule::{CallSite, ItemId, PackageCx};

/// A variable that a function fills a part of.
pub(super) struct Filled {
    /// The call that does it.
    pub site: CallSite,
    /// Which of the arguments is the address of that part.
    pub param: usize,
    pub variable: LocalId,
    /// The fields that lead to the part, and those of it that get an object.
    pub parts: BTreeSet<Box<str>>,
    /// The types of the part and of what is around it.
    pub kinds: BTreeSet<String>,
}

/// Where an expression stands.
#[derive(Clone, Copy)]
struct At<'a> {
    item: ItemId,
    tree: &'a Tree,
}

struct Holders<'c, 'a> {
    cx: &'c PackageCx<'a>,
    filled: &'c Filled,
    /// Variables that may hold the address, or are structs with a field that does, or point to one.
    locals: BTreeSet<(ItemId, LocalId)>,
    /// Fields that may hold it.
    fields: BTreeSet<Box<str>>,
    /// The structs with such a field.
    owners: BTreeSet<String>,
}

/// Whether all code that may get the address is known, and none of it changes what the fields hold.
pub(super) fn leave_it_alone(cx: &PackageCx<'_>, filled: &Filled) -> bool {
    let mut kinds = filled.kinds.iter();
    if !kinds.all(|kind| cx.types().is_struct(kind)) {
        return false;
    }
    let mut holders = Holders {
        cx,
        filled,
        locals: BTreeSet::new(),
        fields: BTreeSet::new(),
        owners: BTreeSet::new(),
    };
    loop {
        let size = (holders.locals.len(), holders.fields.len());
        for item in (0u32..).map(ItemId).take(cx.program.items.len()) {
            if let Some(function) = cx.function(item)
                && holders.may_hold(item)
            {
                let tree = &function.tree;
                if holders.visit(At { item, tree }).is_none() {
                    return false;
                }
            }
        }
        if size == (holders.locals.len(), holders.fields.len()) {
            return true;
        }
    }
}

impl Holders<'_, '_> {
    fn may_hold(&self, item: ItemId) -> bool {
        let of_item = |(holder, _): &(ItemId, LocalId)| *holder == item;
        item == self.filled.site.item || !self.fields.is_empty() || self.locals.iter().any(of_item)
    }

    /// Notes where the address goes from here; `None` if that cannot be followed, or the fields
    /// may change.
    fn visit(&mut self, at: At<'_>) -> Option<()> {
        for expr in at.tree.expr_ids() {
            match &at.tree.expr(expr).kind {
                ExprKind::Assign { lhs, rhs, .. } => {
                    if self.is_written(at, *lhs) {
                        return None;
                    }
                    if self.points(at, *rhs) {
                        self.receives(at, *lhs)?;
                    }
                }
                ExprKind::Unary { op, operand } if op.is_step() => {
                    (!self.is_written(at, *operand)).then_some(())?;
                }
                ExprKind::Compound { init, .. } => {
                    (!self.is_in_list(at, init)).then_some(())?;
                }
                ExprKind::Call { callee, args } => self.passes(at, expr, *callee, args)?,
                _ => {}
            }
        }
        at.tree.stmts.iter().try_for_each(|stmt| match &stmt.kind {
            StmtKind::Return(Some(value)) => (!self.points(at, *value)).then_some(()),
            StmtKind::Asm => None,
            StmtKind::Decl(decls) => decls.iter().try_for_each(|decl| match &decl.init {
                Some(Init::Expr(value)) if self.points(at, *value) => self.keeps(at, decl.local),
                Some(Init::List(list)) => (!self.is_in_list(at, list)).then_some(()),
                Some(Init::Expr(_)) | None => Some(()),
            }),
            _ => Some(()),
        })
    }

    fn is_in_list(&self, at: At<'_>, list: &InitList) -> bool {
        list.entries.iter().any(|entry| match &entry.value {
            Init::Expr(value) => self.points(at, *value),
            Init::List(list) => self.is_in_list(at, list),
        })
    }

    /// A variable gets the address.
    fn keeps(&mut self, at: At<'_>, local: LocalId) -> Option<()> {
        let is_own = at.tree.local(local).is_automatic();
        if is_own {
            self.locals.insert((at.item, local));
        }
        is_own.then_some(())
    }

    /// A place gets the address: a variable, or a field of a struct that a variable is or points
    /// to.
    fn receives(&mut self, at: At<'_>, place: ExprId) -> Option<()> {
        match &at.tree.expr(place).kind {
            ExprKind::Name(Name::Local(local)) => self.keeps(at, *local),
            ExprKind::Member { base, field, arrow } => {
                let owner = self.cx.types().owner(at.tree, *base, *arrow)?;
                let local = at.tree.as_local(*base)?;
                if self.cx.is_named_unread(field) || !self.cx.types().is_struct(&owner) {
                    return None;
                }
                self.fields.insert(field.clone());
                self.owners.insert(owner);
                self.keeps(at, local)
            }
            _ => None,
        }
    }

    /// Who is called with the address gets it as a parameter.
    fn passes(&mut self, at: At<'_>, call: ExprId, callee: ExprId, args: &[ExprId]) -> Option<()> {
        let name = at.tree.callee_name(callee);
        for (index, &arg) in args.iter().enumerate() {
            let is_known = self.is_filling(at, call, index)
                || index == 0 && name == Some("memset") && self.is_all_of_it(at, arg);
            if is_known || !self.points(at, arg) {
                continue;
            }
            match name {
                Some(name) => self.enters(name, index)?,
                None => {
                    let callbacks = self.callbacks(at, callee)?;
                    callbacks
                        .iter()
                        .try_for_each(|name| self.enters(name, index))?;
                }
            }
        }
        let counted = |&arg: &ExprId| self.is_written(at, arg);
        // `Py_CLEAR((*args).filter.tag)`
        let sets = name.is_some_and(|name| name.starts_with("Py_"));
        (!sets || !args.iter().any(counted)).then_some(())
    }

    fn is_filling(&self, at: At<'_>, call: ExprId, index: usize) -> bool {
        let filled = self.filled;
        filled.site.item == at.item && filled.site.expr == call && filled.param == index
    }

    /// The functions that the parameter `callee` may be, of the callers that pass the address as
    /// well: `walk(table, each, &args)`.
    fn callbacks(&self, at: At<'_>, callee: ExprId) -> Option<BTreeSet<Box<str>>> {
        let function = self.cx.function(at.item)?;
        let local = at.tree.as_local(called(at.tree, callee))?;
        let param = function.params.iter().position(|&it| it == local)?;
        let is_set = at.tree.stores().any(|(stored, _)| stored == local);
        if is_set || self.cx.call_index().is_mentioned(&function.name) {
            return None;
        }
        let reads_it = at.tree.exprs.iter().any(
            |expr| matches!(&expr.kind, ExprKind::Member { field, .. } if self.fields.contains(field)),
        );
        let mut names = BTreeSet::new();
        for &site in self.cx.calls_to(&function.name) {
            let tree = self.cx.tree(site.item)?;
            let item = site.item;
            let (_, args) = self.cx.call(site);
            if reads_it || args.iter().any(|&arg| self.points(At { item, tree }, arg)) {
                let given = tree.without_casts(*args.get(param)?);
                let ExprKind::Name(Name::Global(name)) = &tree.expr(given).kind else {
                    return None;
                };
                names.insert(name.clone());
            }
        }
        Some(names)
    }

    /// The function gets the address as its argument `index`.
    fn enters(&mut self, name: &str, index: usize) -> Option<()> {
        let definitions: Vec<_> = self.cx.definitions(name).collect();
        if definitions.is_empty() || self.cx.call_index().is_broken(name) {
            return None;
        }
        for (item, function) in definitions {
            let param = *function.params.get(index)?;
            self.locals.insert((item, param));
        }
        Some(())
    }
}

/// `each` for `(*each)(…)`.
fn called(tree: &Tree, callee: ExprId) -> ExprId {
    match tree.expr(callee).kind {
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => operand,
        _ => callee,
    }
}
