//! What the files of a package define for each other, and what they name.
//!
//! ```c
//! int shared(void);                 /* names nothing: a prototype */
//! static int twice(int n) { return 2 * n; }
//! int helper(int n) { return twice(n) + shared(); }   /* defines helper, names shared */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::macros::Macros;
use crate::ast::{Declaration, ExprKind, Function, Name, Storage, Tree, TypeKind};
use crate::lex::TokenKind;
use crate::package::{FileKind, Package};
use crate::parse::is_keyword;
use crate::program::{Body, ProgramItem};
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};

/// Words with which code runs that nothing names. `destructor` is a type of Python, and what runs
/// at the end meets nobody.
const UNCALLED: [&[u8]; 3] = [b"constructor", b"__constructor__", b"DllMain"];
/// Words of definitions that give way to others.
const WEAK: [&[u8]; 7] = [
    b"weak",
    b"__weak__",
    b"selectany",
    b"inline",
    b"__inline",
    b"__inline__",
    b"__forceinline",
];
/// Words of assembly, which may name functions in text.
const ASSEMBLY: [&[u8]; 3] = [b"asm", b"__asm", b"__asm__"];

/// Where an item stands.
type Place = (FileId, ByteSpan);

/// Names.
pub(super) type Words<'a> = FxHashSet<&'a str>;

/// What each file defines and names.
#[derive(Default)]
pub(super) struct Symbols<'a> {
    /// The files that define a name which others can mean.
    pub(super) defined: BTreeMap<&'a str, Vec<FileId>>,
    /// What a file defines in every build.
    solid: FxHashMap<FileId, Words<'a>>,
    /// Of that, what others can mean.
    pub(super) solid_for_others: FxHashMap<FileId, Words<'a>>,
    /// Variables without a value: older compilers take those of one name for one.
    pub(super) tentative: FxHashMap<FileId, Words<'a>>,
    /// The files that define a name which only they can mean, and who includes them.
    pub(super) defined_inside: BTreeMap<&'a str, Vec<FileId>>,
    /// What is a definition in one build, and none in another: `API int count;`.
    undefined: FxHashSet<(Place, &'a str)>,
    /// What a file names, and does not define itself in every build.
    pub(super) named: BTreeMap<FileId, Words<'a>>,
    /// Of that, what it does not name where it is compiled by itself, and no other file includes it:
    /// macros then.
    pub(super) when_included: FxHashMap<FileId, Words<'a>>,
    /// What is declared, and may be defined in text that was not read.
    pub(super) declared: Words<'a>,
    /// Files of which it is not known what they define, or that run by themselves.
    pub(super) doubtful: BTreeSet<FileId>,
    /// Whether the headers without code were read, so that `declared` is all.
    pub(super) knows_declared: bool,
}

impl<'a> Symbols<'a> {
    pub(super) fn new(cx: &'a PackageCx<'_>, package: &'a Package) -> Self {
        let mut symbols = Self::default();
        let macros = Macros::new(cx, package);
        symbols.undefined = undefined(cx);
        let gaps = cx.program.gaps.iter();
        let gaps: FxHashMap<_, _> = gaps
            .map(|gap| ((gap.file, gap.span), gap.function.as_deref()))
            .collect();
        for item in &cx.program.items {
            let Some(info) = package.info_of(item.place.0) else {
                continue;
            };
            let is_c = info.kind == FileKind::C;
            let text = Text::new(cx, item, &macros);
            if text.has(&UNCALLED) {
                symbols.doubtful.insert(item.place.0);
            }
            match &item.body {
                Some(Body::Function(function)) => symbols.add_function(cx, item, function, &text),
                Some(Body::Declaration(it)) => symbols.add_declaration(cx, item, it, &text),
                None => symbols.add_unknown(is_c, item, &text, gaps.get(&item.place)),
            }
        }
        let bare = |file: FileId| !cx.program.index[file.index()].has_code();
        let mut places = cx.program.items.iter().map(|item| item.place.0);
        symbols.knows_declared = package.analysed().all(|(file, _)| !bare(file))
            || places.any(|file| package.info_of(file).is_some() && bare(file));
        symbols.note_when_included(cx, package, &macros);
        for (file, named) in &mut symbols.named {
            if let Some(solid) = symbols.solid.get(file) {
                named.retain(|name| !solid.contains(name));
            }
        }
        symbols
    }

    fn note_when_included(
        &mut self,
        cx: &'a PackageCx<'_>,
        package: &Package,
        macros: &Macros<'a>,
    ) {
        let is_c = |file: FileId| {
            let info = package.info_of(file);
            info.is_some_and(|info| info.kind == FileKind::C)
        };
        let files = self.named.iter();
        let files =
            files.filter(|(file, _)| is_c(**file) && cx.program.includes.is_included(**file));
        for (&file, named) in files {
            let apart = named
                .iter()
                .filter(|name| macros.is_always(file, name.as_bytes()));
            self.when_included.insert(file, apart.copied().collect());
        }
        // #define helper(n) (n)    names = helper;
        let items = cx.program.items.iter();
        for item in items.filter(|item| item.unit == item.place.0) {
            let Some(left_out) = self.when_included.get_mut(&item.place.0) else {
                continue;
            };
            match item.tree() {
                Some(tree) => {
                    let names = tree.exprs.iter().filter_map(|it| global(&it.kind));
                    names.for_each(|name| _ = left_out.remove(name));
                }
                None => {
                    let text = Text::new(cx, item, macros).words;
                    left_out.retain(|name| !text.contains(name.as_bytes()));
                }
            }
        }
    }

