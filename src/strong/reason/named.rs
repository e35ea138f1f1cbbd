//! Places in the words of reasons.

use crate::preprocess::Place;
use crate::rule::{CallSite, Mention, PackageCx};
use crate::source::{ByteSpan, FileId};

/// What keeps a function from a change of which not all callers are known.
pub(in crate::strong) fn mentioned(cx: &PackageCx<'_>, mention: Mention) -> String {
    match mention {
        Mention::Address(site) => format!("its address is taken at {}", place(cx, site)),
        Mention::Gap(gap) => {
            let gap = &cx.program.gaps[gap];
            let at = line(cx, gap.file, gap.span);
            format!(
                "code that could not be analysed uses its name at {at} ({})",
                gap.reason
            )
        }
    }
}

/// `FILE:LINE` of a call.
pub(in crate::strong) fn place(cx: &PackageCx<'_>, site: CallSite) -> String {
    let (file, span) = match cx.place(site.item, site.expr) {
        Some(Place::File(file, span) | Place::Argument { file, span, .. }) => (file, span),
        Some(Place::Macro { call, .. }) => call,
        None => cx.item(site.item).place,
    };
    line(cx, file, span)
}

fn line(cx: &PackageCx<'_>, file: FileId, span: ByteSpan) -> String {
    let source = cx.file(file);
    let line = source.position(span.start()).line.0;
    format!("{}:{line}", source.path().display())
}
