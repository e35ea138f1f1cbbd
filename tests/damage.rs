//! Damaged C never panics or hangs, and what is sound beside it is still understood.

use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use ungil::facts::Functions;
use ungil::preprocess::{FileIndex, Includes, VersionRange};
use ungil::program::{Demand, Options, load};
use ungil::source::{FileSet, SourceFile};

const SAMPLE: &str = include_str!("fixtures/sample.c");

/// Reads `bytes` as a file of C; gives how many functions there are and how many are understood.
fn read(bytes: Vec<u8>) -> (usize, usize) {
    // The parser recurses on worker threads, which need a large stack.
    static POOL: LazyLock<ThreadPool> = LazyLock::new(|| {
        ThreadPoolBuilder::new()
            .stack_size(64 << 20)
            .build()
            .expect("threads can be started")
    });
    POOL.install(|| {
        let mut files = FileSet::default();
        let model = ungil::capi::MODEL_H.as_bytes().to_vec();
        let model = files.add(SourceFile::new(PathBuf::from("<Python.h>"), model));
        let file = files.add(SourceFile::new(PathBuf::from("a.c"), bytes));
        let index: Vec<FileIndex> = files
            .iter()
            .map(|(id, file)| FileIndex::new(id, file))
            .collect();
        let includes = Includes::new(&files, &index, &[]);
        let range = VersionRange {
            min: 0x0309_0000,
            max: 0x030F_00F0,
        };
        let options = Options {
            range,
            roots: vec![file],
            before: vec![model],
            demand: Demand::Everything,
            headers: false,
            facts: Functions::default(),
            unread: std::sync::Arc::default(),
            known: None,
        };
        let program = load(&files, &index, &includes, &options);
        (program.functions_total, program.functions_understood)
    })
}

#[test]
fn the_sample_is_understood() {
    assert_eq!(read(SAMPLE.as_bytes().to_vec()), (5, 5));
}

#[test]
fn files_cut_off_at_any_byte() {
    for end in 0..SAMPLE.len() {
        let (total, understood) = read(SAMPLE.as_bytes()[..end].to_vec());
        assert!(understood <= total);
    }
}

#[test]
fn empty_and_binary_files() {
    assert_eq!(read(Vec::new()), (0, 0));
    let junk: Vec<u8> = (0..60_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    read(junk);
}

#[test]
fn deep_nesting_is_refused_with_a_reason_and_costs_one_function() {
    for (open, close) in [("(", ")"), ("{", "}")] {
        let nested = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let text = format!("int f(void) {{ return x{nested}; }}\nint g(void) {{ return 2; }}\n");
        assert_eq!(read(text.into_bytes()), (2, 1), "{open}");
    }
    let minus = format!("int f(void) {{ return {} 1; }}\n", "- ".repeat(100_000));
    read(minus.into_bytes());
    let directives = format!("{}\nint x;\n", "#if 1\n".repeat(100_000));
    read(directives.into_bytes());
    let condition = format!(
        "#if {}1\n#endif\nint f(void) {{ return 1; }}\n",
        "!".repeat(100_000)
    );
    assert_eq!(read(condition.into_bytes()), (1, 1));
}

#[test]
fn long_tables_take_linear_time() {
    // Quadratic work on 200 000 entries would not end within any patience.
    let table = format!("static int t[] = {{ {} }};\n", "0x1F, ".repeat(200_000));
    assert_eq!(read(table.into_bytes()), (0, 0));
    let text = format!(
        "static const char s[] = {};\n",
        "\"abc\\n\"\n".repeat(50_000)
    );
    assert_eq!(read(text.into_bytes()), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn files_with_bytes_replaced(
        changes in prop::collection::vec((0..SAMPLE.len(), any::<u8>()), 1..12),
    ) {
        let mut bytes = SAMPLE.as_bytes().to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        let (total, understood) = read(bytes);
        prop_assert!(understood <= total);
    }

    #[test]
    fn files_with_pieces_moved(from in 0..SAMPLE.len(), len in 0..200usize, to in 0..SAMPLE.len()) {
        let mut text: Vec<u8> = SAMPLE.as_bytes().to_vec();
        let end = (from + len).min(text.len());
        let piece: Vec<u8> = text.drain(from..end).collect();
        let at = to.min(text.len());
        text.splice(at..at, piece);
        let (total, understood) = read(text);
        prop_assert!(understood <= total);
    }
}
