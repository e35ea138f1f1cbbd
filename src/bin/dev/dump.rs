//! `cargo dev dump`: what a stage made of one function.

use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use ungil::{
    capi::PyVersion,
    engine::{Config, Stage, dump},
    package::{Package, Request, find_roots, load},
    source::FileId,
};

/// Show the tokens, the tree or the flow graph of a function.
///
/// The file is read as a part of its project, with the headers that it includes. Where
/// configurations differ there is one text for each.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to show.
    stage: Stage,
    /// The function: `src/spam.c:spam_eggs`.
    #[arg(value_name = "FILE:FUNCTION")]
    function: String,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let texts = on_large_stack(|| texts_of(args))?;
    io::stdout().lock().write_all(texts.join("\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `work` where the parser has room to recurse.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let threads = rayon::ThreadPoolBuilder::new()
        .stack_size(64 << 20)
        .build()?;
    threads.install(work)
}

fn texts_of(args: &Args) -> Result<Vec<String>> {
    let (path, name) = args
        .function
        .rsplit_once(':')
        .context("a file and a function are needed: `spam.c:eggs`")?;
    let (package, file) = in_package(path)?;
    let texts = dump(&package, &Config::default(), args.stage, file, name);
    if texts.is_empty() {
        bail!("there is no function `{name}` that was understood");
    }
    Ok(texts)
}

/// The project of a file, as it is read for that file, and the file in it.
pub(crate) fn in_package(path: &str) -> Result<(Package, FileId)> {
    let path = fs::canonicalize(path).with_context(|| format!("cannot read `{path}`"))?;
    let request = Request {
        roots: find_roots(std::slice::from_ref(&path)),
        paths: vec![path.clone()],
        include_dirs: Vec::new(),
        exclude: Vec::new(),
        min_python: Some(PyVersion::new(3, 9)),
        tracked: Vec::new(),
    };
    let package = load(&request)?;
    let is_asked = |id: &FileId| package.root.join(package.files.get(*id).path()) == path;
    let file = package.files.iter().map(|(id, _)| id).find(is_asked);
    let file = file.with_context(|| format!("`{}` is not read", path.display()))?;
    Ok((package, file))
}
