//! A finding with its code, in the style of compilers.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use super::{View, label};
use crate::rule::{self, Finding, Note, Outcome};
use crate::source::{ByteSpan, FileId, SourceFile};

/// `id` is what `ungil review` calls the fix.
pub(super) fn finding(view: View<'_>, finding: &Finding, id: Option<&str>) -> String {
    let level = match finding.outcome {
        Outcome::Safe(_) => Level::NOTE,
        Outcome::Fix(_) | Outcome::Manual(_) => match finding.rule.severity.level() {
            rule::Level::Error => Level::ERROR,
            rule::Level::Warning => Level::WARNING,
            rule::Level::Note => Level::NOTE,
        },
    };
    let rule = format!("{} {}", finding.rule.code, finding.rule.name);
    let title = level.primary_title(finding.message.as_str()).id(rule);
    let mut files = vec![finding.file];
    for note in &finding.notes {
        if !files.contains(&note.file) {
            files.push(note.file);
        }
    }
    let snippets = files.into_iter().map(|file| snippet(view, finding, file));
    let group = footer(title.elements(snippets), &finding.outcome, id);
    let renderer = if view.styled {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    format!("{}\n\n", renderer.render(&[group]))
}

fn footer<'a>(group: Group<'a>, outcome: &'a Outcome, id: Option<&str>) -> Group<'a> {
    let label = label(outcome);
    let fix = match outcome {
        Outcome::Fix(fix) => fix,
        Outcome::Manual(text) | Outcome::Safe(text) => {
            return group.element(Level::HELP.with_name(label).message(text));
        }
    };
    let label = id.map_or(label.to_owned(), |id| format!("{label} {id}"));
    let group = group.element(Level::HELP.with_name(label).message(&fix.title));
    let open = fix.assumptions.iter();
    let open = open.map(|assumption| ("to confirm", assumption.to_string()));
    let confirmed = fix.confirmed.iter();
    let confirmed = confirmed.map(|fact| ("confirmed in the configuration", fact.to_string()));
    open.chain(confirmed).fold(group, |group, (name, text)| {
        group.element(Level::NOTE.with_name(name).message(text))
    })
}

/// The lines of `file` that `finding` is about, with all that it says of them.
fn snippet<'a>(view: View<'_>, finding: &'a Finding, file: FileId) -> Snippet<'a, Annotation<'a>> {
    let source = view.package.files.get(file);
    let primary = (finding.file, finding.span);
    let is_label = |note: &&Note| (note.file, note.span) == primary;
    let label = finding.notes.iter().find(is_label);
    let notes = finding
        .notes
        .iter()
        .filter(|note| note.file == file && !is_label(note));
    let mut marks: Vec<(AnnotationKind, ByteSpan, Option<&str>)> = notes
        .map(|note| (AnnotationKind::Context, note.span, Some(&*note.text)))
        .collect();
    if finding.file == file {
        let text = label.map(|note| &*note.text);
        marks.insert(0, (AnnotationKind::Primary, finding.span, text));
    }
    let lines = marks
        .iter()
        .map(|mark| source.lines().whole_lines(mark.1))
        .reduce(ByteSpan::join)
        .unwrap_or(finding.span);
    let annotations = marks.into_iter().map(|(kind, span, label)| {
        let span = first_line(source, span);
        let start = text_length(source, lines.start().0, span.start().0);
        let length = text_length(source, span.start().0, span.end().0);
        kind.span(start..start + length).label(label)
    });
    Snippet::source(source.text(lines).replace('\r', " "))
        .line_start(source.position(lines.start()).line.0 as usize)
        .path(view.path(file))
        .annotations(annotations)
}

/// The part of `span` on its first line: a call over many lines is known by its beginning.
fn first_line(source: &SourceFile, span: ByteSpan) -> ByteSpan {
    let line = source.slice(span).split(|&byte| byte == b'\n').next();
    let line = line.unwrap_or_default().trim_ascii_end();
    let length = u32::try_from(line.len()).expect("a part of a file");
    ByteSpan::new(span.start().0, span.start().0 + length)
}

/// Bytes that are no UTF-8 are replaced in what is shown, so offsets are counted anew.
fn text_length(source: &SourceFile, start: u32, end: u32) -> usize {
    source.text(ByteSpan::new(start, end)).len()
}
