//! What comments say of references.
//!
//! A comment that says only that a reference is borrowed is false where the reference turns strong.
//! Only sentences of a small set of words are taken for such: what says anything else is left.

/// Words that add nothing to what a sentence says of a reference.
const PLAIN: &str = "a an the this that these it its is are was still only just we i do does need \
    needs needed must note nb as because since so hence here of to from for in by at with and \
    were object item items list dict dictionary container pointer returns return returned gives give \
    given gets get got own owns owned owning new strong decref xdecref incref ref refs \
    py be nothing release released free freed";

/// Words that turn a sentence round.
const NEGATIONS: &[&str] = &[
    "no", "not", "don't", "dont", "doesn't", "never", "isn't", "without",
];

/// The text of a comment without its sentences about a borrowed reference: empty if nothing is left
/// of it, `None` if it has none. `names` may occur in such sentences: variables and functions.
pub(in crate::strong) fn without_borrowed(comment: &str, names: &[&str]) -> Option<String> {
    let (open, body, close) = marks(comment);
    if is_lint_mark(body) {
        return Some(String::new());
    }
    let sentences: Vec<&str> = sentences(body).collect();
    let is_plain = |sentence: &&str| is_plain(sentence, names);
    if !sentences
        .iter()
        .any(|sentence| is_plain(sentence) && claims_borrowed(sentence))
    {
        return None;
    }
    let rest: Vec<&str> = sentences
        .iter()
        .copied()
        .filter(|it| !is_plain(it))
        .collect();
    if rest.is_empty() {
        return Some(String::new());
    }
    let is_one_line = !comment.trim_end().contains('\n');
    is_one_line.then(|| format!("{open}{}{close}", closed(rest.concat().trim_end(), body)))
}

/// Whether a comment is nothing but a mark for a linter that looks for borrowed references, as
/// numpy writes them: `noqa: borrowed-ref OK`, `noqa: borrowed-ref - manual fix needed`.
fn is_lint_mark(body: &str) -> bool {
    let rest = body.strip_prefix("noqa: borrowed-ref");
    rest.is_some_and(|rest| {
        let rest = rest.trim_start_matches([' ', '-', ':']);
        matches!(rest.trim_end_matches('.'), "" | "OK" | "manual fix needed")
    })
}

/// What is left of `body`, with its end where only a `;` parted it from what went.
fn closed(rest: &str, body: &str) -> String {
    match rest.strip_suffix(';') {
        Some(rest) if !body.ends_with(';') => {
            let end = if body.ends_with('.') { "." } else { "" };
            format!("{rest}{end}")
        }
        _ => rest.to_owned(),
    }
}

/// Whether a comment says of `name` that the reference is borrowed.
pub(in crate::strong) fn names_borrowed(comment: &str, name: &str) -> bool {
    sentences(marks(comment).1).any(|sentence| names(sentence, name) && claims_borrowed(sentence))
}

/// Whether the comments in `text` say something that is not about the count which goes.
pub(in crate::strong) fn says_more(text: &str) -> bool {
    let about_counts = ["borrow", "incref", "own it", "own a ref", "own the ref"];
    each_comment(text).any(|comment| !about_counts.iter().any(|words| comment.contains(words)))
}

/// Whether each of the comments in `text` is about a reference or its count, and asks for nothing.
pub(in crate::strong) fn is_about_references(text: &str) -> bool {
    let is_about = |word: &str| {
        let starts = ["borrow", "refer", "refcount", "refcnt", "own"];
        starts.iter().any(|start| word.starts_with(start))
            || ["ref", "refs", "decref", "incref", "count", "counts"]
                .iter()
                .any(|end| word.ends_with(end))
    };
    let asks = |word: &str| matches!(word, "xxx" | "todo" | "fixme" | "bug" | "hack");
    each_comment(text).all(|comment| words(&comment).any(is_about) && !words(&comment).any(asks))
}

/// The comments in `text`, in lower case, without their marks.
fn each_comment(text: &str) -> impl Iterator<Item = String> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find("/*").into_iter().chain(rest.find("//")).min()?;
        let closing = if rest[start..].starts_with("/*") {
            "*/"
        } else {
            "\n"
        };
        let body = &rest[start + 2..];
        let (comment, after) = body.split_once(closing).unwrap_or((body, ""));
        rest = after;
        Some(comment.to_ascii_lowercase())
    })
}

