//! What a function undoes on its other ways out, it undoes where a new exit leaves it.
//!
//! ```c
//! ctx_init(&ctx);
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL)
//!     return NULL;                              /* forgets what the next exit does */
//! if (feed(&ctx, item) < 0) {
//!     ctx_clear(&ctx);
//!     return NULL;
//! }
//! ```
//!
//! References are followed elsewhere, path by path. This asks what else the exits that
//! come next do, and what all ways out do, of what had begun by then.

mod acts;
mod answer;
mod derived;
mod lost;
mod outputs;
mod owed;
mod precedent;
mod ready;
mod silent;
mod spelling;
mod staying;
mod stored;
mod unset;
mod values;
mod ways;

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Failure;
use super::changed::Changed;
use super::proof::graph;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Nesting, StmtId, StmtKind, Tree};
use crate::cfg::{Cfg, Liveness, Point, Reach, reaches};
use crate::program::Lasting;
use crate::source::{ByteSpan, FileSet};
use acts::{Act, Key, acts};
use derived::Derived;
use spelling::{Spelling, Spellings};
use values::Values;

use ways::{Exit, exits};

/// What the new exits of a function leave out, each with the lookup whose failure it tells.
pub(super) fn failures(changed: Changed<'_>, files: &FileSet) -> Vec<(Option<ByteSpan>, Failure)> {
    let function = changed.function;
    let graph = graph(function);
    let (new, old) = exits(changed, &graph);
    let nesting = Nesting::new(function);
    let untested = precedent::untested(changed, &graph, &nesting);
    if new.is_empty() && untested.is_empty() {
        return Vec::new();
    }
    let acts = acts(changed, files, &graph, &nesting);
    let view = View {
        asked: asked(&function.tree, &acts, &old),
        spellings: Spellings::new(changed, files),
        changed,
        files,
        tree: &function.tree,
        cfg: &graph,
        liveness: Liveness::new(&graph, function.tree.locals.len()),
        acts,
        lasting: OnceCell::new(),
        counts: OnceCell::new(),
        derived: OnceCell::new(),
        values: OnceCell::new(),
        nesting,
        new,
        old,
    };
    let new = view.new.iter();
    let claims = new.flat_map(|exit| {
        let lookup = exit.lookup(changed);
        let call = lookup.and_then(|lookup| changed.place_of(lookup));
        let claims = view.claims(exit).into_iter();
        claims.map(move |claim| (call, Failure::Unknown(claim.into())))
    });
    let untested = untested.iter().filter_map(|(call, exit)| {
        let claim = view.claim_of_untested(exit)?;
        Some((changed.place_of(*call), Failure::Unknown(claim.into())))
    });
    claims.chain(untested).collect()
}

/// A function of a result, and the ways out of it.
struct View<'a> {
    changed: Changed<'a>,
    files: &'a FileSet,
    tree: &'a Tree,
    cfg: &'a Cfg,
    liveness: Liveness<'a>,
    nesting: Nesting,
    acts: Vec<Act>,
    spellings: Spellings,
    /// The calls in the test of each exit that the function had, by that test; as in `acts`.
    asked: FxHashMap<StmtId, Vec<usize>>,
    /// What each of them leaves behind.
    lasting: OnceCell<Vec<Vec<Lasting>>>,
    /// Those that count references outside of the function's variables, as numbers.
    counts: OnceCell<Vec<usize>>,
    derived: OnceCell<Derived>,
    values: OnceCell<Values<'a>>,
    new: Vec<Exit>,
    old: Vec<Exit>,
}

/// The calls in the tests of `exits`, as numbers of `acts`.
fn asked(tree: &Tree, acts: &[Act], exits: &[Exit]) -> FxHashMap<StmtId, Vec<usize>> {
    let asked = |exit: &Exit| {
        let calls = acts.iter().enumerate().filter(|(_, act)| !act.writes);
        let own = calls.filter(|(_, act)| exit.asks(tree, act));
        (exit.test, own.map(|(at, _)| at).collect())
    };
    exits.iter().map(asked).collect()
}

