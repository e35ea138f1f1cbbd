//! A copy in a block of C89 whose declarations ask for the size.
//!
//! ```c
//! Py_ssize_t n = PyDict_Size(d);      /* Py_ssize_t n;                */
//! Py_ssize_t pos = 0;                 /* Py_ssize_t pos = 0;          */
//!                                     /* PyObject *d_copy = …;        */
//!                                     /* if (d_copy == NULL) …        */
//!                                     /* n = PyDict_Size(d_copy);     */
//! ```

use super::text::Writer;
use crate::source::ByteSpan;
use crate::transforms::critical_section::dict_next::draft::Variable;
use crate::transforms::critical_section::dict_next::late::Late;

impl Writer<'_, '_> {
    /// Makes the copy behind the declarations, and gives the late one its value.
    pub(super) fn make_late(
        &mut self,
        late: &Late,
        variables: &[Variable],
        test: String,
        name: &str,
    ) -> Option<()> {
        let scope = self.copy.scope;
        let declared: Vec<String> = variables.iter().map(Variable::declared).collect();
        let declared: Vec<&str> = declared.iter().map(String::as_str).collect();
        let above = self.draft.span(late.last).ok()?;
        let edit = self.draft.layout.declare_after(above, &declared);
        self.draft.openers.push(edit);
        let (_, dict) = scope.cx.span(scope.item, late.dict)?;
        let file = scope.cx.file(self.draft.file);
        let text = |start, end| file.text(ByteSpan::new(start, end)).into_owned();
        let value = [
            text(late.value.start().0, dict.start().0),
            name.to_owned(),
            text(dict.end().0, late.value.end().0),
        ];
        let variable = file.text(late.name).into_owned();
        let assigned = format!("{variable} = {};", value.concat());
        let next = self.draft.span(late.next).ok()?;
        self.draft.surround(next, &[test, assigned], &[]);
        self.draft.replace(late.initial(), String::new());
        Some(())
    }
}
