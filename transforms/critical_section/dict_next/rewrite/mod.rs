//! The edits: section, recorded outcomes, strong references.

mod act;
mod helper;
mod hold;
mod label;

use rustc_hash::FxHashSet;

use crate::edit::{Fix, Need};
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};

use super::draft::{Draft, Variable};
use super::exits::Reach;
use super::operand::Operand;
use super::plan::{Departure, Plan};
use super::references::References;
use super::scope::{Scope, inside};
use super::site::Site;
use super::text::{fails, gil_word, is_whole_in_every_branch};

/// Names that are taken in a function, new ones included.
#[derive(Clone)]
pub(super) struct Names<'a> {
    cx: &'a PackageCx<'a>,
    words: FxHashSet<Vec<u8>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(scope: &Scope<'a>) -> Self {
        Self {
            cx: scope.cx,
            words: scope.words(),
        }
    }

    /// `name`, or `name2`, `name3`, … if it is taken.
    pub(super) fn fresh(&mut self, name: &str) -> String {
        let numbered = (2..).map(|n: u32| format!("{name}{n}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let free = names
            .find(|name| !self.cx.is_macro(name) && self.words.insert(name.clone().into_bytes()));
        free.expect("there is no end of numbers")
    }

    /// The name of a field for a variable; another one if anything else in the function has that,
    /// a type included.
    fn like_field(&mut self, scope: &Scope<'_>, field: &str) -> String {
        let tokens = &scope.cx.item(scope.item).tokens;
        let count = u32::try_from(tokens.tokens.len()).expect("items fit");
        let text = |at| tokens.text(scope.cx.program.files, at);
        let is_member = |at: u32| at > 0 && matches!(text(at - 1), b"." | b"->");
        let is_taken = (0..count).any(|at| text(at) == field.as_bytes() && !is_member(at));
        match is_taken || self.cx.is_macro(field) {
            true => self.fresh("dict"),
            false => field.to_owned(),
        }
    }
}

/// All that a section around one region needs.
pub(super) struct Section<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) site: &'a Site,
    pub(super) operand: &'a Operand,
    /// Whether that may be `NULL`: then there is nothing to lock.
    pub(super) may_be_null: bool,
    /// The dict of a loop inside of it.
    pub(super) second: Option<&'a Operand>,
    pub(super) plan: &'a Plan,
    pub(super) references: &'a References,
}

/// The names that a rewrite brings in.
#[derive(Default)]
struct NewNames {
    dict: Option<String>,
    flag: Option<String>,
    result: Option<String>,
    label: Option<String>,
}

impl Section<'_> {
    /// Makes the fix, or says why the text cannot be edited.
    ///
    /// # Errors
    /// What to do by hand.
    pub(super) fn fix(&self, names: &mut Names<'_>) -> Result<Fix, String> {
        let (file, region) = self
            .site
            .span(self.scope)
            .ok_or("put the critical section into the `#define` (the loop is in a macro)")?;
        let bytes = self.scope.cx.file(file).bytes();
        let tokens = &self.scope.cx.program.index[file.index()].tokens;
        if !is_whole_in_every_branch(bytes, tokens, region) {
            return Err(
                "put the loop into a critical section by hand, in each branch of the `#if` (it \
                 begins or ends in an `#if`)"
                    .into(),
            );
        }
        let moved = self.plan.exits.iter();
        let moved: Vec<ByteSpan> = moved
            .flat_map(|exit| exit.moved_spans(self.scope))
            .collect();
        if let Some(word) = gil_word(bytes, tokens, region, &moved) {
            return Err(format!(
                "iterate over a copy (`PyDict_Copy`), because `{}` in the loop may detach the \
                 thread and a critical section must not end without a thread state",
                String::from_utf8_lossy(word)
            ));
        }
        let mut rewrite = Rewrite::new(self, file);
        rewrite.names = self.choose_names(names);
        rewrite.region(region)?;
        rewrite.references()?;
        for departure in &self.plan.exits {
            rewrite.departure(departure)?;
        }
        rewrite.unused_label();
        let mut fix = Fix::safe(self.title());
        fix.edits = rewrite.draft.edits();
        let function = if self.second.is_some() {
            "Py_BEGIN_CRITICAL_SECTION2"
        } else {
            "Py_BEGIN_CRITICAL_SECTION"
        };
        fix.needs.push(Need::Compat { file, function });
        if self.references.need(file).is_some() || matches!(self.operand, Operand::Held { .. }) {
            let function = "Py_NewRef";
            fix.needs.push(Need::Compat { file, function });
        }
        Ok(fix)
    }

    fn title(&self) -> String {
        match self.second {
            Some(second) => format!(
                "iterate over `{}` and `{}` in a critical section",
                self.operand.text(),
                second.text()
            ),
            None => format!(
                "iterate over `{}` in a critical section",
                self.operand.text()
            ),
        }
    }

    fn choose_names(&self, names: &mut Names<'_>) -> NewNames {
        let dict = match self.operand {
            Operand::Variable(_) | Operand::Borrowed(_) | Operand::Shared(_) => None,
            Operand::Bound(_) => Some(names.fresh("dict")),
            Operand::Held { field, .. } => Some(names.like_field(self.scope, field)),
        };
        let mut new = NewNames {
            dict,
            ..NewNames::default()
        };
        let plan = self.plan;
        if plan.happens_anyway || plan.is_certain() {
            // It is done whatever the path.
        } else if let [action] = &plan.actions[..] {
            let text = action.last().map_or("", String::as_str);
            let fails = fails(text);
            let name = if fails { "failed" } else { "stopped" };
            // A list of what failed is something else.
            let is_local = self
                .scope
                .tree()
                .locals
                .iter()
                .any(|local| local.name == name);
            new.flag = Some(names.fresh(if is_local && fails {
                "has_failed"
            } else {
                name
            }));
        } else if !plan.actions.is_empty() {
            new.flag = Some(names.fresh("outcome"));
        }
        if plan.result.is_some() {
            new.result = Some(names.fresh("result"));
        }
        if plan
            .exits
            .iter()
            .any(|departure| departure.exit.reach == Reach::Jump)
        {
            new.label = Some(names.fresh("end_section"));
        }
        new
    }
}

