//! Text in, tree out.

use super::parse_and_lower;
use crate::ast::{ExprKind, Item, StmtKind, TokenRange, dump};
use crate::parse::TypeNames;
use crate::parse::testing::item;
use crate::preprocess::ItemTokens;
use crate::source::FileSet;

fn lowered(text: &str) -> (FileSet, ItemTokens, Item) {
    let (files, tokens) = item(text);
    let item = parse_and_lower(&tokens, &files, &TypeNames::new()).expect("C");
    (files, tokens, item)
}

fn show(text: &str) -> String {
    dump(&lowered(text).2)
}

#[test]
fn functions_with_every_statement() {
    insta::assert_snapshot!(show(
        "static PyObject *f(PyObject *self, const char *args[], ...) {
            int i = 0, *p = &i; static long count;
            for (int j = 0; j < 10; j++) { if (j) continue; else break; }
            while (i--) ; do { i++; } while (i < 3);
            switch (i) { case 1: case 2 ... 3: g(); break; default: ; }
            again: goto again; goto *p; p = &&again;
            asm volatile(\"nop\");
            return (i, p) ? self->ob_type : Py_None;
        }"
    ), @"
    function static f(self#0: * PyObject, args#1: [] * const char, ...): * PyObject
      block
        let i#2: int = 0
        let p#3: * int = (addr i#2)
        let static count#4: long
        for cond=(< j#5 10) step=(post++ j#5)
            let j#5: int = 0
          block
            if j#5
              continue
            else
              break
        while (post-- i#2)
          null
        do-while (< i#2 3)
          block
            (post++ i#2)
        switch i#2
          block
            case 1
              case 2 ... 3
                (call g)
            break
            default
              null
        label again
          goto again
        goto *p#3
        (= p#3 (label-addr again))
        asm
        return (? (, i#2 p#3) (-> self#0 ob_type) Py_None)
    ");
}

#[test]
fn expressions() {
    insta::assert_snapshot!(show(
        "void f(int a, struct s *b) {
            x = a += b->c.d[1] * -2; a ?: g(0x1F, 1.5, 'c', \"a\" X \"b\");
            (h)(a), (*b->call)(a); y = (T *)a; z = (size_t)-1; sizeof(a); sizeof(struct s *);
            va_arg(ap, int); offsetof(struct s, m); NEW(struct s, 1); (struct s){ .x = 1, [2] = a };
            ({ int q = 1; q; }); a && b || !a; ~a & 1 | 2 ^ 3; a++ + ++a; 99999999999999999999;
        }"
    ), @r#"
    function f(a#0: int, b#1: * struct s): void
      block
        (= x (+= a#0 (* ([] (. (-> b#1 c) d) 1) (neg 2))))
        (? a#0 - (call g 31 float char "ab"))
        (, (call h a#0) (call (deref (-> b#1 call)) a#0))
        (= y (cast <* T> a#0))
        (= z (cast <size_t> (neg 1)))
        (sizeof a#0)
        (type-query <* struct s>)
        (va_arg ap <int>)
        (type-query <struct s>)
        (call NEW (type-query <struct s>) 1)
        (compound <struct s> {.x=1, [2]=a#0})
        (stmt {block; let q#2: int = 1; q#2})
        (|| (&& a#0 b#1) (! a#0))
        (| (& (~ a#0) 1) (^ 2 3))
        (+ (post++ a#0) (++ a#0))
        int?
    "#);
}

#[test]
fn scopes_follow_c() {
    insta::assert_snapshot!(show(
        "int f(int a) {
            int b = a; { int a = b, c = a; a++; } a--;
            for (int b = 1; b; b++) g(b); b--;
            int f(int); extern int e; typedef int t; f(e);
            x: a = sizeof(b); s.a = a;
        }"
    ), @"
    function f(a#0: int): int
      block
        let b#1: int = a#0
        block
          let a#2: int = b#1
          let c#3: int = a#2
          (post++ a#2)
        (post-- a#0)
        for cond=b#4 step=(post++ b#4)
            let b#4: int = 1
          (call g b#4)
        (post-- b#1)
        (call f e)
        label x
          (= a#0 (sizeof b#1))
        (= (. s a) a#0)
    ");
}

#[test]
fn parameters_of_the_old_style_get_their_types() {
    insta::assert_snapshot!(show("int f(a, b, c) char *a; double b[3]; { return c; }"), @"
    function f(a#0: * char, b#1: [3] double, c#2: int): int
      block
        return c#2
    ");
}

#[test]
fn declarations_give_types_fields_and_values() {
    let texts = [
        "static unsigned long int a, *const b = 0, c[2][3];",
        "typedef struct { PyObject_HEAD int x : 3, *y; union { long z; struct { char w; }; }; } Foo;",
        "extern int (*callback)(const char *, void (*)(int)), f(void);",
        "static __thread signed char a; ",
        "static __declspec(thread) int depth; __declspec(dllexport) int shown;",
        "long double _Complex a; unsigned __int64 b;",
        "enum e { A, B } x;",
        "static PyMethodDef methods[] = { {\"f\", (PyCFunction)f, METH_VARARGS}, {NULL} };",
        "struct outer { struct inner { int a; } i; } const o = { .i = { .a = 1 } };",
        "_Static_assert(1, \"\");",
        "MACRO(x)",
    ];
    let shown: String = texts.into_iter().map(show).collect();
    insta::assert_snapshot!(shown, @r#"
    declaration static
      a: unsigned long
      b: const * unsigned long = 0
      c: [2] [3] unsigned long
    declaration typedef
      struct _ { w: char }
      union _ { z: long, w: char }
      struct _ { x: int, y: * int, z: long, w: char }
      Foo: struct _
    declaration extern
      callback: * fn(* const char, * fn(int) void) int
      f: fn() int
    declaration static thread_local
      a: signed char
    declaration static thread_local
      depth: int
      shown: int
    declaration
      a: long double _Complex
      b: unsigned long long
    declaration
      x: enum e
    declaration static
      methods: [] PyMethodDef = {{"f", (cast <PyCFunction> f), METH_VARARGS}, {NULL}}
    declaration
      struct inner { a: int }
      struct outer { i: struct inner }
      o: const struct outer = {.i={.a=1}}
    other
    other
    "#);
}

/// The text of `range`, tokens separated by blanks.
fn text(files: &FileSet, tokens: &ItemTokens, range: TokenRange) -> String {
    let words = (range.start..range.end).map(|at| String::from_utf8_lossy(tokens.text(files, at)));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn ranges_are_those_of_the_documentation() {
    let (files, tokens, item) = lowered(
        "EXPORT int f(int a) NOISE { int *p = NEW(struct s *), q; (g)((a) + 1); for (a = 0; ; ) ; \
         return ((T)(a)); MACRO(x) l: }",
    );
    let Item::Function(function) = item else {
        panic!("not a function")
    };
    let text = |range| text(&files, &tokens, range);
    let mut shown = vec![text(function.range), text(function.name_range)];
    for stmt in &function.tree.stmts {
        shown.push(text(stmt.range));
        if let StmtKind::Decl(decls) = &stmt.kind {
            shown.extend(decls.iter().map(|decl| format!("  {}", text(decl.range))));
        }
    }
    for expr in &function.tree.exprs {
        let kind = format!("{:?}", expr.kind);
        let kind = kind.split([' ', '(']).next().unwrap_or_default().to_owned();
        shown.push(format!("{kind}: {}", text(expr.range)));
    }
    insta::assert_snapshot!(shown.join("\n"), @"
    int f ( int a ) NOISE { int * p = NEW ( struct s * ) , q ; ( g ) ( ( a ) + 1 ) ; for ( a = 0 ; ; ) ; return ( ( T ) ( a ) ) ; MACRO ( x ) l : }
    f
    int * p = NEW ( struct s * ) , q ;
      * p = NEW ( struct s * )
      q
    ( g ) ( ( a ) + 1 ) ;
    a = 0 ;
    ;
    for ( a = 0 ; ; ) ;
    return ( ( T ) ( a ) ) ;
    MACRO ( x )

    l :
    { int * p = NEW ( struct s * ) , q ; ( g ) ( ( a ) + 1 ) ; for ( a = 0 ; ; ) ; return ( ( T ) ( a ) ) ; MACRO ( x ) l : }
    Name: NEW
    TypeQuery: struct s *
    Call: NEW ( struct s * )
    Name: g
    Name: a
    Int: 1
    Binary: ( a ) + 1
    Call: ( g ) ( ( a ) + 1 )
    Name: a
    Int: 0
    Assign: a = 0
    Name: a
    Cast: ( T ) ( a )
    Name: MACRO
    Name: x
    Call: MACRO ( x )
    ");
}

#[test]
fn ranges_of_initialisers() {
    let (files, tokens, item) =
        lowered("static T t[] = { { 1, (2) }, [3].x = f(4), HEAD {\"a\" B, 5} };");
    let Item::Declaration(declaration) = item else {
        panic!("not a declaration")
    };
    let text = |range| text(&files, &tokens, range);
    let declarator = &declaration.declarators[0];
    let Some(crate::ast::Init::List(list)) = &declarator.init else {
        panic!("no list")
    };
    let mut shown = vec![
        text(declaration.range),
        text(declarator.range),
        text(list.range),
    ];
    shown.extend(list.entries.iter().map(|entry| text(entry.range)));
    insta::assert_snapshot!(shown.join("\n"), @r#"
    static T t [ ] = { { 1 , ( 2 ) } , [ 3 ] . x = f ( 4 ) , HEAD { "a" B , 5 } } ;
    t [ ]
    { { 1 , ( 2 ) } , [ 3 ] . x = f ( 4 ) , HEAD { "a" B , 5 } }
    { 1 , ( 2 ) }
    [ 3 ] . x = f ( 4 )
    HEAD
    { "a" B , 5 }
    "#);
}

#[test]
fn a_call_through_parentheses_names_the_function() {
    let (_, _, item) = lowered("void f(int g) { (PyList_New)(0); g(1); (*h)(2); }");
    let Item::Function(function) = item else {
        panic!("not a function")
    };
    let names: Vec<_> = function
        .tree
        .exprs
        .iter()
        .filter_map(|expr| match &expr.kind {
            ExprKind::Call { callee, .. } => Some(function.tree.callee_name(*callee)),
            _ => None,
        })
        .collect();
    assert_eq!(names, [Some("PyList_New"), None, None]);
}

#[test]
fn the_deepest_trees_that_are_parsed_can_be_lowered_and_dropped() {
    let test = || {
        for piece in [
            "-",
            "a = ",
            "a + ",
            "sizeof ",
            "if (a) { b(); } else ",
            "x: ",
        ] {
            let statement = piece.repeat(if piece.contains('(') { 900 } else { 3900 });
            let text = format!("void f(void) {{ {statement} a; }}");
            let (_, _, item) = lowered(&text);
            assert!(matches!(item, Item::Function(_)), "{piece}");
        }
        let (_, _, item) = lowered(&format!("int {}x;", "*".repeat(3900)));
        drop(item);
    };
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(test);
    thread
        .expect("a thread starts")
        .join()
        .expect("no overflow");
}
