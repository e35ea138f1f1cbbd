//! Static numbers whose type becomes an atomic one: nobody has their address, and each step of theirs
//! is one operation that adds the same.
//!
//! ```c
//! static long hits;                   static PYAPI_ATOMIC(long) hits;
//! hits++;                             PYAPI_ATOMIC_ADD(hits, 1);
//! scanf("%ld", &hits);                scanf("%ld", &hits);             /* wrong */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::Failure;
use super::original::Original;
use super::proof::{Failed, original_span};
use crate::ast::{BinaryOp, ExprId, ExprKind, Function, Name, Storage, TokenRange, Tree, UnaryOp};
use crate::edit::Applied;
use crate::program::{Program, ProgramItem};
use crate::source::{ByteSpan, FileId, FileSet};

/// A variable that is atomic in the result only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Made {
    file: FileId,
    name: String,
    /// Where it stands in the result.
    place: ByteSpan,
    is_local: bool,
}

impl Made {
    fn is_it(&self, tree: &Tree, expr: ExprId) -> bool {
        match &tree.expr(expr).kind {
            ExprKind::Name(Name::Global(name)) => !self.is_local && **name == *self.name,
            ExprKind::Name(Name::Local(local)) => {
                let local = tree.local(*local);
                self.is_local && local.storage == Storage::Static && local.name == self.name
            }
            _ => false,
        }
    }
}

/// What is wrong with variables that `result` makes atomic.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let before = atomics(original.program);
    let is_old = |made: &Made| {
        let mut same = before.iter().filter(|it| it.file == made.file);
        same.any(|it| it.name == made.name && it.is_local == made.is_local)
    };

    let made = atomics(result).into_iter().filter(|it| !is_old(it));
    let mut failures = Vec::new();
    for made in made {
        let Some(applied) = applied.get(&made.file) else {
            continue;
        };
        let span = original_span(applied, made.place);
        let reason = pointed_at(original, &made).or_else(|| {
            let functions = result.functions().filter(|it| it.0.place.0 == made.file);
            let steps =
                |(item, function)| stepped(original, result, applied, (item, function), &made);
            functions
                .filter_map(steps)
                .next()
                .or_else(|| left(original, applied, &made))
        });
        failures.extend(reason.map(|reason| Failed {
            file: made.file,
            original: vec![span],
            result: made.place,
            failure: Failure::Wrong(reason),
        }));
    }
    failures
}

/// The static variables of atomic types.
fn atomics(program: &Program<'_>) -> BTreeSet<Made> {
    let place = |item: &ProgramItem, range| item.tokens.file_span(range);
    let declared = program.declarations().flat_map(|(item, declaration)| {
        let all = declaration.declarators.iter();
        let atomic = all.filter(|it| it.ty.is_atomic && declaration.storage == Storage::Static);
        atomic.map(move |it| (item, it.name.clone(), it.name_range, false))
    });
    let locals = program.functions().flat_map(|(item, function)| {
        let all = function.tree.locals.iter();
        let atomic = all.filter(|it| it.ty.is_atomic && it.storage == Storage::Static);
        atomic.map(move |it| (item, it.name.clone(), it.name_range, true))
    });
    let all = declared.chain(locals);
    all.filter_map(|(item, name, range, is_local)| {
        let (file, place) = place(item, range)?;
        Some(Made {
            file,
            name,
            place,
            is_local,
        })
    })
    .collect()
}

/// Whether some code knows where the variable is, or how large.
fn pointed_at(original: &Original<'_>, made: &Made) -> Option<String> {
    let trees = original.program.items.iter().filter_map(ProgramItem::tree);
    let mut exprs = trees.flat_map(|tree| tree.exprs.iter().map(move |expr| (tree, expr)));
    let is_asked = exprs.any(|(tree, expr)| match expr.kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        }
        | ExprKind::SizeOfExpr(operand) => made.is_it(tree, operand),
        _ => false,
    });
    let name = &made.name;
    is_asked.then(|| format!("`{name}` becomes atomic, but its address or size is used"))
}

/// Whether a function of the result adds something else than before, or in more than one operation.
fn stepped(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &Applied,
    (item, function): (&ProgramItem, &Function),
    made: &Made,
) -> Option<String> {
    let now = steps(result.files, item, function, made);
    let span = original_span(applied, item.place.1);
    let before: Vec<Vec<Step>> = original
        .functions_within(made.file, span)
        .map(|(item, function)| steps(original.program.files, item, function, made))
        .collect();
    let numbers = |steps: &[Step]| steps.iter().map(|it| it.number.clone()).collect::<Vec<_>>();
    let is_same = before.iter().any(|it| numbers(it) == numbers(&now));
    let is_one = now.iter().all(|it| it.is_one);
    let (name, of) = (&made.name, &function.name);
    if is_same && is_one {
        return None;
    }
    Some(format!(
        "in `{of}`, a change of `{name}`, which becomes atomic, is not one operation with the \
         same result"
    ))
}

/// Whether a step stays as it was.
fn left(original: &Original<'_>, applied: &Applied, made: &Made) -> Option<String> {
    let functions = original.program.functions();
    let mut own = functions.filter(|(item, _)| item.place.0 == made.file || !made.is_local);
    own.find_map(|(item, function)| {
        let all = steps(original.program.files, item, function, made);
        let stays = |it: &Step| match item.tokens.file_span(it.range) {
            Some((file, span)) => file != made.file || applied.map.to_new(span.start()).is_some(),
            None => true,
        };
        let (name, of) = (&made.name, &function.name);
        all.iter().any(stays).then(|| {
            format!("in `{of}`, a change of `{name}`, which becomes atomic, is not atomic")
        })
    })
}

/// A step of the variable.
struct Step {
    range: TokenRange,
    /// What is added, without blanks.
    number: String,
    /// Whether it is one operation for every compiler.
    is_one: bool,
}

fn steps(files: &FileSet, item: &ProgramItem, function: &Function, made: &Made) -> Vec<Step> {
    let tree = &function.tree;
    let text = |expr: ExprId| -> String {
        let range = tree.expr(expr).range;
        let words = (range.start..range.end).map(|at| item.tokens.text(files, at));
        words.map(String::from_utf8_lossy).collect()
    };
    let mut found = Vec::new();
    for expr in tree.expr_ids() {
        let number = match &tree.expr(expr).kind {
            ExprKind::Unary { op, operand } if op.is_step() && made.is_it(tree, *operand) => {
                match op {
                    UnaryOp::PostIncrement | UnaryOp::PreIncrement => "1".to_owned(),
                    _ => "-1".to_owned(),
                }
            }
            ExprKind::Assign {
                op: Some(op),
                lhs,
                rhs,
            } if made.is_it(tree, *lhs) => match op {
                BinaryOp::Plus => text(*rhs),
                BinaryOp::Minus => format!("-{}", text(*rhs)),
                _ => format!("{}{}", op.symbol(), text(*rhs)),
            },
            _ => continue,
        };
        let range = tree.expr(expr).range;
        let mut expansions = item.tokens.expansions.iter();
        found.push(Step {
            range,
            number,
            is_one: expansions
                .any(|it| &*it.name == "PYAPI_ATOMIC_ADD" && it.tokens.contains(range)),
        });
    }
    found.sort_by_key(|it| it.range.start);
    found
}
