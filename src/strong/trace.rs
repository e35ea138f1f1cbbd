//! How a lookup was decided, in words: `cargo dev trace`. All of it is asked for again.

use std::collections::{BTreeMap, BTreeSet};

use super::exits::Exits;
use super::follow::slots::Slots;
use super::follow::web::Given;
use super::follow::{Decisions, Strong};
use super::item::{self, replacement_of};
use super::plan::{self, Home};
use super::releases::modes;
use super::scene::{Scene, graph};
use super::shape::{Shape, shape};
use crate::ast::ExprId;
use crate::capi::Replacement;
use crate::cfg::{Point, Source};
use crate::provenance::{Exposure, Verdict};
use crate::rule::{CallSite, PackageCx};
use crate::source::{ByteSpan, FileId};

/// What was considered for the lookup `site`; `None` if it is none.
#[must_use]
pub fn trace(cx: &PackageCx<'_>, site: CallSite) -> Option<String> {
    let replacement = replacement_of(cx, site.item, site.expr)?;
    let mut out = container(cx, site);
    let Replacement {
        strong,
        form,
        absent,
        errors,
        ..
    } = replacement;
    out += &format!("replacement: `{strong}` ({form:?}, absent: {absent:?}, errors: {errors:?})\n");
    let Some(function) = cx.function(site.item) else {
        return Some(out + "the call is in the value of a variable\n");
    };
    let cfg = graph(function);
    match Scene::new(cx, site.item, function, &cfg) {
        None => out += "a macro makes the function\n",
        Some(scene) => out += &considered(&scene, site.expr, replacement),
    }
    Some(out)
}

/// Where the container comes from, and what the value is used for.
fn container(cx: &PackageCx<'_>, site: CallSite) -> String {
    let verdict = match cx.provenance(site, 0) {
        Verdict::Safe(proof) => format!("safe ({:?}): {}", proof.reason, proof.sentence),
        Verdict::Shared(kind) => format!("shared: {kind}"),
    };
    let Exposure { freed, used } = cx.exposure(site);
    let at = |(file, span): (FileId, ByteSpan)| cx.file(file).position(span.start()).line.0;
    let freed =
        freed.map(|(place, name)| format!("may be freed by: `{name}`, line {}\n", at(place)));
    let used = used.map(|place| format!("last use: line {}\n", at(place)));
    let more = freed.into_iter().chain(used);
    format!("container: {verdict}\n") + &more.collect::<String>()
}

/// What the rewrite of the function considered for `call`.
fn considered(scene: &Scene<'_>, call: ExprId, replacement: &'static Replacement) -> String {
    let mut out = String::new();
    let shape = match shape(scene, call, replacement, &BTreeSet::new()) {
        Ok(shape) => shape,
        Err(why) => return format!("shape: {why}\n"),
    };
    out += &format!("result: {}\n", used(scene, shape));
    let mut unused = BTreeMap::new();
    let calls = item::shared(scene.cx, scene.item, &mut unused);
    let mut declined = BTreeMap::new();
    let lookups = plan::lookups(scene, &calls, &mut declined);
    let homes = plan::homes(scene, &lookups, &BTreeSet::new());
    let strong: BTreeSet<ExprId> = homes.iter().flat_map(Home::calls).collect();
    let lookup = lookups.iter().find(|it| it.call == call);
    if let Some(lookup) = lookup {
        out += &format!("if the call fails: {:?}; considered:\n", lookup.failure);
    }
    let exits = Exits::new(scene, call, shape.local());
    let exits = exits.map_or_else(Vec::new, |exits| exits.trace());
    out += &exits
        .iter()
        .map(|line| format!("  {line}\n"))
        .collect::<String>();
    if let Some(home) = homes.iter().find(|home| home.calls().contains(&call)) {
        out += &followed(scene, home, &homes, &strong);
    }
    let plan = plan::plan(scene, &calls);
    out + &decided(scene, &plan, call)
}

