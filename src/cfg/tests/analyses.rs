//! Order, dominators, loops and liveness, and that all of it stays linear and flat.

use crate::ast::LocalId;
use crate::cfg::{BlockId, Cfg, Dominators, InstrKind, LiveTemps, Liveness, Loops, Point};

use super::graph;

fn numbers(blocks: impl IntoIterator<Item = BlockId>) -> Vec<u32> {
    blocks.into_iter().map(|block| block.0).collect()
}

/// 0: `while` entry, 1: head, 2: body, 3: then, 4: rest, 5: exit.
const LOOP: &str = "void f(int n) { while (n) { if (g()) h(); n--; } last(); }";

#[test]
fn dominators_of_a_loop_with_a_branch() {
    let (_, cfg) = graph(LOOP);
    let dominators = Dominators::new(&cfg);
    let immediate: Vec<_> = cfg
        .iter()
        .map(|(id, _)| dominators.immediate(id).map(|id| id.0))
        .collect();
    assert_eq!(
        immediate,
        [None, Some(0), Some(1), Some(2), Some(2), Some(1)]
    );
    assert!(dominators.dominates(BlockId(2), BlockId(4)));
    assert!(dominators.dominates(BlockId(4), BlockId(4)));
    assert!(!dominators.dominates(BlockId(3), BlockId(4)));
}

#[test]
fn nothing_dominates_dead_code() {
    let (_, cfg) = graph("void f(void) { return; g(); }");
    let dominators = Dominators::new(&cfg);
    assert!(!cfg.is_reachable(BlockId(1)));
    assert_eq!(dominators.immediate(BlockId(1)), None);
    assert!(!dominators.dominates(Cfg::ENTRY, BlockId(1)));
}

#[test]
fn reverse_post_order_leaves_out_dead_code() {
    let (_, cfg) = graph("int f(int n) { if (n) return 1; g(); return 2; h(); }");
    assert_eq!(numbers(cfg.reverse_post_order()), [0, 2, 1]);
}

#[test]
fn loops_nest_and_know_their_latches() {
    let (_, cfg) =
        graph("void f(int n) { while (n) { do g(); while (h()); } again: if (n) goto again; }");
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    let found: Vec<_> = loops
        .natural
        .iter()
        .map(|found| {
            (
                found.header.0,
                numbers(found.latches.iter().copied()),
                numbers(found.blocks()),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (1, vec![4], vec![1, 2, 3, 4]),
            (3, vec![3], vec![3]),
            (6, vec![7], vec![6, 7]),
        ]
    );
    assert_eq!(
        loops.innermost(BlockId(3)).map(|found| found.header),
        Some(BlockId(3))
    );
    assert_eq!(
        loops.innermost(BlockId(4)).map(|found| found.header),
        Some(BlockId(1))
    );
    assert!(loops.innermost(BlockId(5)).is_none());
    assert!(loops.irreducible.is_empty());
}

#[test]
fn do_while_zero_makes_no_loop() {
    let (_, cfg) = graph("void f(int n) { do { if (n) break; g(); } while (0); }");
    assert!(Loops::new(&cfg, &Dominators::new(&cfg)).natural.is_empty());
}

#[test]
fn a_goto_into_a_loop_makes_it_irreducible() {
    let (_, cfg) = graph("void f(int n) { if (n) goto inside; while (g()) { h(); inside: k(); } }");
    let loops = Loops::new(&cfg, &Dominators::new(&cfg));
    assert!(loops.natural.is_empty());
    assert_eq!(loops.irreducible.len(), 1);
}

#[test]
fn a_variable_is_live_up_to_its_last_read() {
    let (function, cfg) =
        graph("int f(int n) { int v = g(); if (n) return v; v = h(); return 0; }");
    let liveness = Liveness::new(&cfg, function.tree.locals.len());
    let (n, v) = (LocalId(0), LocalId(1));
    let start = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    assert_eq!(liveness.live_at(start), [n]);
    let end = Point {
        block: Cfg::ENTRY,
        index: cfg.block(Cfg::ENTRY).instrs.len(),
    };
    assert_eq!(liveness.live_at(end), [v], "n was read by the branch");
    assert!(liveness.is_live_into(v, BlockId(1)));
    assert!(
        !liveness.is_live_into(v, BlockId(2)),
        "overwritten and never read"
    );
}

#[test]
fn a_variable_read_in_the_next_round_is_live_at_the_end_of_this_one() {
    let (function, cfg) = graph("void f(int n) { int v = 0; while (n) { use(v); v = g(); } }");
    let liveness = Liveness::new(&cfg, function.tree.locals.len());
    let body = BlockId(2);
    let end = Point {
        block: body,
        index: cfg.block(body).instrs.len(),
    };
    assert_eq!(liveness.live_at(end), [LocalId(0), LocalId(1)]);
}

/// 0: up to the branch, 1 and 2: the arms, 3: the call and the end of the statement.
#[test]
fn a_temporary_is_live_from_where_it_is_made_to_its_last_use() {
    let (_, cfg) = graph("void f(int a, int b) { use(g(a), b ? h() : i()); if (a) last(); }");
    let made = cfg.block(Cfg::ENTRY).instrs.iter().find_map(|instr| {
        let is_call = matches!(instr.kind, InstrKind::Call { .. });
        instr.dst().filter(|_| is_call)
    });
    let made = made.expect("`g` is called first");
    let live = LiveTemps::new(&cfg);
    let blocks = cfg.iter().map(|(id, _)| id);
    let live: Vec<BlockId> = blocks.filter(|&id| live.is_live_into(made, id)).collect();
    assert_eq!(numbers(live), [1, 2, 3]);
    assert!(cfg.blocks.len() > 4, "there are blocks behind the call");
}

#[test]
fn an_address_counts_as_a_read() {
    let (function, cfg) = graph("void f(int n) { int v; get(&v); }");
    assert_eq!(cfg.address_taken(), [LocalId(1)]);
    let liveness = Liveness::new(&cfg, function.tree.locals.len());
    assert!(liveness.is_live(
        LocalId(1),
        Point {
            block: Cfg::ENTRY,
            index: 1
        }
    ));
    assert!(
        !liveness.is_live(
            LocalId(1),
            Point {
                block: Cfg::ENTRY,
                index: 0
            }
        ),
        "not before it is declared"
    );
}
