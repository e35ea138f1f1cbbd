//! What a fix says that it does.

use std::collections::BTreeSet;

use super::exact::{FUNCTIONS, is_exact};
use super::presence;
use crate::edit::replacing;
use crate::strong::follow::Repair;
use crate::strong::plan::{Lookup, Planned};
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;

/// What a fix does that makes a borrowed reference strong.
pub(in crate::strong) const STRONG: &str = "take a strong reference";

/// The title of the fix for homes that change together.
pub(in crate::strong) fn title(scene: &Scene<'_>, group: &[Planned]) -> String {
    let lookups = || group.iter().flat_map(|planned| &planned.home.lookups);
    let only_asks = |lookup: &Lookup| matches!(lookup.shape, Shape::Presence(..));
    let pairs = lookups().map(|lookup| {
        let new = match lookup.shape {
            Shape::Presence(..) => presence::contains(lookup),
            _ if is_exact(scene, lookup.call) => FUNCTIONS[0],
            _ => lookup.replacement.strong,
        };
        (lookup.replacement.borrowed, new)
    });
    let what = if lookups().all(only_asks) {
        "only test whether the key is present"
    } else {
        STRONG
    };
    let takers = group
        .iter()
        .flat_map(|planned| planned.decisions.taken.values());
    let takers: BTreeSet<String> = takers.map(|name| format!("`{name}`")).collect();
    let takers: Vec<String> = takers.into_iter().collect();
    let repair = match &takers[..] {
        [] => String::new(),
        names => format!(
            "; remove an extra release ({} releases the item itself if it fails)",
            names.join(" or ")
        ),
    };
    // Calls of the package's own functions keep their name.
    let pairs = pairs.filter(|(_, new)| !new.is_empty());
    replacing(what, pairs) + &repair + &owned_everywhere(group)
}

/// What else the fix mends where a variable comes to own what it holds on all paths.
fn owned_everywhere(group: &[Planned]) -> String {
    let repairs = group.iter().flat_map(|planned| {
        let name = &planned.home.name;
        planned.decisions.repairs.iter().map(move |repair| match repair {
            Repair::Lost => {
                format!("; other objects that `{name}` may hold, which were never released, are \
                         now released")
            }
            Repair::Missing => format!(
                "; on some paths `{name}` was released or returned without an owned reference, \
                 and now owns one"
            ),
            Repair::Forgotten => {
                format!("; `{name}` was not released on every path, and now is")
            }
            Repair::Presumed => format!(
                "; `{name}` was given away or released without an owned reference, and now owns one"
            ),
        })
    });
    repairs.collect()
}
