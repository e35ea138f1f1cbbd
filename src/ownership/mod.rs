//! Who owns which reference where.

pub mod summary;
pub mod track;
