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

#[cfg(test)]
mod tests {
    use super::words_of;

    #[test]
    fn names_are_split_at_underscores_and_capitals() {
        let words = |name: &str| words_of(name).collect::<Vec<String>>().join(" ");
        assert_eq!(words("sqlite3_blob_close"), "sqlite3 blob close");
        assert_eq!(words("XMLParserFree"), "xml parser free");
        assert_eq!(words("__Pyx_AddTraceback"), "pyx add traceback");
        assert_eq!(words("PROTECT"), "protect");
    }
}
