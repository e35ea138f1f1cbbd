//! Serves what fixes need beside their own edits: the compatibility header and its `#include`, or
//! what stands for a function in the file that calls it.

mod defined;
mod grown;
mod new_file;
mod origins;
mod ours;
mod packing;
mod place;
mod stock;
mod supply;

use std::collections::BTreeSet;
use std::path::Path;

use super::workspace::Workspace;
use super::{Compat, Config, limited};
use crate::compat::{self, Target};
use crate::edit::{Edit, Fix, Need};
use crate::facts::{Claim, Fact, Subject};
use crate::package::Package;
use crate::rule::{Finding, Outcome};
use crate::source::{ByteOffset, ByteSpan, FileId};
use defined::Defined;
pub use new_file::NewFile;
pub use origins::{Origin, Origins};
use packing::Packing;
use place::Placer;
use stock::Stock;
use supply::Supply;

/// Where functions come from.
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
    /// Another header of the package that makes up for older Pythons: what it lacks is written
    /// into it.
    Grown(FileId),
    /// A header that an earlier run wrote, and its new text.
    Own(FileId, String),
    /// A header to be written.
    New(NewFile),
    /// None, for this reason: what stands for a function is written into the file that calls it.
    InFile(String),
}

impl Header {
    fn path<'h>(&'h self, workspace: &'h Workspace) -> &'h Path {
        match self {
            Self::Full(id) | Self::Own(id, _) | Self::Grown(id) => workspace.files.get(*id).path(),
            Self::Unseen { operand, .. } => Path::new(operand),
            Self::New(file) => &file.path,
            Self::InFile(_) => Path::new(""),
        }
    }

    /// What nobody can know of it, wherever it is included.
    fn doubt(&self, workspace: &Workspace) -> Option<Fact> {
        let Self::Unseen { operand, by } = self else {
            return None;
        };
        let by = by.first().map(|by| workspace.files.get(*by).path());
        let by = by.unwrap_or(Path::new("")).display().to_string();
        let header = Subject::elsewhere(operand).with([by]);
        Some(Fact::new(Claim::HeaderHasAll, header))
    }
}

/// A function that a file uses, which not all supported Pythons have.
type Wanted = (FileId, &'static str);

/// Adds to each fix the edits that its needs ask for; gives the files to be written, and where
/// functions come from.
pub(super) fn serve(
    package: &Package,
    config: &Config,
    workspace: &Workspace,
    findings: &mut [Finding],
) -> (Vec<NewFile>, Origins) {
    // `--compat header` serves Pythons older than those the package says it supports.
    let oldest = match config.compat {
        Compat::Header => 0,
        Compat::Auto => workspace.range.min,
        Compat::None => {
            findings.iter_mut().for_each(assume_own);
            return (Vec::new(), Origins::default());
        }
    };
    let target = limited::target(package, workspace, oldest);
    let fixes = findings.iter().filter_map(Finding::fix);
    let forms = fixes.flat_map(|fix| std::iter::once(fix).chain(&fix.alternatives));
    let needed: BTreeSet<Wanted> = forms.flat_map(|fix| needs(fix, target)).collect();
    if needed.is_empty() {
        return (Vec::new(), Origins::default());
    }
    let names = compat::with_uses(&needed.iter().map(|need| need.1).collect());
    let defined = Defined::new(package, workspace, &names);
    let is_lacking = |need: &Wanted| !defined.in_units_of(need.0).contains(need.1);
    let wanted = needed.into_iter().filter(is_lacking).collect();
    let stock = Stock {
        package,
        workspace,
        config,
        limited: target.limited,
    };
    let packing = Packing::new(package);
    let service = Service {
        supply: Supply::new(&stock, (&packing, &defined), &wanted),
        stock: &stock,
        defined: &defined,
        target,
    };
    for finding in findings.iter_mut() {
        let Outcome::Fix(fix) = &mut finding.outcome else {
            continue;
        };
        let mut alternatives = std::mem::take(&mut fix.alternatives);
        for fix in std::iter::once(&mut *fix).chain(&mut alternatives) {
            service.serve(fix);
        }
        fix.alternatives = alternatives;
    }
    let origins = service.supply.origins(workspace);
    (service.supply.new_files(), origins)
}

/// Without a header nothing defines what no Python has.
fn assume_own(finding: &mut Finding) {
    let Outcome::Fix(fix) = &mut finding.outcome else {
        return;
    };
    let needs = fix.needs.iter();
    let names = needs.map(|Need::Compat { function, .. }| *function);
    let own: BTreeSet<&str> = names.filter(|name| compat::is_own(name)).collect();
    for name in own {
        fix.assume(format!("the package defines `{name}`"));
    }
}

/// What serves the fixes of a run.
struct Service<'a> {
    stock: &'a Stock<'a>,
    defined: &'a Defined<'a>,
    supply: Supply,
    target: Target,
}

