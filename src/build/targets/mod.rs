//! Which sources go into which extension module, as build files say it. Nothing is run: what cannot
//! be told from the text leaves a target open.

mod cmake;
mod meson;
mod meson_tokens;
mod names;
mod python;
mod python_calls;
mod setup_file;
mod setup_py;
mod toml;
mod value;

use std::path::{Component, Path, PathBuf};

use super::{BuildFile, BuildKind, Content};

/// How much of a target its sources are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// There may be others.
    Open,
    /// All that there may be; some may be left out.
    AtMost,
    /// All, and each is compiled.
    Exact,
}

/// An extension module of a build file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The last part of its dotted name.
    pub name: String,
    /// Its sources, as paths from the root of the run, where `*` stands for anything.
    pub sources: Vec<String>,
    /// How much of it they are.
    pub extent: Extent,
    /// Whether the paths may be meant from a folder above that of the build file as well: what
    /// copies `Setup` files before they are read is not seen.
    pub is_moved: bool,
}

/// The targets that `files` name.
#[must_use]
pub fn targets(files: &[BuildFile<'_>]) -> Vec<Target> {
    let mut found = Vec::new();
    for file in files {
        match &file.content {
            Content::Python(python) => found.extend(setup_py::targets(file, python)),
            Content::Toml(tables) => found.extend(toml::targets(file, tables)),
            Content::Text if file.kind == BuildKind::Setup && may_have_threads(file) => {
                found.extend(setup_file::targets(file));
            }
            Content::Text | Content::Broken(_) => {}
        }
    }
    let of = |kind| files.iter().filter(move |file| file.kind == kind);
    found.extend(meson::targets(&of(BuildKind::Meson).collect::<Vec<_>>()));
    found.extend(cmake::targets(&of(BuildKind::CMake).collect::<Vec<_>>()));
    found
}

/// Whether the file may be for a build that runs without the GIL. For WebAssembly CPython has none,
/// and packages link all their modules into one there: `Setup.Emscripten.SDL2.in`.
fn may_have_threads(file: &BuildFile<'_>) -> bool {
    let name = file.source.path().to_string_lossy().to_lowercase();
    !["emscripten", "wasm", "wasi"]
        .iter()
        .any(|it| name.contains(it))
}

/// The targets of one statement of `file` that makes modules of these names.
fn made(file: &BuildFile<'_>, names: &value::Value, sources: &value::Value) -> Vec<Target> {
    let sources = sources.texts();
    let extent = match (sources.is_open, sources.has_choice) {
        (true, _) => Extent::Open,
        (false, true) => Extent::AtMost,
        (false, false) => Extent::Exact,
    };
    let sources: Vec<String> = sources.texts.iter().map(|it| placed(file, it)).collect();
    let names = names.texts().texts.into_iter();
    let target = |name: String| Target {
        name: last_part(&name).to_owned(),
        sources: sources.clone(),
        extent,
        is_moved: false,
    };
    names.map(target).collect()
}

/// `pkg.sub._speedups`, `pkg/sub/_speedups`
fn last_part(name: &str) -> &str {
    name.rsplit(['.', '/']).next().unwrap_or(name)
}

/// `source`, which a build file names, from the root of the run; with a `/` in front it is already.
fn placed(file: &BuildFile<'_>, source: &str) -> String {
    let source = source.replace('\\', "/");
    let (folder, source) = match source.strip_prefix('/') {
        Some(source) => (Path::new(""), source),
        None => (
            file.source.path().parent().unwrap_or(Path::new("")),
            &*source,
        ),
    };
    let mut path = PathBuf::new();
    for component in folder.join(source).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if path.file_name().is_some() => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    path.to_string_lossy().replace('\\', "/")
}

/// Whether `path` is what `pattern` means: `*` is any text, and `?` and `[…]` one letter. A `*`
/// crosses folders, as only `**` would: there may be more, never less.
#[must_use]
pub fn is_match(pattern: &str, path: &str) -> bool {
    let (pattern, path) = (pattern.as_bytes(), path.as_bytes());
    let (mut p, mut at) = (0, 0);
    let mut star = None;
    while at < path.len() {
        let next = pattern.get(p).copied();
        let width = match next {
            Some(b'[') => pattern[p..]
                .iter()
                .position(|&byte| byte == b']')
                .map(|n| n + 1),
            _ => None,
        };
        if next == Some(b'*') {
            while pattern.get(p) == Some(&b'*') {
                p += 1;
            }
            // `**/` may be no folder at all.
            let is_folders = p >= 2 && pattern[p - 2] == b'*' && pattern.get(p) == Some(&b'/');
            p += usize::from(is_folders);
            star = Some((p, at));
        } else if next == Some(path[at]) || next == Some(b'?') || width.is_some() {
            p += width.unwrap_or(1);
            at += 1;
        } else if let Some((after, from)) = star {
            (p, at) = (after, from + 1);
            star = Some((after, at));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests;
