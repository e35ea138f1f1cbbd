//! The plans for the configurations of a function, made one where they agree on the text that
//! they share.
//!
//! ```c
//! v = PyDict_GetItem(d, k);            /* in both */
//! #ifdef TRACE
//! w = PyDict_GetItem(d, name);         /* in one */
//! print(w);
//! #endif
//! use(v);
//! ```
//!
//! Each configuration is planned by itself. An edit of one that lies in the text of another must
//! be part of the other's plan: then what all ask for together is in each just what it asks for.

mod behind;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::ast::ExprId;
use crate::edit::{Edit, Fix};
use crate::preprocess::Spelling;
use crate::program::Body;
use crate::rule::{ItemId, Lookups, Outcome, PackageCx};
use crate::source::{ByteOffset, ByteSpan, FileId};
use crate::strong::item::Solved;
use crate::strong::reason::Reason;

/// What the plan for each function asks for by itself.
pub(in crate::strong) type Plans = BTreeMap<ItemId, BTreeSet<Edit>>;

/// Collects what each plan asks for.
pub(in crate::strong) fn plans(solved: &BTreeMap<ItemId, Solved>) -> Plans {
    let plans = solved.iter().map(|(item, solved)| {
        let edits = solved.fixes().flat_map(|fix| fix.edits.iter().cloned());
        (*item, edits.collect())
    });
    plans.collect()
}

/// Joins fixes that ask for the same edits in several configurations, and takes back those that
/// another configuration does not agree with.
pub(in crate::strong) fn join(cx: &PackageCx<'_>, mut plans: Plans, lookups: &mut Lookups) {
    let shared = Shared::new(cx);
    move_behind(&shared, &mut plans, lookups);
    let plans = &plans;
    for cluster in clusters(&shared, lookups) {
        let outcome = match shared.dissent(plans, &cluster) {
            Some(line) => Outcome::Manual(Reason::Variants(line).to_string()),
            None if cluster.fixes.len() == 1 => continue,
            None => Outcome::Fix(cluster.fix()),
        };
        for (item, call) in cluster.calls {
            let outcomes = lookups.entry(item).or_default();
            outcomes.insert(call, outcome.clone());
        }
    }
}

/// Releases once behind an `#endif` what all of its branches release.
fn move_behind(shared: &Shared<'_, '_>, plans: &mut Plans, lookups: &mut Lookups) {
    let moves = behind::moves(shared.cx, shared, plans);
    if moves.is_empty() {
        return;
    }
    let moved = |edit: &Edit| moves.get(edit).unwrap_or(edit).clone();
    for edits in plans.values_mut() {
        *edits = edits.iter().map(moved).collect();
    }
    for outcome in lookups.values_mut().flat_map(BTreeMap::values_mut) {
        if let Outcome::Fix(fix) = outcome {
            for edit in &mut fix.edits {
                *edit = moved(edit);
            }
            // Stable: it stays in front of what goes before the next statement.
            fix.edits.sort_by_key(Edit::place);
            fix.edits.dedup();
        }
    }
}

/// Where pieces of text begin.
type Marks = Rc<BTreeSet<ByteOffset>>;

/// The functions that have text in common with others, most often their own configurations.
pub(in crate::strong) struct Shared<'c, 'a> {
    cx: &'c PackageCx<'a>,
    functions: BTreeMap<FileId, Vec<(ByteSpan, ItemId)>>,
    /// Where the text of each begins piece by piece, as far as it was asked for.
    marks: RefCell<BTreeMap<(ItemId, FileId), Marks>>,
}

impl<'c, 'a> Shared<'c, 'a> {
    fn new(cx: &'c PackageCx<'a>) -> Self {
        let mut functions: BTreeMap<FileId, Vec<(ByteSpan, ItemId)>> = BTreeMap::new();
        for (at, item) in (0u32..).zip(&cx.program.items) {
            if let Some(Body::Function(_)) = item.body {
                let (file, span) = item.place;
                functions.entry(file).or_default().push((span, ItemId(at)));
            }
        }
        for functions in functions.values_mut() {
            functions.sort_unstable();
            let mut end = ByteOffset(0);
            let mut is_shared = vec![false; functions.len()];
            for (at, (span, _)) in functions.iter().enumerate() {
                if span.start() < end {
                    is_shared[at - 1] = true;
                    is_shared[at] = true;
                }
                end = end.max(span.end());
            }
            let mut is_shared = is_shared.into_iter();
            functions.retain(|_| is_shared.next() == Some(true));
        }
        Self {
            cx,
            functions,
            marks: RefCell::default(),
        }
    }

