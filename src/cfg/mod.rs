//! cfg stage.
