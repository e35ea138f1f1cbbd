//! A group of homes as one fix.

mod apart;
mod around;
pub(super) mod calls;
mod cast;
mod chain;
mod container;
mod counting;
pub(super) mod declarations;
mod declare;
pub(super) mod exact;
mod flags;
pub(super) mod guarded;
pub(super) mod hand_out;
pub(super) mod inside;
mod meanwhile;
pub(super) mod names;
mod nested;
mod other_type;
pub(super) mod presence;
mod removal;
mod replace;
mod results;
pub(super) mod saved;
pub(super) mod stored;
pub(super) mod title;

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, LocalId, StmtId};
use crate::capi::PyVersion;
use crate::edit::{BraceStyle, Edit, Fix, Need};
use crate::source::{ByteOffset, ByteSpan};
use crate::strong::exits::failing::breaks;
use crate::strong::exits::passed_on::passed_on;
use crate::strong::pending::unasked::meets_exception;
use crate::strong::plan::{Lookup, Planned};
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;
use crate::strong::snapshot::is_made_here;
use crate::strong::weak::{Weak, adapt};
use around::{Around, folded};
use chain::Chains;
use declare::declares;
use exact::{FUNCTIONS, is_exact};
use title::title;

/// The edits of one fix so far. What stands around one statement is collected first, so that it
/// gets braces once.
pub(in crate::strong) struct Draft<'s, 'a> {
    pub scene: &'s Scene<'a>,
    pub fix: Fix,
    /// New statements around a statement. An entry without any asks for braces.
    pub(in crate::strong) around: BTreeMap<StmtId, Around>,
    pub(in crate::strong) taken: BTreeSet<String>,
    /// Names of new variables that other changes of the block declare, too.
    pub(in crate::strong) shared: BTreeSet<String>,
    /// Names of new variables of the whole function.
    pub(in crate::strong) apart: BTreeSet<String>,
    /// Those of them that are `NULL` again behind each release in a loop.
    pub(in crate::strong) emptied: BTreeSet<String>,
    /// Releases of other references where a lookup fails.
    pub(in crate::strong) at_exit: BTreeMap<ExprId, Vec<String>>,
    /// Assignments that release what their variable held, and wait for their new form; whether
    /// that may be `NULL`.
    pub(in crate::strong) replaced: BTreeMap<StmtId, bool>,
    /// Lookups whose failure leaves just a loop.
    pub(in crate::strong) breaks: BTreeMap<ExprId, StmtId>,
    /// Lookups whose failure the function that gets the result tells.
    pub(in crate::strong) passed_on: BTreeSet<ExprId>,
    /// Statements that took the reference which a lookup beside them gives now.
    pub(in crate::strong) gone: BTreeSet<StmtId>,
    /// Statements of which nothing is left but to test or return the variable of an answer.
    pub(in crate::strong) answered: BTreeSet<StmtId>,
    /// The lines of `else` branches that statements get.
    pub(in crate::strong) elses: BTreeMap<StmtId, Vec<String>>,
    /// Variables that are `NULL` from their declaration on, and were not.
    pub(in crate::strong) starts_null: BTreeSet<LocalId>,
    /// Lines for blocks that are empty.
    pub(in crate::strong) fillings: BTreeMap<StmtId, Vec<String>>,
    /// Declarations with a lookup for a value.
    pub(in crate::strong) initialised: BTreeSet<StmtId>,
    /// Those of them whose lookups go behind the lookup of an earlier one.
    pub(in crate::strong) moving: BTreeSet<StmtId>,
    /// Lookups that turned into the name of a variable.
    named: Vec<(ByteSpan, String)>,
    /// Whether a comment stays that speaks of a borrowed reference.
    pub(in crate::strong) says_borrowed: bool,
}