    fn add_function(
        &mut self,
        cx: &PackageCx<'_>,
        item: &ProgramItem,
        function: &'a Function,
        text: &Text<'a>,
    ) {
        self.define(cx, item, &function.name, function.is_static, text, true);
        self.name(item, Some(&function.tree), text);
        // extern int other(void);
        let inner = function.tree.locals.iter();
        let inner = inner.filter(|local| {
            local.storage == Storage::Extern || matches!(local.ty.kind, TypeKind::Function(..))
        });
        for local in inner {
            self.declared.insert(&local.name);
            self.named
                .entry(item.place.0)
                .or_default()
                .insert(&local.name);
        }
    }

    fn add_declaration(
        &mut self,
        cx: &PackageCx<'_>,
        item: &ProgramItem,
        declaration: &'a Declaration,
        text: &Text<'a>,
    ) {
        if declaration.storage == Storage::Typedef {
            return;
        }
        let mut has_value = false;
        for declarator in &declaration.declarators {
            let is_function = matches!(declarator.ty.kind, TypeKind::Function(..));
            let is_set = declarator.init.is_some();
            has_value |= is_set;
            if is_function || declaration.storage == Storage::Extern && !is_set {
                self.declared.insert(&declarator.name);
                continue;
            }
            let is_static = declaration.storage == Storage::Static;
            self.define(
                cx,
                item,
                &declarator.name,
                is_static,
                text,
                is_static || is_set,
            );
        }
        if has_value {
            self.name(item, Some(&declaration.tree), text);
        }
    }

    /// An item that was not understood, or not looked at.
    fn add_unknown(
        &mut self,
        is_c: bool,
        item: &ProgramItem,
        text: &Text<'a>,
        gap: Option<&Option<&'a str>>,
    ) {
        match (gap, text.raw.first()) {
            (Some(Some(function)), _) if !is_keyword(function.as_bytes()) => {
                add_file(&mut self.defined, function, item.place.0);
                self.name(item, None, text);
            }
            // A lone `;`.
            (None, None) => {}
            (None, Some(&(b"_Static_assert" | b"static_assert"))) => {}
            _ => {
                match text.shape.unwrap_or(Shape::Other) {
                    Shape::Function(name) => {
                        let is_static = text.raw.contains(&&b"static"[..]);
                        let all = match is_static {
                            true => &mut self.defined_inside,
                            false => &mut self.defined,
                        };
                        add_file(all, name, item.place.0);
                    }
                    Shape::Prototype(name) => _ = self.declared.insert(name),
                    Shape::Type => {}
                    // What stands in a header is of the files that include it.
                    Shape::Other if is_c => _ = self.doubtful.insert(item.place.0),
                    Shape::Other => {}
                }
                self.name(item, None, text);
            }
        }
    }

    fn define(
        &mut self,
        cx: &PackageCx<'_>,
        item: &ProgramItem,
        name: &'a str,
        is_static: bool,
        text: &Text<'a>,
        has_body: bool,
    ) {
        let file = item.place.0;
        match is_static {
            true => add_file(&mut self.defined_inside, name, file),
            false => add_file(&mut self.defined, name, file),
        }
        let index = &cx.program.index[file.index()];
        let gives_way = !is_static && text.has(&WEAK);
        let around = index.conditions_at(cx.file(file), item.place.1.start());
        let varies = self.undefined.contains(&(item.place, name));
        if gives_way || varies || !around.is_empty() || item.needs_gil {
            return;
        }
        if !has_body {
            self.tentative.entry(file).or_default().insert(name);
        } else {
            self.solid.entry(file).or_default().insert(name);
            if !is_static {
                self.solid_for_others.entry(file).or_default().insert(name);
            }
        }
    }

    /// Adds what the text names, other than its own variables.
    fn name(&mut self, item: &ProgramItem, tree: Option<&'a Tree>, text: &Text<'a>) {
        let own: FxHashSet<&str> = tree
            .into_iter()
            .flat_map(|tree| &tree.locals)
            .map(|it| &*it.name)
            .collect();
        let named = self.named.entry(item.place.0).or_default();
        let words = text
            .words
            .iter()
            .filter_map(|word| std::str::from_utf8(word).ok());
        named.extend(words.filter(|word| !own.contains(word)));
        let exprs = tree.into_iter().flat_map(|tree| &tree.exprs);
        named.extend(exprs.filter_map(|it| global(&it.kind)));
    }
}

