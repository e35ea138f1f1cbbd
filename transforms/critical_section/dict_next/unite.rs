//! One finding of what the configurations of a place ask for.

use std::collections::BTreeMap;

use crate::edit::Fix;
use crate::rule::{Finding, Outcome};
use crate::source::{ByteSpan, FileId};

/// Findings at one place, from the configurations that hold it, become one. Those that need the
/// GIL (`PY_VERSION_HEX < 0x030D0000`, where `Py_BEGIN_CRITICAL_SECTION` may be an empty macro of the
/// package) ask for nothing; but a fix has to hold in them as well.
pub(super) fn unite(found: Vec<Finding>, found_with_gil: Vec<Finding>) -> Vec<Finding> {
    let mut by_place: BTreeMap<(FileId, ByteSpan), Finding> = BTreeMap::new();
    for finding in found {
        let place = (finding.file, finding.span);
        match by_place.get_mut(&place) {
            Some(known) => join(known, finding),
            None => {
                by_place.insert(place, finding);
            }
        }
    }
    for mut finding in found_with_gil {
        match by_place.get_mut(&(finding.file, finding.span)) {
            Some(known) if matches!(known.outcome, Outcome::Safe(_)) => {}
            Some(known) => join(known, finding),
            None => {
                finding.notes.clear();
                finding.outcome =
                    Outcome::Safe("it is compiled only for builds with the GIL".into());
                by_place.insert((finding.file, finding.span), finding);
            }
        }
    }
    by_place.into_values().collect()
}

fn join(known: &mut Finding, other: Finding) {
    known.outcome = agreed(&known.outcome, other.outcome);
    if known.notes.is_empty() {
        known.notes = other.notes;
    }
}

/// What to do where two configurations may ask for different things.
fn agreed(known: &Outcome, other: Outcome) -> Outcome {
    match (known, other) {
        (Outcome::Manual(text), _) => Outcome::Manual(text.clone()),
        (_, Outcome::Manual(text)) => Outcome::Manual(text),
        (Outcome::Safe(_), other) => other,
        (fix, Outcome::Safe(_)) => fix.clone(),
        (Outcome::Fix(one), Outcome::Fix(other)) => {
            let alternatives = one.alternatives.iter();
            let shared = alternatives.filter(|fix| other.alternatives.contains(fix));
            let alternatives = shared.cloned().collect();
            let one = Fix {
                alternatives,
                ..one.clone()
            };
            let other = Fix {
                alternatives: one.alternatives.clone(),
                ..other
            };
            // What one has beside the other stands in a branch that the other knows nothing of: an
            // exit in an `#if`. That it holds for both is proven on the result.
            if holds_all_of(&one, &other) {
                return Outcome::Fix(one);
            }
            if holds_all_of(&other, &one) {
                return Outcome::Fix(other);
            }
            Outcome::Manual(
                "put the loop into a critical section by hand (it differs between `#if` branches)"
                    .into(),
            )
        }
    }
}

/// Whether `one` makes each edit of `other`, and assumes as much.
fn holds_all_of(one: &Fix, other: &Fix) -> bool {
    let assumptions = other.assumptions.iter();
    one.confidence <= other.confidence
        && one.title == other.title
        && assumptions.clone().all(|own| one.assumptions.contains(own))
        && other.needs.iter().all(|need| one.needs.contains(need))
        && other.edits.iter().all(|edit| one.edits.contains(edit))
}
