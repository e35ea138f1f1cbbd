//! What the corpus run found, for machines and as a table.

use std::{collections::BTreeMap, io, io::Write, path::PathBuf};

use serde::{Deserialize, Serialize};

/// How many findings there are, by rule code and by what is proposed (`fix`, `safe`, `manual`).
pub(crate) type Findings = BTreeMap<String, BTreeMap<String, u32>>;

/// One package.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) package: String,
    /// The `ungil-stats/1` object of `ungil check`.
    pub(crate) stats: Stats,
    pub(crate) findings: Findings,
    pub(crate) wall_seconds: f64,
    pub(crate) peak_mib: u64,
    /// `None` if there is nothing to patch.
    pub(crate) patch: Option<Patch>,
    /// Runs that ended in a panic, by a signal, or out of time: command line and last words.
    pub(crate) crashes: Vec<String>,
}

/// The parts of `ungil-stats/1` that the table shows; the rest is carried along.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Stats {
    files: Files,
    functions: Functions,
    fixes: Fixes,
    #[serde(flatten)]
    rest: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Files {
    seen: u64,
    generated: u64,
    not_c: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Functions {
    total: u64,
    understood: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Fixes {
    safe: u64,
    review: u64,
    validated: u64,
    demoted: u64,
}

/// What became of the output of `ungil diff`.
#[derive(Debug, Serialize)]
pub(crate) struct Patch {
    pub(crate) files: usize,
    pub(crate) git_applies: bool,
    pub(crate) patch_applies: bool,
    /// Whether a second run over the result was empty; `None` if the patch did not apply.
    pub(crate) converges: Option<bool>,
    /// Where the second run has a fix that the first did not have, or had with less confidence.
    pub(crate) offers: Vec<String>,
    /// By include folder of the Python compiled against.
    pub(crate) compiled: BTreeMap<PathBuf, Compiled>,
}

/// What the compiler says about the changed files.
#[derive(Debug, Serialize)]
pub(crate) struct Compiled {
    /// What it did not say before.
    pub(crate) new: Vec<String>,
    /// Files that it could not read to their end, after the change.
    pub(crate) cut_short: u32,
}

impl Report {
    /// Whether everything that must hold does.
    pub(crate) fn is_good(&self) -> bool {
        self.crashes.is_empty() && self.patch.as_ref().is_none_or(Patch::is_good)
    }

    fn row(&self) -> [String; 11] {
        let Functions { total, understood } = self.stats.functions;
        let patch = |cell: fn(&Patch) -> String| self.patch.as_ref().map_or("-".into(), cell);
        [
            self.package.clone(),
            self.stats.files.seen.to_string(),
            total.to_string(),
            format!("{:.1}", 100.0 * understood as f64 / total.max(1) as f64),
            self.stats.fixes.safe.to_string(),
            self.stats.fixes.review.to_string(),
            self.findings
                .values()
                .flat_map(BTreeMap::values)
                .sum::<u32>()
                .to_string(),
            format!("{:.2}", self.wall_seconds),
            self.peak_mib.to_string(),
            patch(|patch| patch.files.to_string()),
            if self.is_good() {
                "yes".into()
            } else {
                "NO".into()
            },
        ]
    }
}

impl Patch {
    fn is_good(&self) -> bool {
        self.git_applies
            && self.patch_applies
            && self.converges != Some(false)
            && self.offers.is_empty()
            && self
                .compiled
                .values()
                .all(|compiled| compiled.new.is_empty())
    }
}

const HEADER: [&str; 11] = [
    "package",
    "files",
    "functions",
    "%",
    "safe",
    "review",
    "findings",
    "s",
    "MiB",
    "patched",
    "holds",
];

/// Writes the table: a line a package, then what is wrong, then findings by rule.
pub(crate) fn write_table(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    let mut rows = vec![HEADER.map(str::to_owned)];
    rows.extend(reports.iter().map(Report::row));
    let widths: [usize; 11] =
        std::array::from_fn(|i| rows.iter().map(|row| row[i].len()).max().unwrap_or(0));
    for row in &rows {
        write!(out, "{:1$}", row[0], widths[0])?;
        for (cell, width) in row.iter().zip(widths).skip(1) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    for report in reports {
        write_problems(report, out)?;
    }
    write_totals(reports, out)
}

fn write_problems(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let name = &report.package;
    for crash in &report.crashes {
        writeln!(out, "{name}: crash: {crash}")?;
    }
    let Some(patch) = &report.patch else {
        return Ok(());
    };
    if !patch.git_applies {
        writeln!(out, "{name}: git apply refuses the patch")?;
    }
    if !patch.patch_applies {
        writeln!(out, "{name}: patch -p1 refuses the patch")?;
    }
    if patch.converges == Some(false) {
        writeln!(out, "{name}: a second run is not empty")?;
    }
    for offer in &patch.offers {
        writeln!(out, "{name}: new in a second run: {offer}")?;
    }
    for (python, compiled) in &patch.compiled {
        let python = python.display();
        for diagnostic in &compiled.new {
            writeln!(out, "{name}: new with {python}: {diagnostic}")?;
        }
        if compiled.cut_short > 0 {
            let cut = compiled.cut_short;
            writeln!(
                out,
                "{name}: {cut} of {} lack a header with {python}",
                patch.files
            )?;
        }
    }
    Ok(())
}

fn write_totals(reports: &[Report], out: &mut dyn Write) -> io::Result<()> {
    let functions = || reports.iter().map(|report| &report.stats.functions);
    let understood: u64 = functions().map(|functions| functions.understood).sum();
    let total: u64 = functions().map(|functions| functions.total).sum();
    writeln!(
        out,
        "{} packages, {understood} of {total} functions understood",
        reports.len()
    )?;

    let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for (code, outcomes) in reports.iter().flat_map(|report| &report.findings) {
        for (outcome, count) in outcomes {
            *counts.entry((code, outcome)).or_default() += count;
        }
    }
    for ((code, outcome), count) in counts {
        writeln!(out, "{code} {outcome} {count}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let stats = r#"{"schema": "ungil-stats/1", "files": {"seen": 2}, "elapsed_ms": 7,
            "functions": {"total": 8, "understood": 6}, "fixes": {"safe": 3}}"#;
        let outcomes = BTreeMap::from([("fix".into(), 3), ("manual".into(), 1)]);
        Report {
            package: "spam".into(),
            stats: serde_json::from_str(stats).unwrap(),
            findings: BTreeMap::from([("UG101".into(), outcomes)]),
            wall_seconds: 0.25,
            peak_mib: 12,
            ..Report::default()
        }
    }

    fn table(reports: &[Report]) -> String {
        let mut out = Vec::new();
        write_table(reports, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_good_package_is_one_line() {
        insta::assert_snapshot!(table(&[report()]), @"
        package  files  functions     %  safe  review  findings     s  MiB  patched  holds
        spam         2          8  75.0     3       0         4  0.25   12        -    yes
        1 packages, 6 of 8 functions understood
        UG101 fix 3
        UG101 manual 1
        ");
    }

    #[test]
    fn problems_are_spelled_out() {
        let new = vec!["a.c: error: 'v' undeclared".into()];
        let patch = Patch {
            files: 1,
            git_applies: true,
            patch_applies: false,
            converges: Some(false),
            offers: vec!["a.c: UG101 f: safe fixes: 1, before: 0".into()],
            compiled: BTreeMap::from([("inc".into(), Compiled { new, cut_short: 1 })]),
        };
        let crashes = vec!["check: signal".into()];
        let bad = Report {
            patch: Some(patch),
            crashes,
            ..report()
        };
        insta::assert_snapshot!(table(&[bad]), @"
        package  files  functions     %  safe  review  findings     s  MiB  patched  holds
        spam         2          8  75.0     3       0         4  0.25   12        1     NO
        spam: crash: check: signal
        spam: patch -p1 refuses the patch
        spam: a second run is not empty
        spam: new in a second run: a.c: UG101 f: safe fixes: 1, before: 0
        spam: new with inc: a.c: error: 'v' undeclared
        spam: 1 of 1 lack a header with inc
        1 packages, 6 of 8 functions understood
        UG101 fix 3
        UG101 manual 1
        ");
    }

    #[test]
    fn stats_that_the_table_does_not_show_are_kept() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["stats"]["elapsed_ms"], 7);
    }
}
