//! The finding about a `setup.py`.

use super::rewrite::rewrite;
use super::sites::sites;
use super::{MESSAGE, UNCONDITIONAL_LIMITED_API};
use crate::build::{BuildFile, Python};
use crate::edit::Fix;
use crate::rule::{Finding, Note, Outcome};
use crate::transforms::build_files::finding;

/// One finding about all places of `file` that ask for the limited API: they change together.
pub(super) fn finding_of(file: &BuildFile<'_>, python: &Python) -> Option<Finding> {
    let bytes = file.source.bytes();
    let sites = sites(python, bytes);
    let first = sites.first()?;
    let outcome = match rewrite(python, bytes, &sites) {
        Ok(changes) => {
            let mut fix = Fix::safe("request the limited API only on builds with the GIL");
            for (range, text) in changes {
                fix.replace(file.id, file.span(range), text);
            }
            Outcome::Fix(fix)
        }
        Err(reason) => Outcome::Manual(format!(
            "{reason}; request it only if `sysconfig.get_config_var(\"Py_GIL_DISABLED\")` is not \
             true"
        )),
    };
    let rule = &UNCONDITIONAL_LIMITED_API;
    let range = first.node.byte_range();
    let mut found = finding(rule, file, range, format!("this {MESSAGE}"), outcome);
    let others = sites[1..].iter().map(|site| Note {
        file: file.id,
        span: file.span(site.node.byte_range()),
        text: "here too".to_owned(),
    });
    found.notes = others.collect();
    Some(found)
}
