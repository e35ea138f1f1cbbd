//! How a copy is written: made, read, released wherever its statements are left.

use super::Copy;
use super::dict::Known;
use crate::ast::{ExprId, ExprKind, Name, StmtId, StmtKind};
use crate::edit::Fix;
use crate::source::ByteSpan;
use crate::transforms::critical_section::dict_next::draft::{Draft, Variable};
use crate::transforms::critical_section::dict_next::exits::{
    Exit, ExitKind, is_plain, is_return_macro,
};
use crate::transforms::critical_section::dict_next::late::Late;
use crate::transforms::critical_section::dict_next::plan::{ResultType, result_of};
use crate::transforms::critical_section::dict_next::rewrite::Names;
use crate::transforms::critical_section::dict_next::scope::{Scope, inside};
use crate::transforms::critical_section::dict_next::size::dict_of;
use crate::transforms::critical_section::dict_next::text::{gil_word, is_whole_in_every_branch};

/// The fix that makes the loops read from a copy; `None` if the text cannot be edited.
pub(super) fn fix(copy: &Copy<'_>, names: &mut Names<'_>) -> Option<Fix> {
    let scope = copy.scope;
    let (file, region) = copy.life.site.span(scope)?;
    let mut draft = Draft::new(scope, file);
    if !is_whole_in_every_branch(draft.bytes, draft.tokens, region) {
        return None;
    }
    let dict = scope.text(copy.life.dict)?;
    let name = names.fresh(&format!("{}_copy", last_word(scope, copy.life.dict)));
    let computes = |exit: &Exit| !copy.is_free(&exit.kind) && !is_macro(scope, exit);
    let result = match copy.exits.out.iter().any(computes) {
        true => Some((names.fresh("result"), result_of(scope)?)),
        false => None,
    };
    let mut writer = Writer {
        copy,
        draft,
        release: format!("Py_DECREF({name});"),
        result: result.as_ref().map(|(name, _)| name.as_str()),
    };
    let argument = cast_of(copy).unwrap_or_else(|| dict.clone());
    writer.make(region, &name, &argument, result.as_ref())?;
    for reader in copy.readers() {
        writer.read(reader, &name)?;
    }
    for exit in &copy.exits.out {
        writer.leave(exit)?;
    }
    draft = writer.draft;
    let mut fix = Fix::safe(format!("iterate over a copy of `{dict}`"));
    fix.edits = draft.edits();
    Some(fix)
}

/// The dict as the loop names it, where that is a pointer of another type:
/// `PyDict_Next((PyObject *)self->names, …` of a `PyDictObject *`.
fn cast_of(copy: &Copy<'_>) -> Option<String> {
    let scope = copy.scope;
    let ExprKind::Call { args, .. } = &scope.expr(copy.life.site.call).kind else {
        return None;
    };
    let named = args
        .first()
        .copied()
        .filter(|&arg| scope.uncast(arg) != arg)?;
    let types = scope.cx.types();
    let ty = types.of(scope.tree(), scope.uncast(named));
    let is_object = ty.is_some_and(|ty| types.is_plain_object(ty));
    scope.text(named).filter(|_| !is_object)
}

impl Copy<'_> {
    /// The calls that read the dict.
    fn readers(&self) -> impl Iterator<Item = ExprId> {
        let sizes = self.asked.iter().map(|asked| asked.call);
        self.calls().chain(sizes)
    }
}

pub(super) struct Writer<'c, 'a> {
    pub(super) copy: &'c Copy<'a>,
    pub(super) draft: Draft<'a>,
    release: String,
    /// The variable for what an exit returns.
    result: Option<&'c str>,
}

