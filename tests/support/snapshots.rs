//! The snapshots under the top-level folder `snapshots`.

use std::path::{Path, PathBuf};

/// The folder with all of them.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots")
}

/// Settings that keep snapshots in `folder` below that, under the names given.
pub(crate) fn settings(below: &str) -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder().join(below));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}
