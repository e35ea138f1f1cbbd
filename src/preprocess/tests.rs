//! Whole-stage tests: text in, items out.

use std::path::PathBuf;

use super::{FileIndex, Includes, Interest, Place, Sources, Unit, VersionRange, preprocess};
use crate::ast::TokenRange;
use crate::source::{ByteOffset, FileId, FileSet, SourceFile};

const RANGE: VersionRange = VersionRange {
    min: 0x0309_0000,
    max: 0x030F_00F0,
};

fn run(texts: &[(&str, &str)]) -> (FileSet, Unit) {
    let mut files = FileSet::default();
    for (path, text) in texts {
        files.add(SourceFile::new(
            PathBuf::from(path),
            text.as_bytes().to_vec(),
        ));
    }
    let index: Vec<FileIndex> = files
        .iter()
        .map(|(id, file)| FileIndex::new(id, file))
        .collect();
    let includes = Includes::new(&files, &index, &[]);
    let sources = Sources {
        files: &files,
        index: &index,
        includes: &includes,
    };
    let unit = preprocess(sources, FileId(0), &[], RANGE, &Interest::default());
    (files, unit)
}

/// One line an item: its configuration, the name if it is a function, its tokens.
fn show(texts: &[(&str, &str)]) -> String {
    let (files, unit) = run(texts);
    let mut out = String::new();
    for item in &unit.items {
        let tokens = &item.raw.tokens;
        let word = |at: u32| String::from_utf8_lossy(tokens.text(&files, at)).into_owned();
        let count = u32::try_from(tokens.tokens.len()).expect("small");
        let words: Vec<String> = (0..count).map(word).collect();
        let name = item
            .raw
            .function
            .map(|at| format!(" {}:", word(at)))
            .unwrap_or_default();
        let broken = if item.raw.broken { " broken" } else { "" };
        out += &format!("{}{name}{broken} {}\n", item.config, words.join(" "));
    }
    out + &format!("unreached {}", unit.unreached.len())
}

