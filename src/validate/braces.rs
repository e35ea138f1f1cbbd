//! A function that is changed opens and closes as many braces as before: what is left over of it
//! may parse as something else.
//!
//! ```c
//! else if (x)            else
//!     return f(x);           if (x)           /* the brace behind `else` got lost */
//!                                return f(x);
//!                        }                    /* ends the function */
//! return 0;              return 0;
//! ```

use std::collections::BTreeMap;

use super::Failure;
use super::original::Original;
use super::proof::Failed;
use crate::edit::Applied;
use crate::lex::lex;
use crate::source::{ByteOffset, ByteSpan, FileId};

/// Functions of which a brace got lost, or which got one too many.
pub(super) fn failures(
    original: &Original<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let functions = original.program.functions();
    let failures = functions.filter_map(|(item, function)| {
        let (file, old) = item.place;
        let applied = applied.get(&file)?;
        let start = applied.map.to_new(old.start())?;
        let end = applied
            .map
            .to_new(ByteOffset(old.end().0.checked_sub(1)?))?;
        let new = ByteSpan::new(start.0, end.0 + 1);
        let before = original.program.files.get(file).slice(old);
        let after = &applied.bytes[new.range()];
        let is_wrong = before != after && open(before) != open(after);
        is_wrong.then(|| Failed {
            file,
            original: vec![old],
            result: new,
            failure: Failure::Wrong(format!(
                "`{}` ends at another place than before",
                function.name
            )),
        })
    });
    failures.collect()
}

/// How many more braces a text opens than it closes, in all branches of an `#if` taken together.
fn open(text: &[u8]) -> i64 {
    let tokens = lex(text);
    let words = tokens.iter().map(|token| &text[token.span.range()]);
    words.fold(0, |open, word| match word {
        b"{" => open + 1,
        b"}" => open - 1,
        _ => open,
    })
}
