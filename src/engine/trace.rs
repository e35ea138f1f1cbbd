//! How the lookups on one line were decided, for those who work on the rules.

use super::workspace::Workspace;
use super::{Config, analyze, examine};
use crate::ast::ExprId;
use crate::edit::Confidence;
use crate::package::Package;
use crate::rule::{CallSite, Finding, ItemId, Outcome, PackageCx};
use crate::source::{FileId, LineNumber};
use crate::strong;

/// One text for each lookup on `line` of `file`, then what the run says of the line in the end.
///
/// Needs threads with 64 MiB of stack: the parser recurses.
#[must_use]
pub fn trace(package: &Package, config: &Config, file: FileId, line: LineNumber) -> Vec<String> {
    let workspace = Workspace::new(package, config);
    let mut texts = examine(config, &workspace, |cx, _| lookups(cx, file, line));
    let analysis = analyze(package, config);
    let is_here = |it: &&Finding| {
        let at = package.files.get(it.file).position(it.span.start()).line;
        (it.file, at) == (file, line)
    };
    let here = analysis.findings.iter().filter(is_here);
    texts.extend(here.map(conclusion));
    texts
}

fn lookups(cx: &PackageCx<'_>, file: FileId, line: LineNumber) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let items = (0u32..).zip(&cx.program.items).map(|(at, _)| ItemId(at));
    for (item, function) in items.filter_map(|item| Some((item, cx.function(item)?))) {
        let exprs = (0u32..).zip(&function.tree.exprs).map(|(at, _)| ExprId(at));
        for site in exprs.map(|expr| CallSite { item, expr }) {
            let Some(place) = cx.place(site.item, site.expr) else {
                continue;
            };
            let (at, span) = place.written_at();
            if (at, cx.file(at).position(span.start()).line) != (file, line) {
                continue;
            }
            let Some(text) = strong::trace(cx, site) else {
                continue;
            };
            let text = format!(
                "`{}` in `{}`\n{text}",
                cx.file(at).text(span),
                function.name
            );
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}

/// What is said of the place after everything was joined and proven.
fn conclusion(finding: &Finding) -> String {
    let rule = finding.rule;
    let head = format!("{} {}: {}\n", rule.code, rule.name, finding.message);
    head + &match &finding.outcome {
        Outcome::Safe(why) => format!("decision: safe as is: {why}\n"),
        Outcome::Manual(why) => format!("decision: by hand: {why}\n"),
        Outcome::Fix(fix) => {
            let confirm = fix.assumptions.iter();
            let confirm = confirm.map(|it| format!("to confirm: {it}\n"));
            let confidence = match fix.confidence {
                Confidence::Safe => "safe",
                Confidence::Review => "review",
            };
            format!("decision: {confidence} fix: {}\n", fix.title) + &confirm.collect::<String>()
        }
    }
}
