use std::fmt::Write;

use insta::assert_snapshot;

use super::{Extent, is_match, targets};
use crate::build::{BuildFile, BuildKind};
use crate::source::{FileId, SourceFile};

/// A line for each target of these files; `~` stands for [`Extent::AtMost`], `?` for
/// [`Extent::Open`].
fn read(texts: &[(&str, &str)]) -> String {
    let source =
        |(path, text): &(&str, &str)| SourceFile::new(path.into(), text.as_bytes().to_vec());
    let sources: Vec<SourceFile> = texts.iter().map(source).collect();
    let files = (0u32..).zip(&sources).map(|(id, source)| {
        let kind = BuildKind::of_name(source.path()).unwrap();
        BuildFile::new(FileId(id), kind, source)
    });
    let mut found = String::new();
    for target in targets(&files.collect::<Vec<_>>()) {
        let sign = match target.extent {
            Extent::Open => "?",
            Extent::AtMost => "~",
            Extent::Exact => "",
        };
        writeln!(found, "{}{sign}: {}", target.name, target.sources.join(" ")).unwrap();
    }
    found
}

fn setup(text: &str) -> String {
    read(&[("setup.py", text)])
}

#[test]
fn literal_sources_are_exact() {
    let text = "\
from setuptools import setup, Extension
import setuptools
sources = ['src/b.c']
sources += ['src\\\\util.c']
setup(ext_modules=[
    Extension('pkg._a', sources=['src/a.c', 'src/' 'util.c'], depends=['a.h']),
    setuptools.Extension(name='pkg._b', sources=sources + ['c.c']),
])
";
    assert_snapshot!(setup(text), @"
    _a: src/a.c src/util.c
    _b: src/b.c src/util.c c.c
    ");
    assert_snapshot!(read(&[("python/setup.py", text)]), @"
    _a: python/src/a.c python/src/util.c
    _b: python/src/b.c python/src/util.c python/c.c
    ");
}

#[test]
fn paths_are_joined_and_globs_stay() {
    assert_snapshot!(setup("\
import os, glob
from os.path import join as pjoin
from pathlib import Path
here = os.path.dirname(os.path.abspath(__file__))
src = Path(__file__).parent / 'src'
ext = [
    Extension('a', [os.path.join('src', 'a.c'), os.path.join(here, 'x', 'y.c')]),
    Extension('b', glob.glob('src/*.c') + sorted(glob.glob(pjoin('lib', '**', '*.c')))),
    Extension('c', [str(src / 'c.c')] + [str(p) for p in src.glob('c/*.c')]),
    Extension('d', [f for f in glob.glob('src/*.c') if 'main' not in f]),
]
"), @"
    a: src/a.c x/y.c
    b: src/*.c lib/**/*.c
    c: src/c.c src/c/*.c
    d~: src/*.c
    ");
}

#[test]
fn each_round_of_a_loop_is_a_target() {
    assert_snapshot!(setup("\
names = ('one', 'two')
exts = [Extension('pkg.' + n, ['src/%s.c' % n]) for n in names]
for name, more in {'three': ['x.c'], 'four': []}.items():
    path = f'src/{name}.c'
    exts.append(Extension('pkg.{}'.format(name), [path] + more))
for n in 'five six'.split():
    exts.append(Extension(n, sources=list(map(lambda part: n + part, ['.c', '_b.c']))))
"), @"
    one: src/one.c
    two: src/two.c
    three: src/three.c x.c
    four: src/four.c
    five: five.c five_b.c
    six: six.c six_b.c
    ");
}

#[test]
fn functions_of_the_file_are_followed() {
    assert_snapshot!(setup("\
def src(*names):
    return [os.path.join('src', name) for name in names]

def ext(name, more=(), **kw):
    sources = src(name + '.c')
    return Extension('pkg.' + name, sources=sources + list(more), **kw)

modules = [ext('a'), ext('b', more=['c.c'])]
"), @"
    a: src/a.c
    b: src/b.c c.c
    ");
}

#[test]
fn what_may_be_left_out_is_at_most() {
    assert_snapshot!(setup("\
sources = ['a.c']
if sys.platform == 'win32':
    sources.append('win.c')
else:
    sources.extend(['posix.c', 'fork.c'])
one = Extension('one', sources)
two = Extension('two', ['b.c', 'x86.c' if machine == 'x86' else 'arm.c'])
"), @"
    one~: a.c win.c posix.c fork.c
    two~: b.c x86.c arm.c
    ");
}

#[test]
fn what_is_not_seen_leaves_a_target_open() {
    assert_snapshot!(setup("\
from helpers import more
one = Extension('one', ['a.c'] + more)
two = Extension('two', find_sources())
three = Extension('three', **options)
four = CustomExtension('four', ['d.c'])
five = Extension('five', [read('e') + '.c', 'f.c'])
def make(sources):
    return Extension('six', sources)
sources = ['not_this.c']
"), @"
    one?: a.c
    two?: 
    three?: 
    four?: d.c
    five?: f.c
    six?: 
    ");
}

#[test]
fn sources_that_change_later_leave_all_targets_open() {
    assert_snapshot!(setup("\
one = Extension('one', ['a.c'])
if WITH_B:
    one.sources.append('b.c')
"), @"one?: a.c");
}

#[test]
fn a_list_that_other_code_gets_may_change() {
    assert_snapshot!(setup("\
def add(to):
    to.append('hidden.c')
sources = ['a.c']
sources.append('b.c')
add(sources)
one = Extension('one', sources)
"), @"one~: a.c b.c");
}

#[test]
fn text_that_calls_itself_comes_to_an_end() {
    let mut doubled = "def f(x):\n    return f(x + x) + f(x)\na0 = ['a.c']\n".to_owned();
    for n in 1..60 {
        writeln!(doubled, "a{n} = a{0} + a{0} + [f('x')]", n - 1).unwrap();
    }
    doubled += "Extension('m', a59)\n";
    let itself = "b = b + ['c.c'] + f(b)\nExtension('m', b)\n".to_owned();
    let called = "def g(n):\n    g(n); g(n)\n    Extension('m', [n, n])\ng('g.c')\n".to_owned();
    let nested = format!("Extension('m', {}1{})\n", "[".repeat(500), "]".repeat(500));
    let mut long = "a = 'x'\n".to_owned();
    for _ in 0..40 {
        long += "a = '%s%s' % (a, a)\nb = [c + d for c in b for d in b]\n";
    }
    long += "Extension('m', [a] + b)\n";
    for text in [doubled, itself, nested, long] {
        let found = setup(&text);
        assert!(found.starts_with("m?:"), "{text}\n{found}");
    }
    assert_eq!(setup(&called), "m: g.c g.c\n");
}

#[test]
fn toml_names_modules() {
    let text = "\
[[tool.setuptools.ext-modules]]
name = 'pkg._a'
sources = ['src/a.c', 'src/b.c']

[[tool.setuptools.ext-modules]]
name = 'pkg._b'
sources = ['b.pyx']
";
    assert_snapshot!(read(&[("pyproject.toml", text)]), @"
    _a: src/a.c src/b.c
    _b: b.pyx
    ");
    let inline = "[tool.setuptools]\next-modules = [{name = 'm', sources = ['m.c']}]\n";
    assert_snapshot!(read(&[("pyproject.toml", inline)]), @"m: m.c");
}

#[test]
fn setup_files_list_modules() {
    assert_snapshot!(read(&[("Modules/Setup", "\
# comment
*shared*
SDL = -I/usr/include/SDL2 -lSDL2
COMMON = util.c
_json _json.c
_x -DX _x.c \\
   $(COMMON) $(SDL) -lm   # more
@MODULE_Y_TRUE@_y y.c $(srcdir)/z.c
")]), @"
    _json~: Modules/_json.c
    _x~: Modules/_x.c Modules/util.c
    _y?: Modules/y.c
    ");
}

#[test]
fn meson_modules_take_texts_files_and_variables() {
    let top = "\
project('x', 'c')
py = import('python').find_installation(pure: false)
common = files('src/common.c')
subdir('src')
";
    let inner = "\
more = ['b.c']  # not 'c.c'
if host_machine.system() == 'windows'
  more += 'win.c'
endif
py.extension_module('_a', 'a.c', common,
  dependencies: deps, install: true)
py.extension_module('_b', ['d.c', more], sources: 'e' / 'f.c')
py.extension_module('_c', custom_target('x', output: 'y.c'), cond ? 'g.c' : 'h.c')
foreach name, sources : {'p': ['p.c'], 'q': files('q.c')}
  py.extension_module(name, sources)
endforeach
";
    assert_snapshot!(read(&[("meson.build", top), ("src/meson.build", inner)]), @"
    _a: src/a.c src/common.c
    _b~: src/d.c src/b.c src/win.c src/e/f.c
    _c?: src/g.c src/h.c
    p~: src/p.c src/q.c
    q~: src/p.c src/q.c
    ");
}

#[test]
fn cmake_modules_take_words_and_variables() {
    let top = "\
cmake_minimum_required(VERSION 3.15)
# set(SRC not_this.c)
set(COMMON common.c ${CMAKE_CURRENT_SOURCE_DIR}/util.c)
Python_add_library(_a MODULE WITH_SOABI \"a.c\" ${COMMON})
list(APPEND SRC b.c)
if(WIN32)
  list(APPEND SRC win.c) # more
endif()
add_library(_b MODULE ${SRC})
target_sources(_b PRIVATE extra.c)
add_library(helper STATIC h.c)
pybind11_add_module(_c c.cpp ${UNKNOWN})
file(GLOB_RECURSE ALL CONFIGURE_DEPENDS src/*.c)
python_add_library(d MODULE ${ALL} $<TARGET_OBJECTS:helper>)
set_target_properties(d PROPERTIES PREFIX \"\" OUTPUT_NAME \"_d\")
";
    assert_snapshot!(read(&[("CMakeLists.txt", top)]), @"
    _a: a.c common.c util.c
    _b~: b.c win.c extra.c
    _c?: c.cpp
    d?: src/**/*.c
    _d?: src/**/*.c
    ");
}

#[test]
fn damaged_files_name_what_they_can() {
    for text in [
        "add_library(x MODULE a.c",
        "add_library(\"",
        "set(A ${A}${A})\nadd_library(x MODULE ${A} ${",
        "#[[ add_library(",
    ] {
        read(&[("CMakeLists.txt", text)]);
    }
    for text in [
        "x.extension_module('a', [",
        "foreach a, : \n x = x + x\n p.extension_module('a', x)",
        "f'",
        "a = {'b': [",
    ] {
        read(&[("meson.build", text)]);
    }
    for text in [
        "a b.c \\",
        "= b.c",
        "$( x.c",
        "a $(A)\nA = $(A) $(A)\nb b.c $(A)",
    ] {
        read(&[("Setup", text)]);
    }
}

#[test]
fn stars_stand_for_anything() {
    for (pattern, path) in [
        ("src/*.c", "src/a.c"),
        ("src/**/*.c", "src/a.c"),
        ("src/**/*.c", "src/x/y/a.c"),
        ("**/a.c", "a.c"),
        ("a?.c", "ab.c"),
        ("a[0-9].c", "a7.c"),
        ("*", "x/y"),
    ] {
        assert!(is_match(pattern, path), "{pattern} {path}");
    }
    for (pattern, path) in [
        ("src/*.c", "lib/a.c"),
        ("src/*.c", "src/a.cpp"),
        ("a", "ab"),
        ("ab", "a"),
    ] {
        assert!(!is_match(pattern, path), "{pattern} {path}");
    }
}
