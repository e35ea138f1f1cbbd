//! What `PyArg_ParseTuple` and its kin store, by the units of their format.

use super::{OutKind, effects};

/// What a call stores through one of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Nothing, or nothing that is a pointer.
    Nothing,
    /// This.
    Known(OutKind),
    /// The function, or the text of its format, is not known.
    Unknown,
}

impl Stored {
    /// Whether that may be a pointer into an argument of a call of `name`, or something that lives in
    /// one. What a function that is not known does is not the C API's to say.
    #[must_use]
    pub fn is_pointer(self, name: &str) -> bool {
        match self {
            Self::Known(kind) => kind.is_pointer(),
            Self::Nothing => false,
            Self::Unknown => name.starts_with("PyArg_"),
        }
    }
}

/// What a call of `name` stores through argument `arg`. `format` gives the text of the call's
/// argument with that index, if it is a literal.
pub fn stored<'t>(
    name: &str,
    arg: usize,
    format: impl FnOnce(usize) -> Option<&'t [u8]>,
) -> Stored {
    if let Some((format_at, first)) = places(name) {
        let Some(unit) = arg.checked_sub(first) else {
            return Stored::Nothing;
        };
        return match format(format_at).and_then(outs) {
            Some(outs) => outs.get(unit).map_or(Stored::Unknown, |out| match out {
                Some(kind) => Stored::Known(*kind),
                None => Stored::Nothing,
            }),
            None => Stored::Unknown,
        };
    }
    let Some(effects) = effects(name) else {
        return Stored::Unknown;
    };
    effects.out(arg).map_or(Stored::Nothing, Stored::Known)
}

/// Whether a call of `name` may fill a buffer that a pointer leads to which it gets: `es#`, `et#`.
pub fn fills_given_buffer<'t>(name: &str, format: impl FnOnce(usize) -> Option<&'t [u8]>) -> bool {
    let fills = |text: &[u8]| {
        let mut units = text.windows(3);
        units.any(|unit| matches!(unit, b"es#" | b"et#"))
    };
    places(name).is_some_and(|(at, _)| format(at).is_none_or(fills))
}

/// Whether a call of `name` that succeeds always stores a pointer through argument `arg`: it may leave
/// there what was there if the argument stands behind `|`. `None` where it may read what is there, as
/// a converter may, or stores something else.
pub fn overwrites<'t>(
    name: &str,
    arg: usize,
    format: impl Fn(usize) -> Option<&'t [u8]>,
) -> Option<bool> {
    places(name)?;
    let before = |end: &[u8]| {
        let head = |at| {
            let format: &[u8] = format(at)?;
            let ends = format.windows(end.len()).position(|text| text == end);
            Some(&format[..ends.unwrap_or(format.len())])
        };
        matches!(
            stored(name, arg, head),
            Stored::Known(OutKind::Pointer | OutKind::Borrowed)
        )
    };
    before(b"O&").then(|| before(b"|"))
}

/// Whether what a call of `name` stores through argument `arg` is a buffer that is lent to be read:
/// one of `y*`, not of `w*`.
pub fn lends_to_read<'t>(
    name: &str,
    arg: usize,
    format: impl FnOnce(usize) -> Option<&'t [u8]>,
) -> bool {
    let Some((format_at, _)) = places(name) else {
        return false;
    };
    let Some(format) = format(format_at) else {
        return false;
    };
    // An object stands for one argument as well.
    let text = String::from_utf8_lossy(format).replace("w*", "O");
    let kind = stored(name, arg, |_| Some(text.as_bytes()));
    kind == Stored::Known(OutKind::Buffer)
}

/// Whether a call of `name` only reads its argument `arg`: the type of `O!`, the converter of `O&`.
pub fn reads_unit<'t>(
    name: &str,
    arg: usize,
    format: impl FnOnce(usize) -> Option<&'t [u8]>,
) -> bool {
    let text = places(name).and_then(|(format_at, _)| format(format_at));
    let Some(text) = text.map(String::from_utf8_lossy) else {
        return false;
    };
    // A buffer stands for one argument as well.
    let marked = text.replace("O!", "y*O").replace("O&", "y*O");
    stored(name, arg, |_| Some(text.as_bytes())) == Stored::Nothing
        && stored(name, arg, |_| Some(marked.as_bytes())) == Stored::Known(OutKind::Buffer)
}

/// Whether `Py_BuildValue` with this format calls nothing that may run Python code: no converter
/// (`O&`), no dict whose keys are compared (`{…}`), nothing that is released where it fails (`N`).
#[must_use]
pub fn builds_plainly(format: &[u8]) -> bool {
    format
        .iter()
        .all(|unit| b"ObBcCdDfhHiIkKlLnpsSuUyz#()[] ,:\t".contains(unit))
}

/// Where a parsing function has its format, and the first argument for the units of it.
fn places(name: &str) -> Option<(usize, usize)> {
    match name.trim_start_matches('_').trim_end_matches("_SizeT") {
        "PyArg_Parse" | "PyArg_ParseTuple" => Some((1, 2)),
        "PyArg_ParseTupleAndKeywords" => Some((2, 4)),
        _ => None,
    }
}

/// A piece of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'f> {
    /// `(`: what follows comes from one tuple.
    Open,
    /// `)`
    Close,
    /// `|`: what follows may be left out.
    Optional,
    /// `$`: what follows is given by name.
    KeywordOnly,
    /// A unit for one Python object, with what belongs to it: `O!`, `es#`, `y*`.
    Unit(&'f [u8]),
}