/// The fix for homes that change together.
///
/// # Errors
/// Why it cannot be written down.
pub(in crate::strong) fn fix(scene: &Scene<'_>, group: &[Planned]) -> Result<Fix, Reason> {
    let mut draft = Draft::new(scene, title(scene, group));
    draft.breaks = breaks(group);
    draft.passed_on = passed_on(scene, group)?;
    let lookups = group.iter().flat_map(|planned| &planned.home.lookups);
    draft.initialised = lookups
        .clone()
        .filter_map(|lookup| match lookup.shape {
            Shape::Initialised(stmt, _) => Some(stmt),
            _ => None,
        })
        .collect();
    let counted = lookups.filter_map(|lookup| lookup.counted);
    draft.gone = counted
        .filter_map(|counted| scene.stmt_of(counted.count))
        .collect();
    let shared = group.iter().filter(|planned| planned.home.is_shared);
    draft.shared = shared.map(|planned| planned.home.name.clone()).collect();
    for planned in group.iter().filter(|planned| planned.home.is_apart) {
        draft.declare_apart(planned)?;
        let is_emptied = !planned.decisions.cleared.is_empty();
        let name = is_emptied.then(|| planned.home.name.clone());
        draft.emptied.extend(name);
    }
    let names = group.iter().map(|planned| planned.home.name.clone());
    draft.taken.extend(names);
    for planned in group {
        draft.replaced.extend(&planned.decisions.replaced);
        draft.releases(planned)?;
        draft.null_at_declaration(planned);
    }
    draft.new_elses();
    draft.fill_blocks();
    for (lookup, name) in in_order(scene, group) {
        let planned = group.iter().find(|planned| {
            let mut lookups = planned.home.lookups.iter();
            lookups.any(|other| other.call == lookup.call)
        });
        if draft.replaced_by_lookup(name, lookup)? {
            continue;
        }
        let weak = planned.and_then(|planned| tests_of(scene, planned).transpose());
        draft.cast_container(lookup);
        match weak.transpose()?.and_then(|weak| weak.error_test) {
            Some((_, cond)) => calls::status_test(&mut draft, name, lookup, cond)?,
            None => {
                let keeps_none = planned.is_some_and(|planned| planned.decisions.keeps_none);
                calls::rewrite(&mut draft, name, lookup, keeps_none)?;
            }
        }
    }
    for planned in group {
        draft.returns(planned)?;
        draft.replaced_by_others(planned)?;
        draft.weak_tests(planned)?;
        draft.counting(planned)?;
        draft.needs(&planned.home.lookups);
        draft.doubt_ownership(planned);
        draft.drop_comments(planned);
    }
    draft.finish()
}

/// The lookups with the names of their variables, inner ones first: the text of an outer one holds
/// their new names.
fn in_order<'p>(scene: &Scene<'_>, group: &'p [Planned]) -> Vec<(&'p Lookup, &'p str)> {
    let homes = group.iter().map(|planned| &planned.home);
    let lookups = homes.flat_map(|home| home.lookups.iter().map(|lookup| (lookup, &*home.name)));
    let mut lookups: Vec<_> = lookups.collect();
    lookups.sort_by_key(|(lookup, _)| scene.written(lookup.call).map(|span| span.end()));
    lookups
}

/// The tests of a referent that change with it.
fn tests_of(scene: &Scene<'_>, planned: &Planned) -> Result<Option<Weak>, Reason> {
    match planned.decisions.keeps_none {
        true => Ok(None),
        false => adapt(scene, &planned.home),
    }
}

impl<'s, 'a> Draft<'s, 'a> {
    pub(in crate::strong) fn new(scene: &'s Scene<'a>, title: String) -> Self {
        Self {
            scene,
            fix: Fix::safe(title),
            around: BTreeMap::new(),
            taken: BTreeSet::new(),
            shared: BTreeSet::new(),
            apart: BTreeSet::new(),
            emptied: BTreeSet::new(),
            at_exit: BTreeMap::new(),
            replaced: BTreeMap::new(),
            breaks: BTreeMap::new(),
            passed_on: BTreeSet::new(),
            gone: BTreeSet::new(),
            answered: BTreeSet::new(),
            elses: BTreeMap::new(),
            starts_null: BTreeSet::new(),
            fillings: BTreeMap::new(),
            initialised: BTreeSet::new(),
            moving: BTreeSet::new(),
            named: Vec::new(),
            says_borrowed: false,
        }
    }
}

impl Draft<'_, '_> {
    pub(in crate::strong) fn replace(&mut self, span: ByteSpan, text: impl Into<Vec<u8>>) {
        self.fix.replace(self.scene.file, span, text);
    }

    pub(in crate::strong) fn insert(&mut self, at: ByteOffset, text: impl Into<Vec<u8>>) {
        self.fix.insert(self.scene.file, at, text);
    }

