//! Files to items: preprocess every translation unit, keep each item once, parse what is asked for.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Body, Gap, Program, ProgramItem, WithGil};
use crate::ast::Item;
use crate::capi::REPLACEMENTS;
use crate::facts::{Functions, declared};
use crate::lower;
use crate::parse::TypeNames;
use crate::preprocess::{
    self, FileIndex, Includes, Interest, ItemTokens, RawItem, Sources, Unit, VersionRange,
};
use crate::source::{ByteSpan, FileId, FileSet};

/// Spans of files, ascending by start.
pub type Places = BTreeMap<FileId, Vec<ByteSpan>>;

/// Which items are parsed.
#[derive(Debug, Clone)]
pub enum Demand {
    /// All: for the coverage ledger.
    Everything,
    /// Those that one of these places touches, or the definition of a macro they use.
    Places(Places),
    /// Those that hold one of these words after expansion.
    Words(FxHashSet<String>),
}

/// How a package is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// Supported Python versions.
    pub range: VersionRange,
    /// Files that a translation unit may begin with, ascending.
    pub roots: Vec<FileId>,
    /// Files of definitions that stand before every translation unit: the model of `<Python.h>`,
    /// the `-D` options.
    pub before: Vec<FileId>,
    /// What is parsed.
    pub demand: Demand,
    /// Whether headers without code are read as well: types, prototypes, `extern` variables.
    pub headers: bool,
    /// What the configuration says of functions; it wins over what the files say.
    pub facts: Functions,
}

/// Reads the package.
#[must_use]
pub fn load<'a>(
    files: &'a FileSet,
    index: &'a [FileIndex],
    includes: &'a Includes,
    options: &Options,
) -> Program<'a> {
    let mut facts = declared(files, index);
    facts.amend_all(&options.facts);
    let mut program = Program {
        files,
        index,
        includes,
        types: type_names(index),
        facts,
        items: Vec::new(),
        gaps: Vec::new(),
        with_gil: WithGil::default(),
        functions_total: 0,
        functions_understood: 0,
    };
    let sources = Sources {
        files,
        index,
        includes,
    };
    let mut roots = roots(&sources, options);
    if options.headers {
        let mut headers = options.roots.clone();
        headers.retain(|id| !index[id.index()].has_code());
        roots.extend(headers);
    }
    let interest = interest(&options.demand);
    let units: Vec<Unit> = roots
        .par_iter()
        .map(|&root| {
            preprocess::preprocess(sources, root, &options.before, options.range, &interest)
        })
        .collect();
    let mut seen = FxHashSet::default();
    let mut raw = Vec::new();
    for (&root, unit) in roots.iter().zip(units) {
        program.with_gil.add(&unit.branches);
        let configs = unit.configs;
        let fresh = unit
            .items
            .into_iter()
            .filter(|item| seen.insert(item.raw.key));
        raw.extend(fresh.map(|item| {
            let needs_gil = !configs[item.config].is_free_threaded();
            let head = Head {
                unit: root,
                config: item.config,
                needs_gil,
            };
            (head, item.raw)
        }));
    }
    let parsed: Vec<Parsed> = raw
        .into_par_iter()
        .map(|(head, raw)| parse(&program, &options.demand, head, raw))
        .collect();
    collect(&mut program, parsed);
    program
}

/// Where the branches of functions are looked at in pairs: where a fix for a reference may be, or
/// has come.
fn interest(demand: &Demand) -> Interest {
    let words = REPLACEMENTS
        .iter()
        .flat_map(|row| [row.borrowed, row.strong]);
    Interest {
        words: words.map(str::as_bytes).collect(),
        places: match demand {
            Demand::Places(places) => places.clone(),
            Demand::Everything | Demand::Words(_) => Places::new(),
        },
    }
}

fn type_names(index: &[FileIndex]) -> TypeNames {
    let mut types = TypeNames::new();
    types.add_all(index.iter().flat_map(|file| &file.typedefs));
    types
}

