//! UG802: cibuildwheel settings that build no wheels for free-threaded Python.

use std::ops::Range;

use crate::build::{BuildFile, BuildKind, Content, Toml, Word};
use crate::declare_rule;
use crate::edit::{Confidence, Fix};
use crate::rule::{BuildCx, Finding, Outcome};

use super::finding;

/// A version of cibuildwheel.
type Version = (u32, u32, u32);

/// The first that builds `cp313t`, with the option `free-threaded-support`.
const WITH_OPTION: Version = (2, 18, 1);
/// The first with the group `cpython-freethreading` of `enable`.
const WITH_GROUP: Version = (2, 22, 0);
/// The first without the option.
const WITHOUT_OPTION: Version = (3, 0, 0);
/// The first that builds `cp314t` unasked.
const BY_DEFAULT: Version = (3, 1, 0);
/// The first that takes the group for an error.
const WITHOUT_GROUP: Version = (4, 0, 0);

/// Images that were last built before Python 3.13.
const OLD_IMAGES: &[&str] = &["manylinux1", "manylinux2010", "manylinux_2_24"];

const SECTION: &[&str] = &["tool", "cibuildwheel"];

declare_rule! {
    /// ## What it does
    /// Finds settings of cibuildwheel, in `pyproject.toml` and in the workflows of GitHub Actions,
    /// under which no wheel for free-threaded Python is built:
    ///
    /// - a pinned version before 2.18.1, which cannot build them;
    /// - `free-threaded-support`, which 3.0 removed;
    /// - the group `cpython-freethreading` of `enable`, which 2.22 to 3.0 need and 4.0 rejects;
    /// - `build` without, or `skip` with, a pattern for `cp314t`;
    /// - manylinux images that are too old for Python 3.13: `manylinux1`, `manylinux2010`,
    ///   `manylinux_2_24`.
    ///
    /// ## Why
    /// Users of free-threaded Python get no wheel, or a newer cibuildwheel stops with an error.
    ///
    /// ## Example
    /// Before:
    ///
    ///     [tool.cibuildwheel]
    ///     free-threaded-support = true
    ///     build = "cp310-* cp313-*"
    ///
    /// After, for cibuildwheel 3.1 or later:
    ///
    ///     [tool.cibuildwheel]
    ///     build = "cp310-* cp313-* cp314t-*"
    ///
    /// ## Confidence
    /// Review for the removal of an option: if no workflow pins the version of cibuildwheel, you must
    /// confirm that it is 3.1 or later. The other findings have no fix: the maintainers decide which
    /// wheels they publish.
    ///
    /// ## References
    /// - <https://cibuildwheel.pypa.io/en/stable/options/#enable>
    pub static CIBUILDWHEEL_OPTIONS {
        code: "UG802",
        name: "no-free-threaded-wheels",
        summary: "cibuildwheel builds no wheels for free-threaded Python",
        severity: Packaging,
        since: "0.1.0",
        best: Some(Confidence::Review),
        build: check,
    }
}

/// What the settings of a package ask for, wherever they do.
struct Asked {
    /// The option `free-threaded-support`.
    option: bool,
    /// The group `cpython-freethreading`.
    group: bool,
}

impl Asked {
    /// Why this version builds no wheels for free-threaded Python, if it does not.
    fn lacks(&self, version: Version) -> Option<&'static str> {
        if version < WITH_OPTION {
            return Some(
                "this version of cibuildwheel does not support free-threaded Python; no wheels \
                 are built for it",
            );
        }
        let asks = self.group && version >= WITH_GROUP || self.option && version < WITHOUT_OPTION;
        let is_asked_for = version < BY_DEFAULT && !asks;
        is_asked_for.then_some(
            "this version of cibuildwheel builds for free-threaded Python only if asked; no \
             wheels are built for it",
        )
    }
}

fn check(cx: &BuildCx<'_>, findings: &mut Vec<Finding>) {
    let pins: Vec<Version> = cx.files.iter().flat_map(pins).map(|(pin, _)| pin).collect();
    let holds = |text: &str| {
        let mut files = cx.files.iter();
        files.any(|file| memchr::memmem::find(file.source.bytes(), text.as_bytes()).is_some())
    };
    let asked = Asked {
        option: holds("free-threaded-support") || holds("CIBW_FREE_THREADED_SUPPORT"),
        group: holds("cpython-freethreading"),
    };
    for file in cx.files {
        match (&file.content, file.kind) {
            (Content::Toml(toml), _) if toml.table(SECTION).is_some() => {
                findings.extend(in_toml(file, toml, &pins));
            }
            (_, BuildKind::Workflow) => findings.extend(in_workflow(file, &asked)),
            _ => {}
        }
    }
}

