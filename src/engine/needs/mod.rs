//! Serves what fixes need beside their own edits: the compatibility header and its `#include`.

mod new_file;
mod packing;
mod place;
mod stock;
mod supply;

use std::path::Path;

use super::installed::is_installed;
use super::workspace::Workspace;
use super::{Compat, Config, limited};
use crate::compat::Target;
use crate::edit::{Fix, Need};
use crate::package::Package;
use crate::rule::{Finding, Outcome};
use crate::source::{ByteOffset, ByteSpan, FileId};
pub use new_file::NewFile;
use packing::Packing;
use place::Placer;
use stock::Stock;
use supply::Supply;

/// A header that serves fixes.
enum Header {
    /// A `pythoncapi_compat.h` of the package: never edited.
    Full(FileId),
    /// One that files of the package include, and that is not there.
    Unseen {
        /// What they name.
        operand: String,
        /// These files.
        by: Vec<FileId>,
    },
    /// A header that an earlier run wrote, and its new text.
    Own(FileId, String),
    /// A header to be written.
    New(NewFile),
}

impl Header {
    fn path<'h>(&'h self, workspace: &'h Workspace) -> &'h Path {
        match self {
            Self::Full(id) | Self::Own(id, _) => workspace.files.get(*id).path(),
            Self::Unseen { operand, .. } => Path::new(operand),
            Self::New(file) => &file.path,
        }
    }
}

/// A function that a file uses, which not all supported Pythons have.
type Wanted = (FileId, &'static str);

/// Adds to each fix the edits that its needs ask for; gives the files to be written.
pub(super) fn serve(
    package: &Package,
    config: &Config,
    workspace: &Workspace,
    findings: &mut [Finding],
) -> Vec<NewFile> {
    if config.compat == Compat::None {
        return Vec::new();
    }
    // `--compat header` serves Pythons older than those the package says it supports.
    let oldest = match config.compat {
        Compat::Header => 0,
        Compat::Auto | Compat::None => workspace.range.min,
    };
    let target = limited::target(package, workspace, oldest);
    let fixes = findings.iter().filter_map(fix_of);
    let forms = fixes.flat_map(|fix| std::iter::once(fix).chain(&fix.alternatives));
    let wanted = forms.flat_map(|fix| needs(fix, target)).collect();
    let stock = Stock {
        package,
        workspace,
        config,
        limited: target.limited,
    };
    let supply = Supply::new(&stock, &wanted);
    let packing = Packing::new(package);
    for finding in findings.iter_mut() {
        let Outcome::Fix(fix) = &mut finding.outcome else {
            continue;
        };
        let mut alternatives = std::mem::take(&mut fix.alternatives);
        for fix in std::iter::once(&mut *fix).chain(&mut alternatives) {
            let wanted = needs(fix, target).collect();
            for (header, files) in supply.of(&wanted) {
                let placer = Placer {
                    package,
                    workspace,
                    header,
                };
                packing.doubt(&placer, fix, &files);
                files.iter().for_each(|file| add_edits(&placer, fix, *file));
            }
            // Stable: insertions at one place keep the order in which the rule made them.
            fix.edits.sort_by_key(|edit| (edit.file, edit.span));
        }
        fix.alternatives = alternatives;
    }
    supply.new_files()
}

fn fix_of(finding: &Finding) -> Option<&Fix> {
    match &finding.outcome {
        Outcome::Fix(fix) => Some(fix),
        Outcome::Safe(_) | Outcome::Manual(_) => None,
    }
}

/// Files and functions of the needs that `target` makes real.
fn needs(fix: &Fix, target: Target) -> impl Iterator<Item = Wanted> {
    fix.needs.iter().filter_map(move |need| {
        let Need::Compat { file, function } = need;
        target.lacks(function).then_some((*file, *function))
    })
}

/// Lets the header be included where `file` needs it, and writes into it what it lacks.
fn add_edits(placer: &Placer<'_>, fix: &mut Fix, file: FileId) {
    let (workspace, header) = (placer.workspace, placer.header);
    if let Header::Unseen { operand, by } = header {
        let by = by
            .first()
            .map_or(Path::new(""), |by| workspace.files.get(*by).path());
        fix.assume(format!(
            "the `{operand}` that `{}` includes, which is not here (a submodule?), has what this \
             calls",
            by.display()
        ));
    }
    if matches!(header, Header::Own(..) | Header::New(_))
        && is_installed(workspace, workspace.files.get(file).path())
    {
        fix.assume(format!(
            "`{}` is installed with `{}`",
            header.path(workspace).display(),
            workspace.files.get(file).path().display()
        ));
    }
    if let Header::Own(own, text) = header {
        let old = workspace.files.get(*own);
        if old.bytes() != text.as_bytes() {
            let end = u32::try_from(old.bytes().len()).expect("files fit");
            fix.replace(*own, ByteSpan::new(0, end), text.as_bytes());
        }
    }
    let own = fix.edits.iter().filter(|edit| edit.file == file);
    let first = own.map(|edit| edit.span.start()).min();
    match placer.edits(file, first.unwrap_or(ByteOffset(u32::MAX))) {
        Some(edits) => fix.edits.extend(edits),
        None => fix.assume(format!(
            "`{}` must be included behind `Python.h`",
            header.path(workspace).display()
        )),
    }
}
