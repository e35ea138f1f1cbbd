//! How rules look at a package.

use super::{Finding, Outcome, PackageCx};
use crate::build::BuildFile;
use crate::edit::Fix;

/// What a rule does; in each form it adds what it finds in a fixed order.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// Looks at the C of the package.
    Code(fn(&PackageCx<'_>, &mut Vec<Finding>)),
    /// Looks at the build files.
    Build(fn(&BuildCx<'_>, &mut Vec<Finding>)),
}

/// What a rule may ask about the build files of a package.
#[derive(Debug)]
pub struct BuildCx<'a> {
    /// The build files, in order of their paths.
    pub files: &'a [BuildFile<'a>],
    /// The C that they build.
    pub package: &'a PackageCx<'a>,
    /// Whether there are modules, and each says that it needs no GIL, or a fix makes it say so.
    pub is_declared: bool,
}

impl Check {
    /// Runs a rule about code, and writes the calls it adds as the file writes its own; one about
    /// build files finds nothing.
    pub fn code(self, cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
        let Self::Code(check) = self else { return };
        let known = findings.len();
        check(cx, findings);
        for finding in &mut findings[known..] {
            if let Outcome::Fix(fix) = &mut finding.outcome {
                space_calls(cx, fix);
            }
        }
    }

    /// Runs a rule about build files; one about code finds nothing.
    pub fn build(self, cx: &BuildCx<'_>, findings: &mut Vec<Finding>) {
        match self {
            Self::Build(check) => check(cx, findings),
            Self::Code(_) => {}
        }
    }

    /// Whether the rule has nothing to say of C.
    #[must_use]
    pub fn is_build(self) -> bool {
        matches!(self, Self::Build(_))
    }
}

fn space_calls(cx: &PackageCx<'_>, fix: &mut Fix) {
    for edit in &mut fix.edits {
        cx.layout(edit.file, edit.span).space_calls(edit);
    }
    for alternative in &mut fix.alternatives {
        space_calls(cx, alternative);
    }
}