fn manual(file: &BuildFile<'_>, at: Range<usize>, message: &str, advice: &str) -> Finding {
    let outcome = Outcome::Manual(advice.to_owned());
    finding(&CIBUILDWHEEL_OPTIONS, file, at, message, outcome)
}

fn in_toml(file: &BuildFile<'_>, toml: &Toml, pins: &[Version]) -> Vec<Finding> {
    let path = |key: &'static str| [SECTION, &[key][..]].concat();
    let all_before = |version| !pins.is_empty() && pins.iter().all(|pin| *pin < version);
    let mut found = Vec::new();
    if let Some(at) = toml.place(&path("free-threaded-support"))
        && !all_before(WITHOUT_OPTION)
    {
        found.push(old_option(file, at, pins));
    }
    let groups = toml.strings(&path("enable"));
    let group = groups
        .into_iter()
        .find(|(group, _)| *group == "cpython-freethreading");
    if let Some((_, at)) = group.filter(|_| !all_before(WITHOUT_GROUP)) {
        found.push(old_group(file, at));
    }
    let selectors = |key: &'static str| -> Vec<String> {
        let value = toml.get(&path(key));
        let text = value.and_then(toml_edit::Item::as_str).unwrap_or_default();
        let listed = toml.strings(&path(key)).into_iter().map(|(text, _)| text);
        let all = text.split_whitespace().chain(listed);
        all.map(str::to_owned).collect()
    };
    if let Some(at) = toml.place(&path("build")) {
        found.extend(without_builds(file, at, &selectors("build")));
    }
    if let Some(at) = toml.place(&path("skip")) {
        found.extend(with_skips(file, at, &selectors("skip")));
    }
    let options = toml
        .table(SECTION)
        .into_iter()
        .flat_map(|table| table.iter());
    for (_, value) in options.filter(|(key, _)| key.starts_with("manylinux-")) {
        if let (Some(image), Some(at)) = (value.as_str(), value.span()) {
            found.extend(old_image(file, at, image));
        }
    }
    found
}

fn old_group(file: &BuildFile<'_>, at: Range<usize>) -> Finding {
    let message = "cibuildwheel 4.0 rejects the group `cpython-freethreading`; the build fails";
    let advice = "use cibuildwheel 3.1 or later, which builds `cp314t` without this group, and \
                  remove it";
    manual(file, at, message, advice)
}

/// The line of the option goes.
fn old_option(file: &BuildFile<'_>, at: Range<usize>, pins: &[Version]) -> Finding {
    let mut fix = Fix::safe("remove the option");
    let lines = file.source.lines().whole_lines(file.span(at.clone()));
    fix.replace(file.id, lines, "");
    if pins.is_empty() || pins.iter().any(|pin| *pin < BY_DEFAULT) {
        fix.assume("wheels are built with cibuildwheel 3.1 or later");
    } else {
        fix.assume("no wheel for free-threaded Python 3.13 is needed");
    }
    let message = "cibuildwheel 3.0 removed the option `free-threaded-support`; it has no effect";
    finding(&CIBUILDWHEEL_OPTIONS, file, at, message, Outcome::Fix(fix))
}

fn in_workflow(file: &BuildFile<'_>, asked: &Asked) -> Vec<Finding> {
    let mut found = Vec::new();
    let pinned = pins(file).into_iter();
    let pinned: Vec<Version> = pinned
        .map(|(pin, at)| {
            let advice = "use cibuildwheel 3.1 or later, which builds `cp314t` by default";
            let message = asked.lacks(pin);
            found.extend(message.map(|message| manual(file, at, message, advice)));
            pin
        })
        .collect();
    let words = file.words();
    let all_before = |version| !pinned.is_empty() && pinned.iter().all(|pin| *pin < version);
    for word in &words {
        let at = word.range.clone();
        let value = word
            .rest
            .trim_start_matches([':', '='])
            .trim()
            .trim_matches(['"', '\'']);
        match word.text {
            "CIBW_FREE_THREADED_SUPPORT" if !all_before(WITHOUT_OPTION) => found.push(manual(
                file,
                at,
                "cibuildwheel 3.0 removed `CIBW_FREE_THREADED_SUPPORT`; it has no effect",
                "use cibuildwheel 3.1 or later, which builds `cp314t` without this variable, and \
                 remove it",
            )),
            "CIBW_ENABLE"
                if value.contains("cpython-freethreading") && !all_before(WITHOUT_GROUP) =>
            {
                found.push(old_group(file, at));
            }
            "CIBW_SKIP" => found.extend(with_skips(file, at, &split(value))),
            name if name.starts_with("CIBW_MANYLINUX_") => {
                found.extend(old_image(file, at, value));
            }
            _ => {}
        }
    }
    found.extend(workflow_builds(file, &words));
    found
}

