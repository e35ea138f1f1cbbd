//! Which points lead to which.

use super::{build, function, never_returns};
use crate::cfg::{Cfg, Point, Reach, reaches};

/// Every point, the ends of blocks among them.
fn points(cfg: &Cfg) -> Vec<Point> {
    let blocks = cfg.iter();
    let points = blocks.flat_map(|(block, content)| {
        (0..=content.instrs.len()).map(move |index| Point { block, index })
    });
    points.collect()
}

/// Whether one step after the other leads from `from` to `to`.
fn walks(cfg: &Cfg, from: Point, to: Point, barriers: &[Point]) -> bool {
    let mut open = vec![from];
    let mut seen = Vec::new();
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if seen.contains(&at) || barriers.contains(&at) {
            continue;
        }
        seen.push(at);
        let block = cfg.block(at.block);
        if at.index < block.instrs.len() {
            open.push(at.next());
        } else {
            let next = block.successors.iter();
            open.extend(next.map(|&block| Point { block, index: 0 }));
        }
    }
    false
}

#[test]
fn a_search_finds_what_a_walk_step_by_step_finds() {
    let code = "int f(int n) {
        if (n) g();
        while (n) { if (h(n)) continue; if (n == 3) break; n--; }
        switch (n) { case 1: g(); case 2: return 1; default: goto end; }
        g();
    end:
        return n;
    }";
    let cfg = &build(&function(code), &never_returns);
    let points = points(cfg);
    let mut barriers = vec![Vec::new()];
    barriers.extend(points.iter().map(|&it| vec![it]));
    barriers.extend(points.windows(3).step_by(4).map(|it| vec![it[2], it[0]]));
    for barriers in &barriers {
        for &from in &points {
            let reach = Reach::new(cfg, from, barriers);
            for &to in &points {
                let expected = walks(cfg, from, to, barriers);
                let at = (from, to, barriers);
                assert_eq!(reach.contains(to), expected, "{at:?}");
                assert_eq!(reaches(cfg, from, to, barriers), expected, "{at:?}");
            }
        }
    }
}
