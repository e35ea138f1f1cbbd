//! What Python code can call of each module.

use super::workspace::Workspace;
use super::{Config, ModuleStatus};
use crate::package::Package;
use crate::program::Demand;
use crate::stress::{Surface, surface};

/// What each of `modules` offers to Python code, in their order.
///
/// Needs threads with 64 MiB of stack: the parser recurses.
#[must_use]
pub fn surfaces(package: &Package, config: &Config, modules: &[&ModuleStatus]) -> Vec<Surface> {
    let workspace = Workspace::new(package, config);
    let program = workspace.load(Demand::Everything, true);
    let of = |module: &&ModuleStatus| surface(&program, &module.name, &module.files);
    modules.iter().map(of).collect()
}
