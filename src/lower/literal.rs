//! Values of constants, from their text.

use crate::ast::ExprKind;

/// What a number or character constant is.
pub(super) fn constant(text: &[u8]) -> ExprKind {
    if text.last() == Some(&b'\'') {
        ExprKind::Char
    } else if is_float(text) {
        ExprKind::Float
    } else {
        ExprKind::Int(integer(text))
    }
}

fn is_float(text: &[u8]) -> bool {
    let is_hex = matches!(text, [b'0', b'x' | b'X', ..]);
    let exponent = if is_hex { b'p' } else { b'e' };
    text.contains(&b'.')
        || text
            .iter()
            .any(|byte| byte.to_ascii_lowercase() == exponent)
}

/// The value of an integer constant; `None` if it does not fit or is none.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let (radix, digits) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', b'b' | b'B', rest @ ..] => (2, rest),
        [b'0', _, ..] => (8, text),
        _ => (10, text),
    };
    let is_digit = |byte: &u8| char::from(*byte).is_digit(radix) || *byte == b'\'';
    let end = digits
        .iter()
        .position(|byte| !is_digit(byte))
        .unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    if !suffix.iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    let digits: String = digits
        .iter()
        .filter(|&&b| b != b'\'')
        .map(|&b| char::from(b))
        .collect();
    i64::from_str_radix(&digits, radix).ok()
}

/// The bytes between the quotes of one string piece; `None` if the token is no string.
pub(super) fn string_piece(text: &[u8]) -> Option<&[u8]> {
    let open = memchr::memchr(b'"', text)?;
    let inside = &text[open + 1..];
    Some(inside.strip_suffix(b"\"").unwrap_or(inside))
}

#[cfg(test)]
mod tests {
    use super::{constant, integer, string_piece};
    use crate::ast::ExprKind;

    #[test]
    fn integers_of_all_bases_and_suffixes() {
        let values = [
            "0",
            "42",
            "0x1F",
            "017",
            "0b101",
            "1'000",
            "10UL",
            "0xFFFFFFFFFFFFFFFF",
        ];
        let values: Vec<_> = values.iter().map(|text| integer(text.as_bytes())).collect();
        let expected = [
            Some(0),
            Some(42),
            Some(31),
            Some(15),
            Some(5),
            Some(1000),
            Some(10),
            None,
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn floats_and_characters_are_told_from_integers() {
        assert!(matches!(constant(b"1e5"), ExprKind::Float));
        assert!(matches!(constant(b".5f"), ExprKind::Float));
        assert!(matches!(constant(b"0x1p3"), ExprKind::Float));
        assert!(matches!(constant(b"0x1e"), ExprKind::Int(Some(30))));
        assert!(matches!(constant(b"L'a'"), ExprKind::Char));
    }

    #[test]
    fn string_pieces_lose_prefix_and_quotes() {
        assert_eq!(string_piece(br#"u8"a\"b""#), Some(&br#"a\"b"#[..]));
        assert_eq!(string_piece(b"PRId64"), None);
    }
}
