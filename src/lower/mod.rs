//! lower stage.
