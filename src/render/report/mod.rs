//! One page on the whole package: how ready its modules are, what is found, what is left to do.

mod changed;
mod page;
mod sections;
mod text;

pub use text::cell;

use minijinja::Environment;
use minijinja::value::Serde;

use super::Results;
use crate::template::environment;
use page::Page;

/// The page in Markdown.
pub(super) fn markdown(results: Results<'_>) -> String {
    let mut environment = environment();
    environment.add_filter("cell", text::cell);
    fill(
        &environment,
        "report.md",
        include_str!("report.md"),
        results,
    )
}

/// The page as one file of HTML, without scripts and without anything from elsewhere.
pub(super) fn html(results: Results<'_>) -> String {
    let mut environment = environment();
    environment.add_filter("code", text::code);
    fill(
        &environment,
        "report.html",
        include_str!("report.html"),
        results,
    )
}

/// The extension of `name` decides what is escaped.
fn fill(environment: &Environment<'_>, name: &str, template: &str, results: Results<'_>) -> String {
    environment
        .render_named_str(name, template, Serde(Page::new(results)))
        .expect("the templates are part of the program and read what the page has")
}
