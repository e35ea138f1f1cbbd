//! All rules, one file each.

pub mod module;

use crate::rule::Rule;

/// Every rule in run order: where two fixes clash, the one of the earlier rule stays.
pub static ALL: &[&Rule] = &[
    &module::UNDECLARED_MULTI_PHASE_MODULE,
    &module::UNDECLARED_SINGLE_PHASE_MODULE,
];
