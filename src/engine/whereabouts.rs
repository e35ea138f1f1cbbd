//! What the front end made of one line, for those who ask why there is nothing to say of it.

use super::Config;
use super::workspace::Workspace;
use crate::ast::StmtKind;
use crate::package::Package;
use crate::preprocess::{ItemTokens, Spelling};
use crate::program::{Body, Demand, Program, ProgramItem};
use crate::source::{ByteOffset, ByteSpan, FileId, LineNumber, SourceFile};

/// What became of one line of an analysed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whereabouts {
    /// The functions that hold the line, by first line and name: more than one where
    /// configurations differ.
    pub functions: Vec<FunctionLines>,
    /// First and last line of the simple statement on the line; the line itself if there is none.
    pub statement: (LineNumber, LineNumber),
    /// What kind of line it is.
    pub line: LineKind,
}

/// A function and the lines it takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionLines {
    /// First line.
    pub first: LineNumber,
    /// Its name.
    pub name: String,
    /// Last line.
    pub last: LineNumber,
    /// Why it was not understood.
    pub failure: Option<String>,
}

/// What stands on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Code of some configuration.
    Code,
    /// Code of no configuration that is looked at: `#if 0`, a branch for Python 2.
    Dead,
    /// A preprocessor directive.
    Directive,
    /// Blanks and comments.
    Blank,
}

/// Looks up `line` of `file`, which is analysed.
///
/// Needs threads with 64 MiB of stack: the parser recurses.
#[must_use]
pub fn whereabouts(
    package: &Package,
    config: &Config,
    file: FileId,
    line: LineNumber,
) -> Whereabouts {
    let workspace = Workspace::new(package, config);
    let program = workspace.load(Demand::Everything, false);
    let source = package.files.get(file);
    let span = source.lines().span(line);
    let around: Vec<&ProgramItem> = program
        .items
        .iter()
        .filter(|item| item.place.0 == file && touches(item.place.1, span))
        .collect();
    let lines = |span| lines_of(source, span);
    let statement = around
        .iter()
        .flat_map(|item| simple_statements(item))
        .filter(|&(of, statement)| of == file && touches(statement, span))
        .min_by_key(|(_, statement)| statement.len());
    Whereabouts {
        functions: functions(&program, &around, file, span),
        statement: statement.map_or((line, line), |(_, statement)| lines(statement)),
        line: kind(&program, &around, source, file, span),
    }
}

/// First and last line of `span`, of which an empty one has a single line.
#[must_use]
pub fn lines_of(file: &SourceFile, span: ByteSpan) -> (LineNumber, LineNumber) {
    let first = file.position(span.start()).line;
    let last_byte = ByteOffset(span.end().0.saturating_sub(1).max(span.start().0));
    (first, file.position(last_byte).line)
}

fn touches(a: ByteSpan, b: ByteSpan) -> bool {
    a.start() < b.end() && b.start() < a.end()
}

fn functions(
    program: &Program<'_>,
    around: &[&ProgramItem],
    file: FileId,
    span: ByteSpan,
) -> Vec<FunctionLines> {
    let source = program.files.get(file);
    let understood = around.iter().filter_map(|item| match &item.body {
        Some(Body::Function(function)) => Some((function.name.clone(), item.place.1, None)),
        Some(Body::Declaration(_)) | None => None,
    });
    let gaps = program
        .gaps
        .iter()
        .filter(|gap| gap.file == file && touches(gap.span, span));
    let lost = gaps.filter_map(|gap| {
        let name = gap.function.clone()?;
        Some((name, gap.span, Some(gap.reason.clone())))
    });
    // Those that were not understood come first: they are kept where a variant was understood.
    let mut found: Vec<FunctionLines> = Vec::new();
    for (name, span, failure) in lost.chain(understood) {
        let (first, last) = lines_of(source, span);
        match found
            .iter_mut()
            .find(|known| (known.first, &known.name) == (first, &name))
        {
            Some(known) => known.last = known.last.max(last),
            None => found.push(FunctionLines {
                first,
                name,
                last,
                failure,
            }),
        }
    }
    found.sort();
    found
}

/// The spans of statements that hold no other.
fn simple_statements(item: &ProgramItem) -> Vec<(FileId, ByteSpan)> {
    let Some(Body::Function(function)) = &item.body else {
        return Vec::new();
    };
    let simple = function.tree.stmts.iter().filter(|stmt| {
        matches!(
            stmt.kind,
            StmtKind::Expr(_) | StmtKind::Decl(_) | StmtKind::Return(_) | StmtKind::Goto(_)
        )
    });
    simple
        .filter_map(|stmt| item.tokens.file_span(stmt.range))
        .collect()
}

fn kind(
    program: &Program<'_>,
    around: &[&ProgramItem],
    source: &SourceFile,
    file: FileId,
    span: ByteSpan,
) -> LineKind {
    let index = &program.index[file.index()];
    let tokens = index.tokens();
    let on_line = tokens.iter().position(|token| touches(token.span, span));
    let Some(at) = on_line else {
        return LineKind::Blank;
    };
    let begin = tokens[..=at].iter().rposition(|token| token.first_on_line);
    if begin.is_some_and(|begin| source.slice(tokens[begin].span) == b"#") {
        return LineKind::Directive;
    }
    let is_read = |item: &&ProgramItem| match &item.body {
        // Tokens are kept of what was parsed only.
        None => true,
        Some(_) => is_spelled(&item.tokens, file, span),
    };
    if around.iter().any(is_read) {
        LineKind::Code
    } else {
        LineKind::Dead
    }
}

/// Whether a token stands in `span`, or in a macro use there.
fn is_spelled(tokens: &ItemTokens, file: FileId, span: ByteSpan) -> bool {
    let written = tokens.tokens.iter().any(|token| match token.spelling {
        Spelling::File(of, at) => of == file && touches(at, span),
        Spelling::Synthetic(_) => false,
    });
    written
        || tokens
            .expansions
            .iter()
            .any(|used| used.call.0 == file && touches(used.call.1, span))
}
