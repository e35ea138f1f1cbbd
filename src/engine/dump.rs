//! What a stage made of a function, as text, for those who work on the stages.

use std::fmt::Write as _;

use super::Config;
use super::workspace::Workspace;
use crate::ast::{self, Function, Item};
use crate::package::Package;
use crate::preprocess::{ItemTokens, Spelling};
use crate::program::{Body, Demand, Program, ProgramItem};
use crate::source::FileId;
use crate::{capi, cfg};

/// A stage that has a text form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Stage {
    /// The tokens after expansion, by line, each with the macros that made it.
    Tokens,
    /// The tree.
    Tree,
    /// The flow graph.
    Cfg,
}

/// What `stage` made of the function `name` of `file`: one text for each variant that the
/// configurations have of it, none if there is no such function or it was not understood.
///
/// Needs threads with 64 MiB of stack: the parser recurses.
#[must_use]
pub fn dump(
    package: &Package,
    config: &Config,
    stage: Stage,
    file: FileId,
    name: &str,
) -> Vec<String> {
    let workspace = Workspace::new(package, config);
    let program = workspace.load(Demand::Words([name.to_owned()].into_iter().collect()), true);
    let mut texts: Vec<String> = Vec::new();
    for item in program.items.iter().filter(|item| item.place.0 == file) {
        if let Some(Body::Function(function)) = &item.body
            && function.name == name
        {
            let text = of_function(&program, stage, item, function);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    texts
}

fn of_function(
    program: &Program<'_>,
    stage: Stage,
    item: &ProgramItem,
    function: &Function,
) -> String {
    match stage {
        Stage::Tokens => tokens(program, &item.tokens),
        Stage::Tree => ast::dump(&Item::Function(function.clone())),
        Stage::Cfg => cfg::dump(&cfg::build(function, &capi::never_returns), function),
    }
}

/// One line for each line of the file that gives tokens; what a macro made stands in brackets
/// behind its name.
fn tokens(program: &Program<'_>, tokens: &ItemTokens) -> String {
    let mut text = String::new();
    let (mut line, mut macros) = (None, Vec::new());
    for (at, token) in (0u32..).zip(&tokens.tokens) {
        let around = expansions(tokens, at);
        let shared = macros.iter().zip(&around).take_while(|(a, b)| a == b);
        let shared = shared.count();
        text += &"]".repeat(macros.len() - shared);
        let written = match (token.expansion, token.spelling) {
            (Some(id), _) => Some(tokens.root(id).call),
            (None, Spelling::File(file, span)) => Some((file, span)),
            (None, Spelling::Synthetic(_)) => None,
        };
        let number =
            written.map(|(file, span)| program.files.get(file).position(span.start()).line.0);
        if shared == 0 && number != line {
            line = number;
            let end = if text.is_empty() { "" } else { "\n" };
            write!(text, "{end}{}:", number.unwrap_or_default()).expect("a string takes all");
        }
        for &id in &around[shared..] {
            write!(text, " {}[", tokens.expansions[id].name).expect("a string takes all");
        }
        text.push(' ');
        text += &String::from_utf8_lossy(tokens.text(program.files, at));
        macros = around;
    }
    text + &"]".repeat(macros.len()) + "\n"
}

/// The expansions that made token `at`, the outermost first, by their index.
fn expansions(tokens: &ItemTokens, at: u32) -> Vec<usize> {
    let mut around = Vec::new();
    let mut next = tokens.tokens[at as usize].expansion;
    while let Some(id) = next {
        around.push(id.0 as usize);
        next = tokens.expansions[id.0 as usize].parent;
    }
    around.reverse();
    around
}
