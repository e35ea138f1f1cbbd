//! TOML with byte ranges.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike};

/// The tables of a TOML file.
#[derive(Debug)]
pub struct Toml {
    document: Document<String>,
}

impl Toml {
    /// Parses `bytes`.
    ///
    /// # Errors
    /// What is wrong: one line, lower case, no full stop.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| "it is not UTF-8".to_owned())?;
        let document = Document::parse(text).map_err(|error| error.message().to_owned())?;
        Ok(Self { document })
    }

    /// The table at `path`; `None` if there is none.
    #[must_use]
    pub fn table(&self, path: &[&str]) -> Option<&dyn TableLike> {
        let mut table: &dyn TableLike = self.document.as_table();
        for key in path {
            table = table.get(key)?.as_table_like()?;
        }
        Some(table)
    }

    /// The value of the last key of `path`; `None` if there is none.
    #[must_use]
    pub fn get(&self, path: &[&str]) -> Option<&Item> {
        let (last, tables) = path.split_last()?;
        self.table(tables)?.get(last)
    }

    /// The bytes of the last key of `path`, or of its value where the key has none.
    #[must_use]
    pub fn place(&self, path: &[&str]) -> Option<Range<usize>> {
        let (last, tables) = path.split_last()?;
        let (key, value) = self.table(tables)?.get_key_value(last)?;
        key.span().or_else(|| value.span())
    }

    /// The strings of the array at `path` with their bytes, quotes included.
    pub fn strings<'t>(&'t self, path: &[&str]) -> Vec<(&'t str, Range<usize>)> {
        let array = self.get(path).and_then(Item::as_array);
        let values = array.into_iter().flat_map(|array| array.iter());
        values
            .filter_map(|value| Some((value.as_str()?, value.span()?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Toml;

    #[test]
    fn values_have_their_bytes() {
        let text = "[tool.a]\nb = [\"c\", 'd']  # e\n";
        let toml = Toml::parse(text.as_bytes()).unwrap();
        let strings = toml.strings(&["tool", "a", "b"]);
        let found: Vec<_> = strings
            .into_iter()
            .map(|(value, at)| (value, &text[at]))
            .collect();
        assert_eq!(found, [("c", "\"c\""), ("d", "'d'")]);
        assert_eq!(&text[toml.place(&["tool", "a", "b"]).unwrap()], "b");
        assert!(toml.get(&["tool", "x", "b"]).is_none());
        assert!(Toml::parse(b"a = \n").is_err());
    }
}