impl Service<'_> {
    fn serve(&self, fix: &mut Fix) {
        let (defined, lacking): (Vec<Wanted>, Vec<Wanted>) = needs(fix, self.target)
            .partition(|need| self.defined.in_units_of(need.0).contains(need.1));
        for need in defined {
            if !self.defined.is_above(need, first_edit(fix, need.0)) {
                let file = self.stock.workspace.files.get(need.0).path();
                let doubt = format!(
                    "`{}` defines its own `{}`, and that definition is above this use on every \
                     Python that does not have the function",
                    file.display(),
                    need.1
                );
                fix.assume(doubt);
            }
        }
        for (header, given) in self.supply.of(&lacking.into_iter().collect()) {
            for file in supply::files(&given) {
                let own = given.iter().filter(|need| need.0 == file);
                self.add_edits(fix, header, file, &own.map(|need| need.1).collect());
            }
        }
        // Stable: insertions at one place keep the order in which the rule made them.
        fix.edits.sort_by_key(Edit::place);
    }

    /// Gives `file` the functions: lets it include the header, into which goes what it lacks.
    fn add_edits(
        &self,
        fix: &mut Fix,
        header: &Header,
        file: FileId,
        functions: &BTreeSet<&'static str>,
    ) {
        let workspace = self.stock.workspace;
        if let Some(doubt) = header.doubt(workspace) {
            fix.assume(doubt);
        }
        if let Header::Own(own, text) = header {
            let old = workspace.files.get(*own);
            if old.bytes() != text.as_bytes() {
                let end = u32::try_from(old.bytes().len()).expect("files fit");
                fix.replace(*own, ByteSpan::new(0, end), text.as_bytes());
            }
        }
        for doubt in self.supply.doubts(header, file) {
            let header = Subject::file(header.path(workspace)).with([doubt]);
            fix.assume(Fact::new(Claim::HeaderFitsBuild, header));
        }
        let placer = Placer {
            package: self.stock.package,
            workspace,
            header,
            functions: &self.written(header, file, functions),
            limited: self.target.limited,
        };
        match placer.edits(file, first_edit(fix, file)) {
            Some(edits) => {
                let known = fix.edits.len();
                let is_new = |edit: &crate::edit::Edit| !fix.edits[..known].contains(edit);
                let edits: Vec<_> = edits.into_iter().filter(is_new).collect();
                fix.edits.extend(edits);
            }
            None => fix.assume(placer.misplaced()),
        }
    }

    /// What has to be written for `functions`: with what their stand-ins use, as far as the units
    /// of the file do not have it.
    fn written(
        &self,
        header: &Header,
        file: FileId,
        functions: &BTreeSet<&'static str>,
    ) -> BTreeSet<&'static str> {
        let place = match header {
            Header::Grown(header) => *header,
            _ => file,
        };
        let there = self.defined.in_units_of(place);
        let full = self.stock.included(place);
        let mut written = compat::with_uses(functions);
        written.retain(|name| {
            let gives = |source| self.stock.gives(source, name);
            !there.contains(name) && !full.as_ref().is_some_and(gives)
        });
        written
    }
}

/// Where the first edit of `fix` in `file` begins.
fn first_edit(fix: &Fix, file: FileId) -> ByteOffset {
    let own = fix.edits.iter().filter(|edit| edit.file == file);
    let first = own.map(|edit| edit.span.start()).min();
    first.unwrap_or(ByteOffset(u32::MAX))
}

/// Files and functions of the needs that `target` makes real.
fn needs(fix: &Fix, target: Target) -> impl Iterator<Item = Wanted> {
    fix.needs.iter().filter_map(move |need| {
        let Need::Compat { file, function } = need;
        target.lacks(function).then_some((*file, *function))
    })
}