fn global(expr: &ExprKind) -> Option<&str> {
    match expr {
        ExprKind::Name(Name::Global(name)) => Some(name),
        _ => None,
    }
}

fn add_file<'a>(all: &mut BTreeMap<&'a str, Vec<FileId>>, name: &'a str, file: FileId) {
    let files = all.entry(name).or_default();
    if !files.contains(&file) {
        files.push(file);
    }
}

/// What is declared where it is not defined, in some configuration.
fn undefined<'a>(cx: &'a PackageCx<'_>) -> FxHashSet<(Place, &'a str)> {
    let declared = cx.program.declarations().flat_map(|(item, declaration)| {
        let names = declaration.declarators.iter().filter(|it| {
            let is_function = matches!(it.ty.kind, TypeKind::Function(..));
            is_function || declaration.storage == Storage::Extern && it.init.is_none()
        });
        names.map(|it| (item.place, it.name.as_str()))
    });
    declared.collect()
}

/// What an item is that was not looked at, as far as its tokens show.
#[derive(Clone, Copy)]
enum Shape<'a> {
    /// `API int init(state *it) { … }`
    Function(&'a str),
    /// `API int init(state *it);`
    Prototype(&'a str),
    /// `typedef struct { … } state;`
    Type,
    /// What a macro stands for, or has a part in the name of.
    Other,
}

impl<'a> Shape<'a> {
    /// `tokens` are kinds and texts.
    fn new(tokens: &[(TokenKind, &'a [u8])], macros: &Macros<'a>) -> Self {
        let is = |at: usize, wanted: &[u8]| tokens.get(at).is_some_and(|(_, text)| *text == wanted);
        if is(0, b"typedef") {
            return Self::Type;
        }
        let is_word = |at: &usize| {
            let (kind, text) = tokens[*at];
            let is_name = kind == TokenKind::Ident && !is_keyword(text);
            is_name && is(at + 1, b"(") && !text.starts_with(b"__attribute")
        };
        let name = (1..tokens.len()).find(is_word).map(|at| tokens[at].1);
        let is_first = tokens.first().is_some_and(|(_, text)| macros.has(text)) && is(1, b"(");
        let name = name.filter(|name| !is_first && !macros.has(name));
        let name = name.and_then(|name| std::str::from_utf8(name).ok());
        match (name, tokens.last()) {
            (Some(name), Some((_, b"}"))) => Self::Function(name),
            (Some(name), Some((_, b";"))) => Self::Prototype(name),
            _ => Self::Other,
        }
    }
}

/// The text of an item as it is written, all branches of it.
struct Text<'a> {
    /// What it is, if it was not looked at.
    shape: Option<Shape<'a>>,
    /// Its words in order.
    raw: Vec<&'a [u8]>,
    /// The same without names of fields, with what stands for macros.
    words: FxHashSet<&'a [u8]>,
}

impl<'a> Text<'a> {
    fn new(cx: &'a PackageCx<'_>, item: &ProgramItem, macros: &Macros<'a>) -> Self {
        let (file, span) = item.place;
        let tokens = cx.program.index[file.index()].tokens();
        let begin = tokens.partition_point(|token| token.span.end() <= span.start());
        let end = tokens.partition_point(|token| token.span.start() < span.end());
        let source = cx.program.files.get(file);
        let mut raw = Vec::new();
        let mut words = FxHashSet::default();
        let mut before: &[u8] = b"";
        for token in tokens.get(begin..end).unwrap_or(&[]) {
            let text = source.slice(token.span);
            if token.kind == TokenKind::Ident {
                raw.push(text);
                if !matches!(before, b"." | b"->") {
                    words.insert(text);
                }
            }
            before = text;
        }
        macros.add_to(&mut words);
        let expanded = item.tokens.expansions.iter().map(|it| it.name.as_bytes());
        // What is not understood may mean the function all the same: `(helper)(1)`.
        let is_own = |_: &&[u8]| file == item.unit && item.body.is_some();
        let never_meant = expanded
            .filter(is_own)
            .filter(|name| macros.is_always(file, name));
        never_meant.for_each(|name| _ = words.remove(name));
        if ASSEMBLY.iter().any(|word| words.contains(word)) {
            let strings = tokens[begin..end]
                .iter()
                .filter(|it| it.kind == TokenKind::Str);
            let is_part = |byte: &u8| *byte == b'_' || byte.is_ascii_alphanumeric();
            let texts = strings.map(|it| source.slice(it.span));
            words.extend(texts.flat_map(|it| it.split(move |byte| !is_part(byte))));
        }
        let shape = || {
            let all = tokens.get(begin..end).unwrap_or(&[]).iter();
            let all: Vec<_> = all.map(|it| (it.kind, source.slice(it.span))).collect();
            Shape::new(&all, macros)
        };
        Self {
            shape: item.body.is_none().then(shape),
            raw,
            words,
        }
    }

    fn has(&self, words: &[&[u8]]) -> bool {
        words.iter().any(|word| self.words.contains(word))
    }
}