/// The pieces of a format up to its name or message; `None` for one that Python does not know.
#[must_use]
pub fn pieces(format: &[u8]) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(first) = rest.first() {
        let length = match first {
            b':' | b';' => break,
            b'e' => match rest {
                [_, b's' | b't', b'#', ..] => 3,
                [_, b's' | b't', ..] => 2,
                _ => return None,
            },
            _ => match rest.get(1) {
                Some(b'#' | b'*' | b'!' | b'&') => 2,
                _ => 1,
            },
        };
        let (unit, others) = rest.split_at(length);
        rest = others;
        match unit {
            b"(" => pieces.push(Piece::Open),
            b")" => pieces.push(Piece::Close),
            b"|" => pieces.push(Piece::Optional),
            b"$" => pieces.push(Piece::KeywordOnly),
            b" " => {}
            _ => pieces.push(Piece::Unit(unit)),
        }
    }
    Some(pieces)
}

/// How many arguments of the call belong to a unit; `None` for one that Python does not know.
#[must_use]
pub fn arguments(unit: &[u8]) -> Option<usize> {
    Some(outs_of(unit)?.len())
}

/// What is stored through each of the arguments that a format asks for; `None` in place of what is
/// no pointer into the parsed object. `None` for a format that Python does not know.
fn outs(format: &[u8]) -> Option<Vec<Option<OutKind>>> {
    let mut outs = Vec::new();
    for piece in pieces(format)? {
        if let Piece::Unit(unit) = piece {
            outs.extend(outs_of(unit)?);
        }
    }
    Some(outs)
}

fn outs_of(unit: &[u8]) -> Option<Vec<Option<OutKind>>> {
    let length = unit.ends_with(b"#").then_some(None);
    let first = match unit {
        b"O!" => return Some(vec![None, Some(OutKind::Borrowed)]),
        b"O&" => return Some(vec![None, Some(OutKind::Converted)]),
        b"O" | b"S" | b"U" | b"Y" => return Some(vec![Some(OutKind::Borrowed)]),
        // The encoding, the text in it, and its length.
        [b'e', ..] => vec![None, Some(OutKind::Memory)],
        b"s*" | b"z*" | b"y*" | b"w*" => vec![Some(OutKind::Buffer)],
        [b's' | b'z' | b'y' | b'w' | b'u' | b'Z' | b't', ..] => vec![Some(OutKind::Pointer)],
        [unit] if b"bBhHiIlkLKncCfdDp".contains(unit) => vec![None],
        _ => return None,
    };
    Some(first.into_iter().chain(length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_arguments_may_stay_as_they_were() {
        let of = |format: &str, unit: usize| {
            overwrites("PyArg_ParseTuple", 2 + unit, |_| Some(format.as_bytes()))
        };
        assert_eq!(of("Oi|O", 0), Some(true));
        assert_eq!(of("Oi|O", 1), None, "a number");
        assert_eq!(of("Oi|O", 2), Some(false));
        assert_eq!(of("sO&s", 0), Some(true));
        assert_eq!(of("sO&s", 2), None, "a converter may look at what is there");
        assert_eq!(of("O!s:call|me", 2), Some(true));
        assert_eq!(overwrites("PyArg_ParseTuple", 2, |_| None), None);
    }

    #[test]
    fn only_some_buffers_may_be_written() {
        let is = |arg| lends_to_read("PyArg_ParseTuple", arg, |_| Some(b"y*Ow*s*"));
        assert_eq!([is(2), is(3), is(4), is(5)], [true, false, false, true]);
        assert!(!lends_to_read("PyObject_GetBuffer", 1, |_| None));
    }

    #[test]
    fn units_of_a_format_stand_for_arguments() {
        use OutKind::{Borrowed, Buffer, Converted, Memory, Pointer};
        let is = |format: &str, expected: &[Option<OutKind>]| {
            assert_eq!(
                outs(format.as_bytes()).as_deref(),
                Some(expected),
                "{format}"
            );
        };
        is(
            "Os#|(ii)$y*:name",
            &[
                Some(Borrowed),
                Some(Pointer),
                None,
                None,
                None,
                Some(Buffer),
            ],
        );
        is("O!O&", &[None, Some(Borrowed), None, Some(Converted)]);
        is("es#i;message", &[None, Some(Memory), None, None]);
        assert_eq!(outs(b"q"), None);
    }

    #[test]
    fn functions_store_what_their_format_or_the_table_says() {
        let parsed = |arg| stored("PyArg_ParseTuple", arg, |_| Some(b"is"));
        assert_eq!(parsed(0), Stored::Nothing);
        assert_eq!(parsed(2), Stored::Nothing);
        assert_eq!(parsed(3), Stored::Known(OutKind::Pointer));
        assert_eq!(parsed(4), Stored::Unknown);
        assert_eq!(stored("PyArg_Parse", 2, |_| None), Stored::Unknown);
        let plain = |name, arg| stored(name, arg, |_| None);
        assert_eq!(
            plain("PyBytes_AsStringAndSize", 1),
            Stored::Known(OutKind::Pointer)
        );
        assert_eq!(plain("PyBytes_AsStringAndSize", 2), Stored::Nothing);
        assert_eq!(plain("of_the_package", 1), Stored::Unknown);
    }
}
