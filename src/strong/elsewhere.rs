//! Variables that are read in a branch of an `#if` which not all configurations compile: all of
//! them keep what the variable holds up to the `#endif`.
//!
//! ```c
//! n = PyLong_AsLong(v);
//! #ifdef TRACE
//! trace(v);                             /* the last use in one configuration, and not in others */
//! #endif
//! Py_DECREF(v);                         /* right in both */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::exits::branch::stmts;
use super::follow::slots::Slot;
use super::scene::Scene;
use crate::ast::{LocalId, StmtId, StmtKind};
use crate::cfg::{Liveness, Point};
use crate::lex::{Token, TokenKind};
use crate::preprocess::{Conditional, FileIndex, Spelling};
use crate::rule::ItemId;
use crate::source::{ByteOffset, ByteSpan};

/// What is read up to a point by some configuration.
#[derive(Debug)]
pub(super) struct Elsewhere {
    /// The place behind the `#endif`.
    pub slot: Slot,
    /// A statement of the block that all configurations have.
    pub beside: StmtId,
    /// Where the `#endif` begins.
    pub endif: ByteOffset,
    pub locals: BTreeSet<LocalId>,
}

/// What all configurations of a function read.
pub(super) struct Anywhere<'a> {
    /// What only some of them do.
    reads: BTreeMap<Point, Elsewhere>,
    pub liveness: Liveness<'a>,
}

/// What all configurations of the function read, if some read more than this one.
pub(super) fn anywhere<'a>(scene: &Scene<'a>) -> Option<Anywhere<'a>> {
    let reads = elsewhere(scene);
    let all = reads.iter();
    let all = all.flat_map(|(&at, it)| it.locals.iter().map(move |&local| (at, local)));
    let all: BTreeSet<(Point, LocalId)> = all.collect();
    (!all.is_empty()).then(|| Anywhere {
        reads,
        liveness: scene.liveness.reading(all),
    })
}

impl Scene<'_> {
    /// What only some configurations read, up to `point`.
    pub(super) fn elsewhere(&self, point: Point) -> Option<&Elsewhere> {
        self.anywhere.as_ref()?.reads.get(&point)
    }
}

/// The reads in such branches, by the points behind them.
fn elsewhere(scene: &Scene<'_>) -> BTreeMap<Point, Elsewhere> {
    let index = &scene.cx.program.index[scene.file.index()];
    let Some(body) = scene.stmt_span(scene.function.body) else {
        return BTreeMap::new();
    };
    let variants = variants(scene);
    if variants.len() < 2 {
        return BTreeMap::new();
    }
    let mut conditionals = index.conditionals();
    conditionals.retain(|it| body.contains(whole(it)));
    if conditionals.is_empty() {
        return BTreeMap::new();
    }
    let text = Text {
        scene,
        index,
        compiled: compiled(scene, variants),
    };
    let found = conditionals.iter().filter_map(|conditional| {
        let around = conditionals.iter().filter(|it| *it != conditional);
        let around = around.flat_map(|it| it.branches.iter().copied());
        let around = around.filter(|branch| branch.contains(whole(conditional)));
        let locals = text.read_in_some(conditional, &around.collect::<Vec<_>>());
        if locals.is_empty() {
            return None;
        }
        let (slot, beside) = text.behind(conditional)?;
        let point = match slot {
            Slot::Before(stmt) => scene.cfg.before(stmt)?,
            _ => scene.cfg.after(slot.stmt()?)?,
        };
        let endif = conditional.endif;
        let read = Elsewhere {
            slot,
            beside,
            endif,
            locals,
        };
        Some((point, read))
    });
    // Of two that end at one point the outer, or later one: all is needed up to there.
    let mut reads: BTreeMap<Point, Elsewhere> = BTreeMap::new();
    for (point, mut read) in found {
        if let Some(before) = reads.remove(&point) {
            read.locals.extend(before.locals);
        }
        reads.insert(point, read);
    }
    reads
}

fn whole(conditional: &Conditional) -> ByteSpan {
    let start = conditional
        .branches
        .first()
        .map_or(conditional.endif, |it| it.start());
    ByteSpan::new(start.0, conditional.endif.0)
}

/// The function as each of its configurations has it.
fn variants(scene: &Scene<'_>) -> Vec<ItemId> {
    let place = scene.cx.item(scene.item).place;
    let definitions = scene.cx.definitions(&scene.function.name);
    let variants = definitions.map(|(item, _)| item).filter(|&item| {
        let (file, span) = scene.cx.item(item).place;
        file == place.0 && span.start() < place.1.end() && place.1.start() < span.end()
    });
    variants.collect()
}

/// Where the text begins that each of `variants` compiles.
fn compiled(scene: &Scene<'_>, variants: Vec<ItemId>) -> BTreeMap<ItemId, Vec<ByteOffset>> {
    let marks = |item: ItemId| {
        let tokens = scene.cx.item(item).tokens.tokens.iter();
        let own = tokens.filter_map(|token| match token.spelling {
            Spelling::File(file, span) if file == scene.file => Some(span.start()),
            Spelling::File(..) | Spelling::Synthetic(_) => None,
        });
        let mut own: Vec<ByteOffset> = own.collect();
        own.sort_unstable();
        own
    };
    let variants = variants.into_iter();
    variants.map(|item| (item, marks(item))).collect()
}

