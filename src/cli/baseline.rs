//! Findings of an earlier day, which a run does not speak of again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::output::deliver;
use crate::package::Package;
use crate::render::Named;
use crate::review::slashed;

const SCHEMA: &str = "ungil-baseline/1";

/// The file, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Baseline {
    schema: String,
    /// By fingerprint, so that the file changes little when findings do.
    findings: BTreeMap<String, Entry>,
}

/// What a finding is about, for those who read the file.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    code: String,
    path: String,
    function: Option<String>,
}

impl Baseline {
    pub(super) fn new<'a>(
        package: &Package,
        findings: impl IntoIterator<Item = &'a Named<'a>>,
    ) -> Self {
        let entry = |named: &Named<'_>| Entry {
            code: named.finding.rule.code.to_owned(),
            path: slashed(package.files.get(named.finding.file).path()),
            function: named.finding.function.clone(),
        };
        let findings = findings.into_iter();
        Self {
            schema: SCHEMA.to_owned(),
            findings: findings
                .map(|named| (named.fingerprint.to_owned(), entry(named)))
                .collect(),
        }
    }

    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read(path).with_context(|| {
            format!(
                "cannot read the baseline `{}`; `--write-baseline` creates one",
                path.display()
            )
        })?;
        let baseline: Self = serde_json::from_slice(&text)
            .with_context(|| format!("`{}` is not a baseline", path.display()))?;
        if baseline.schema != SCHEMA {
            bail!(
                "`{}` is a baseline of another kind: `{}`",
                path.display(),
                baseline.schema
            );
        }
        Ok(baseline)
    }

    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self).context("a baseline always serialises")?;
        deliver(format!("{text}\n").as_bytes(), Some(path))
    }

    pub(super) fn len(&self) -> usize {
        self.findings.len()
    }

    pub(super) fn knows(&self, fingerprint: &str) -> bool {
        self.findings.contains_key(fingerprint)
    }
}
