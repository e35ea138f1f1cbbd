//! A finding with its code, in the style of compilers.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{View, what_to_do};
use crate::rule::{Finding, Outcome};
use crate::source::{ByteSpan, FileId, SourceFile};

pub(super) fn finding(view: View<'_>, finding: &Finding) -> String {
    let level = match finding.outcome {
        Outcome::Safe(_) => Level::NOTE,
        Outcome::Fix(_) | Outcome::Manual(_) => Level::WARNING,
    };
    let id = format!("{} {}", finding.rule.code, finding.rule.name);
    let title = level.primary_title(finding.message.as_str()).id(id);
    let mut group = title.element(excerpt(
        view,
        finding.file,
        finding.span,
        AnnotationKind::Primary,
        None,
    ));
    for note in &finding.notes {
        let kind = AnnotationKind::Context;
        group = group.element(excerpt(view, note.file, note.span, kind, Some(&note.text)));
    }
    group = footer(group, &finding.outcome);
    let renderer = if view.styled {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    format!("{}\n\n", renderer.render(&[group]))
}

fn footer<'a>(group: Group<'a>, outcome: &Outcome) -> Group<'a> {
    let group = group.element(Level::HELP.message(what_to_do(outcome)));
    let Outcome::Fix(fix) = outcome else {
        return group;
    };
    fix.assumptions.iter().fold(group, |group, assumption| {
        group.element(Level::NOTE.message(format!("to confirm: {assumption}")))
    })
}

/// The lines of `span` as text; bytes that are no UTF-8 are replaced, so offsets are counted anew.
fn excerpt<'a>(
    view: View<'_>,
    file: FileId,
    span: ByteSpan,
    kind: AnnotationKind,
    label: Option<&'a str>,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let source = view.package.files.get(file);
    let lines = source.lines().whole_lines(span);
    let start = text_length(source, lines.start().0, span.start().0);
    let length = text_length(source, span.start().0, span.end().0);
    let text = source.text(lines).replace('\r', " ");
    Snippet::source(text)
        .line_start(source.position(lines.start()).line.0 as usize)
        .path(view.path(file))
        .annotation(kind.span(start..start + length).label(label))
}

fn text_length(source: &SourceFile, start: u32, end: u32) -> usize {
    source.text(ByteSpan::new(start, end)).len()
}
