//! Formats that say which arguments a call consumes.

use super::state::{State, Value};
use super::step::Stepper;
use crate::cfg::{Operand, Source};

impl Stepper<'_> {
    /// `Py_BuildValue("N", v)` consumes `v`.
    pub(super) fn formatted(
        &mut self,
        state: &mut State,
        name: &str,
        args: &[Operand],
        values: &[Value],
        source: Source,
    ) {
        let Some((format, first)) = build_format(name) else {
            return;
        };
        let Some(text) = args.get(format).and_then(|arg| self.facts.text(arg)) else {
            return;
        };
        for at in stolen_by_format(text) {
            if let Some(&Value::Instance(id)) = values.get(first + at) {
                self.give_away(state, id, Some(source));
            }
        }
    }
}

/// Positions of the arguments that `N` in a format consumes, counted from the first value.
pub(crate) fn stolen_by_format(format: &[u8]) -> Vec<usize> {
    let mut stolen = Vec::new();
    let mut at = 0;
    for &unit in format {
        match unit {
            b'N' => {
                stolen.push(at);
                at += 1;
            }
            b'O' | b'S' | b'U' | b's' | b'z' | b'u' | b'y' | b'i' | b'b' | b'h' | b'l' | b'B'
            | b'H' | b'I' | b'k' | b'L' | b'K' | b'n' | b'c' | b'C' | b'd' | b'f' | b'D' | b'p'
            | b'#' | b'&' => at += 1,
            _ => {}
        }
    }
    stolen
}

/// The argument with the format of a function that builds values, and the first value's index.
pub(crate) fn build_format(name: &str) -> Option<(usize, usize)> {
    match name {
        "Py_BuildValue" => Some((0, 1)),
        "PyObject_CallFunction" | "PyEval_CallFunction" => Some((1, 2)),
        "PyObject_CallMethod" => Some((2, 3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::stolen_by_format;

    #[test]
    fn formats_consume_what_n_stands_for() {
        assert_eq!(stolen_by_format(b"(Ns#O&N)"), [0, 5]);
        assert_eq!(stolen_by_format(b"OO"), [0usize; 0]);
    }
}
