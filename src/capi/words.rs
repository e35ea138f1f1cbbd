//! The words that the name of a function is made of.

/// The words of a name, in lower case: `sqlite3_blob_close`, `XMLParserFree`.
pub fn words_of(name: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let is_upper = |at: usize| letters.get(at).is_some_and(char::is_ascii_uppercase);
        let is_lower = |at: usize| letters.get(at).is_some_and(char::is_ascii_lowercase);
        let begins = is_upper(at) && (at == 0 || !is_upper(at - 1) || is_lower(at + 1));
        if *letter == '_' || begins {
            words.push(String::new());
        }
        if *letter != '_' {
            let word = words.last_mut().expect("there is one from the start");
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// Whether `name` is `begin` with an `un` in front of a word: `PoolUnlock`, `PyObject_GC_UnTrack`.
#[must_use]
pub fn is_un(name: &str, begin: &str) -> bool {
    let starts_word =
        |at: usize| at == 0 || name.as_bytes()[at - 1] == b'_' || name.as_bytes()[at] == b'U';
    let (lower, begin) = (name.to_ascii_lowercase(), begin.to_ascii_lowercase());
    let mut places = lower.match_indices("un");
    places.any(|(at, un)| {
        starts_word(at) && format!("{}{}", &lower[..at], &lower[at + un.len()..]) == begin
    })
}

/// Whether a function of which nothing else is known only looks at what it gets, by its name:
/// `igraph_vs_size`, `TTF_GetFontStyle`.
#[must_use]
pub fn looks_by_name(name: &str) -> bool {
    const LOOKS: [&str; 12] = [
        "cmp", "compare", "count", "dump", "equal", "get", "has", "is", "len", "length", "size",
        "version",
    ];
    words_of(name).any(|word| LOOKS.contains(&&*word))
}

/// Whether a type is there for threads, by its name: `uv_rwlock_t`, `SDL_sem`.
#[must_use]
pub fn is_for_threads_by_name(name: &str) -> bool {
    const WORDS: [&str; 8] = [
        "barrier",
        "cond",
        "lock",
        "mutex",
        "rwlock",
        "sem",
        "semaphore",
        "spinlock",
    ];
    words_of(name).any(|word| WORDS.contains(&&*word))
}

#[cfg(test)]
mod tests {
    use super::{is_for_threads_by_name, is_un, looks_by_name, words_of};

    #[test]
    fn names_tell_what_only_looks_and_what_is_for_threads() {
        assert!(looks_by_name("igraph_vs_size") && looks_by_name("TTF_GetFontStyle"));
        assert!(!looks_by_name("resize_table") && !looks_by_name("mpz_add"));
        assert!(is_for_threads_by_name("uv_rwlock_t") && is_for_threads_by_name("SDL_sem"));
        assert!(!is_for_threads_by_name("block_t") && !is_for_threads_by_name("condition_list"));
    }

    #[test]
    fn names_are_split_at_underscores_and_capitals() {
        let words = |name: &str| words_of(name).collect::<Vec<String>>().join(" ");
        assert_eq!(words("sqlite3_blob_close"), "sqlite3 blob close");
        assert_eq!(words("XMLParserFree"), "xml parser free");
        assert_eq!(words("__Pyx_AddTraceback"), "pyx add traceback");
        assert_eq!(words("PROTECT"), "protect");
    }

    #[test]
    fn names_tell_what_began() {
        for (name, begin) in [
            ("UNPROTECT", "PROTECT"),
            ("PoolUnlock", "PoolLock"),
            ("pool_unlock", "pool_lock"),
            ("PyObject_GC_UnTrack", "PyObject_GC_Track"),
        ] {
            assert!(is_un(name, begin), "{name}");
        }
        for (name, begin) in [("run", "r"), ("count", "cot"), ("UNLOCK", "UNLOCK")] {
            assert!(!is_un(name, begin), "{name}");
        }
    }
}