/// The files that translation units begin with: those with code that no other file includes, and
/// of files that include each other in a circle the first.
fn roots(sources: &Sources<'_>, options: &Options) -> Vec<FileId> {
    let code = options.roots.iter().copied();
    let code = code.filter(|id| sources.index[id.index()].has_code());
    let mut reached = FxHashSet::default();
    let mut roots = Vec::new();
    let (first, second): (Vec<FileId>, Vec<FileId>) =
        code.partition(|id| !sources.includes.is_included(*id));
    for id in first.into_iter().chain(second) {
        if reached.contains(&id) {
            continue;
        }
        roots.push(id);
        sources.includes.reach(id, &mut reached);
    }
    roots.sort_unstable();
    roots
}

/// Where an item was met first.
#[derive(Clone, Copy)]
struct Head {
    unit: FileId,
    config: usize,
    needs_gil: bool,
}

struct Parsed {
    item: ProgramItem,
    /// The function's name and the span of the name (or of the macro use that made it).
    function: Option<(String, (FileId, ByteSpan))>,
    failure: Option<String>,
}

fn parse(program: &Program<'_>, demand: &Demand, head: Head, raw: RawItem) -> Parsed {
    let files = program.files;
    let name = |at| String::from_utf8_lossy(raw.tokens.text(files, at)).into_owned();
    let function = raw.function.map(|at| (name(at), raw.place));
    let mut failure = None;
    let mut body = None;
    if is_wanted(files, &raw, demand) {
        match lower::parse_and_lower(&raw.tokens, files, &program.types) {
            Ok(Item::Function(function)) => body = Some(Body::Function(Box::new(function))),
            Ok(Item::Declaration(decl)) => body = Some(Body::Declaration(Box::new(decl))),
            Ok(Item::Other) => {}
            // What a header declares is of use where it is understood, and no loss where it is not.
            Err(_) if !program.index[head.unit.index()].has_code() => {}
            Err(error) if raw.broken => failure = Some(format!("brackets do not balance; {error}")),
            Err(error) => failure = Some(error.to_string()),
        }
    }
    // Tokens that nobody will ask for are most of the memory.
    let tokens = if body.is_some() {
        raw.tokens
    } else {
        ItemTokens::default()
    };
    let item = ProgramItem {
        unit: head.unit,
        config: head.config,
        needs_gil: head.needs_gil,
        tokens,
        place: raw.place,
        body,
    };
    Parsed {
        item,
        function,
        failure,
    }
}

fn is_wanted(files: &FileSet, raw: &RawItem, demand: &Demand) -> bool {
    let words = match demand {
        Demand::Everything => return true,
        Demand::Places(places) => {
            let touches = |(file, text): (FileId, ByteSpan)| {
                let spans = places.get(&file).map_or(&[][..], Vec::as_slice);
                let mut spans = spans.iter();
                spans.any(|span| span.start() <= text.end() && text.start() <= span.end())
            };
            let mut expansions = raw.tokens.expansions.iter();
            return touches(raw.place)
                || expansions.any(|expansion| expansion.definition.is_some_and(touches));
        }
        Demand::Words(words) => words,
    };
    // What makes a module may stand in any function that this one calls, under any name.
    if raw
        .function
        .is_some_and(|at| raw.tokens.text(files, at).starts_with(b"PyInit"))
    {
        return true;
    }
    let count = u32::try_from(raw.tokens.tokens.len()).expect("items fit");
    (0..count).any(|at| {
        let text = raw.tokens.text(files, at);
        std::str::from_utf8(text).is_ok_and(|word| words.contains(word))
    })
}

/// Fills in the items, the gaps and the counts. Variants of a function that stand at the same
/// place count once, and only if all of them were understood.
fn collect(program: &mut Program<'_>, parsed: Vec<Parsed>) {
    let mut understood: FxHashMap<(FileId, ByteSpan, String), bool> = FxHashMap::default();
    for Parsed {
        item,
        function,
        failure,
    } in parsed
    {
        if let Some((name, (file, span))) = &function {
            let key = (*file, ByteSpan::empty(span.start()), name.clone());
            *understood.entry(key).or_insert(true) &= failure.is_none();
        }
        if let Some(reason) = failure {
            let (file, span) = item.place;
            let function = function.map(|(name, _)| name);
            program.gaps.push(Gap {
                file,
                span,
                function,
                reason,
            });
        }
        program.items.push(item);
    }
    program.gaps.sort();
    program.gaps.dedup();
    program.functions_total = understood.len();
    program.functions_understood = understood.values().filter(|ok| **ok).count();
}
