//! What the parser takes, what it refuses, and what it gets to see.

use super::testing::item;
use super::{ParseFailure, TypeNames, clean, parse_item, walk::Walker};

/// The shadow without the prelude.
fn shadow(text: &str) -> String {
    let (files, tokens) = item(text);
    let toks = clean::clean(&tokens, &files).expect("balanced");
    let shadow = Walker::new(&toks, &TypeNames::new())
        .walk()
        .expect("can be walked");
    shadow.text.trim_start_matches("typedef int T;").to_owned()
}

fn shadows(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| format!("{line}\n    {}\n", shadow(line)))
        .collect()
}

fn parse(text: &str) -> Result<(), ParseFailure> {
    let (files, tokens) = item(text);
    parse_item(&tokens, &files, &TypeNames::new()).map(drop)
}

fn fails(text: &str) -> String {
    let failure = parse(text).expect_err("no C");
    format!("{}: {}", failure.token, failure.reason)
}

/// Runs `test` with the stack that callers have.
fn with_large_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(test);
    thread
        .expect("a thread starts")
        .join()
        .expect("no overflow");
}

#[test]
fn the_shadow_keeps_structure_and_drops_words() {
    let lines = [
        "static PyObject *f(PyObject *self, int n) { return g(self, n + 0x10, \"a\" PRId64 \"b\"); }",
        "BORROWED static foo_t *f(void) NOTHROW FORMAT(1, 2);",
        "MYEXPORT(int) f(void);",
        "STEALS(1) PyObject *f(PyObject *o);",
        "__attribute__((noinline)) int __cdecl f(int x __attribute__((unused)));",
        "typedef int (WINAPI *callback)(HWND, unknown *);",
        "int f(a, b) int a; char *b; { return a; }",
        "f(x) { return x; }",
        "MODULE_STATE(foo);",
        "DEFINE_GETTER(foo, bar)",
        "struct PACKED s { EXTRA_FIELDS(x); int a : 3; union { long b; }; } ALIGNED(8);",
        "enum e { A, B = 2 NOISE, C };",
        "_Static_assert(1);",
    ];
    insta::assert_snapshot!(shadows(&lines), @r#"
    static PyObject *f(PyObject *self, int n) { return g(self, n + 0x10, "a" PRId64 "b"); }
        static T*x(T*x,int x){return x(x,x+0,"");}
    BORROWED static foo_t *f(void) NOTHROW FORMAT(1, 2);
        static T*x(void);
    MYEXPORT(int) f(void);
        int x(void);
    STEALS(1) PyObject *f(PyObject *o);
        T*x(T*x);
    __attribute__((noinline)) int __cdecl f(int x __attribute__((unused)));
        int x(int x);
    typedef int (WINAPI *callback)(HWND, unknown *);
        typedef int(*D)(T,T*);
    int f(a, b) int a; char *b; { return a; }
        int x(x,x)int x;char*x;{return x;}
    f(x) { return x; }
        int x(x){return x;}
    MODULE_STATE(foo);
        
    DEFINE_GETTER(foo, bar)
        
    struct PACKED s { EXTRA_FIELDS(x); int a : 3; union { long b; }; } ALIGNED(8);
        struct x{int x:0;union{long x;};}x;
    enum e { A, B = 2 NOISE, C };
        enum x{x,x=0,x};
    _Static_assert(1);
    "#);
}

#[test]
fn statements_are_told_from_declarations() {
    let lines = [
        "void f(void) { foo *p; a * b; foo bar = 1; STMT\n x = 2; }",
        "void f(int foo) { foo * bar; }",
        "void f(int y) { CHECK(x) y = 1; STACK_OF(X) *s = 0; T (*g)(int) = 0; call(*p); }",
        "void f(void) { FOREACH(a, b) { g(); } FOREVER { break; } TAILQ_FOREACH(a, b) g(); }",
        "void f(void) { a: int x; b: c: } ",
        "int f(int x) { switch (x) { case 1: int y = 2; case 3 ... 4: default: } }",
        "void f(void) { if likely(x) g(); goto *p; p = &&a; x = a ?: b; __label__ a; }",
        "void f(void) { __asm__ volatile(\"nop\" : : \"r\"(x)); int y asm(\"r0\"); [[fallthrough]]; }",
    ];
    insta::assert_snapshot!(shadows(&lines), @r#"
    void f(void) { foo *p; a * b; foo bar = 1; STMT
     x = 2; }
        void x(void){T*x;T*x;T x=0;x;x=0;}
    void f(int foo) { foo * bar; }
        void x(int x){x*x;}
    void f(int y) { CHECK(x) y = 1; STACK_OF(X) *s = 0; T (*g)(int) = 0; call(*p); }
        void x(int x){x(x);x=0;T*x=0;T(*x)(int)=0;x(*x);}
    void f(void) { FOREACH(a, b) { g(); } FOREVER { break; } TAILQ_FOREACH(a, b) g(); }
        void x(void){while(x(x,x)){x();}while(x){break;}while(x(x,x))x();}
    void f(void) { a: int x; b: c: } 
        void x(void){x:;int x;x:x:;}
    int f(int x) { switch (x) { case 1: int y = 2; case 3 ... 4: default: } }
        int x(int x){switch(x){case 0:;int x=0;case 0 ... 0:default:;}}
    void f(void) { if likely(x) g(); goto *p; p = &&a; x = a ?: b; __label__ a; }
        void x(void){if(x(x))x();G(x);x=L(x);x=x?E:x;;}
    void f(void) { __asm__ volatile("nop" : : "r"(x)); int y asm("r0"); [[fallthrough]]; }
        void x(void){__asm__("");int x;;}
    "#);
}

#[test]
fn casts_are_told_from_calls() {
    let lines = [
        "int x = (foo *)p + (foo)q + (foo)(q) + (foo_t)(q) + (size_t)-1 + (foo)-1;",
        "int x = (PyCFunction)(void (*)(void))f + (unknown)(void (*)(void))f;",
        "int x = sizeof(struct s *) + sizeof(foo) + sizeof(foo *) + sizeof (int){3} + sizeof x;",
        "int x = NEW(struct s *, 3) + PyObject_New(PyObject, &t) + M(a, , <, foo *);",
        "int x = va_arg(ap, foo) + offsetof(foo, f.g[1]) + container_of(p, struct s, f);",
        "int x = not a and (b or c);",
        "int x = _Generic(y, foo *: 1, default: 2);",
        "int x = (a * b) + (a * (1 << 2)) + (a)(b);",
        "int x = (Uint8)(a) + (Foo_New)(a, b) + (PyList_New)(0) + (Get)();",
        "int x = f(a, _T(\"x\") _T(NAME) _T(\".dll\"), L\"y\" L\"z\");",
    ];
    insta::assert_snapshot!(shadows(&lines), @r#"
    int x = (foo *)p + (foo)q + (foo)(q) + (foo_t)(q) + (size_t)-1 + (foo)-1;
        int x=(T*)x+(T)x+(T)(x)+(T)(x)+(T)-0+(T)-0;
    int x = (PyCFunction)(void (*)(void))f + (unknown)(void (*)(void))f;
        int x=(T)(void(*)(void))x+(T)(void(*)(void))x;
    int x = sizeof(struct s *) + sizeof(foo) + sizeof(foo *) + sizeof (int){3} + sizeof x;
        int x=sizeof(struct x*)+sizeof(x)+sizeof(T*)+sizeof((int){0})+sizeof x;
    int x = NEW(struct s *, 3) + PyObject_New(PyObject, &t) + M(a, , <, foo *);
        int x=x(sizeof(struct x*),0)+x(sizeof(T),&x)+x(x,x,x,sizeof(T*));
    int x = va_arg(ap, foo) + offsetof(foo, f.g[1]) + container_of(p, struct s, f);
        int x=__builtin_va_arg(x,T)+__builtin_offsetof(T,x . x[0])+x(x,sizeof(struct x),x);
    int x = not a and (b or c);
        int x= !x&&(x||x);
    int x = _Generic(y, foo *: 1, default: 2);
        int x=_Generic(x,T* :0,default:0);
    int x = (a * b) + (a * (1 << 2)) + (a)(b);
        int x=(x*x)+(x*(0<<0))+(x)(x);
    int x = (Uint8)(a) + (Foo_New)(a, b) + (PyList_New)(0) + (Get)();
        int x=(T)(x)+(x)(x,x)+(x)(0)+(x)();
    int x = f(a, _T("x") _T(NAME) _T(".dll"), L"y" L"z");
        int x=x(x,"","");
    "#);
}

#[test]
fn initialisers_mend_commas() {
    let lines = [
        "T x = { { 1, 2 },, .a = { [0 ... 2] = 1, [3].b = 2 }, old: 3, };",
        "M x[] = { FOO_METHODDEF {\"x\", 0}, BAR(1) BAZ(2) { 0 } };",
        "int errors[] = ;",
    ];
    insta::assert_snapshot!(shadows(&lines), @r#"
    T x = { { 1, 2 },, .a = { [0 ... 2] = 1, [3].b = 2 }, old: 3, };
        T x={{0,0},. x={[0 ... 0]=0,[0]. x=0},x:0,};
    M x[] = { FOO_METHODDEF {"x", 0}, BAR(1) BAZ(2) { 0 } };
        T x[]={x,{"",0},x(0),x(0),{0}};
    int errors[] = ;
        int x[]=0;
    "#);
}

#[test]
fn each_shadow_parses() {
    for text in [
        "static thread_local __int128 a; _Atomic(int) b; unsigned __int64 c;",
        "int f(void) { __extension__ __auto_type x = 1; auto y = x; typeof(x) z; return x ?: y; }",
        "int f(int n, int a<:n:>) <% return a<:0:>; %>",
        "void f(void) { const char *s = \"\\e\\u00e9\" u8\"x\"; int $d\u{e9}j\u{e0} = '\\e'; }",
        "void f(void) { if (x) ; else for (;;) { do { continue; } while (0); } }",
        "int x = __builtin_types_compatible_p(int, long *);",
        "void f(void) { g(({ int x = 1; x; }), (struct s){ .a = 1 }); }",
        "bool f(void) { return nullptr == true; }",
        "int (*f(int a))(char) { return 0; }",
        "int (f)(int a) { return 0; }",
    ] {
        assert_eq!(parse(text), Ok(()), "{text}");
    }
}

#[test]
fn failures_name_the_place() {
    let lines = [
        fails("int f(void) { return 1 }; }"),
        fails("int f(void) { return (1; }"),
        fails("int f(void) { int g(void) { return 1; } return g(); }"),
        fails("int f(void) { a b c d e; x = = 1; }"),
        fails("int f(void) { x = 1"),
        fails("int f(void) { __attribute__((cleanup(g))) int x; }"),
    ];
    insta::assert_snapshot!(lines.join("\n"), @"
    10: unbalanced brackets at `}`
    10: unbalanced brackets at `}`
    11: a function inside a function
    14: unexpected `=`
    5: unbalanced brackets at `{`
    6: a function that runs where a variable ends (`cleanup`)
    ");
}

#[test]
fn deep_nesting_is_refused_and_not_overflowed() {
    for (open, close) in [
        ("(", ")"),
        ("x[", "]"),
        ("{", "}"),
        ("f(", ")"),
        ("(int)(", ")"),
    ] {
        let text = format!(
            "int x = {}1{};",
            open.repeat(100_000),
            close.repeat(100_000)
        );
        let failure = parse(&text).expect_err("too deep");
        assert_eq!(failure.reason, "more than 200 levels of brackets");
    }
}

#[test]
fn the_deepest_items_that_are_taken_fit_the_stack() {
    with_large_stack(|| {
        let operators = |piece: &str, count| format!("int x = {}1;", piece.repeat(count));
        for piece in ["-", "a = ", "a ? b : ", "a + ", "(int)", "sizeof ", "!"] {
            let count = 3900
                / piece
                    .matches(['-', '=', '?', ':', '+', '(', ')', '!'])
                    .count()
                    .max(1);
            assert_eq!(parse(&operators(piece, count)), Ok(()), "{piece}");
            let failure = parse(&operators(piece, 100_000)).expect_err("too long");
            assert_eq!(
                failure.reason,
                "an expression or statement with more than 4000 operators"
            );
        }
        for piece in [
            "if (a) b(); else ",
            "if (a) { b(); } else ",
            "case 1: ",
            "x: ",
            "while (a) ",
            "do ",
        ] {
            let body = |count| format!("void f(void) {{ {} g(); }}", piece.repeat(count));
            assert!(parse(&body(100_000)).is_err(), "{piece}");
            if piece != "do " {
                assert_eq!(parse(&body(500)), Ok(()), "{piece}");
            }
        }
        let nested = format!("int x = {}1{};", "(".repeat(200), ")".repeat(200));
        assert_eq!(parse(&nested), Ok(()));
        let stars = format!("int {}x;", "*".repeat(3900));
        assert_eq!(parse(&stars), Ok(()));
    });
}
