//! The tokens of one translation unit in one configuration, before expansion: text of the files
//! in the order of their inclusion, with every directive acted on as it is met.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::combine::Choice;
use super::condition::{self, Cond, CondToken};
use super::config::Config;
use super::directive::{Branch, BranchKind, Segment};
use super::expand;
use super::gil;
use super::include::Includes;
use super::index::FileIndex;
use super::macros::MacroDef;
use super::origin::{PpToken, Spelling};
use super::twice::Places;
use crate::lex::Token;
use crate::source::{ByteSpan, FileId, FileSet, SourceFile};

/// Deepest nesting of `#include`.
const MAX_INCLUDE_DEPTH: usize = 64;

/// What a package's files have in common: their bytes, their indices, who includes whom.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The files.
    pub files: &'a FileSet,
    /// Index of each file, by [`FileId`].
    pub index: &'a [FileIndex],
    /// Where `#include`s lead.
    pub includes: &'a Includes,
}

/// A branch: the file and the index of its segment.
pub(crate) type BranchId = (FileId, u32);

/// A branch that this configuration did not take, and what would have to hold to take it.
#[derive(Debug, Clone)]
pub(crate) struct Missed {
    pub branch: BranchId,
    /// Conditions with the truth each must have, the enclosing branches' first.
    pub wanted: Vec<(Cond, bool)>,
}

impl Missed {
    /// `config`, assuming more so that it takes the branch; `None` if that contradicts it.
    pub(super) fn solved(&self, config: &Config) -> Option<Config> {
        let mut attempt = config.clone();
        let mut wanted = self.wanted.iter();
        wanted
            .all(|(cond, wanted)| cond.solve(*wanted, &mut attempt))
            .then_some(attempt)
    }
}

/// Macros by name, as of the point that has been read.
pub(crate) type MacroTable<'a> = FxHashMap<&'a [u8], &'a MacroDef>;

pub(crate) struct Stream<'a> {
    sources: Sources<'a>,
    config: &'a Config,
    frames: Vec<Frame>,
    pub(crate) macros: MacroTable<'a>,
    /// Branches whose text was read, and whether each time only a build with the GIL reads it.
    pub(crate) taken: BTreeMap<BranchId, bool>,
    /// Branches that were passed over.
    pub(crate) missed: Vec<Missed>,
    /// The ways to read each conditional inside of braces.
    pub(super) choices: Vec<Choice>,
    /// Conditions of the branches the stream stands in.
    path: gil::Path,
    once: FxHashSet<FileId>,
    /// Nesting of braces at file scope: an `#include` inside braces is text in any case.
    pub(crate) braces: u32,
    peeked: Option<PpToken>,
    /// Files of definitions that are not the package's.
    before: Vec<FileId>,
    /// Macros that got another text, each with the places of both.
    pub(super) redefined: Vec<(&'a [u8], Places)>,
}

/// A file that is being read.
struct Frame {
    file: FileId,
    segment: usize,
    token: u32,
    /// Whether text is handed out, or only directives are followed (headers without code).
    with_text: bool,
    /// For each open conditional: how many conditions it put on `path`.
    open: Vec<usize>,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(sources: Sources<'a>, config: &'a Config, roots: &[FileId]) -> Self {
        let mut stream = Self {
            sources,
            config,
            frames: Vec::new(),
            macros: MacroTable::default(),
            taken: BTreeMap::new(),
            missed: Vec::new(),
            choices: Vec::new(),
            path: gil::Path::default(),
            once: FxHashSet::default(),
            braces: 0,
            peeked: None,
            before: roots.get(1..).unwrap_or_default().to_vec(),
            redefined: Vec::new(),
        };
        // The first root is read last: it is the one the others prepare for.
        for &root in roots {
            stream.push_file(root, true);
        }
        stream
    }

