//! All rules, one file each.

use crate::rule::Rule;

/// Every rule in run order: where two fixes clash, the one of the earlier rule stays.
pub static ALL: &[&Rule] = &[];
