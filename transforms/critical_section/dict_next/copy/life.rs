//! How long a copy is kept: from the first statement that reads the dict to the last that needs what
//! the loop gave.

use crate::ast::{ExprId, StmtId, StmtKind, TokenRange};
use crate::transforms::critical_section::dict_next::exits::{ExitKind, Exits};
use crate::transforms::critical_section::dict_next::scope::{Scope, inside};
use crate::transforms::critical_section::dict_next::site::{Region, Site};
use crate::transforms::critical_section::dict_next::size::Asked;
use crate::transforms::critical_section::dict_next::values;
use crate::transforms::critical_section::dict_next::wide::is_unconditional;

/// Most statements behind the loop that a copy is kept for.
const MOST: usize = 20;

/// How long a copy is kept.
pub(super) struct Life {
    /// A loop over it, with the statements of one block from where it is made to its release.
    pub(super) site: Site,
    /// The call that reads the dict first, whatever happens,
    pub(super) reader: ExprId,
    /// and the dict as it is written there.
    pub(super) dict: ExprId,
}

impl Life {
    /// `None` if the first of the statements may not read the dict, or if something may outlive the
    /// last.
    pub(super) fn new(scope: &Scope<'_>, loops: &[&Site], asked: &[Asked<'_>]) -> Option<Self> {
        let in_loops = loops.iter().map(|site| scope.range(site.iteration));
        let sizes = asked.iter().map(|asked| scope.expr(asked.call).range);
        let readers: Vec<TokenRange> = in_loops.chain(sizes).collect();
        let &site = loops.first()?;
        let region = region(scope, site, &readers)?;
        let mut sizes = asked.iter().map(|asked| asked.call);
        let size = sizes.find(|&call| is_unconditional(scope, region.first, call));
        let looped = loops
            .iter()
            .find(|site| site.iteration == region.first && site.is_unconditional);
        let reader = size.or(looped.map(|site| site.call))?;
        let life = Self {
            site: Site { region, ..*site },
            reader,
            dict: site.dict,
        };
        let stays = |life: &Self| {
            let range = life.site.range(scope);
            loops.iter().all(|site| {
                let uses = values::uses_beyond(scope, site, range);
                uses.outlives == 0 && uses.released == 0
            })
        };
        if stays(&life) {
            return Some(life);
        }
        let behind = behind(scope, region.last);
        let mut longer = behind.iter().take(MOST).map(|&last| life.up_to(last));
        longer.find(stays)
    }

    fn up_to(&self, last: StmtId) -> Self {
        let region = Region {
            last,
            ..self.site.region
        };
        Self {
            site: Site {
                region,
                ..self.site
            },
            ..*self
        }
    }

    /// Longer, up to a label behind it that only its own exits jump to: one release there does for
    /// all of them. The exit `failure` has nothing to release, and must not get there.
    pub(super) fn up_to_label(self, scope: &Scope<'_>, failure: &[String]) -> Self {
        let mut life = self;
        for &stmt in behind(scope, life.site.region.last).iter().take(MOST) {
            let StmtKind::Label { name, .. } = scope.stmt(stmt) else {
                continue;
            };
            let jump = format!("goto {name};");
            let longer = life.up_to(stmt);
            let is_taken = |exits: &Exits| {
                let mut exits = exits.out.iter();
                exits.any(|exit| matches!(&exit.kind, ExitKind::Goto(to) if to == name))
            };
            if failure.contains(&jump)
                || Exits::of_region(scope, &longer.site).is_err()
                || !Exits::of_region(scope, &life.site).is_ok_and(|exits| is_taken(&exits))
            {
                break;
            }
            life = longer;
        }
        life
    }
}

/// The statements of one block that hold all of `readers`.
fn region(scope: &Scope<'_>, site: &Site, readers: &[TokenRange]) -> Option<Region> {
    let iteration = site.iteration;
    let holds = |stmt: StmtId, reader: &TokenRange| inside(*reader, scope.range(stmt));
    if readers.iter().all(|reader| holds(iteration, reader)) {
        return Some(Region {
            first: iteration,
            last: iteration,
        });
    }
    for block in scope.ancestors(iteration) {
        if let StmtKind::Block(stmts) = scope.stmt(block) {
            let at = |reader| stmts.iter().position(|&stmt| holds(stmt, reader));
            let places: Option<Vec<usize>> = readers.iter().map(at).collect();
            if let Some(places) = places {
                let first = stmts[*places.iter().min()?];
                let last = stmts[*places.iter().max()?];
                return Some(Region { first, last });
            }
        }
        if scope.is_loop(block) {
            return None;
        }
    }
    None
}

/// The statements behind `stmt` in its block.
fn behind<'a>(scope: &Scope<'a>, stmt: StmtId) -> &'a [StmtId] {
    let block = scope.parent(stmt).map(|block| scope.stmt(block));
    let Some(StmtKind::Block(stmts)) = block else {
        return &[];
    };
    let at = stmts.iter().position(|&other| other == stmt);
    at.map_or(&[], |at| &stmts[at + 1..])
}
