//! Findings as text: for people, for editors, for programs.

mod full;
mod json;

use std::path::{Path, PathBuf};

use crate::edit::Confidence;
use crate::package::Package;
use crate::rule::{Finding, Outcome};
use crate::source::{FileId, Position};

/// How findings are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// The line of code with the place marked, and the steps that lead there.
    #[default]
    Full,
    /// One line for each finding: `path:line:col: CODE name: message [what to do]`.
    Concise,
    /// One JSON array.
    Json,
}

/// Where findings are shown.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The package they are about.
    pub package: &'a Package,
    /// Absolute folder that shown paths are relative to.
    pub folder: &'a Path,
    /// Whether to use colours.
    pub styled: bool,
}

impl View<'_> {
    /// The path of `file` as the user would write it.
    #[must_use]
    pub fn path(&self, file: FileId) -> String {
        let absolute = self.package.root.join(self.package.files.get(file).path());
        relative_to(self.folder, &absolute).display().to_string()
    }

    fn position(&self, finding: &Finding) -> Position {
        self.package
            .files
            .get(finding.file)
            .position(finding.span.start())
    }
}

/// Writes `findings` in the given order. No finding gives an empty text, in JSON an empty array.
#[must_use]
pub fn render(format: OutputFormat, view: View<'_>, findings: &[&Finding]) -> String {
    match format {
        OutputFormat::Full => findings
            .iter()
            .map(|finding| full::finding(view, finding))
            .collect(),
        OutputFormat::Concise => findings
            .iter()
            .map(|finding| concise(view, finding))
            .collect(),
        OutputFormat::Json => json::findings(view, findings),
    }
}

fn concise(view: View<'_>, finding: &Finding) -> String {
    let position = view.position(finding);
    format!(
        "{}:{}:{}: {} {}: {} [{}]\n",
        view.path(finding.file),
        position.line.0,
        position.column,
        finding.rule.code,
        finding.rule.name,
        finding.message,
        what_to_do(&finding.outcome),
    )
}

/// The end of a finding's line: `safe fix`, `review fix`, `manual: why`, `safe as is: why`.
fn what_to_do(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Fix(fix) => match fix.confidence {
            Confidence::Safe => "safe fix".to_owned(),
            Confidence::Review => "review fix".to_owned(),
        },
        Outcome::Manual(reason) => format!("manual: {reason}"),
        Outcome::Safe(reason) => format!("safe as is: {reason}"),
    }
}

/// `path` seen from `folder`, with `..` where needed; both absolute.
fn relative_to(folder: &Path, path: &Path) -> PathBuf {
    let Some(common) = folder
        .ancestors()
        .find(|ancestor| path.starts_with(ancestor))
    else {
        return path.to_path_buf();
    };
    let up = folder.components().count() - common.components().count();
    let down = path.strip_prefix(common).unwrap_or(path);
    std::iter::repeat_n(Path::new(".."), up)
        .chain([down])
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{OutputFormat, View, relative_to, render};
    use crate::diff::FileMode;
    use crate::edit::Fix;
    use crate::package::{FileInfo, FileKind, Package, PythonRange};
    use crate::rule::{Finding, Note, Outcome, Rule};
    use crate::source::{ByteSpan, FileId, FileSet, SourceFile};

    static RULE: Rule = Rule {
        code: "UG101",
        name: "borrowed-list-item",
        summary: "",
        docs: "",
        since: "0.1.0",
        best: None,
        triggers: &[],
        check: |_, _| {},
    };

    fn package(text: &[u8]) -> Package {
        let mut files = FileSet::default();
        files.add(SourceFile::new(PathBuf::from("src/m.c"), text.to_vec()));
        let info = FileInfo {
            kind: FileKind::C,
            selected: true,
            mode: FileMode::Regular,
        };
        let min = PythonRange::DEFAULT_MIN;
        Package {
            root: PathBuf::from("/project"),
            files,
            infos: vec![info],
            skipped: Vec::new(),
            python: PythonRange {
                min,
                max: None,
                source: String::new(),
            },
            compat_header: None,
        }
    }

    fn shown(format: OutputFormat, text: &[u8], target: &[u8], outcome: Outcome) -> String {
        let package = package(text);
        let start = memchr::memmem::find(text, target).unwrap();
        let span = ByteSpan::new(
            u32::try_from(start).unwrap(),
            u32::try_from(start + target.len()).unwrap(),
        );
        let note = Note {
            file: FileId(0),
            span: ByteSpan::new(0, 1),
            text: "declared here".into(),
        };
        let finding = Finding {
            rule: &RULE,
            file: FileId(0),
            span,
            function: Some("f".into()),
            api: Some("PyList_GetItem"),
            message: "`item` is borrowed from a list that other threads can change".into(),
            notes: vec![note],
            outcome,
        };
        let view = View {
            package: &package,
            folder: Path::new("/project/src"),
            styled: false,
        };
        render(format, view, &[&finding])
    }

    #[test]
    fn concise_is_one_line_for_each_finding() {
        let manual = Outcome::Manual("the item is returned".into());
        let text = shown(
            OutputFormat::Concise,
            b"int x;\n  g(item);\n",
            b"item",
            manual,
        );
        insta::assert_snapshot!(text, @"m.c:2:5: UG101 borrowed-list-item: `item` is borrowed from a list that other threads can change [manual: the item is returned]");
    }

    #[test]
    fn full_marks_the_place_whatever_the_encoding() {
        let fix = Outcome::Fix(Fix::safe("own the item"));
        let text = b"int x;\n  /* \xe9\xe9 */ g(item);\r\n";
        insta::assert_snapshot!(shown(OutputFormat::Full, text, b"item", fix), @"
        warning[UG101 borrowed-list-item]: `item` is borrowed from a list that other threads can change
         --> m.c:2:14
          |
        1 | int x;
          | - declared here
        2 |   /* �� */ g(item); 
          |              ^^^^
          |
          = help: safe fix
        ");
    }

    #[test]
    fn json_lists_edits() {
        let mut fix = Fix::safe("own the item");
        fix.replace(FileId(0), ByteSpan::new(2, 3), "y\u{e9}");
        fix.assume("nothing else");
        let text = shown(OutputFormat::Json, b"int x;\n", b"x", Outcome::Fix(fix));
        insta::assert_snapshot!(text, @r#"
        [
          {
            "code": "UG101",
            "name": "borrowed-list-item",
            "message": "`item` is borrowed from a list that other threads can change",
            "location": {
              "path": "m.c",
              "line": 1,
              "column": 5,
              "byte_start": 4,
              "byte_end": 5
            },
            "function": "f",
            "api": "PyList_GetItem",
            "notes": [
              {
                "message": "declared here",
                "location": {
                  "path": "m.c",
                  "line": 1,
                  "column": 1,
                  "byte_start": 0,
                  "byte_end": 1
                }
              }
            ],
            "outcome": {
              "kind": "fix",
              "confidence": "review",
              "title": "own the item",
              "assumptions": [
                "nothing else"
              ],
              "edits": [
                {
                  "path": "m.c",
                  "byte_start": 2,
                  "byte_end": 3,
                  "text": "yé"
                }
              ]
            }
          }
        ]
        "#);
    }

    #[test]
    fn paths_are_seen_from_the_folder() {
        let from = |folder| relative_to(Path::new(folder), Path::new("/a/b/c.c"));
        assert_eq!(from("/a/b"), Path::new("c.c"));
        assert_eq!(from("/a"), Path::new("b/c.c"));
        assert_eq!(from("/a/x/y"), Path::new("../../b/c.c"));
    }
}
