//! Functions as a person can speak of them, apart from the places that call them.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Program, ProgramItem};
use crate::ast::TypeKind;
use crate::capi;
use crate::facts::Subject;

impl Program<'_> {
    /// The function that a call of `name` in `caller` runs, for a claim that holds for all of its
    /// calls. `None` where the calls differ: a function of the C API runs what it is given, a pointer
    /// what it was set to; and where it is not known which of several functions it is.
    #[must_use]
    pub fn named_function(&self, caller: &ProgramItem, name: &str) -> Option<Subject> {
        let tree = caller.tree()?;
        let is_variable = tree.locals.iter().any(|local| &*local.name == name);
        if is_variable || capi::effects(name).is_some() || capi::is_libc(name) {
            return None;
        }
        let mut is_elsewhere = true;
        let mut paths: BTreeSet<&Path> = BTreeSet::new();
        for (id, function) in self.functions_named(name) {
            let item = self.item(id);
            is_elsewhere = false;
            if !function.is_static || item.unit == caller.unit {
                paths.insert(self.files.get(item.place.0).path());
            }
        }
        let mut paths = paths.into_iter();
        match (paths.next(), paths.next()) {
            (Some(path), None) => Some(Subject::in_file(path, name)),
            (None, None) if is_elsewhere && self.is_library_function(name) => {
                Some(Subject::elsewhere(name))
            }
            _ => None,
        }
    }

    /// Whether nothing that the package declares, or failed to define, has this name but a function.
    fn is_library_function(&self, name: &str) -> bool {
        let mut gaps = self.gaps.iter();
        let mut declarators = self
            .declarations()
            .flat_map(|(_, declaration)| &declaration.declarators);
        let is_function = |ty: &TypeKind| matches!(ty, TypeKind::Function(..));
        !gaps.any(|gap| gap.function.as_deref() == Some(name))
            && declarators.all(|it| it.name != name || is_function(&it.ty.kind))
    }
}
