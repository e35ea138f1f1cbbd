//! What `Py_BuildValue` and its kin take over, by the units of their format.

use super::effects;

/// What becomes of an argument that a format of `Py_BuildValue` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    /// The value that is made has a reference of its own: `O`.
    Used,
    /// The value that is made has a copy; `NULL` makes `None`: `s`, `i`.
    Copied,
    /// The reference goes into the value: `N`.
    Consumed,
    /// A converter gets it, which may do anything: `O&`.
    Converted,
}

/// What becomes of each argument that `format` stands for; `None` if Python does not know the format.
#[must_use]
pub fn built(format: &[u8]) -> Option<Vec<Built>> {
    let mut made = Vec::new();
    let mut open = Vec::new();
    let mut units = format.iter().copied().peekable();
    while let Some(unit) = units.next() {
        match unit {
            b' ' | b'\t' | b',' | b':' => {}
            b'(' => open.push(b')'),
            b'[' => open.push(b']'),
            b'{' => open.push(b'}'),
            b')' | b']' | b'}' => {
                open.pop().filter(|end| *end == unit)?;
            }
            // `N&` and `S&` are `O&`.
            b'O' | b'N' | b'S' if units.next_if_eq(&b'&').is_some() => {
                made.extend([Built::Used, Built::Converted]);
            }
            _ => {
                let row = effects(&format!("Py_BuildValue:{}", char::from(unit)))?;
                made.push(match unit {
                    b'O' | b'S' => Built::Used,
                    _ if row.steals.is_empty() => Built::Copied,
                    _ => Built::Consumed,
                });
                made.extend(units.next_if_eq(&b'#').map(|_| Built::Copied));
            }
        }
    }
    open.is_empty().then_some(made)
}

/// Whether a call of `name` makes something of its argument `at` where that is `NULL` as well:
/// `Py_BuildValue("z", NULL)` is `None`. `text` gives the string that an argument is.
#[must_use]
pub fn takes_null_for_value<'t>(
    name: &str,
    at: usize,
    text: impl FnOnce(usize) -> Option<&'t [u8]>,
) -> bool {
    let format = effects(name).and_then(|it| it.format).map(usize::from);
    format.is_some_and(|format| {
        let built = text(format).and_then(built);
        let unit = at.checked_sub(format + 1);
        let one = built
            .zip(unit)
            .and_then(|(built, unit)| built.get(unit).copied());
        one == Some(Built::Copied)
    })
}

#[cfg(test)]
mod tests {
    use super::{Built, built};

    #[test]
    fn units_say_what_is_consumed() {
        use Built::{Consumed, Converted, Copied, Used};
        let of = |format: &str| built(format.as_bytes());
        assert_eq!(
            of("(Ns#O&N)"),
            Some(vec![Consumed, Copied, Copied, Used, Converted, Consumed])
        );
        let copies = [Copied, Used, Copied, Copied, Copied];
        assert_eq!(of("{s:O, s:[ii]}"), Some(copies.to_vec()));
        assert_eq!(of("N&"), Some(vec![Used, Converted]));
        assert_eq!(of(""), Some(Vec::new()));
    }

    #[test]
    fn formats_that_python_refuses_say_nothing() {
        for format in ["(N", "N)", "(N]", "%R", "q"] {
            assert_eq!(built(format.as_bytes()), None, "{format}");
        }
    }
}