/// The text of a function in all of its configurations.
struct Text<'s, 'a> {
    scene: &'s Scene<'a>,
    index: &'s FileIndex,
    /// In order.
    compiled: BTreeMap<ItemId, Vec<ByteOffset>>,
}

impl Text<'_, '_> {
    /// The variables that some configurations read in `conditional` and others do not, of those that
    /// come to it: they compile the branches `around` it, and so does the one that is looked at.
    fn read_in_some(&self, conditional: &Conditional, around: &[ByteSpan]) -> BTreeSet<LocalId> {
        let mut coming: BTreeSet<ItemId> = self.compiled.keys().copied().collect();
        for &branch in around {
            let compilers: BTreeSet<ItemId> = self.compilers(branch).collect();
            coming.retain(|item| compilers.contains(item));
        }
        if !coming.contains(&self.scene.item) {
            return BTreeSet::new();
        }
        let branches = conditional.branches.iter().copied();
        let branches = branches.filter(|&branch| self.compilers(branch).next().is_some());
        let branches: Vec<ByteSpan> = branches.collect();
        let named: Vec<BTreeSet<&[u8]>> = branches.iter().map(|it| self.words(*it)).collect();
        let locals = (0u32..).zip(&self.scene.tree.locals);
        let found = locals.filter(|&(at, local)| {
            let name = local.name.as_bytes();
            let naming = branches.iter().zip(&named);
            let naming = naming.filter(|(_, words)| words.contains(name));
            let naming: Vec<ByteSpan> = naming.map(|(branch, _)| *branch).collect();
            let readers: BTreeSet<ItemId> =
                naming.iter().flat_map(|it| self.compilers(*it)).collect();
            let is_read = !readers.is_empty() && readers.len() < coming.len();
            is_read
                && !self.scene.tree.has_namesake(LocalId(at))
                && !naming.iter().any(|it| self.sets(*it, &local.name))
        });
        found.map(|(at, _)| LocalId(at)).collect()
    }

    /// The configurations that compile text of a branch.
    fn compilers(&self, branch: ByteSpan) -> impl Iterator<Item = ItemId> {
        let marks = self.compiled.iter();
        marks.filter_map(move |(item, marks)| {
            let first = marks.partition_point(|at| *at < branch.start());
            let is_within = marks.get(first).is_some_and(|at| *at < branch.end());
            is_within.then_some(*item)
        })
    }

    fn tokens(&self, branch: ByteSpan) -> &[Token] {
        let tokens = self.index.tokens();
        let from = tokens.partition_point(|token| token.span.start() < branch.start());
        let to = tokens.partition_point(|token| token.span.start() < branch.end());
        &tokens[from..to]
    }

    fn word(&self, token: &Token) -> &[u8] {
        self.scene.cx.file(self.scene.file).slice(token.span)
    }

    /// The identifiers in a branch.
    fn words(&self, branch: ByteSpan) -> BTreeSet<&[u8]> {
        let words = self.tokens(branch).iter();
        let words = words.filter(|it| it.kind == TokenKind::Ident);
        words.map(|it| self.word(it)).collect()
    }

    /// Whether a branch declares a variable, gives it a value, or its address away.
    fn sets(&self, branch: ByteSpan, name: &str) -> bool {
        let mut triples = self.tokens(branch).windows(3);
        triples.any(|triple| {
            let [before, word, after] = [0, 1, 2].map(|at| self.word(&triple[at]));
            let declares = matches!(before, b"*" | b",") && matches!(after, b";" | b",");
            word == name.as_bytes() && (after == b"=" || before == b"&" || declares)
        })
    }

    /// The place behind `conditional` in the block around it, and a statement beside it, if the
    /// `#if` begins and ends between two statements.
    fn behind(&self, conditional: &Conditional) -> Option<(Slot, StmtId)> {
        let scene = self.scene;
        let whole = whole(conditional);
        let blocks = stmts(scene).filter_map(|stmt| {
            let StmtKind::Block(stmts) = &scene.tree.stmt(stmt).kind else {
                return None;
            };
            let span = scene.stmt_span(stmt)?;
            span.contains(whole).then_some((span.len(), stmts))
        });
        let (_, stmts) = blocks.min_by_key(|(len, _)| *len)?;
        let spans: Vec<ByteSpan> = stmts
            .iter()
            .map(|&stmt| scene.stmt_span(stmt))
            .collect::<Option<_>>()?;
        let is_before = |span: &ByteSpan| span.end() <= whole.start();
        let is_behind = |span: &ByteSpan| whole.end() < span.start();
        let is_apart =
            |span: &ByteSpan| is_before(span) || is_behind(span) || whole.contains(*span);
        if !spans.iter().all(is_apart) {
            return None;
        }
        if let Some(next) = spans.iter().position(is_behind) {
            return Some((Slot::Before(stmts[next]), stmts[next]));
        }
        let beside = spans.iter().rposition(is_before)?;
        Some((Slot::After(*stmts.last()?), stmts[beside]))
    }
}
