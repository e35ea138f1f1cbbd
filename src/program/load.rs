//! Files to items: preprocess every translation unit, keep each item once, parse what is asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::kept::{Entry, Ground, Kept, KeptItem, KeptUnit, Known};
use super::{Body, Gap, Program, ProgramItem, Unread, WithGil, lasting};
use crate::ast::Item;
use crate::capi::REPLACEMENTS;
use crate::facts::{Functions, declared};
use crate::lower;
use crate::parse::TypeNames;
use crate::preprocess::{
    self, FileIndex, Includes, Interest, ItemTokens, RawItem, Sources, Unit, UnitItem, VersionRange,
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
    /// Words of text that nobody analyses.
    pub unread: Arc<Unread>,
    /// What was read in an earlier run over nearly the same files.
    pub known: Option<Arc<Kept>>,
}

/// Reads the package.
#[must_use]
pub fn load<'a>(
    files: &'a FileSet,
    index: &'a [FileIndex],
    includes: &'a Includes,
    options: &Options,
) -> Program<'a> {
    let mut program = empty(files, index, includes, options);
    let is_whole = matches!(options.demand, Demand::Everything);
    let ground = Ground {
        types: program.types.clone(),
        range: options.range,
        before: options.before.clone(),
    };
    let kept = options.known.as_deref().filter(|_| is_whole);
    let known = kept.and_then(|kept| Known::new(kept, files, includes, &ground));
    let units = units(&program, options, known.as_ref());
    let mut seen = FxHashSet::default();
    let mut fresh = Vec::new();
    let mut whole = FxHashMap::default();
    for (root, (unit, raw)) in units {
        add_unit(&mut program, &unit);
        let mut raw = raw.into_iter();
        for &entry in &unit.entries {
            let raw = raw.next();
            if seen.insert(entry.key) {
                fresh.push((root, entry, raw));
            }
        }
        whole.insert(root, unit);
    }
    let parsed = fresh.into_par_iter().filter_map(|(root, entry, raw)| {
        let item = match raw {
            Some(raw) => parse(&program, &options.demand, raw),
            None => known.as_ref()?.item(entry).clone(),
        };
        Some(Parsed { root, entry, item })
    });
    let parsed: Vec<Parsed> = parsed.collect();
    if is_whole {
        let items = parsed.iter().map(|it| (it.entry.key, it.item.clone()));
        program.kept = Some(Arc::new(Kept {
            files: files.clone(),
            ground,
            units: whole,
            items: items.collect(),
        }));
    }
    collect(&mut program, parsed);
    program
}

/// The program before its items are known.
fn empty<'a>(
    files: &'a FileSet,
    index: &'a [FileIndex],
    includes: &'a Includes,
    options: &Options,
) -> Program<'a> {
    let mut facts = declared(files, index);
    facts.amend_all(&options.facts);
    Program {
        files,
        index,
        includes,
        types: type_names(index),
        facts,
        items: Vec::new(),
        gaps: Vec::new(),
        unread: Arc::clone(&options.unread),
        with_gil: WithGil::default(),
        twice: Vec::new(),
        kept: None,
        functions_total: 0,
        functions_understood: 0,
        named: OnceLock::new(),
        left_behind: lasting::Known::default(),
    }
}

fn add_unit(program: &mut Program<'_>, unit: &KeptUnit) {
    program.with_gil.add(&unit.branches);
    program.twice.extend(unit.twice.iter().cloned());
}

/// The translation units by their roots: those that are known, and the others read.
fn units(
    program: &Program<'_>,
    options: &Options,
    known: Option<&Known<'_>>,
) -> Vec<(FileId, ReadUnit)> {
    let sources = Sources {
        files: program.files,
        index: program.index,
        includes: program.includes,
    };
    let mut roots = roots(&sources, options);
    if options.headers {
        let mut headers = options.roots.clone();
        headers.retain(|id| !program.index[id.index()].has_code());
        roots.extend(headers);
    }
    let interest = interest(&options.demand);
    let read = |root| {
        let (before, range) = (&options.before, options.range);
        read_unit(preprocess::preprocess(
            sources, root, before, range, &interest,
        ))
    };
    let units = roots.par_iter().map(|&root| {
        let unit = known.and_then(|known| known.unit(root));
        let unit = unit.map(|unit| (Arc::clone(unit), Vec::new()));
        (root, unit.unwrap_or_else(|| read(root)))
    });
    units.collect()
}

/// A translation unit, and the items of its entries unless they are known.
type ReadUnit = (Arc<KeptUnit>, Vec<RawItem>);

fn read_unit(unit: Unit) -> ReadUnit {
    let Unit {
        items,
        configs,
        branches,
        twice,
        ..
    } = unit;
    let entry = |item: &UnitItem| Entry {
        key: item.raw.key,
        config: item.config,
        needs_gil: !configs[item.config].is_free_threaded(),
    };
    let unit = KeptUnit {
        entries: items.iter().map(entry).collect(),
        branches,
        twice,
    };
    (
        Arc::new(unit),
        items.into_iter().map(|item| item.raw).collect(),
    )
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

/// An item, and where it was met first.
struct Parsed {
    root: FileId,
    entry: Entry,
    item: KeptItem,
}

fn parse(program: &Program<'_>, demand: &Demand, raw: RawItem) -> KeptItem {
    let files = program.files;
    let name = |at| String::from_utf8_lossy(raw.tokens.text(files, at)).into_owned();
    let function = raw.function.map(name);
    let mut error = None;
    let mut body = None;
    if is_wanted(files, &raw, demand) {
        match lower::parse_and_lower(&raw.tokens, files, &program.types) {
            Ok(Item::Function(function)) => body = Some(Body::Function(Arc::new(function))),
            Ok(Item::Declaration(decl)) => body = Some(Body::Declaration(Arc::new(decl))),
            Ok(Item::Other) => {}
            Err(why) if raw.broken => error = Some(format!("brackets do not balance; {why}")),
            Err(why) => error = Some(why.to_string()),
        }
    }
    // Tokens that nobody will ask for are most of the memory.
    let tokens = if body.is_some() {
        raw.tokens
    } else {
        ItemTokens::default()
    };
    KeptItem {
        tokens: Arc::new(tokens),
        place: raw.place,
        body,
        function,
        error,
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
    for Parsed { root, entry, item } in parsed {
        // What a header declares is of use where it is understood, and no loss where it is not.
        let error = item
            .error
            .filter(|_| program.index[root.index()].has_code());
        let (file, span) = item.place;
        if let Some(name) = &item.function {
            let key = (file, ByteSpan::empty(span.start()), name.clone());
            *understood.entry(key).or_insert(true) &= error.is_none();
        }
        if let Some(reason) = error {
            program.gaps.push(Gap {
                file,
                span,
                function: item.function,
                reason,
            });
        }
        program.items.push(ProgramItem {
            unit: root,
            config: entry.config,
            needs_gil: entry.needs_gil,
            tokens: item.tokens,
            place: item.place,
            body: item.body,
        });
    }
    program.gaps.sort();
    program.gaps.dedup();
    program.functions_total = understood.len();
    program.functions_understood = understood.values().filter(|ok| **ok).count();
}