/// Where the result goes.
fn used(scene: &Scene<'_>, shape: Shape) -> String {
    match shape {
        Shape::Assigned(_, local) | Shape::Inside(_, local, _) => {
            format!("assigned to `{}`", scene.name(local))
        }
        Shape::Initialised(_, local) => format!("declares `{}`", scene.name(local)),
        Shape::Nested(_) => "used in its statement".to_owned(),
        Shape::Guarded(_) => "used in its statement, which a condition decides about".to_owned(),
        Shape::Returned => "returned".to_owned(),
        Shape::Presence(..) => "only tested".to_owned(),
    }
}

/// The definitions that belong with the lookups of `home`, and what each way to count came to.
fn followed(scene: &Scene<'_>, home: &Home, homes: &[Home], strong: &BTreeSet<ExprId>) -> String {
    let mut out = format!("variable: `{}`", home.name);
    out += match home.local {
        Some(_) => "\n",
        None => ", a new one\n",
    };
    for (&at, given) in &home.web {
        let what = match given {
            Given::Lookup(_) => "a lookup that is rewritten",
            Given::Null => "`NULL`",
            Given::New => "a new reference",
            Given::Borrowed(_) => "a borrowed reference",
            Given::Parameter => "what the caller passed",
        };
        let line = at.and_then(|at| line_of(scene, at));
        let line = line.map_or("at the start".to_owned(), |line| format!("line {line}"));
        out += &format!("  gets {what}: {line}\n");
    }
    let met = Strong::new(strong, homes);
    for (mode, found) in modes(scene, &Slots::new(scene), home, &met) {
        out += &match found {
            Ok(decisions) => format!("  {mode:?}: {}\n", changes(&decisions)),
            Err(why) => format!("  {mode:?}: refused: {why}\n"),
        };
    }
    out
}

fn changes(decisions: &Decisions) -> String {
    let Decisions {
        releases,
        removed,
        repairs,
        ..
    } = decisions;
    format!(
        "possible, with {} new releases, {} counts removed, {} repairs",
        releases.len(),
        removed.len(),
        repairs.len()
    )
}

fn decided(scene: &Scene<'_>, plan: &plan::Plan, call: ExprId) -> String {
    if let Some(why) = plan.declined.get(&call) {
        return format!("plan: refused: {why}\n");
    }
    let lines = |lookups: &mut dyn Iterator<Item = ExprId>| -> Vec<String> {
        let lines = lookups.filter_map(|it| scene.span(it));
        let lines = lines.map(|span| line_at(scene, span).to_string());
        lines.collect()
    };
    for group in &plan.groups {
        let mut all = group.iter().flat_map(|planned| planned.home.calls());
        if all.any(|it| it == call) {
            let mut members = group.iter().flat_map(|planned| planned.home.calls());
            let mut needs = group
                .iter()
                .flat_map(|planned| planned.needs.iter().copied());
            let (members, needs) = (lines(&mut members), lines(&mut needs));
            let members = members.join(", ");
            return match needs.is_empty() {
                true => format!("plan: changed, in one fix: lines {members}\n"),
                false => format!(
                    "plan: changed, in one fix: lines {members}; it needs those on lines {}\n",
                    needs.join(", ")
                ),
            };
        }
    }
    "plan: not part of it (it is safe, or counts for another lookup)\n".to_owned()
}

fn line_of(scene: &Scene<'_>, at: Point) -> Option<u32> {
    let instr = scene.cfg.block(at.block).instrs.get(at.index)?;
    let span = match instr.source {
        Source::Expr(expr) => scene.span(expr),
        Source::Stmt(stmt) => scene.stmt_span(stmt),
    };
    span.map(|span| line_at(scene, span))
}

fn line_at(scene: &Scene<'_>, span: ByteSpan) -> u32 {
    scene.cx.file(scene.file).position(span.start()).line.0
}