    /// The functions around `edit` that have text in `stretch`.
    pub(in crate::strong) fn compiling<'s>(
        &'s self,
        edit: &'s Edit,
        stretch: ByteSpan,
    ) -> impl Iterator<Item = ItemId> + 's {
        self.around(edit).filter(move |&item| {
            let marks = self.marks(item, edit.file);
            marks.range(stretch.start()..stretch.end()).next().is_some()
        })
    }

    /// Those around an edit, in any configuration.
    fn around<'s>(&'s self, edit: &'s Edit) -> impl Iterator<Item = ItemId> + 's {
        let functions = self.functions.get(&edit.file).into_iter().flatten();
        let around = functions.filter(|(span, _)| span.contains(edit.span));
        around.map(|(_, item)| *item)
    }

    /// The line of the branch that tells a configuration with a part of the cluster in its text,
    /// and another plan, from one that asks for that part. Whether a change holds where all of it
    /// stands in the text is for the proof to tell, but for what a new exit returns.
    fn dissent(&self, plans: &Plans, cluster: &Cluster) -> Option<u32> {
        let asks = |item: ItemId, edit: &Edit| {
            let plan = plans.get(&item);
            plan.is_some_and(|plan| plan.contains(edit))
        };
        let items: BTreeSet<ItemId> = cluster.edits().flat_map(|edit| self.around(edit)).collect();
        items.into_iter().find_map(|item| {
            let place = self.cx.item(item).place;
            let is_own = |edit: &&Edit| {
                edit.file == place.0 && place.1.contains(edit.span) && self.is_in(item, edit)
            };
            let (own, foreign): (Vec<&Edit>, Vec<&Edit>) = cluster.edits().partition(is_own);
            let mut unwanted = own.iter().filter(|edit| !asks(item, edit));
            let exit = unwanted.clone().find(|edit| {
                let mut others = plans.get(&item).into_iter().flatten();
                others.any(|other| leave_apart(edit, other))
            });
            let unwanted = exit.or_else(|| unwanted.next().filter(|_| !foreign.is_empty()))?;
            let for_it = self.around(unwanted).find(|item| asks(*item, unwanted));
            let place = for_it.and_then(|other| self.apart(place.0, other, item));
            let place = place.unwrap_or(unwanted.span.start());
            Some(self.cx.file(unwanted.file).position(place).line.0)
        })
    }

    /// Whether the text around an edit belongs to the configuration of `item`.
    fn is_in(&self, item: ItemId, edit: &Edit) -> bool {
        let index = &self.cx.program.index[edit.file.index()];
        let Some(stretch) = index.stretch_at(edit.span.start()) else {
            return true;
        };
        let text = stretch.join(edit.span);
        let marks = self.marks(item, edit.file);
        marks.range(text.start()..text.end()).next().is_some()
    }

    /// Where text of `file` begins that the item was made of.
    fn marks(&self, item: ItemId, file: FileId) -> Marks {
        if let Some(known) = self.marks.borrow().get(&(item, file)) {
            return Rc::clone(known);
        }
        let tokens = &self.cx.item(item).tokens;
        let own = tokens
            .tokens
            .iter()
            .filter_map(|token| match token.spelling {
                Spelling::File(of, span) if of == file => Some(span.start()),
                Spelling::File(..) | Spelling::Synthetic(_) => None,
            });
        let used = tokens.expansions.iter().map(|expansion| expansion.call);
        let used = used.filter(|(of, _)| *of == file);
        let marks = Rc::new(own.chain(used.map(|(_, span)| span.start())).collect());
        let mut known = self.marks.borrow_mut();
        known.insert((item, file), Rc::clone(&marks));
        marks
    }

    /// Where the branch opens in which two configurations differ first.
    fn apart(&self, file: FileId, one: ItemId, other: ItemId) -> Option<ByteOffset> {
        let (one, other) = (self.marks(one, file), self.marks(other, file));
        let index = &self.cx.program.index[file.index()];
        let mut different = one.symmetric_difference(&other);
        different.find_map(|at| Some(index.branch_offset(index.branch_at(*at)?)))
    }
}

/// Fixes with edits in common.
struct Cluster {
    /// With the functions that ask for them.
    fixes: Vec<(Fix, BTreeSet<ItemId>)>,
    calls: Vec<(ItemId, ExprId)>,
}

