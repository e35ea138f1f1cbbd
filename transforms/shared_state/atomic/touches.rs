//! How often a call of a function meets the variable, itself or in what it calls: who meets it once
//! cannot find two values.

use std::collections::{BTreeMap, BTreeSet};

use super::uses::{How, Use};
use crate::ast::{ExprId, ExprKind, Name};
use crate::capi;
use crate::cfg::{self, Callee, Cfg, Instr, InstrKind, Source};
use crate::program::{Body, ItemId};
use crate::rule::PackageCx;

/// Enough to find two values.
const TWICE: u8 = 2;

/// The functions that meet the variable.
pub(super) struct Touches<'c, 'a> {
    cx: &'c PackageCx<'a>,
    uses: &'c [&'c Use],
    /// Those that use it, and their callers, with how often at most.
    counts: BTreeMap<ItemId, u8>,
}

impl<'c, 'a> Touches<'c, 'a> {
    pub(super) fn new(
        cx: &'c PackageCx<'a>,
        is_late: &dyn Fn(ItemId) -> bool,
        uses: &'c [&'c Use],
    ) -> Self {
        let mut touches = Self {
            cx,
            uses,
            counts: BTreeMap::new(),
        };
        let mut all = reaching(cx, uses.iter().map(|it| it.item));
        all.retain(|&item| is_late(item));
        let graphs = all.iter().filter_map(|&item| {
            let function = cx.function(item)?;
            Some((item, cfg::build(function, &capi::never_returns)))
        });
        let graphs: Vec<(ItemId, Cfg)> = graphs.collect();
        touches.counts = all.iter().map(|&item| (item, 0)).collect();
        loop {
            let mut has_grown = false;
            for (item, cfg) in &graphs {
                let count = touches.most(*item, cfg);
                has_grown |= touches.counts.insert(*item, count) != Some(count);
            }
            if !has_grown {
                return touches;
            }
        }
    }

    /// The most uses on a path through the function, up to [`TWICE`].
    fn most(&self, item: ItemId, cfg: &Cfg) -> u8 {
        let own: Vec<u8> = cfg
            .blocks
            .iter()
            .map(|block| {
                let each = block.instrs.iter().map(|instr| self.at(item, instr));
                each.fold(0, add)
            })
            .collect();
        // Around a loop once more: what is met there is met twice.
        let mut after = own.clone();
        let order = cfg.reverse_post_order();
        loop {
            let mut has_grown = false;
            for block in &order {
                let before = cfg.block(*block).predecessors.iter();
                let before = before
                    .filter(|it| cfg.is_reachable(**it))
                    .map(|it| after[it.index()]);
                let count = add(before.max().unwrap_or(0), own[block.index()]);
                has_grown |= after[block.index()] != count;
                after[block.index()] = count;
            }
            if !has_grown {
                break;
            }
        }
        order.iter().map(|it| after[it.index()]).max().unwrap_or(0)
    }

    /// How often an instruction meets the variable.
    fn at(&self, item: ItemId, instr: &Instr) -> u8 {
        let Source::Expr(expr) = instr.source else {
            return 0;
        };
        let own = || self.uses.iter().filter(|it| it.item == item);
        let is_step = |it: &&&Use| it.how.step().is_some();
        match &instr.kind {
            InstrKind::Store { .. } => u8::from(own().any(|it| it.whole == expr && is_write(it))),
            // A step is one use.
            InstrKind::Load { .. } => {
                let mut reads = own().filter(|it| !is_step(it));
                u8::from(reads.any(|it| it.name == expr && !is_write(it)))
            }
            InstrKind::Call {
                callee: Callee::Named(name),
                ..
            } => self.called(name),
            _ => 0,
        }
    }

    /// How often the function `name` meets it.
    fn called(&self, name: &str) -> u8 {
        let all = self.cx.definitions(name);
        let counts = all.filter_map(|(id, _)| self.counts.get(&id).copied());
        counts.max().unwrap_or(0)
    }

    /// The functions that may meet two values, innermost ones, by name.
    pub(super) fn twice(&self) -> BTreeSet<String> {
        let all = self.counts.iter().filter(|(_, count)| **count >= TWICE);
        let innermost = all.filter(|(item, _)| {
            let mut calls = self
                .cx
                .tree(**item)
                .into_iter()
                .flat_map(|tree| tree.calls());
            !calls.any(|(_, name)| self.called(name) >= TWICE && !self.is_named(**item, name))
        });
        innermost.filter_map(|(item, _)| self.name(*item)).collect()
    }

    fn is_named(&self, item: ItemId, name: &str) -> bool {
        self.name(item).is_some_and(|own| own == name)
    }

    /// The functions that meet it and that code other than tables names without calling them.
    pub(super) fn called_by_pointer(&self) -> BTreeSet<String> {
        let names = self.counts.keys().filter_map(|&item| self.name(item));
        let met: BTreeSet<String> = names.collect();
        let mut pointed = BTreeSet::new();
        for (item, at) in self.cx.program.items.iter().zip(0u32..) {
            let Some(tree) = item.tree() else { continue };
            let called: BTreeSet<ExprId> = tree
                .exprs
                .iter()
                .filter_map(|expr| match &expr.kind {
                    ExprKind::Call { callee, .. } => Some(*callee),
                    _ => None,
                })
                .collect();
            let is_code = matches!(item.body, Some(Body::Function(_)));
            for expr in tree.expr_ids().filter(|expr| !called.contains(expr)) {
                if let ExprKind::Name(Name::Global(name)) = &tree.expr(expr).kind
                    && met.contains(&**name)
                    && (is_code || !self.has_role(ItemId(at), name))
                {
                    pointed.insert(name.to_string());
                }
            }
        }
        pointed
    }

    /// Whether a function that `item` names is one that Python knows what for.
    fn has_role(&self, item: ItemId, name: &str) -> bool {
        let unit = self.cx.item(item).unit;
        let Some(roles) = self.cx.roles() else {
            return false;
        };
        let mut known = self
            .cx
            .definitions(name)
            .filter(|(id, function)| !function.is_static || self.cx.item(*id).unit == unit);
        known.any(|(id, function)| roles.of(self.cx.item(id), function).next().is_some())
    }

    /// The functions that meet it and that code may call which was not looked at.
    pub(super) fn called_elsewhere(&self) -> BTreeSet<String> {
        let functions = self
            .counts
            .keys()
            .filter_map(|&item| self.cx.function(item));
        functions
            .filter(|it| !it.is_static && self.cx.other_callers(&it.name).is_some())
            .map(|it| it.name.clone())
            .collect()
    }

    fn name(&self, item: ItemId) -> Option<String> {
        self.cx.function(item).map(|it| it.name.clone())
    }
}

/// These functions, and all that call them.
pub(super) fn reaching(
    cx: &PackageCx<'_>,
    items: impl Iterator<Item = ItemId>,
) -> BTreeSet<ItemId> {
    let mut open: Vec<ItemId> = items.collect();
    let mut reached = BTreeSet::new();
    while let Some(item) = open.pop() {
        if let Some(function) = cx.function(item).filter(|_| reached.insert(item)) {
            // A file may be a part of several units: its name is enough.
            open.extend(cx.calls_to(&function.name).iter().map(|call| call.item));
        }
    }
    reached
}

fn is_write(it: &Use) -> bool {
    !matches!(it.how, How::Read)
}

fn add(a: u8, b: u8) -> u8 {
    (a + b).min(TWICE)
}