#[test]
fn items_end_at_bodies_and_semicolons() {
    let text = "typedef struct { int a; } T; static T t = { 1 };\n\
                int f(void) { return 1; } int g(a, b) int a; char *b; { return a; }\n\
                struct s; struct s *h(struct s *x) { return x; } ;\n\
                extern \"C\" { int k(void); }\n";
    insta::assert_snapshot!(show(&[("a.c", text)]), @"
    0 typedef struct { int a ; } T ;
    0 static T t = { 1 } ;
    0 f: int f ( void ) { return 1 ; }
    0 g: int g ( a , b ) int a ; char * b ; { return a ; }
    0 struct s ;
    0 h: struct s * h ( struct s * x ) { return x ; }
    0 int k ( void ) ;
    unreached 0
    ");
}

#[test]
fn every_live_branch_is_seen_once_and_dead_ones_never() {
    let text = "#if PY_MAJOR_VERSION >= 3\n#define PY3\n#endif\n\
                #ifdef PY3\nint three(void) {\n#else\nint two(void) {\n#endif\n return 0; }\n\
                #ifdef _WIN32\nint win;\n#elif defined(FOO) && FOO > 2\nint foo;\n#else\nint other;\n#endif\n\
                #if 0\nint dead;\n#endif\n#if PY_VERSION_HEX < 0x030B0000\nint old;\n#endif\n";
    insta::assert_snapshot!(show(&[("a.c", text)]), @"
    0 three: int three ( void ) { return 0 ; }
    0 int other ;
    1 int win ;
    2 int foo ;
    3 int old ;
    unreached 0
    ");
}

#[test]
fn macros_expand_as_in_c() {
    let text = "#define STR(x) #x\n#define CAT(a, b) a ## b\n#define LOG(f, ...) log(f, ## __VA_ARGS__)\n\
                #define SELF SELF + 1\n#define F(x) G(x)\n#define G(x) F(x)\n#define EMPTY\n\
                int x = CAT(foo, bar) + SELF; char *s = STR(a \"b\" + 1);\n\
                int y = F(F(1)); int z = LOG(\"a\") + LOG(\"b\", 2); int f(EMPTY) { return F; }\n";
    insta::assert_snapshot!(show(&[("a.c", text)]), @r#"
    0 int x = foobar + SELF + 1 ;
    0 char * s = "a \"b\" + 1" ;
    0 int y = F ( F ( 1 ) ) ;
    0 int z = log ( "a" ) + log ( "b" , 2 ) ;
    0 f: int f ( ) { return F ; }
    unreached 0
    "#);
}

#[test]
fn included_code_is_read_in_place() {
    let files = [
        (
            "a.c",
            "#include \"defs.h\"\n#define T int\n#include \"impl.c\"\nLIMIT x;\nstatic int v[] = {\n#include \"table.h\"\n};\n",
        ),
        ("impl.c", "T twice(T n) { return 2 * n; }\n"),
        (
            "defs.h",
            "#ifndef D_H\n#define D_H\n#define LIMIT long\nint declared(void);\n#endif\n",
        ),
        ("table.h", "1,\n2,\n"),
    ];
    insta::assert_snapshot!(show(&files), @"
    0 twice: int twice ( int n ) { return 2 * n ; }
    0 long x ;
    0 static int v [ ] = { 1 , 2 , } ;
    unreached 0
    ");
}

#[test]
fn a_stray_bracket_costs_one_item() {
    let text = "int f(void) { if (x) { return 1; \n}\nint g(void)\n{\n  return 2;\n}\n";
    insta::assert_snapshot!(show(&[("a.c", text)]), @"
    0 f: broken int f ( void ) { if ( x ) { return 1 ; }
    0 g: int g ( void ) { return 2 ; }
    unreached 0
    ");
}

#[test]
fn a_value_that_is_missing_costs_one_item() {
    let text = "static char doc[] =\n/* filled in */\nstatic int v[] = {1};\nint w = 1;\nstatic int u =\nstatic";
    insta::assert_snapshot!(show(&[("a.c", text)]), @"
        0 static char doc [ ] =
        0 static int v [ ] = { 1 } ;
        0 int w = 1 ;
        0 static int u =
        0 static
        unreached 0
        ");
}

#[test]
fn hostile_macros_end() {
    let mut text = String::from("#define A0 x x\n");
    for n in 1..40 {
        text += &format!("#define A{n} A{} A{}\n", n - 1, n - 1);
    }
    text += "int y = A39;\n";
    let (_, unit) = run(&[("a.c", &text)]);
    assert_eq!(unit.items.len(), 1);
}

#[test]
fn places_tell_text_argument_and_body() {
    let text = "#define CHECK(e) do { if (!(e)) return 0; } while (0)\n\
                int f(int a) { CHECK(g(a) > 1); return a; }\n";
    let (files, unit) = run(&[("a.c", text)]);
    let tokens = &unit.items[0].raw.tokens;
    let find = |word: &str| {
        let count = u32::try_from(tokens.tokens.len()).expect("small");
        (0..count)
            .find(|at| tokens.text(&files, *at) == word.as_bytes())
            .expect("present")
    };
    let shown = |start: u32, end: u32| match tokens.place(TokenRange { start, end }) {
        Place::File(file, span) => format!("file {}", files.get(file).text(span)),
        Place::Argument { file, span, name } => {
            format!("argument of {name}: {}", files.get(file).text(span))
        }
        Place::Macro { name, call, .. } => format!("{name} at {}", files.get(call.0).text(call.1)),
    };
    let (open, g, one) = (find("do"), find("g"), find("1"));
    assert_eq!(shown(g, one + 1), "argument of CHECK: g(a) > 1");
    assert_eq!(shown(find("if"), one + 1), "CHECK at CHECK(g(a) > 1)");
    // The whole use with its semicolon is text of the file.
    let end = (open..)
        .find(|at| tokens.text(&files, *at) == b"while")
        .expect("present")
        + 4;
    assert_eq!(shown(open, end), "file CHECK(g(a) > 1)");
    assert_eq!(shown(open - 1, end + 1), "file { CHECK(g(a) > 1);");
}

#[test]
fn branches_for_old_versions_share_no_configuration_with_others() {
    let text = "#if PY_VERSION_HEX < 0x030B0000\nint old;\n#endif\n\
                #ifdef EXTRA\nint extra;\n#endif\n\
                #if PY_VERSION_HEX < 0x030C0000\nint less_old;\n#endif\n";
    insta::assert_snapshot!(show(&[("a.c", text)]), @"
        1 int old ;
        1 int less_old ;
        2 int extra ;
        unreached 0
        ");
}

#[test]
fn a_macro_for_the_function_of_another_branch_is_seen() {
    let text = "#if A\nint get(int n) { return n; }\n#else\n#define get(n) (n)\n#endif\n\
                #if B\nint more;\n#else\n#define OTHER 1\n#endif\n\
                int use(void) { return get(2); }\n";
    insta::assert_snapshot!(show(&[("a.c", text)]), @"
    0 use: int use ( void ) { return ( 2 ) ; }
    1 get: int get ( int n ) { return n ; }
    1 int more ;
    1 use: int use ( void ) { return get ( 2 ) ; }
    unreached 0
    ");
}

/// Also in a header, of which no text is read.
#[test]
fn a_macro_that_leaves_in_one_branch_only_is_seen_in_both() {
    let header = "#ifdef STRICT\n#define TRY(x) if (x) return -1\n#else\n#define TRY(x) (x)\n#endif\n\
                  #ifdef LOUD\n#define SAY(x) puts(x)\n#else\n#define SAY(x) 0\n#endif\n\
                  #ifdef SHORT\n#define END return 0\n#else\n#define END return 1\n#endif\n";
    let text = "#include \"a.h\"\nint use(int n) { TRY(n); SAY(\"\"); END; }\n";
    insta::assert_snapshot!(show(&[("a.c", text), ("a.h", header)]), @"
        0 use: int use ( int n ) { ( n ) ; 0 ; return 1 ; }
        1 use: int use ( int n ) { if ( n ) return - 1 ; 0 ; return 1 ; }
        unreached 0
        ");
}

#[test]
fn branches_are_found_by_what_stands_in_them() {
    let text = "int a;\n#if X\nint b;\n#ifdef Y\nint c;\n#else\n#endif\nint d;\n#endif\nint e;\n";
    let file = SourceFile::new("a.c".into(), text.as_bytes().to_vec());
    let index = FileIndex::new(FileId(0), &file);
    let at = |word: &str| {
        ByteOffset(u32::try_from(text.find(word).expect("it is there")).expect("short"))
    };
    let branch = |word: &str| {
        let branch = index.branch_at(at(word))?;
        Some(file.position(index.branch_offset(branch)).line.0)
    };
    let lines = ["a;", "b;", "c;", "d;", "e;"].map(branch);
    assert_eq!(lines, [None, Some(2), Some(4), Some(2), None]);
    let stretch = |word: &str| Some(file.text(index.stretch_at(at(word))?).into_owned());
    assert_eq!(stretch("#if X"), Some("int a;".to_owned()));
    assert_eq!(stretch("int d"), Some("int d;".to_owned()));
    assert_eq!(stretch("#endif"), None);
}

#[test]
fn branches_of_a_function_of_interest_meet_in_pairs() {
    let text = "int f(void) {\n#ifdef A\n a();\n#else\n b();\n#endif\n#ifdef B\n c();\n#endif\n\
                #if !defined(A)\n d();\n#endif\n}\n";
    let file = SourceFile::new("a.c".into(), text.as_bytes().to_vec());
    let mut files = FileSet::default();
    let root = files.add(file);
    let index = [FileIndex::new(root, files.get(root))];
    let sources = Sources {
        files: &files,
        index: &index,
        includes: &Includes::new(&files, &index, &[]),
    };
    let interest = Interest {
        words: [&b"a"[..]].into_iter().collect(),
        ..Interest::default()
    };
    let calls = |interest: &Interest| {
        let unit = preprocess(sources, root, &[], RANGE, interest);
        let items = unit.items.iter().map(|item| {
            let tokens = &item.raw.tokens;
            let names = (0..tokens.tokens.len())
                .map(|at| tokens.text(&files, u32::try_from(at).expect("few")));
            let names = names.filter(|name| matches!(name, [b'a'..=b'd']));
            String::from_utf8(names.flatten().copied().collect()).expect("letters")
        });
        items.collect::<Vec<_>>()
    };
    assert_eq!(calls(&Interest::default()), ["bd", "ac"]);
    assert_eq!(calls(&interest), ["bd", "ac", "a", "bcd"]);
}

#[test]
fn the_generated_header_hides_nothing_of_the_api() {
    let header = "/* Functions of newer Pythons for older ones. */\n\
                  #ifndef H\n#define H\n#include \"a.h\"\n#ifdef Py_LIMITED_API\n#undef OPEN\n\
                  #define OPEN {\n#define Py_NewRef own_compat_Py_NewRef\n\
                  static int Py_NewRef(void) { return 1; }\n#endif\n#endif\n";
    let main = "#define Py_LIMITED_API 0x03090000\n#define OPEN { begin();\n\
                #include \"own.h\"\nint f(void) { OPEN Py_NewRef(A); } }\n";
    let texts = [("m.c", main), ("own.h", header), ("a.h", "#define A 1\n")];
    insta::assert_snapshot!(show(&texts), @"
        0 f: int f ( void ) { { begin ( ) ; Py_NewRef ( 1 ) ; } }
        unreached 0
        ");
}

#[test]
fn what_only_builds_with_the_gil_take_away_stays() {
    let stand_ins = "#define OPEN { begin();\n\
        #if defined(Py_LIMITED_API) && Py_LIMITED_API+0 < 0x030F0000\n#undef OPEN\n#endif\n\
        #if (PY_VERSION_HEX < 0x030D00B3 \\\n\
         || (defined(Py_LIMITED_API) && Py_LIMITED_API+0 < 0x030F0000)) && !defined(OPEN)\n\
        #define OPEN {\n#endif\n\
        #if defined(Py_LIMITED_API) && Py_LIMITED_API+0 < 0x030D0000\n\
        static int older;\n#endif\nint f(void) { OPEN } }\n";
    insta::assert_snapshot!(show(&[("m.c", stand_ins)]), @"
        0 f: int f ( void ) { { begin ( ) ; } }
        1 static int older ;
        unreached 0
        ");
}

#[test]
fn what_a_unit_defines_twice_is_told() {
    let told = |texts: &[(&str, &str)]| -> Vec<String> {
        let twice = run(texts).1.twice.into_iter();
        twice.map(|it| it.name.into()).collect()
    };
    let template = "static int NAME(grow)(int *at) { return *at; }\nstatic int sizes[2] = {1, 2};\n\
                    static int later;\n#define MORE(x) NAME(x)\n";
    let main = "#define NAME(x) a_##x\n#include \"t.c\"\n#undef NAME\n#define NAME(x) b_##x\n\
                #include \"t.c\"\n#define MORE 1\n#define SAME 1\n#define SAME 1\n\
                int (*hook)(int) = f, (*other)(int) = f;\nTEST(one) { }\nTEST(two) { }\n\
                #ifdef A\nstatic int pick(void) { return 1; }\n#else\n\
                static int pick(void) { return 2; }\n#endif\n";
    assert_eq!(told(&[("m.c", main), ("t.c", template)]), ["MORE", "sizes"]);
    let plain = main.replace("a_##x", "x").replace("b_##x", "x");
    assert_eq!(
        told(&[("m.c", &plain), ("t.c", template)]),
        ["MORE", "grow", "sizes"]
    );
    let once = "#pragma once\nstatic int h(void) { return 1; }\n";
    assert_eq!(
        told(&[
            ("m.c", "#include \"h.h\"\n#include \"h.h\"\n"),
            ("h.h", once)
        ]),
        [""; 0]
    );
}