struct Rewrite<'a> {
    section: &'a Section<'a>,
    names: NewNames,
    draft: Draft<'a>,
}

impl<'a> Rewrite<'a> {
    fn new(section: &'a Section<'a>, file: FileId) -> Self {
        Self {
            section,
            names: NewNames::default(),
            draft: Draft::new(section.scope, file),
        }
    }

    fn region(&mut self, span: ByteSpan) -> Result<(), String> {
        let section = self.section;
        let mut before = self.declarations()?;
        let named = self.names.dict.as_deref().unwrap_or(section.operand.text());
        let operand = match section.may_be_null {
            true => format!("{named} != NULL ? {named} : Py_None"),
            false => named.to_owned(),
        };
        // What counts the references of what may be `NULL`: `Py_XINCREF`.
        let may = if section.may_be_null { "X" } else { "" };
        let (begin, end) = match section.second {
            Some(second) => (
                format!("Py_BEGIN_CRITICAL_SECTION2({operand}, {});", second.text()),
                "Py_END_CRITICAL_SECTION2();",
            ),
            None => (
                format!("Py_BEGIN_CRITICAL_SECTION({operand});"),
                "Py_END_CRITICAL_SECTION();",
            ),
        };
        if let Operand::Borrowed(name) = section.operand {
            before.push(format!("Py_{may}INCREF({name});"));
        }
        before.push(begin);
        if let Some(late) = section.site.late {
            let text = |span| section.scope.cx.file(self.draft.file).text(span);
            before.push(format!("{} = {};", text(late.name), text(late.value)));
            self.draft.replace(late.initial(), String::new());
        }
        let mut after = Vec::new();
        if let Some(label) = &self.names.label {
            after.push(format!("{label}: ;"));
        }
        after.push(end.to_owned());
        match (section.operand, &self.names.dict) {
            (Operand::Held { .. }, Some(name)) | (Operand::Borrowed(name), _) => {
                after.push(format!("Py_{may}DECREF({name});"));
            }
            _ => {}
        }
        after.extend(self.actions(span));
        self.draft.surround(span, &before, &after);
        if let Some(name) = &self.names.dict
            && let Some((_, span)) = section.scope.cx.span(section.scope.item, section.site.dict)
        {
            self.draft.replace(span, name.clone());
        }
        Ok(())
    }

    /// Declares the new variables of the section; gives what has to stand right before it.
    fn declarations(&mut self) -> Result<Vec<String>, String> {
        let section = self.section;
        let layout = self.draft.layout;
        let mut declared = Vec::new();
        let mut declare = |prefix: &str, name: &str, value: &str, is_constant: bool| {
            declared.push(Variable {
                declaration: format!("{}{name}", layout.pointer(prefix)),
                value: value.to_owned(),
                is_constant,
            });
        };
        if let Some(name) = &self.names.dict {
            declare("PyObject *", name, &section.operand.value(), false);
        }
        if let Some(flag) = &self.names.flag {
            declare("int ", flag, "0", true);
        }
        if let (Some(name), Some(ty)) = (&self.names.result, &section.plan.result) {
            declare(&ty.prefix, name, ty.initial, true);
        }
        self.draft.declare(&declared, section.site.region.first)
    }

    fn departure(&mut self, departure: &Departure) -> Result<(), String> {
        let span = self.draft.span(departure.exit.stmt)?;
        for span in departure.moved_spans(self.section.scope) {
            self.draft.openers.push(self.draft.layout.remove(span));
        }
        let flag = self.names.flag.as_deref().unwrap_or_default();
        let Section { scope, site, .. } = self.section;
        let mut record = match inside(scope.range(departure.exit.stmt), site.body_range(scope)) {
            true => self.section.references.release(),
            // `if (!keys) return NULL;` in front of the loop.
            false => Vec::new(),
        };
        match self.section.plan.actions.len() {
            _ if self.names.flag.is_none() || self.section.plan.is_left(departure.action) => {}
            1 => record.push(format!("{flag} = 1;")),
            _ => record.push(format!("{flag} = {};", departure.action + 1)),
        }
        record.push(match (departure.exit.reach, &self.names.label) {
            (Reach::End, _) => ";".to_owned(),
            (Reach::Jump, Some(label)) => format!("goto {label};"),
            (Reach::Break | Reach::Jump, _) => "break;".to_owned(),
        });
        // What stood there is gone, or the value is kept in its place.
        if departure.exit.reach == Reach::End && (record.len() > 1 || departure.has_value) {
            record.pop();
        }
        if !departure.has_value {
            let last = record.pop().unwrap_or_default();
            self.draft.surround(span, &record, &[]);
            self.draft.replace(span, last);
            return Ok(());
        }
        self.draft.surround(span, &[], &record);
        let result = self.names.result.as_deref().unwrap_or_default();
        self.draft.keep_result(departure.exit.stmt, span, result);
        Ok(())
    }
}