impl View<'_> {
    /// Whether `other` does `act` before it comes to `exit` again.
    fn does(&self, other: &Exit, act: &Act, exit: &Exit) -> bool {
        let within = self.tree.stmt(other.then).range;
        let is_part =
            !other.ends_loop(self.tree) || within.contains(self.tree.expr(act.expr).range);
        is_part && reaches(self.cfg, other.start, act.point, &[exit.from])
    }

    /// What is done from `start` on, as long as `end` is not passed.
    fn done_from(&self, start: Point, end: Point) -> FxHashSet<Key> {
        let reach = Reach::new(self.cfg, start, &[end]);
        let done = self.acts.iter().filter(|act| reach.contains(act.point));
        done.map(|act| act.key).collect()
    }

    /// The exits that the function takes where something fails behind `exit`.
    fn behind<'s>(&'s self, exit: &'s Exit) -> impl Iterator<Item = &'s Exit> {
        let mut passed = self.starts();
        passed.push(exit.start);
        let reach = Reach::new(self.cfg, exit.from, &passed);
        self.old
            .iter()
            .filter(move |other| reach.contains(other.from) && !self.leads_back(other, exit))
    }

    /// The first of them on each path.
    fn next<'s>(&'s self, exit: &'s Exit) -> Vec<&'s Exit> {
        let mut all: Vec<&Exit> = self.behind(exit).collect();
        let barriers = all.iter().map(|other| other.from);
        let barriers: Vec<Point> = barriers.chain(self.starts()).collect();
        let reach = Reach::new(self.cfg, exit.from, &barriers);
        all.retain(|one| reach.contains(one.from));
        all
    }

    /// Where the new exits begin.
    fn starts(&self) -> Vec<Point> {
        self.new.iter().map(|exit| exit.start).collect()
    }

    /// Whether a jump does not leave: the function goes on to the lookup again.
    fn leads_back(&self, other: &Exit, exit: &Exit) -> bool {
        reaches(self.cfg, other.start, exit.from, &[])
    }

    /// Whether the function does the same on all ways out, but for the new ones.
    fn is_on_all_ways(&self, act: &Act, exit: &Exit) -> bool {
        if !self.goes_on_to(exit, act.point) {
            return false;
        }
        let mut barriers = self.ends(act, exit);
        barriers.extend(self.starts());
        // `if (feed(&context, item) < 0) return NULL;`: what failed may have undone it itself.
        let failed = self
            .old
            .iter()
            .filter(|other| self.works_on_same(other, act));
        barriers.extend(failed.map(|other| other.start));
        let reach = Reach::new(self.cfg, exit.from, &barriers);
        !self.cfg.returns().any(|end| reach.contains(end))
    }

    /// Whether a path leads from `exit` to `point` that takes none of the new exits.
    fn goes_on_to(&self, exit: &Exit, point: Point) -> bool {
        let reach = || Reach::new(self.cfg, exit.from, &self.starts());
        exit.onward.get_or_init(reach).contains(point)
    }

    fn spelling(&self, expr: ExprId) -> Spelling<'_> {
        self.spellings.of(self.tree.expr(expr).range)
    }

    /// The points from which on what `act` undoes is undone. Where it is asked first whether there
    /// is anything to undo, that is where it is asked.
    fn ends(&self, act: &Act, exit: &Exit) -> Vec<Point> {
        let same = self.acts.iter().filter(|other| other.key == act.key);
        same.map(|other| self.asked_at(other, exit)).collect()
    }

    fn asked_at(&self, act: &Act, exit: &Exit) -> Point {
        let inner = self.tree.stmt(exit.test).range;
        let is_around = self.tree.stmt(act.stmt).range.contains(inner);
        // `if (fd >= 0 && close(fd) < 0)`
        let asks = self.cfg.before(act.stmt);
        // `tracing && depth--;`
        let is_asked = act.is_looked_at || self.is_part_of_choice(act);
        let mut point = asks.filter(|_| is_asked && !is_around).unwrap_or(act.point);
        let mut at = self.nesting.around(act.stmt);
        while let Some(outer) = at {
            if self.tree.stmt(outer).range.contains(inner) {
                break;
            }
            match self.tree.stmt(outer).kind {
                StmtKind::Block(_) => {}
                StmtKind::If {
                    then, otherwise, ..
                } if !self.leaves(then) && !otherwise.is_some_and(|it| self.leaves(it)) => {
                    point = self.cfg.before(outer).unwrap_or(point);
                }
                StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::Switch { .. } => {
                    point = self.cfg.before(outer).unwrap_or(point);
                }
                StmtKind::Case { .. } | StmtKind::Default { .. } => {}
                _ => break,
            }
            at = self.nesting.around(outer);
        }
        point
    }

    /// Whether a statement is a choice whether to do `act`: `old ? put_back(old) : 0;`.
    fn is_part_of_choice(&self, act: &Act) -> bool {
        let StmtKind::Expr(whole) = self.tree.stmt(act.stmt).kind else {
            return false;
        };
        match self.tree.expr(self.tree.without_casts(whole)).kind {
            ExprKind::Conditional { .. } => true,
            ExprKind::Binary { op, .. } => {
                matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
            }
            _ => false,
        }
    }

    /// Whether a branch ends in a jump.
    fn leaves(&self, then: StmtId) -> bool {
        self.cfg.after(then).is_none()
    }

    /// Whether `act` works on what is not there if the lookup failed.
    fn speaks_of_result(&self, act: &Act, exit: &Exit) -> bool {
        self.works_on(act, &exit.tested(self.tree))
    }

    /// Whether `act` works on one of these variables.
    fn works_on(&self, act: &Act, locals: &[LocalId]) -> bool {
        let mut roots = acts::roots(self.tree, act.expr).into_iter();
        roots.any(|root| locals.contains(&root))
    }

    /// What has to be true for `exit` to be right.
    fn claims(&self, exit: &Exit) -> Vec<String> {
        let name = &self.changed.function.name;
        let mistaken = answer::mistaken(self.changed, exit.jump);
        let mistaken = mistaken.or_else(|| self.hidden(exit));
        let need_not = |act: &Act| {
            let act = self.told(act.expr);
            format!("in `{name}`, {act} is not needed if the item no longer exists")
        };
        let left_out = self.owed(exit).into_iter().map(need_not);
        let uncounted = self.uncounted(exit).map(|store| {
            let store = self.told(store);
            format!(
                "in `{name}`, the object in {store}, which is not counted yet, need not be released"
            )
        });
        let unset = self.unset(exit).map(|act| {
            let act = self.told(act.expr);
            format!("in `{name}`, what {act} sets need not be set if the item no longer exists")
        });
        let stored = uncounted.into_iter().chain(unset);
        let mut claims: Vec<String> = left_out.chain(stored).collect();
        if claims.is_empty()
            && let Some(act) = self.without_precedent(exit)
        {
            let told = self.told(act.expr);
            claims.push(match self.loses(act, exit) {
                true => format!(
                    "in `{name}`, the memory of {told} need not be freed if the item no longer \
                     exists"
                ),
                false => precedent::may_stay(name, &told),
            });
        }
        if claims.is_empty()
            && let Some(act) = self.unready(exit)
        {
            let act = self.told(act.expr);
            claims.push(format!(
                "in `{name}`, {act} is correct at the new error exit (the function could not \
                 leave here before)"
            ));
        }
        if claims.is_empty() {
            claims.extend(self.skipped_silently(exit).map(need_not));
        }
        claims.extend(mistaken);
        claims
    }

    /// The text and the line of an expression.
    fn told(&self, expr: ExprId) -> String {
        let Changed {
            original,
            item,
            applied,
            ..
        } = self.changed;
        let (file, _) = item.place;
        let span = item.tokens.file_span(self.tree.expr(expr).range);
        let Some((_, span)) = span else {
            return format!("`{}`", acts::words(self.changed, self.files, expr));
        };
        let text = self.files.get(file).text(span);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = applied.map.to_original(span.start()).map(|at| {
            let line = original.program.files.get(file).position(at).line.0;
            format!(" (line {line})")
        });
        format!("`{text}`{}", line.unwrap_or_default())
    }
}