    /// The text of a span, with the names of lookups that turned into variables.
    pub(in crate::strong) fn text(&self, span: ByteSpan) -> String {
        let mut text = String::new();
        let mut at = span.start().0;
        let mut inner: Vec<_> = self
            .named
            .iter()
            .filter(|(s, _)| span.contains(*s))
            .collect();
        inner.sort();
        for (named, name) in inner {
            if named.start().0 >= at {
                text += &self.scene.text(ByteSpan::new(at, named.start().0));
                text += name;
                at = named.end().0;
            }
        }
        text + &self.scene.text(ByteSpan::new(at, span.end().0))
    }

    pub(in crate::strong) fn before(
        &mut self,
        stmt: StmtId,
        lines: impl IntoIterator<Item = String>,
    ) {
        self.around.entry(stmt).or_default().before.extend(lines);
    }

    pub(in crate::strong) fn after(
        &mut self,
        stmt: StmtId,
        lines: impl IntoIterator<Item = String>,
    ) {
        self.around.entry(stmt).or_default().after.extend(lines);
    }

    /// Lines behind `stmt`, in front of those that are there already.
    pub(in crate::strong) fn after_first(
        &mut self,
        stmt: StmtId,
        lines: impl IntoIterator<Item = String>,
    ) {
        self.around
            .entry(stmt)
            .or_default()
            .after
            .splice(..0, lines);
    }

    /// Gives the variables of the declaration `stmt` their values behind the declaration `last`.
    ///
    /// # Errors
    /// A macro makes the declaration.
    pub(in crate::strong) fn assign(
        &mut self,
        last: StmtId,
        stmt: StmtId,
        lines: Vec<String>,
    ) -> Result<(), Reason> {
        let start = calls::span_of(self, stmt)?.start();
        let assigned = &mut self.around.entry(last).or_default().assigned;
        assigned.entry(start).or_default().extend(lines);
        Ok(())
    }

    /// Notes that `stmt` turns into what needs braces as the body of an `if`.
    pub(in crate::strong) fn needs_braces(&mut self, stmt: StmtId) {
        self.around.entry(stmt).or_default();
    }

    /// A name for a new variable.
    pub(in crate::strong) fn unused_name(&mut self, stems: &[&str]) -> String {
        let free = stems.iter().find(|stem| {
            let mut taken = self.taken.clone();
            self.scene.unused_name(stem, &mut taken) == **stem
        });
        let stem = free.or(stems.first()).copied().unwrap_or("value");
        self.scene.unused_name(stem, &mut self.taken)
    }

    /// The blanks that one more level of nesting adds; what they make a tab with is up to the edit.
    pub(in crate::strong) fn step(&self, stmt: ByteSpan) -> String {
        let outer = self.scene.layout.indentation(stmt.start());
        let step = self.scene.layout.step();
        let inner = step.deeper(outer);
        match inner.strip_prefix(outer) {
            Some(more) => String::from_utf8_lossy(more).into_owned(),
            None => " ".repeat(step.columns()),
        }
    }

    /// The head of a block in the style of the function, and the lines of the block.
    pub(in crate::strong) fn block_of(
        &self,
        head: &str,
        body: &[String],
        stmt: ByteSpan,
    ) -> Vec<String> {
        let step = self.step(stmt);
        let (mut lines, brace) = match self.scene.layout.braces() {
            BraceStyle::SameLine => (vec![format!("{head} {{")], ""),
            BraceStyle::NextLine => (vec![head.to_owned(), "{".to_owned()], ""),
            BraceStyle::Indented => (vec![head.to_owned(), format!("{step}{{")], &*step),
        };
        lines.extend(body.iter().map(|line| format!("{brace}{step}{line}")));
        lines.push(format!("{brace}}}"));
        lines
    }

    /// Lines for use in the middle of an edit that begins where `stmt` does.
    pub(in crate::strong) fn joined(&self, lines: &[String], stmt: ByteSpan) -> String {
        let ending = self.scene.layout.line_ending(stmt.start());
        let blanks = self.scene.layout.indentation(stmt.start());
        lines.join(&format!("{ending}{}", String::from_utf8_lossy(blanks)))
    }

    fn needs(&mut self, lookups: &[Lookup]) {
        for lookup in lookups {
            self.doubt_container(lookup);
            self.doubt_dict(lookup);
            self.doubt_gaps(lookup);
            if is_exact(self.scene, lookup.call) {
                FUNCTIONS.iter().for_each(|name| self.compat(name));
                continue;
            }
            let is_fast = lookup.replacement.borrowed == "PySequence_Fast_GET_ITEM";
            if is_fast && !is_made_here(self.scene, lookup.call) {
                self.fix.assume(
                    "the sequence comes from `PySequence_Fast` (a subclass may return other items)",
                );
            }
            match lookup.shape {
                Shape::Presence(..) => self.compat(presence::contains(lookup)),
                _ if lookup.replacement.since > PyVersion::new(3, 6) => {
                    self.compat(lookup.replacement.strong);
                }
                _ => {}
            }
        }
    }

