//! Which locks and the like are held at a point: an exit from there would have to give them back.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprKind, StmtId, StmtKind};
use crate::cfg::{BlockId, Callee, Instr, InstrKind, Point};
use crate::strong::scene::Scene;

/// What the names of calls say: one takes, the other gives back.
const PAIRS: [(&str, &str); 7] = [
    ("lock", "unlock"),
    ("begin", "end"),
    ("enter", "leave"),
    ("enter", "exit"),
    ("ensure", "release"),
    ("acquire", "release"),
    ("savethread", "restorethread"),
];

/// The calls that may have taken something and did not give it back yet, in lower case.
pub(in crate::strong) type Taken = BTreeSet<String>;

/// What some path to `point` takes without giving it back: locks, the attachment of the thread or
/// that it is detached, other things that have an end.
pub(in crate::strong) fn taken_at(scene: &Scene<'_>, point: Point) -> Taken {
    let Some(&entry) = scene.cfg.reverse_post_order().first() else {
        return Taken::new();
    };
    let mut inputs = BTreeMap::from([(entry, Taken::new())]);
    let mut dirty = BTreeSet::from([entry]);
    while let Some(block) = dirty.pop_first() {
        let output = after(&scene.cfg.block(block).instrs, &inputs[&block]);
        for target in scene.cfg.block(block).terminator.targets() {
            if flow(&mut inputs, target, &output) {
                dirty.insert(target);
            }
        }
    }
    let Some(input) = inputs.get(&point.block) else {
        return Taken::new();
    };
    let before = &scene.cfg.block(point.block).instrs[..point.index];
    after(before, input)
}

/// Adds `output` to what flows into `target`; whether that is more than before.
fn flow(inputs: &mut BTreeMap<BlockId, Taken>, target: BlockId, output: &Taken) -> bool {
    let is_new = !inputs.contains_key(&target);
    let input = inputs.entry(target).or_default();
    let before = input.len();
    input.extend(output.iter().cloned());
    is_new || input.len() > before
}

fn after(instrs: &[Instr], input: &Taken) -> Taken {
    let mut taken = input.clone();
    for instr in instrs {
        if let InstrKind::Call {
            callee: Callee::Named(name),
            ..
        } = &instr.kind
        {
            let name = name.to_ascii_lowercase();
            taken.retain(|before| !gives_back(before, &name));
            if takes(&name) {
                taken.insert(name);
            }
        }
    }
    taken
}

fn takes(name: &str) -> bool {
    // `OutputBuffer_InitBlock` locks nothing.
    let name = name.replace("block", "");
    // `PyThread_release_lock` gives one back.
    !name.contains("release")
        && PAIRS
            .iter()
            .any(|(take, give)| name.contains(take) && !name.contains(give))
}

fn gives_back(taken: &str, name: &str) -> bool {
    PAIRS
        .iter()
        .any(|(take, give)| taken.contains(take) && taken.replace(take, give) == name)
}

/// Whether the names of two functions say that one gives back what the other one takes.
pub(super) fn is_pair(take: &str, give: &str) -> bool {
    let (take, give) = (take.to_ascii_lowercase(), give.to_ascii_lowercase());
    takes(&take) && gives_back(&take, &give)
}

/// Whether the condition of the `if` statement `test` takes a lock.
pub(in crate::strong) fn asks_for_lock(scene: &Scene<'_>, test: StmtId) -> bool {
    let StmtKind::If { cond, .. } = scene.tree.stmt(test).kind else {
        return false;
    };
    let within = scene.tree.expr(cond).range;
    scene
        .tree
        .exprs_in(within)
        .any(|(_, expr)| match expr.kind {
            ExprKind::Call { callee, .. } => {
                let name = scene.tree.callee_name(callee);
                name.is_some_and(|name| takes(&name.to_ascii_lowercase()))
            }
            _ => false,
        })
}

/// Whether a function of this name gives back what another one took that the function calls.
pub(in crate::strong) fn is_end(scene: &Scene<'_>, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let calls = scene.tree.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Call { callee, .. } => scene.tree.callee_name(callee),
        _ => None,
    });
    let mut taken = calls.map(str::to_ascii_lowercase);
    taken.any(|other| takes(&other) && gives_back(&other, &name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_takes_and_what_gives_back() {
        let pairs = [
            ("pyeval_savethread", "pyeval_restorethread"),
            ("pygilstate_ensure", "pygilstate_release"),
            ("pythread_acquire_lock", "pythread_release_lock"),
            ("pthread_mutex_lock", "pthread_mutex_unlock"),
            ("pycriticalsection_begin", "pycriticalsection_end"),
            ("py_enterrecursivecall", "py_leaverecursivecall"),
        ];
        for (take, give) in pairs {
            assert!(takes(take), "{take}");
            assert!(!takes(give), "{give}");
            assert!(gives_back(take, give), "{take} {give}");
        }
        assert!(!takes("buffer_initblock"));
        assert!(!gives_back("pygilstate_ensure", "pybuffer_release"));
    }
}
