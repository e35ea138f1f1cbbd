//! Every format on one finding.

use std::path::{Path, PathBuf};

use super::{Named, OutputFormat, Results, View, relative_to, render, statistics};
use crate::diff::FileMode;
use crate::edit::Fix;
use crate::engine::{
    Analysis, Coverage, Declared, Init, ModuleStatus, NotUnderstood, Open, OpenKind,
};
use crate::package::{FileInfo, FileKind, Package, PythonRange};
use crate::rule::{Check, Finding, Note, Outcome, Rule, Severity};
use crate::source::{ByteSpan, FileId, FileSet, LineNumber, SourceFile};

static RULE: Rule = Rule {
    code: "UG101",
    name: "borrowed-list-item",
    summary: "",
    severity: Severity::Memory,
    docs: "",
    since: "0.1.0",
    best: None,
    triggers: &[],
    check: Check::Code(|_, _| {}),
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
        compat_headers: Vec::new(),
        foreign: FileSet::default(),
        is_whole: true,
    }
}

fn one_static() -> Open {
    let mut open = Open::default();
    open.kinds.insert(OpenKind::StaticVariable, 1);
    open
}

fn one_gap() -> Coverage {
    Coverage {
        build_files_not_read: Vec::new(),
        files: 1,
        functions: 2,
        not_understood: vec![NotUnderstood {
            file: FileId(0),
            line: LineNumber(1),
            function: "g".into(),
            reason: "syntax error".into(),
        }],
        headers_not_found: vec!["own.h".into()],
        stopped: Vec::new(),
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
    let analysis = Analysis {
        coverage: one_gap(),
        modules: vec![ModuleStatus {
            name: "m".into(),
            file: FileId(0),
            files: [FileId(0)].into(),
            init: Init::Single,
            declared: Declared::No,
            open: one_static(),
        }],
        ..Analysis::default()
    };
    let named = Named {
        finding: &finding,
        fingerprint: "0123456789abcdef",
        silenced: None,
        fix: Some("abcdef"),
    };
    render(
        format,
        Results {
            view,
            findings: &[named],
            analysis: &analysis,
            sources: "",
        },
    )
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
    insta::assert_snapshot!(text, @"m.c:2:5: UG101 borrowed-list-item: `item` is borrowed from a list that other threads can change [by hand: the item is returned]");
}

#[test]
fn full_marks_the_place_whatever_the_encoding() {
    let fix = Outcome::Fix(Fix::safe("own the item"));
    let text = b"int x;\n  /* \xe9\xe9 */ g(item);\r\n";
    insta::assert_snapshot!(shown(OutputFormat::Full, text, b"item", fix), @"
    error[UG101 borrowed-list-item]: `item` is borrowed from a list that other threads can change
     --> m.c:2:14
      |
    1 | int x;
      | - declared here
    2 |   /* �� */ g(item); 
      |              ^^^^
      |
      = safe fix abcdef: own the item
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
        "fingerprint": "0123456789abcdef",
        "code": "UG101",
        "name": "borrowed-list-item",
        "severity": "memory",
        "message": "`item` is borrowed from a list that other threads can change",
        "location": {
          "path": "m.c",
          "line": 1,
          "column": 5,
          "end_line": 1,
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
              "end_line": 1,
              "byte_start": 0,
              "byte_end": 1
            }
          }
        ],
        "outcome": {
          "kind": "fix",
          "id": "abcdef",
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

/// A fix to review and its finding, in a file with odd bytes.
fn reviewed(format: OutputFormat) -> String {
    let mut fix = Fix::safe("own the `item`");
    fix.replace(FileId(0), ByteSpan::new(19, 23), "ITEM");
    fix.assume("`<nothing>` else, 100%");
    let text = b"int x;\n  /* \xe9 */ g(item);\n";
    shown(format, text, b"item", Outcome::Fix(fix))
}

#[test]
fn github_gets_a_command() {
    insta::assert_snapshot!(reviewed(OutputFormat::Github), @"::error file=src/m.c,line=2,endLine=2,col=13,endColumn=17,title=UG101 borrowed-list-item::`item` is borrowed from a list that other threads can change [review fix]");
}

#[test]
fn gitlab_gets_a_list() {
    insta::assert_snapshot!(reviewed(OutputFormat::Gitlab), @r#"
    [
      {
        "check_name": "UG101",
        "description": "borrowed-list-item: `item` is borrowed from a list that other threads can change [review fix]",
        "fingerprint": "0123456789abcdef",
        "location": {
          "lines": {
            "begin": 2,
            "end": 2
          },
          "path": "src/m.c"
        },
        "severity": "critical"
      }
    ]
    "#);
}

#[test]
fn junit_gets_a_case() {
    insta::assert_snapshot!(reviewed(OutputFormat::Junit), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="ungil" tests="1" skipped="0" failures="1" errors="0">
        <testsuite name="src/m.c" tests="1" skipped="0" errors="0" failures="1">
            <testcase name="UG101 borrowed-list-item at 2:13" classname="src/m.c">
                <properties>
                    <property name="severity" value="memory"/>
                    <property name="level" value="error"/>
                </properties>
                <failure message="`item` is borrowed from a list that other threads can change" type="UG101">line 2, column 13: `item` is borrowed from a list that other threads can change [review fix]</failure>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
}

#[test]
fn sarif_holds_flow_and_fix() {
    let log: serde_json::Value = serde_json::from_str(&reviewed(OutputFormat::Sarif)).unwrap();
    let run = &log["runs"][0];
    let result = &run["results"][0];
    insta::assert_snapshot!(result["locations"], @r#"[{"logicalLocations":[{"kind":"function","name":"f"}],"physicalLocation":{"artifactLocation":{"uri":"src/m.c","uriBaseId":"SRCROOT"},"region":{"byteLength":4,"byteOffset":19,"endColumn":17,"endLine":2,"startColumn":13,"startLine":2}}}]"#);
    let steps = &result["codeFlows"][0]["threadFlows"][0]["locations"];
    assert_eq!(steps[0]["location"]["message"]["text"], "declared here");
    insta::assert_snapshot!(result["fixes"], @r#"[{"artifactChanges":[{"artifactLocation":{"uri":"src/m.c","uriBaseId":"SRCROOT"},"replacements":[{"deletedRegion":{"byteLength":4,"byteOffset":19},"insertedContent":{"text":"ITEM"}}]}],"description":{"text":"own the `item`"}}]"#);
    let gaps = &run["invocations"][0]["toolExecutionNotifications"];
    insta::assert_snapshot!(gaps, @r#"[{"descriptor":{"id":"not-understood","index":0},"level":"note","locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/m.c","uriBaseId":"SRCROOT"},"region":{"startLine":1}}}],"message":{"text":"`g` not analysed: syntax error"}}]"#);
}

#[test]
fn the_markdown_report_reads_well() {
    insta::assert_snapshot!(reviewed(OutputFormat::Markdown), @"
    # Free-threading report: project

    Findings: 1, of them 0 with a safe fix, 1 with a fix to review, 0 to do by hand. Proven safe as they are: 0. Functions analysed: 1 of 2, in 1 file. Oldest Python: 3.9.

    ## Modules

    | module | file | initialisation | declared | open |
    |---|---|---|---|---|
    | `m` | src/m.c | single-phase | no | 1 finding without a safe fix (about static variables) |

    ## Findings by rule

    | rule | | severity | by hand | to review | safe fix | safe as is |
    |---|---|---|---|---|---|---|
    | UG101 borrowed-list-item |  | memory | 0 | 1 | 0 | 0 |

    ## To do by hand

    Nothing.

    ## Fixes to review

    ### own the `item`

    - src/m.c:2 in `f` (UG101, memory): `item` is borrowed from a list that other threads can change
    - [ ] to confirm: `<nothing>` else, 100%

    ```diff
    --- a/src/m.c
    +++ b/src/m.c
    @@ -1,2 +1,2 @@
     int x;
    -  /* � */ g(item);
    +  /* � */ g(ITEM);
    ```

    ## Safe fixes

    None.

    ## Coverage

    Functions analysed: 1 of 2.

    - src/m.c:1 `g`: syntax error
    - header `own.h` was not found

    ## What next

    1. `ungil diff` shows all safe fixes as one patch, `ungil diff --split-by rule --format mbox` as a series; `ungil review` decides fix by fix.
    2. Confirm the assumptions above, then `ungil migrate --unsafe-fixes`, or accept them in `ungil review`.
    3. Do what is left by hand, then run the tests on a free-threaded debug build, in many threads.

    Made by ungil 0.1.0.
    ");
}

#[test]
fn the_html_report_escapes_and_loads_nothing() {
    let page = reviewed(OutputFormat::Html);
    assert!(
        page.contains("to confirm: <code>&lt;nothing&gt;</code> else, 100%"),
        "{page}"
    );
    assert!(
        page.contains(
            "<div class=\"side new\"><div><b>2</b>  &#x2f;* \u{fffd} *&#x2f; g(ITEM);</div></div>"
        ),
        "{page}"
    );
    assert!(page.contains("prefers-color-scheme: dark"));
    for loading in ["<script", "http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(loading), "{loading}");
    }
}

#[test]
fn advice_without_a_fix_comes_with_the_code() {
    let manual = Outcome::Manual("the item is returned".into());
    let page = shown(OutputFormat::Markdown, b"```\nint x;\n", b"x", manual);
    let by_hand = page
        .split("\n## ")
        .find(|part| part.starts_with("To do by hand"));
    insta::assert_snapshot!(by_hand.unwrap(), @"
    To do by hand

    ### src/m.c:2 in `f` (UG101, memory)

    the item is returned

    ````
    error[UG101 borrowed-list-item]: `item` is borrowed from a list that other threads can change
     --> src/m.c:2:5
      |
    1 | ```
      | - declared here
    2 | int x;
      |     ^
      |
      = by hand: the item is returned
    ````
    ");
    assert!(page.contains("\n````\n"), "{page}");
}

#[test]
fn statistics_count_by_rule_and_advice() {
    assert_eq!(statistics([]), "");
    let finding = |outcome| Finding {
        rule: &RULE,
        file: FileId(0),
        span: ByteSpan::new(0, 1),
        function: None,
        api: None,
        message: String::new(),
        notes: Vec::new(),
        outcome,
    };
    let all = [
        finding(Outcome::Fix(Fix::safe("fix"))),
        finding(Outcome::Manual(String::new())),
        finding(Outcome::Manual(String::new())),
        finding(Outcome::Safe(String::new())),
    ];
    insta::assert_snapshot!(statistics(&all), @"
    CODE   NAME               SEVERITY    SAFE FIX REVIEW FIX MANUAL SAFE AS IS
    UG101  borrowed-list-item memory             1          0      2          1
    all                                          1          0      2          1
    ");
}

#[test]
fn the_schemas_in_the_docs_are_those_of_the_types() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    for (name, schema) in [
        ("findings.schema.json", super::json::schema()),
        ("abi3t.schema.json", super::abi3t::abi3t_schema()),
    ] {
        let path = docs.join(name);
        if std::env::var_os("UNGIL_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &schema).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), schema, "{name}");
    }
}
