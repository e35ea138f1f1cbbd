//! capi stage.
