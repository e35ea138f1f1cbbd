//! What stands against declaring a module: findings of other rules in its files, and static
//! variables that its functions write after initialisation.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::ast::{
    ExprId, ExprKind, LocalId, Name, Storage, Tree, TypeKind, UnaryOp, Visitor, walk_expr,
};
use crate::rule::{Finding, Outcome, PackageCx};
use crate::source::FileId;

/// Most names that an assumption lists.
const SHOWN: usize = 6;

/// What is open in the files of one module.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Findings about references and iterations that no safe fix settles.
    findings: usize,
    /// Static variables that are written outside of initialisation, by name.
    statics: BTreeSet<String>,
}

impl Open {
    /// How many things are open.
    pub(super) fn count(&self) -> usize {
        self.findings + self.statics.len()
    }

    /// What a person has to settle; `None` if nothing is known to be open.
    fn sentence(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.findings > 0 {
            parts.push(format!(
                "{} findings of other rules in its files",
                self.findings
            ));
        }
        if !self.statics.is_empty() {
            let names: Vec<String> = self
                .statics
                .iter()
                .take(SHOWN)
                .map(|name| format!("`{name}`"))
                .collect();
            let more = match self.statics.len().saturating_sub(SHOWN) {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            parts.push(format!(
                "static variables written after import: {}{more}",
                names.join(", ")
            ));
        }
        (!parts.is_empty()).then(|| format!("left to settle: {}", parts.join("; ")))
    }
}

/// What is open for the module whose `PyInit_` function stands in `file`.
pub(super) fn open(
    cx: &PackageCx<'_>,
    findings: &[Finding],
    statics: &BTreeMap<FileId, BTreeSet<String>>,
    file: FileId,
) -> Open {
    let mut own: FxHashSet<FileId> = FxHashSet::default();
    for unit in units_of(cx, file) {
        cx.program.includes.reach(unit, &mut own);
    }
    let is_open = |finding: &&Finding| {
        let settled = match &finding.outcome {
            Outcome::Safe(_) => true,
            Outcome::Fix(fix) => fix.confidence == crate::edit::Confidence::Safe,
            Outcome::Manual(_) => false,
        };
        !finding.rule.code.starts_with("UG2") && !settled && own.contains(&finding.file)
    };
    let statics = statics.iter().filter(|(file, _)| own.contains(*file));
    Open {
        findings: findings.iter().filter(is_open).count(),
        statics: statics
            .flat_map(|(_, names)| names.iter().cloned())
            .collect(),
    }
}

/// Names in the declarations' assumptions what is open.
pub(super) fn tell(cx: &PackageCx<'_>, findings: &mut [Finding]) {
    let statics = written_statics(cx);
    let notes: Vec<Option<String>> = findings
        .iter()
        .map(|finding| {
            let declares = finding.rule.code.starts_with("UG2");
            declares
                .then(|| open(cx, findings, &statics, finding.file).sentence())
                .flatten()
        })
        .collect();
    for (finding, note) in findings.iter_mut().zip(notes) {
        if let (Outcome::Fix(fix), Some(note)) = (&mut finding.outcome, note) {
            fix.assume(note);
        }
    }
}

fn units_of(cx: &PackageCx<'_>, file: FileId) -> BTreeSet<FileId> {
    let here = cx.program.items.iter().filter(|item| item.place.0 == file);
    here.map(|item| item.unit).collect()
}

/// Static variables by the file that writes them: those of file scope and of functions alike.
pub(super) fn written_statics(cx: &PackageCx<'_>) -> BTreeMap<FileId, BTreeSet<String>> {
    let globals = mutable_globals(cx);
    let mut written: BTreeMap<FileId, BTreeSet<String>> = BTreeMap::new();
    for (item, function) in cx.program.functions() {
        if cx.runs_at_init_only(&function.name) || function.name.starts_with("PyInit_") {
            continue;
        }
        let mut writes = Writes {
            names: BTreeSet::new(),
            locals: BTreeSet::new(),
        };
        writes.visit_stmt(&function.tree, function.body);
        let statics = writes
            .locals
            .iter()
            .map(|local| function.tree.local(*local));
        let statics =
            statics.filter(|local| local.storage == Storage::Static && !local.thread_local);
        let names = writes
            .names
            .iter()
            .filter(|name| globals.contains(*name))
            .cloned();
        let all: Vec<String> = names
            .chain(statics.map(|local| local.name.clone()))
            .collect();
        if !all.is_empty() {
            written.entry(item.place.0).or_default().extend(all);
        }
    }
    written
}

fn mutable_globals(cx: &PackageCx<'_>) -> FxHashSet<String> {
    let mut names = FxHashSet::default();
    for (_, declaration) in cx.program.declarations() {
        let is_variable = matches!(declaration.storage, Storage::None | Storage::Static);
        for declarator in &declaration.declarators {
            let is_function = matches!(declarator.ty.kind, TypeKind::Function(..));
            if is_variable && !declaration.thread_local && !is_function && !declarator.ty.is_const {
                names.insert(declarator.name.clone());
            }
        }
    }
    names
}

/// Variables that are assigned to by name.
struct Writes {
    names: BTreeSet<String>,
    locals: BTreeSet<LocalId>,
}

impl Writes {
    /// The variable that holds what `target` names: `cache`, `table[i]`, `state.count`.
    fn note(&mut self, tree: &Tree, target: ExprId) {
        match &tree.expr(target).kind {
            ExprKind::Name(Name::Global(name)) => {
                self.names.insert(name.to_string());
            }
            ExprKind::Name(Name::Local(local)) => {
                self.locals.insert(*local);
            }
            ExprKind::Index { base, .. }
            | ExprKind::Member {
                base, arrow: false, ..
            } => {
                self.note(tree, *base);
            }
            _ => {}
        }
    }
}

impl Visitor for Writes {
    fn visit_expr(&mut self, tree: &Tree, id: ExprId) {
        match &tree.expr(id).kind {
            ExprKind::Assign { lhs, .. } => self.note(tree, *lhs),
            ExprKind::Unary {
                op:
                    UnaryOp::PostIncrement
                    | UnaryOp::PostDecrement
                    | UnaryOp::PreIncrement
                    | UnaryOp::PreDecrement,
                operand,
            } => self.note(tree, *operand),
            _ => {}
        }
        walk_expr(self, tree, id);
    }
}