/// Jobs that share the work between them are one: one that builds for free-threaded Python, or a
/// value that is computed, is enough.
fn workflow_builds(file: &BuildFile<'_>, words: &[Word<'_>]) -> Option<Finding> {
    let builds: Vec<&Word<'_>> = words
        .iter()
        .filter(|word| word.text == "CIBW_BUILD")
        .collect();
    let value = |word: &&Word<'_>| {
        word.rest
            .trim_start_matches([':', '='])
            .trim()
            .trim_matches(['"', '\''])
            .to_owned()
    };
    let values: Vec<String> = builds.iter().map(value).collect();
    if values
        .iter()
        .any(|value| value.contains("${{") || value.len() < 3)
    {
        return None;
    }
    let all: Vec<String> = values.iter().flat_map(|value| split(value)).collect();
    without_builds(file, builds.first()?.range.clone(), &all)
}

fn split(value: &str) -> Vec<String> {
    value.split_whitespace().map(str::to_owned).collect()
}

fn without_builds(file: &BuildFile<'_>, at: Range<usize>, patterns: &[String]) -> Option<Finding> {
    let fits = |pattern: &String| {
        let tag = pattern.split('-').next().unwrap_or_default();
        tag.ends_with(['*', 't', '}'])
    };
    let message = "none of these patterns matches free-threaded Python; no wheels are built for it";
    let advice = "add `cp314t-*`, which cibuildwheel supports since 3.1";
    let is_lost = !patterns.is_empty() && !patterns.iter().any(fits);
    is_lost.then(|| manual(file, at, message, advice))
}

fn with_skips(file: &BuildFile<'_>, at: Range<usize>, patterns: &[String]) -> Option<Finding> {
    let is_wide = |pattern: &String| {
        let tag = pattern.split('-').next().unwrap_or_default();
        let python = tag.trim_end_matches('t').trim_start_matches("cp");
        tag.ends_with('t') && matches!(python, "*" | "3*" | "3?" | "31*" | "31?" | "314" | "3??")
    };
    let message = "this pattern skips free-threaded Python; no wheels are built for it";
    let advice = "remove the pattern when the package is ported";
    let skips = patterns.iter().any(is_wide);
    skips.then(|| manual(file, at, message, advice))
}

fn old_image(file: &BuildFile<'_>, at: Range<usize>, image: &str) -> Option<Finding> {
    let message = format!(
        "the image `{image}` does not contain Python 3.13; wheels for free-threaded Python cannot \
         be built in it"
    );
    let advice = "use `manylinux2014`, `manylinux_2_28` or a later image for free-threaded Python";
    OLD_IMAGES
        .contains(&image)
        .then(|| manual(file, at, &message, advice))
}

/// The versions of cibuildwheel that a workflow pins: `pypa/cibuildwheel@v2.11.4`,
/// `cibuildwheel==2.16`.
fn pins(file: &BuildFile<'_>) -> Vec<(Version, Range<usize>)> {
    if file.kind != BuildKind::Workflow {
        return Vec::new();
    }
    let words = file.words().into_iter();
    let tools = words.filter(|word| word.text == "cibuildwheel");
    tools
        .filter_map(|word| {
            let pin = word
                .rest
                .strip_prefix("@v")
                .or_else(|| word.rest.strip_prefix("=="))?;
            Some((version(pin)?, word.range))
        })
        .collect()
}

/// The three numbers that `text` begins with; what is missing is 0.
pub(super) fn version(text: &str) -> Option<Version> {
    let end = text.trim().find(|c: char| !c.is_ascii_digit() && c != '.');
    let text = text.trim();
    let text = &text[..end.unwrap_or(text.len())];
    let mut numbers = text.split('.').map(|part| part.parse().ok());
    let major = numbers.next()??;
    let mut next = || numbers.next().flatten().unwrap_or(0);
    Some((major, next(), next()))
}
