//! `#define Py_LIMITED_API` in C, for every Python.

use super::{MESSAGE, UNCONDITIONAL_LIMITED_API};
use crate::preprocess::Condition;
use crate::rule::{BuildCx, Finding, Outcome};
use crate::source::FileId;

const MACRO: &[u8] = b"Py_LIMITED_API";

/// What a C file or header says of it; templates and files of generators are left to those.
pub(super) fn add(cx: &BuildCx<'_>, findings: &mut Vec<Finding>) {
    for (id, file) in cx.package.program.files.iter() {
        let extension = file.path().extension().and_then(|name| name.to_str());
        if !matches!(extension, Some("c" | "h")) {
            continue;
        }
        let defines = cx.package.program.index[id.index()].defines(file, MACRO);
        let always = defines
            .iter()
            .filter(|define| define.conditions.iter().all(|each| holds(cx, each)));
        findings.extend(always.map(|define| told(id, define.name)));
    }
}

/// Whether the condition holds for a build without the GIL unless somebody defines a macro: the
/// name of an include guard, or a switch that no build file knows.
fn holds(cx: &BuildCx<'_>, condition: &Condition) -> bool {
    let Condition::NotDefined(name) = condition else {
        return false;
    };
    let name = name.as_bytes();
    let is_known = |text: &[u8]| memchr::memmem::find(text, name).is_some();
    name == MACRO
        || name != b"Py_GIL_DISABLED"
            && !cx.files.iter().any(|build| is_known(build.source.bytes()))
}

fn told(file: FileId, span: crate::source::ByteSpan) -> Finding {
    Finding {
        rule: &UNCONDITIONAL_LIMITED_API,
        file,
        span,
        function: None,
        api: None,
        message: format!("this {MESSAGE}"),
        notes: Vec::new(),
        outcome: Outcome::Manual(
            "define it under `#ifndef Py_GIL_DISABLED` after `#include <pyconfig.h>`, or let the \
             build define it if `sysconfig.get_config_var(\"Py_GIL_DISABLED\")` is not true"
                .to_owned(),
        ),
    }
}
