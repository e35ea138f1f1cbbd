//! Who owns which reference where.

pub mod track;
