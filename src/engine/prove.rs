//! Proves changes that did not come from a rule.

use std::collections::{BTreeMap, BTreeSet};

use super::workspace::Workspace;
use super::{Analysis, Config, analyze, find};
use crate::edit::{EditSet, Fix, FixId, difference};
use crate::ownership::summary::Summaries;
use crate::package::{FileKind, Package};
use crate::program::Demand;
use crate::rule::{Finding, Outcome, Rule, suppressions};
use crate::source::FileId;
use crate::transforms;
use crate::validate::{self, Doubt, Reload};

/// Files of a package with other bytes than the package has.
pub type Bytes = BTreeMap<FileId, Vec<u8>>;

/// What is not proven of the way from `before` to `after`; files that one of them does not name
/// are as `package` has them.
///
/// Needs threads with 64 MiB of stack: the parser recurses.
#[must_use]
pub fn prove(package: &Package, config: &Config, before: &Bytes, after: &Bytes) -> Vec<Doubt> {
    let workspace = Workspace::new(package, config);
    // A helper that no change touches tells what becomes of its arguments, too.
    let original = with(package, before);
    let whole = Workspace::new(&original, config);
    let callees = Summaries::of_helpers(&whole.load(Demand::Everything, true));
    let mut files = workspace.files.clone();
    for (&id, bytes) in before {
        files.replace(id, bytes.clone());
    }
    let mut change = Fix::safe("change");
    let is_build = |id: &FileId| matches!(package.info(*id).kind, FileKind::Build(_));
    let ids = before.keys().chain(after.keys()).copied();
    let ids: BTreeSet<FileId> = ids.filter(|id| !is_build(id)).collect();
    for id in ids {
        let new = after
            .get(&id)
            .map_or(workspace.files.get(id).bytes(), Vec::as_slice);
        change
            .edits
            .extend(difference(id, files.get(id).bytes(), new));
    }
    let (edits, _) = EditSet::merge([(FixId(0), &change)]);
    let reload: &Reload<'_> = &|files, places, look| workspace.reload(files, places, look);
    validate::prove(&files, &edits, &callees, &config.confirmed, reload)
}

/// What `rule` has to say of `package` with the files of `after`, but for what is proven safe or
/// silenced by a comment.
///
/// Needs threads with 64 MiB of stack: the parser recurses.
#[must_use]
pub fn open_findings(
    package: &Package,
    config: &Config,
    rule: &'static Rule,
    after: &Bytes,
) -> Vec<Finding> {
    let changed = with(package, after);
    let config = config.only(std::iter::once(rule));
    let mut findings = find(&changed, &config, &Workspace::new(&changed, &config));
    findings.retain(|finding| {
        let file = changed.files.get(finding.file);
        let line = file.position(finding.span.start()).line;
        let mut comments = suppressions(file, transforms::ALL).into_iter();
        !matches!(finding.outcome, Outcome::Safe(_))
            && !comments.any(|comment| comment.covers(rule, line))
    });
    findings
}

/// What is found in `package` with the files of `after`.
///
/// Needs threads with 64 MiB of stack: the parser recurses.
#[must_use]
pub fn analyze_after(package: &Package, config: &Config, after: &Bytes) -> Analysis {
    analyze(&with(package, after), config)
}

fn with(package: &Package, bytes: &Bytes) -> Package {
    let mut changed = package.clone();
    for (&id, bytes) in bytes {
        changed.files.replace(id, bytes.clone());
    }
    changed
}