    /// Tests of referents for `Py_None` turn into tests for `NULL`.
    fn weak_tests(&mut self, planned: &Planned) -> Result<(), Reason> {
        let Some(weak) = tests_of(self.scene, planned)? else {
            return Ok(());
        };
        let no_place = || Reason::NoneEscapes(planned.home.name.clone());
        for (whole, kept) in weak.pairs {
            let whole = self.scene.span(whole).ok_or_else(no_place)?;
            let kept = self.scene.span(kept).ok_or_else(no_place)?;
            let kept = self.scene.text(kept);
            self.replace(whole, kept);
        }
        for (_, none) in weak.none_tests {
            let span = self.scene.span(none).ok_or_else(no_place)?;
            self.replace(span, "NULL");
        }
        Ok(())
    }

    /// Notes that `call` turns into a call that must not meet an exception, which the macro did not
    /// mind: with assertions, Python stops there.
    pub(in crate::strong) fn doubt_entry(&mut self, call: ExprId, function: &str) {
        if meets_exception(self.scene, call) {
            self.fix.assume(format!(
                "no exception is pending where `{function}` is called (a debug build of Python \
                 aborts otherwise)"
            ));
        }
    }

    pub(in crate::strong) fn compat(&mut self, function: &'static str) {
        if function == "PyDict_Contains" {
            return;
        }
        let need = Need::Compat {
            file: self.scene.file,
            function,
        };
        if !self.fix.needs.contains(&need) {
            self.fix.needs.push(need);
        }
    }

    /// The `if` statements of `else if` that get something around them and move.
    fn chains(&self) -> Result<Chains, Reason> {
        let scene = self.scene;
        let stmts = self.around.keys().filter(|&&stmt| scene.is_else_if(stmt));
        let spans: Vec<ByteSpan> = stmts.filter_map(|&stmt| scene.stmt_span(stmt)).collect();
        // Braces around one branch of an `#if` would break the other.
        let has_directive = |span: &ByteSpan| {
            scene
                .text(*span)
                .lines()
                .any(|line| line.trim_start().starts_with('#'))
        };
        if spans.iter().any(has_directive) {
            return Err(Reason::ElseIf);
        }
        // An `if` on a line of its own is as far to the right as it needs to be.
        let moves = |span: &ByteSpan| !scene.layout.begins_line(span.start());
        Ok(Chains::new(spans.into_iter().filter(moves).collect()))
    }

    pub(in crate::strong) fn finish(mut self) -> Result<Fix, Reason> {
        let mut edits: Vec<Edit> = Vec::new();
        let chains = self.chains()?;
        for (stmt, around) in std::mem::take(&mut self.around) {
            let Some(span) = self.scene.stmt_span(stmt) else {
                return Err(Reason::InMacro("around it".to_owned()));
            };
            if around.before.iter().any(|line| declares(line)) && self.scene.is_labelled(stmt) {
                return Err(Reason::Labelled);
            }
            let mut new = around.edits(&self.scene.layout, span);
            chains.shift_around(self.scene, span, &mut new);
            edits.extend(new);
        }
        let spans: Vec<ByteSpan> = self.fix.edits.iter().map(|edit| edit.span).collect();
        // The text of what lies around a renamed lookup has the new name already.
        let is_inside = |edit: &Edit| {
            spans
                .iter()
                .any(|span| *span != edit.span && span.contains(edit.span) && !edit.span.is_empty())
        };
        self.fix.edits.retain(|edit| !is_inside(edit));
        for edit in &mut self.fix.edits {
            chains.shift_inside(self.scene, edit);
        }
        edits.append(&mut self.fix.edits);
        edits.extend(chains.lines(self.scene, &edits));
        edits.sort_by_key(Edit::place);
        edits.extend(self.scene.layout.realign(&edits));
        edits.sort_by_key(Edit::place);
        self.fix.edits = folded(self.scene, edits);
        if self.says_borrowed {
            let more = "; a comment next to it still says that the reference is borrowed";
            self.fix.title.push_str(more);
        }
        Ok(self.fix)
    }
}
