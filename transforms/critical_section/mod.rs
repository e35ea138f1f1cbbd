//! Rules about locks on objects: `Py_BEGIN_CRITICAL_SECTION` and its end.

pub mod dict_next;
pub mod set_iteration;
pub mod unbalanced_section;
