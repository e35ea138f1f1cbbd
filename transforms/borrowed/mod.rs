//! Borrowed references: the owner may let go of the object while it is still used.

pub mod cell_content;
pub mod dict_item;
pub mod dict_set_default;
pub mod imported_module;
pub mod list_item;
pub mod list_macro;
pub mod sequence_fast_item;
pub mod unchecked_result;
pub mod weakref_object;

#[cfg(test)]
mod tests;
