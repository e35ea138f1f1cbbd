//! The package with the uses of some macros written out.

use std::collections::BTreeMap;

use super::uses::Target;
use crate::edit::{Applied, Edit, apply};
use crate::package::Package;
use crate::source::{ByteSpan, FileId};

/// The copy.
#[derive(Debug)]
pub(super) struct Copy<'p> {
    pub(super) package: Package,
    pub(super) targets: Vec<Target<'p>>,
    /// How its files came about.
    pub(super) results: BTreeMap<FileId, Applied>,
    /// Where it has what the macros make, by file and place.
    regions: Vec<Region>,
}

/// A use that is written out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    file: FileId,
    /// Its text in the copy.
    pub(super) span: ByteSpan,
    /// Index into [`Copy::targets`].
    pub(super) target: usize,
    /// Index into the uses of the target.
    pub(super) number: usize,
}

impl<'p> Copy<'p> {
    /// Writes out the uses of `targets`, none of which lies in another.
    pub(super) fn new(package: &Package, targets: Vec<Target<'p>>) -> Self {
        let mut copy = Self {
            package: package.clone(),
            targets: Vec::new(),
            results: BTreeMap::new(),
            regions: Vec::new(),
        };
        let mut uses: BTreeMap<FileId, Vec<(ByteSpan, usize, usize)>> = BTreeMap::new();
        for (target, of) in targets.iter().enumerate() {
            for (number, used) in of.uses.iter().enumerate() {
                let known = uses.entry(used.file).or_default();
                known.push((used.span, target, number));
            }
        }
        for (file, mut uses) in uses {
            uses.sort_unstable();
            copy.write_out(file, &uses, &targets);
        }
        copy.targets = targets;
        copy
    }

    fn write_out(
        &mut self,
        file: FileId,
        uses: &[(ByteSpan, usize, usize)],
        targets: &[Target<'_>],
    ) {
        let (mut edits, mut shift) = (Vec::new(), 0i64);
        for &(span, target, number) in uses {
            let text = &targets[target].uses[number].written.text;
            let length = i64::try_from(text.len()).expect("bodies of macros are short");
            let start = i64::from(span.start().0) + shift;
            shift += length - i64::try_from(span.len()).expect("files fit");
            let offset = |at: i64| u32::try_from(at).expect("the copy is about as long");
            self.regions.push(Region {
                file,
                span: ByteSpan::new(offset(start), offset(start + length)),
                target,
                number,
            });
            edits.push(Edit::new(file, span, text.clone()));
        }
        let applied = apply(self.package.files.get(file).bytes(), &edits);
        self.package.files.replace(file, applied.bytes.clone());
        self.results.insert(file, applied);
    }

    /// The written-out use that holds `span`.
    pub(super) fn region_of(&self, file: FileId, span: ByteSpan) -> Option<&Region> {
        let mut regions = self.regions.iter();
        regions.find(|region| region.file == file && region.span.contains(span))
    }

    /// Where use `number` of `target` stands.
    pub(super) fn region(&self, target: &Target<'_>, number: usize) -> Option<&Region> {
        let mut regions = self.regions.iter();
        regions.find(|region| {
            region.number == number && std::ptr::eq(&raw const self.targets[region.target], target)
        })
    }

    /// An edit of the copy as one of the definition of `target`, with the number of the use it is
    /// about; `None` if it reaches out of that.
    pub(super) fn in_body(
        &self,
        target: usize,
        edit: &Edit,
    ) -> Option<(usize, (ByteSpan, Vec<u8>))> {
        let region = self.region_of(edit.file, edit.span)?;
        if region.target != target {
            return None;
        }
        let start = region.span.start().0;
        let span = ByteSpan::new(edit.span.start().0 - start, edit.span.end().0 - start);
        let used = &self.targets[target].uses[region.number];
        Some((region.number, used.written.in_body(span, &edit.text)?))
    }
}