/// A comment as its opening mark, its text, and its closing mark, blanks with the marks.
fn marks(comment: &str) -> (&str, &str, &str) {
    let is_mark = |letter: char| matches!(letter, '/' | '*') || letter.is_whitespace();
    let body = comment.trim_start_matches(is_mark);
    let open = &comment[..comment.len() - body.len()];
    let text = body.trim_end_matches(is_mark);
    (open, text, &body[text.len()..])
}

/// The sentences of a text, each with what ends it and the blanks behind.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let ends = rest.match_indices(['.', ';', '!']).find_map(|(at, _)| {
            let behind = &rest[at + 1..];
            let next = behind.trim_start();
            (next.len() < behind.len() || next.is_empty()).then(|| rest.len() - next.len())
        });
        let (sentence, after) = rest.split_at(ends.unwrap_or(rest.len()));
        rest = after;
        (!sentence.is_empty()).then_some(sentence)
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '\''))
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
}

/// Whether a text has `name` as one of its words.
pub(in crate::strong) fn names(text: &str, name: &str) -> bool {
    words(text).any(|word| word == name)
}

/// Whether a sentence has no words but those that speak of references, and `names`.
fn is_plain(sentence: &str, names: &[&str]) -> bool {
    words(sentence).all(|word| {
        let lower = word.to_ascii_lowercase();
        let is_api = lower.starts_with("py") && lower.contains('_');
        is_api
            || names.contains(&word)
            || lower.starts_with("borrow")
            || lower.starts_with("referenc")
            || NEGATIONS.contains(&&*lower)
            || PLAIN.split_whitespace().any(|plain| plain == lower)
    })
}

/// Whether a text says that a reference is borrowed, or not owned.
pub(in crate::strong) fn claims_borrowed(sentence: &str) -> bool {
    let lower = sentence.to_ascii_lowercase();
    let mut negated = false;
    for word in words(&lower) {
        let is_negation = NEGATIONS.contains(&word);
        let owns = word.starts_with("own") || word.ends_with("decref");
        if word.starts_with("borrow") && !negated || owns && negated {
            return true;
        }
        let goes_on = ["a", "an", "the", "to", "we", "i", "it", "need", "new", "of"];
        negated = is_negation || negated && goes_on.contains(&word);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(comment: &str) -> Option<String> {
        without_borrowed(comment, &["key", "GetItem"])
    }

    #[test]
    fn sentences_about_a_borrowed_reference_go() {
        let gone = |comment| assert_eq!(left(comment).as_deref(), Some(""), "{comment}");
        gone("/* borrowed */");
        gone("// Borrowed reference!");
        gone("/* we don't own a reference to key */");
        gone("/* Note: reference borrowed */");
        gone("// key is a *borrowed referenced*");
        gone("/*no decref as we borrowed it*/");
        gone("/* PyDict_GetItem gives a borrowed reference. Own it. */");
        gone("/* GetItem returns a\n * borrowed reference */");
        gone("// noqa: borrowed-ref OK");
        gone("/* noqa: borrowed-ref - manual fix needed */");
    }

    #[test]
    fn other_sentences_stay() {
        assert_eq!(
            left("// Check the cache.  GetItem returns a borrowed reference.").as_deref(),
            Some("// Check the cache.")
        );
        let ends = |comment, end| assert_eq!(left(comment).as_deref(), Some(end), "{comment}");
        ends("/* keep n; key is borrowed */", "/* keep n */");
        ends("/* Keep n; key is borrowed. */", "/* Keep n. */");
        ends("// key is borrowed; keep n;", "// keep n;");
        let kept = |comment| assert_eq!(left(comment), None, "{comment}");
        kept("/* we do own a reference to key */");
        kept("/* not a borrowed reference */");
        kept("/* borrowed from the R sources */");
        kept("/* value is borrowed */");
        kept("/* a new reference */");
        kept("/* Check the cache.\n Borrowed. */");
        kept("// noqa: borrowed-ref OK, the lock of the registry is held");
        kept("// noqa: E501");
    }

    #[test]
    fn comments_about_references_ask_for_nothing() {
        assert!(is_about_references("/* Hang on to a reference */"));
        assert!(is_about_references("// there is still a ref in the dict\n"));
        assert!(!is_about_references("/* XXX: is this reference needed? */"));
        assert!(!is_about_references("/* prefer it */"));
        assert!(!is_about_references("/* the next one */ /* a reference */"));
    }
}