impl Writer<'_, '_> {
    /// Makes the copy in front of the region, and releases it behind.
    fn make(
        &mut self,
        region: ByteSpan,
        name: &str,
        dict: &str,
        result: Option<&(String, ResultType)>,
    ) -> Option<()> {
        let copy = self.copy;
        let scope = copy.scope;
        let layout = self.draft.layout;
        let value = match copy.known {
            Known::Dict | Known::Assumed => format!("PyDict_Copy({dict})"),
            // What is no dict has no items; its size is what it says.
            Known::Object | Known::Sized => {
                let other = match copy.known {
                    Known::Sized => format!("Py_NewRef({dict})"),
                    _ => "PyDict_New()".to_owned(),
                };
                let deeper = layout.step().deeper(layout.indentation(region.start()));
                let ending = layout.line_ending(region.start());
                let line = format!("{ending}{}", String::from_utf8_lossy(&deeper));
                format!("PyDict_Check({dict}){line}? PyDict_Copy({dict}){line}: {other}")
            }
        };
        let mut variables = vec![Variable {
            declaration: format!("{}{name}", layout.pointer("PyObject *")),
            value,
            is_constant: false,
        }];
        if let Some((name, ty)) = result {
            variables.push(Variable {
                declaration: format!("{}{name}", layout.pointer(&ty.prefix)),
                value: ty.initial.to_owned(),
                is_constant: true,
            });
        }
        let first = copy.life.site.region.first;
        let test = self
            .draft
            .branch(&format!("{name} == NULL"), &copy.failure, region);
        let last = copy.life.site.region.last;
        let after = match scope.cfg.after(last) {
            Some(end) if scope.cfg.is_reachable(end.block) => vec![self.release.clone()],
            _ => Vec::new(),
        };
        let mut before = match scope.stmt(first) {
            StmtKind::Decl(_) if !scope.is_c99() => {
                let late = Late::new(scope, first)?;
                self.make_late(&late, &variables, test, name)?;
                self.draft.surround(region, &[], &after);
                return Some(());
            }
            StmtKind::Decl(_) => variables.iter().map(Variable::declared).collect(),
            _ => self.draft.declare(&variables, first).ok()?,
        };
        before.push(test);
        self.draft.surround(region, &before, &after);
        Some(())
    }

    /// Lets the call `reader` read from the copy.
    fn read(&mut self, reader: ExprId, name: &str) -> Option<()> {
        let scope = self.copy.scope;
        let first = self.copy.life.site.region.first;
        let is_late = matches!(scope.stmt(first), StmtKind::Decl(_)) && !scope.is_c99();
        if is_late && scope.stmt_of(reader) == Some(first) {
            return Some(());
        }
        let dict = dict_of(scope, reader)?;
        let (_, span) = scope.cx.span(scope.item, dict)?;
        self.draft.replace(span, name.to_owned());
        Some(())
    }

    /// Releases the copy before an exit, or once its value is computed.
    fn leave(&mut self, exit: &Exit) -> Option<()> {
        let scope = self.copy.scope;
        if exit.kind != ExitKind::Macro && !is_plain(scope, exit) {
            return None;
        }
        let release = [self.release.clone()];
        if self.copy.is_free(&exit.kind) || is_macro(scope, exit) {
            let span = self.draft.span(self.attached(exit.stmt)).ok()?;
            self.draft.surround(span, &release, &[]);
            return Some(());
        }
        let result = self.result?;
        if self.attached(exit.stmt) != exit.stmt {
            return None;
        }
        let span = self.draft.span(exit.stmt).ok()?;
        let after = [self.release.clone(), format!("return {result};")];
        self.draft.surround(span, &[], &after);
        self.draft.keep_result(exit.stmt, span, result);
        Some(())
    }

    /// The exit `stmt`, or the statement before it that gives the GIL away.
    ///
    /// ```c
    /// UWSGI_RELEASE_GIL;              /* nothing can be released behind it */
    /// return NULL;
    /// ```
    fn attached(&self, stmt: StmtId) -> StmtId {
        let scope = self.copy.scope;
        let region = self.copy.life.site.range(scope);
        let block = scope.parent(stmt).map(|block| scope.stmt(block));
        let Some(StmtKind::Block(stmts)) = block else {
            return stmt;
        };
        let before = stmts.iter().take_while(|&&other| other != stmt);
        let mut own = before.filter(|&&other| inside(scope.range(other), region));
        let detaches = |other: &&StmtId| {
            let span = self.draft.span(**other);
            span.is_ok_and(|span| {
                gil_word(self.draft.bytes, self.draft.tokens, span, &[]).is_some()
            })
        };
        own.find(detaches).copied().unwrap_or(stmt)
    }
}

/// Whether an exit is written as one macro.
fn is_macro(scope: &Scope<'_>, exit: &Exit) -> bool {
    let text = scope.stmt_text(exit.stmt).unwrap_or_default();
    exit.kind == ExitKind::Macro || is_return_macro(&text)
}

/// What a copy of `dict` is called after.
fn last_word<'a>(scope: &Scope<'a>, dict: ExprId) -> &'a str {
    match &scope.expr(dict).kind {
        ExprKind::Name(Name::Local(local)) => scope.name(*local),
        ExprKind::Name(Name::Global(name)) | ExprKind::Member { field: name, .. } => name,
        _ => "dict",
    }
}