    pub(crate) fn files(&self) -> &'a FileSet {
        self.sources.files
    }

    /// The next token of the text.
    pub(crate) fn next(&mut self) -> Option<PpToken> {
        self.peeked.take().or_else(|| self.read())
    }

    /// The token that [`Self::next`] will give.
    pub(crate) fn peek(&mut self) -> Option<PpToken> {
        if self.peeked.is_none() {
            self.peeked = self.read();
        }
        self.peeked
    }

    fn read(&mut self) -> Option<PpToken> {
        loop {
            let frame = self.frames.last_mut()?;
            let file = frame.file;
            let index = &self.sources.index[file.index()];
            let Some(segment) = index.segments.get(frame.segment) else {
                self.frames.pop();
                continue;
            };
            match segment {
                Segment::Text(range) => {
                    let at = frame.token.max(range.start);
                    if frame.with_text && at < range.end {
                        frame.token = at + 1;
                        return Some(to_pp(index.tokens[at as usize], file));
                    }
                    frame.segment += 1;
                }
                // #  undef Py_BEGIN_CRITICAL_SECTION      for the limited API
                // #  define Py_BEGIN_CRITICAL_SECTION(object) {
                Segment::Define(_) | Segment::Undef(_) if index.stands_in => frame.segment += 1,
                // The same stand-in, written into a file of the package.
                Segment::Undef(_) if self.path.needs_gil() => frame.segment += 1,
                Segment::Define(def) => {
                    frame.segment += 1;
                    let name = self.sources.files.get(file).slice(def.name);
                    if let Some(old) = self.macros.insert(name, def) {
                        self.note_redefined(name, old, def);
                    }
                }
                Segment::Undef(name) => {
                    frame.segment += 1;
                    self.macros
                        .remove(self.sources.files.get(file).slice(*name));
                }
                Segment::Include(range) => {
                    frame.segment += 1;
                    let operand = &index.tokens[range.start as usize..range.end as usize];
                    self.include(file, operand);
                }
                Segment::Branch(branch) => self.branch(file, branch),
            }
        }
    }

    /// Notes a macro of the package that gets another text.
    fn note_redefined(&mut self, name: &'a [u8], old: &MacroDef, new: &MacroDef) {
        let text = |def: &MacroDef| self.sources.files.get(def.file).slice(def.span);
        if !self.before.contains(&old.file) && text(old) != text(new) {
            let places = [old, new].map(|def| (def.file, def.span));
            self.redefined.push((name, places));
        }
    }

    fn push_file(&mut self, file: FileId, with_text: bool) {
        self.frames.push(Frame {
            file,
            segment: 0,
            token: 0,
            with_text,
            open: Vec::new(),
        });
    }

    fn include(&mut self, from: FileId, operand: &[Token]) {
        let Some(target) = self
            .sources
            .includes
            .resolve(self.sources.files, from, operand)
        else {
            return;
        };
        let index = &self.sources.index[target.index()];
        let depth = self.frames.len();
        // A guarded header is read once; others (X-macro tables) as often as they are named.
        if depth >= MAX_INCLUDE_DEPTH
            || ((index.guard.is_some() || index.once) && !self.once.insert(target))
            || self
                .frames
                .iter()
                .filter(|frame| frame.file == target)
                .count()
                > 8
        {
            return;
        }
        let parent_has_text = self.frames.last().is_some_and(|frame| frame.with_text);
        self.push_file(
            target,
            parent_has_text && !index.stands_in && (index.has_code || self.braces > 0),
        );
    }

    /// Acts on the branch segment the top frame stands at.
    fn branch(&mut self, file: FileId, branch: &Branch) {
        let frame = self
            .frames
            .last_mut()
            .expect("a segment is read from a frame");
        match branch.kind {
            BranchKind::If(_) | BranchKind::IfDefined(..) => self.choose(file),
            BranchKind::Endif => {
                frame.segment += 1;
                let added = frame.open.pop().unwrap_or(0);
                self.path.pop(added);
            }
            // The branch before was taken: go on behind the whole conditional.
            BranchKind::Elif(_) | BranchKind::ElifDefined(..) | BranchKind::Else => {
                frame.segment = branch.next as usize;
            }
        }
    }

    /// Chooses among the branches of the conditional whose `#if` the top frame stands at.
    fn choose(&mut self, file: FileId) {
        let index = &self.sources.index[file.index()];
        let frame = self.frames.last().expect("a segment is read from a frame");
        let (mut at, with_text) = (frame.segment, frame.with_text);
        let first = at;
        let outer = self.path.conds().len();
        let mut refused: Vec<(Cond, bool)> = Vec::new();
        let mut chosen = None;
        let mut branches = Vec::new();
        while let Some(Segment::Branch(branch)) = index.segments.get(at) {
            if branch.kind == BranchKind::Endif {
                break;
            }
            let cond = self.condition(file, &branch.kind);
            let holds = chosen.is_none() && cond.eval(self.config) != 0;
            if holds {
                let added = refused.len() + 1;
                chosen = Some((at, added));
                for (cond, truth) in refused.iter().cloned() {
                    self.path.push(cond, truth);
                }
                self.path.push(cond.clone(), true);
                self.frames.last_mut().expect("as above").open.push(added);
                let needs_gil = self.path.needs_gil();
                let known = self.taken.entry((file, to_u32(at))).or_insert(true);
                *known &= needs_gil;
            } else if (with_text && branch.has_text || branch.decides_exits)
                && index.guard != Some(to_u32(first))
            {
                let own = chosen.map_or(0, |(_, added)| added);
                self.miss((file, to_u32(at)), &refused, &cond, own);
            }
            refused.push((cond, false));
            branches.push((file, to_u32(at)));
            at = branch.next as usize;
        }
        if with_text && self.braces > 0 {
            let taken = chosen.map(|(at, _)| (file, to_u32(at)));
            self.note_choices(outer, &branches, &refused, taken);
        }
        let frame = self.frames.last_mut().expect("as above");
        match chosen {
            Some((segment, _)) => frame.segment = segment + 1,
            None => {
                // No branch holds. Stand on the #endif, which closes an empty entry.
                frame.open.push(0);
                frame.segment = at;
            }
        }
        if frame.segment == at && !matches!(index.segments.get(at), Some(Segment::Branch(_))) {
            // The conditional has no #endif; the file ends with it.
            frame.segment = index.segments.len();
        }
    }

    /// Notes a branch that was passed over; the last `own` entries of `path` belong to the branch
    /// of the same conditional that was taken.
    fn miss(&mut self, branch: BranchId, refused: &[(Cond, bool)], cond: &Cond, own: usize) {
        if self.taken.contains_key(&branch) {
            return;
        }
        let around = self.path.conds();
        let mut wanted = around[..around.len() - own].to_vec();
        wanted.extend_from_slice(refused);
        wanted.push((cond.clone(), true));
        self.missed.push(Missed { branch, wanted });
    }

    /// Notes the ways to read a conditional of `branches`, whose conditions stand in `refused`;
    /// `outer` is how many conditions are on `path` without its own.
    fn note_choices(
        &mut self,
        outer: usize,
        branches: &[BranchId],
        refused: &[(Cond, bool)],
        taken: Option<BranchId>,
    ) {
        let Some(&conditional) = branches.first() else {
            return;
        };
        let ends = branches.iter().map(|branch| Some(*branch)).chain([None]);
        for (at, branch) in ends.enumerate() {
            let mut wanted = [&self.path.conds()[..outer], &refused[..at]].concat();
            let own = refused.get(at).filter(|_| branch.is_some());
            wanted.extend(own.map(|(cond, _)| (cond.clone(), true)));
            self.choices.push(Choice {
                conditional,
                branch,
                wanted,
                is_taken: branch == taken,
            });
        }
    }

    fn condition(&self, file: FileId, kind: &BranchKind) -> Cond {
        let bytes = |span: ByteSpan| self.sources.files.get(file).slice(span);
        match kind {
            BranchKind::IfDefined(name, wanted) | BranchKind::ElifDefined(name, wanted) => {
                let known = self.defined(bytes(*name));
                let cond = condition::parse(&[known]);
                if *wanted {
                    cond
                } else {
                    Cond::Not(Box::new(cond))
                }
            }
            BranchKind::If(range) | BranchKind::Elif(range) => {
                let tokens = &self.sources.index[file.index()].tokens;
                let tokens = &tokens[range.start as usize..range.end as usize];
                condition::parse(&self.condition_tokens(file, tokens))
            }
            BranchKind::Else | BranchKind::Endif => Cond::Int(1),
        }
    }

    fn defined(&self, name: &[u8]) -> CondToken {
        if self.macros.contains_key(name) {
            CondToken::Known(1)
        } else {
            condition::unknown(name)
        }
    }

    /// The tokens of a condition: `defined X` answered, project macros expanded.
    fn condition_tokens(&self, file: FileId, tokens: &[Token]) -> Vec<CondToken> {
        let source = self.sources.files.get(file);
        let mut out = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let run = tokens[at..]
                .iter()
                .take_while(|t| source.slice(t.span) != b"defined");
            let run: Vec<PpToken> = run.map(|&token| to_pp(token, file)).collect();
            at += run.len();
            let expanded = expand::expand_slice(self.files(), &self.macros, run);
            self.answer_defined(expanded.iter().map(AsRef::as_ref), &mut out);
            if let Some(rest) = tokens.get(at..).filter(|rest| !rest.is_empty()) {
                let words = rest.iter().take(4).map(|token| source.slice(token.span));
                at += self.answer_defined(words.take(operand_len(rest, source)), &mut out);
            }
        }
        out
    }

    /// Turns words into condition tokens; gives how many words there were.
    fn answer_defined<'w>(
        &self,
        words: impl Iterator<Item = &'w [u8]>,
        out: &mut Vec<CondToken>,
    ) -> usize {
        let words: Vec<&[u8]> = words.collect();
        out.extend(condition::tokens(&words, |name| self.defined(name)));
        words.len()
    }
}

/// Number of tokens of `defined X` or `defined(X)` at the start of `tokens`.
fn operand_len(tokens: &[Token], source: &SourceFile) -> usize {
    let parens = tokens
        .get(1)
        .is_some_and(|token| source.slice(token.span) == b"(");
    (if parens { 4 } else { 2 }).min(tokens.len())
}

pub(crate) fn to_pp(token: Token, file: FileId) -> PpToken {
    PpToken {
        kind: token.kind,
        spelling: Spelling::File(file, token.span),
        expansion: None,
        from_argument: false,
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("a file has fewer segments than bytes")
}
