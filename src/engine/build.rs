//! Runs the rules about build files, and proves their fixes on the result.

use super::{Config, Declared, ModuleStatus};
use crate::build::{BuildFile, Content};
use crate::edit::{EditSet, Fix, FixId, apply};
use crate::package::Package;
use crate::rule::{BuildCx, Finding, Outcome, PackageCx, Rule};
use crate::source::{FileId, SourceFile};

/// The build files of `package`, parsed.
pub(super) fn files(package: &Package) -> Vec<BuildFile<'_>> {
    let file = |(id, kind)| BuildFile::new(id, kind, package.files.get(id));
    package.build_files().map(file).collect()
}

/// Those of `files` that could not be parsed, and why.
pub(super) fn not_read(files: &[BuildFile<'_>]) -> Vec<(FileId, String)> {
    let broken = files.iter().filter_map(|file| match &file.content {
        Content::Broken(reason) => Some((file.id, reason.clone())),
        Content::Python(_) | Content::Toml(_) | Content::Text => None,
    });
    broken.collect()
}

/// What `rules` say of build files. A fix is left only where the user wants build
/// files changed and its result can be parsed; else the finding says what it would do.
pub(super) fn findings(
    files: &[BuildFile<'_>],
    cx: &PackageCx<'_>,
    config: &Config,
    rules: &[&'static Rule],
    modules: &[ModuleStatus],
) -> Vec<Finding> {
    if !config.functions.is_empty() {
        return Vec::new();
    }
    let cx = BuildCx {
        files,
        package: cx,
        is_declared: !modules.is_empty()
            && modules
                .iter()
                .all(|it| !matches!(it.declared, Declared::NeedsGil | Declared::No)),
    };
    let mut findings = Vec::new();
    for rule in rules {
        rule.check.build(&cx, &mut findings);
    }
    for finding in &mut findings {
        if let Outcome::Fix(fix) = &finding.outcome {
            let without = if !config.build_files {
                format!("{}; use `--build-files` to make this change", fix.title)
            } else if is_sound(files, fix) {
                continue;
            } else {
                format!(
                    "{} by hand (the result of the automatic change does not parse)",
                    fix.title
                )
            };
            finding.outcome = Outcome::Manual(without);
        }
    }
    findings
}

/// Whether every file that `fix` changes can still be parsed.
fn is_sound(files: &[BuildFile<'_>], fix: &Fix) -> bool {
    let (edits, conflicts) = EditSet::merge([(FixId(0), fix)]);
    let parses = |file: &BuildFile<'_>| {
        let bytes = apply(file.source.bytes(), edits.edits(file.id)).bytes;
        let result = SourceFile::new(file.source.path().to_path_buf(), bytes);
        let result = BuildFile::new(file.id, file.kind, &result);
        !matches!(result.content, Content::Broken(_))
    };
    let changed = |file: &&BuildFile<'_>| edits.edits(file.id).next().is_some();
    conflicts.is_empty() && files.iter().filter(changed).all(parses)
}
