//! The declaration of static numbers, whose type becomes an atomic one.

use std::collections::BTreeSet;

use crate::ast::{StmtKind, Storage, TokenRange, TypeKind};
use crate::edit::Fix;
use crate::lex::{Token, TokenKind};
use crate::program::{Body, ProgramItem};
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};
use crate::state::Variable;

/// Words that make up a type of C by themselves.
const WORDS: [&str; 9] = [
    "_Bool", "bool", "char", "enum", "int", "long", "short", "signed", "unsigned",
];

/// A declaration, and all that it declares.
pub(super) struct Declaration<'v> {
    pub(super) variables: Vec<&'v Variable>,
    file: FileId,
    /// The words of the type.
    words: ByteSpan,
    text: String,
}

impl<'v> Declaration<'v> {
    pub(super) fn new(
        cx: &PackageCx<'_>,
        inventory: &'v [Variable],
        variable: &Variable,
    ) -> Result<Self, &'static str> {
        let file = variable.place.0;
        let source = cx.file(file);
        if !variable.is_static {
            return Err("other files may use it");
        }
        if source.path().extension().is_none_or(|it| it != "c") {
            return Err("it is in a header");
        }
        if !has_python(cx, file) {
            return Err("its file does not include `Python.h`");
        }
        let made = "a macro makes its declaration";
        let (span, names) = declared(cx, variable).ok_or(made)?;
        let own = |place: &(FileId, ByteSpan)| inventory.iter().find(|it| it.place == *place);
        let variables: Option<Vec<&Variable>> = names.iter().map(own).collect();
        let variables = variables.ok_or("it is declared together with something else")?;
        for variable in &variables {
            check(cx, variable)?;
        }
        let first = names.first().ok_or(made)?.1;
        let tokens = cx.program.index[file.index()].tokens();
        let head: Vec<&Token> = tokens
            .iter()
            .filter(|it| it.span.start() >= span.1.start() && it.span.end() <= first.start())
            .collect();
        let words = type_words(cx, file, &head, variable)
            .ok_or("its declaration has more than `static` and a type")?;
        Ok(Self {
            variables,
            file,
            words,
            text: format!("PYAPI_ATOMIC({})", source.text(words)),
        })
    }

    pub(super) fn edit(&self, fix: &mut Fix) {
        fix.replace(self.file, self.words, self.text.clone());
    }
}

/// Whether the file, or one that includes it, includes `Python.h`: that says whether there is a GIL.
fn has_python(cx: &PackageCx<'_>, file: FileId) -> bool {
    let includes = &cx.program.includes;
    let mut open = vec![file];
    let mut seen = BTreeSet::new();
    while let Some(file) = open.pop() {
        if includes.brings_python(file) {
            return true;
        }
        if seen.insert(file) {
            open.extend(includes.includers(file).iter().map(|it| it.file));
        }
    }
    false
}

/// Whether the variable itself can be atomic.
fn check(cx: &PackageCx<'_>, variable: &Variable) -> Result<(), &'static str> {
    let types = cx.types();
    let (file, name) = variable.place;
    if !variable.is_static {
        return Err("other files may use it");
    }
    if variable.ty.is_volatile {
        return Err("it is `volatile`, perhaps for a signal handler");
    }
    if !types.fits_word(&variable.ty) || types.is_ambiguous(&variable.ty) {
        return Err("not every processor stores a value of its type in one step");
    }
    if cx.file(file).slice(name) != variable.name.as_bytes() || cx.is_macro(&variable.name) {
        return Err("a macro makes its declaration");
    }
    if variable.is_locked || variable.is_guarded {
        return Err("some of its writes hold a lock");
    }
    Ok(())
}

/// The words of the type behind `static`.
fn type_words(
    cx: &PackageCx<'_>,
    file: FileId,
    head: &[&Token],
    variable: &Variable,
) -> Option<ByteSpan> {
    let source = cx.file(file);
    let [first, words @ ..] = head else {
        return None;
    };
    let text = |token: &&Token| std::str::from_utf8(source.slice(token.span)).ok();
    let texts: Vec<&str> = words.iter().map(text).collect::<Option<_>>()?;
    let is_plain = words.iter().all(|it| it.kind == TokenKind::Ident)
        && texts.iter().all(|text| !cx.is_macro(text))
        && is_type(&texts, variable)
        && source.slice(first.span) == b"static";
    let (from, to) = (words.first()?, words.last()?);
    is_plain.then(|| from.span.join(to.span))
}

/// Whether the words are a type and nothing else: `unsigned long`, `enum mode`, `Py_ssize_t`.
fn is_type(words: &[&str], variable: &Variable) -> bool {
    let is_tag =
        |word: &str| matches!(&variable.ty.kind, TypeKind::Enum(Some(tag)) if &**tag == word);
    let is_word = |word: &&str| WORDS.contains(word) || is_tag(word);
    match words {
        [word] => is_word(word) || variable.ty.name() == Some(word),
        words => words.iter().all(is_word),
    }
}

/// Text of a file.
type Text = (FileId, ByteSpan);

/// The text of the declaration, and the names that it declares.
fn declared(cx: &PackageCx<'_>, variable: &Variable) -> Option<(Text, Vec<Text>)> {
    let item = cx.item(variable.item);
    let place = |range| name_of(item, range);
    match (&item.body, variable.local) {
        (Some(Body::Declaration(declaration)), None) => {
            let is_plain = declaration.storage == Storage::Static && declaration.structs.is_empty();
            let all = declaration
                .declarators
                .iter()
                .map(|it| place(it.name_range));
            let text = item.tokens.file_span(declaration.range)?;
            Some((text, all.collect::<Option<_>>()?)).filter(|_| is_plain)
        }
        (Some(Body::Function(function)), Some(local)) => {
            let decl = function.tree.local(local).decl?;
            let StmtKind::Decl(decls) = &function.tree.stmt(decl).kind else {
                return None;
            };
            let name = |local| place(function.tree.local(local).name_range);
            let all = decls.iter().map(|it| name(it.local));
            Some((
                cx.stmt_span(variable.item, decl)?,
                all.collect::<Option<_>>()?,
            ))
        }
        _ => None,
    }
}

fn name_of(item: &ProgramItem, range: TokenRange) -> Option<Text> {
    item.tokens.file_span(range)
}
