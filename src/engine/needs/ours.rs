//! Whether a file gets newer functions from a small header of ours, or by what is written into it.

use std::collections::{BTreeMap, BTreeSet};

use super::defined::Defined;
use super::packing::Packing;
use super::place::Placer;
use super::stock::Stock;
use super::supply::{Share, files, own_header, taken};
use super::{Header, Wanted};
use crate::compat;
use crate::engine::Compat;
use crate::engine::installed::is_installed;
use crate::source::{ByteOffset, FileId};

/// What decides between the two.
pub(super) struct Ours<'a> {
    pub(super) stock: &'a Stock<'a>,
    pub(super) packing: &'a Packing,
    pub(super) defined: &'a Defined<'a>,
}

impl Ours<'_> {
    /// Takes out of `rest` what is written into files, since a header is doubtful there; gives that,
    /// and the doubts about the header that stay.
    pub(super) fn divided(
        &self,
        rest: &mut BTreeSet<Wanted>,
    ) -> (Vec<Share>, BTreeMap<FileId, Vec<String>>) {
        let mut in_files: BTreeMap<String, BTreeSet<Wanted>> = BTreeMap::new();
        if self.stock.config.compat != Compat::Header {
            for (file, doubts) in self.doubts(rest) {
                let Some(why) = doubts.into_iter().next() else {
                    continue;
                };
                if self.has_place(file) && !self.calls_own(file, rest) {
                    let own = taken(rest, |need| need.0 == file);
                    in_files.entry(why).or_default().extend(own);
                }
            }
        }
        let shares = in_files.into_iter();
        let shares = shares.map(|(why, given)| (Header::InFile(why), given));
        (shares.collect(), self.doubts(rest))
    }

    /// Whether what would be written into `file` calls functions that the package defines: they may
    /// stand further down.
    fn calls_own(&self, file: FileId, rest: &BTreeSet<Wanted>) -> bool {
        let own = rest.iter().filter(|need| need.0 == file);
        let own: BTreeSet<&'static str> = own.map(|need| need.1).collect();
        let used = compat::with_uses(&own);
        let mut used = used.difference(&own);
        let defined = self.defined.in_units_of(file);
        used.any(|name| defined.contains(name))
    }

    /// What stands against a header that gives `rest`, by the file that includes it.
    fn doubts(&self, rest: &BTreeSet<Wanted>) -> BTreeMap<FileId, Vec<String>> {
        if rest.is_empty() {
            return BTreeMap::new();
        }
        let header = own_header(self.stock, rest, None, None);
        let functions = compat::with_uses(&rest.iter().map(|need| need.1).collect());
        let doubts = files(rest).into_iter().map(|file| {
            let mut doubts = self.about(&header, file);
            let clash = self
                .defined
                .in_units_of(file)
                .intersection(&functions)
                .next()
                .copied();
            doubts.extend(clash.map(|name| {
                format!(
                    "`{}` has its own `{name}`, which does not conflict with the one in `{}`",
                    self.stock.workspace.files.get(file).path().display(),
                    header.path(self.stock.workspace).display()
                )
            }));
            (file, doubts)
        });
        doubts.collect()
    }

    /// Adds what stands against the copy of a header that the user points at.
    pub(super) fn doubt_copies(
        &self,
        shares: &[Share],
        doubts: &mut BTreeMap<FileId, Vec<String>>,
    ) {
        for (header, given) in shares {
            let is_copy = matches!(header, Header::New(_));
            for file in files(given).into_iter().filter(|_| is_copy) {
                let about = self.about(header, file);
                doubts.entry(file).or_default().extend(about);
            }
        }
    }

    /// What others have to know of if `file` includes `header`.
    fn about(&self, header: &Header, file: FileId) -> Vec<String> {
        let workspace = self.stock.workspace;
        let none = BTreeSet::new();
        let operand = self.placer(header, &none).operand(file);
        let (path, by) = (header.path(workspace), workspace.files.get(file).path());
        let is_new = matches!(header, Header::New(_));
        let mut doubts = self.packing.doubts(path, is_new, by, &operand);
        if is_installed(workspace, by) {
            doubts.push(format!(
                "`{}` is installed together with `{}`",
                path.display(),
                by.display()
            ));
        }
        doubts
    }

    /// Whether stand-ins can be written into `file`. One that others include would give them the
    /// macros that hide their names.
    fn has_place(&self, file: FileId) -> bool {
        let workspace = self.stock.workspace;
        let (header, none) = (Header::InFile(String::new()), BTreeSet::new());
        !is_installed(workspace, workspace.files.get(file).path())
            && self
                .placer(&header, &none)
                .edits(file, ByteOffset(u32::MAX))
                .is_some()
    }

    fn placer<'p>(
        &'p self,
        header: &'p Header,
        functions: &'p BTreeSet<&'static str>,
    ) -> Placer<'p> {
        Placer {
            package: self.stock.package,
            workspace: self.stock.workspace,
            header,
            functions,
            limited: self.stock.limited,
        }
    }
}