/// The fixes that change text of several functions: those together that ask for the same edit of
/// it.
fn clusters(shared: &Shared<'_, '_>, lookups: &Lookups) -> Vec<Cluster> {
    let mut clusters: BTreeMap<usize, Cluster> = BTreeMap::new();
    let mut of_edit: BTreeMap<Edit, usize> = BTreeMap::new();
    for (&item, outcomes) in lookups {
        for (&call, outcome) in outcomes {
            let Outcome::Fix(fix) = outcome else {
                continue;
            };
            let edits = fix.edits.iter();
            let edits = edits.filter(|edit| shared.around(edit).next().is_some());
            let edits: Vec<&Edit> = edits.collect();
            if edits.is_empty() {
                continue;
            }
            let known: BTreeSet<usize> = edits
                .iter()
                .filter_map(|edit| of_edit.get(edit).copied())
                .collect();
            let id = known.first().copied().unwrap_or(of_edit.len());
            let mut cluster = Cluster {
                fixes: Vec::new(),
                calls: Vec::new(),
            };
            for id in &known {
                cluster.join(
                    clusters
                        .remove(id)
                        .expect("ids of edits are those of clusters"),
                );
            }
            cluster.add(item, call, fix);
            clusters.insert(id, cluster);
            of_edit
                .values_mut()
                .filter(|of| known.contains(of))
                .for_each(|of| *of = id);
            of_edit.extend(edits.into_iter().map(|edit| (edit.clone(), id)));
        }
    }
    clusters.into_values().collect()
}

impl Cluster {
    fn add(&mut self, item: ItemId, call: ExprId, fix: &Fix) {
        self.calls.push((item, call));
        self.ask(fix.clone(), BTreeSet::from([item]));
    }

    fn ask(&mut self, fix: Fix, items: BTreeSet<ItemId>) {
        match self.fixes.iter_mut().find(|(known, _)| *known == fix) {
            Some((_, known)) => known.extend(items),
            None => self.fixes.push((fix, items)),
        }
    }

    fn join(&mut self, other: Self) {
        for (fix, items) in other.fixes {
            self.ask(fix, items);
        }
        self.calls.extend(other.calls);
    }

    fn edits(&self) -> impl Iterator<Item = &Edit> {
        self.fixes.iter().flat_map(|(fix, _)| &fix.edits)
    }

    /// All fixes as one; one of them where two put different text in one place, each for other
    /// configurations.
    fn fix(&self) -> Fix {
        let longest = self.fixes.iter().max_by_key(|(fix, _)| fix.edits.len());
        let mut joined = Fix::safe(longest.map_or_else(String::new, |(fix, _)| fix.title.clone()));
        let mut included: Vec<&(Fix, BTreeSet<ItemId>)> = Vec::new();
        for asked in &self.fixes {
            let (fix, items) = asked;
            let is_other = included
                .iter()
                .any(|(other, of_other)| items.is_disjoint(of_other) && contradicts(other, fix));
            if !is_other {
                joined.include(fix);
                included.push(asked);
            }
        }
        joined
    }
}

/// Whether two fixes put text in one place of which neither has all that the other has: they are
/// for configurations in which the way out of a failure differs, say, and both would stand there.
fn contradicts(one: &Fix, other: &Fix) -> bool {
    let texts = |fix: &Fix| {
        let mut texts: BTreeMap<(FileId, ByteSpan), BTreeSet<Vec<u8>>> = BTreeMap::new();
        for edit in fix.edits.iter().filter(|edit| edit.span.is_empty()) {
            let all = texts.entry((edit.file, edit.span)).or_default();
            all.insert(edit.text.clone());
        }
        texts
    };
    let (one, other) = (texts(one), texts(other));
    one.iter().any(|(place, texts)| {
        let others = other.get(place);
        others.is_some_and(|it| !it.is_subset(texts) && !texts.is_subset(it))
    })
}

/// Whether two edits of one place leave the function, or a loop, and set variables for that in two
/// ways: what is returned depends on the configuration. What they release is for the proof to tell.
///
/// ```c
/// #ifdef ZERO_IS_OK
///     int status = 0;                   /* `status = -1; goto done;` */
/// #else
///     int status = -1;                  /* `goto done;` */
/// #endif
/// ```
fn leave_apart(one: &Edit, other: &Edit) -> bool {
    let leaves = |text: &str| {
        text.lines().map(str::trim_start).any(|line| {
            let mut jumps = ["goto ", "return", "break;"].iter();
            jumps.any(|jump| line.starts_with(jump))
        })
    };
    let sets = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| line.contains(" = ") && line.ends_with(';'));
        lines.map(str::to_owned).collect()
    };
    let texts = [one, other].map(|edit| String::from_utf8_lossy(&edit.text));
    let is_one_place = one.file == other.file && one.span == other.span;
    is_one_place && texts.iter().all(|it| leaves(it)) && sets(&texts[0]) != sets(&texts[1])
}
