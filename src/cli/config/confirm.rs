//! Keeps what a person has confirmed in the configuration file.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

use super::Settings;
use crate::cli::output::deliver;
use crate::facts::Fact;

const TABLE: &str = "confirmed";

impl Settings {
    /// The configuration file as people name it.
    pub(in crate::cli) fn name(&self) -> String {
        let file = self.file.as_deref().and_then(Path::file_name);
        file.map_or(NEW.to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// Writes facts to the configuration file, or to a new one in `folder`. The rest of the file
    /// stays as it is.
    ///
    /// # Errors
    /// If no file may be used, or it cannot be read or written.
    pub(in crate::cli) fn confirm(&self, facts: &[Fact], folder: &Path) -> anyhow::Result<()> {
        if self.is_isolated {
            bail!("`--isolated` reads no configuration, so nothing can be confirmed in it");
        }
        let new = folder.join(NEW);
        let path = self.file.as_deref().unwrap_or(&new);
        let text = match self.file {
            Some(_) => read(path)?,
            None => String::new(),
        };
        let text = with_facts(&text, is_shared(path), facts)
            .with_context(|| format!("cannot change `{}`", path.display()))?;
        deliver(text.as_bytes(), Some(path))
    }

    /// Takes `fact` out of the configuration file, and removes a file that had nothing else.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub(in crate::cli) fn retract(&self, fact: &Fact) -> anyhow::Result<()> {
        let Some(path) = self.file.as_deref() else {
            return Ok(());
        };
        let change = || format!("cannot change `{}`", path.display());
        let text = without(&read(path)?, is_shared(path), fact).with_context(change)?;
        match text.trim().is_empty() {
            true => fs::remove_file(path).with_context(change),
            false => deliver(text.as_bytes(), Some(path)),
        }
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// Whether other programs keep their configuration in the file as well.
fn is_shared(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == SHARED)
}

const SHARED: &str = "pyproject.toml";

/// The tables above the facts.
fn above(is_shared: bool) -> &'static [&'static str] {
    if is_shared { &["tool", "ungil"] } else { &[] }
}

/// `text` without a fact, and without the list and the table that held nothing else.
fn without(text: &str, is_shared: bool, fact: &Fact) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse()?;
    let mut table = Some(document.as_item_mut());
    for key in above(is_shared) {
        table = table.and_then(|it| it.get_mut(key));
    }
    let Some(parent) = table.and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    if let Some(facts) = parent.get_mut(TABLE).and_then(Item::as_table_like_mut) {
        let (key, subject) = (fact.claim().key(), fact.subject());
        if let Some(list) = facts.get_mut(key).and_then(Item::as_array_mut) {
            list.retain(|it| it.as_str() != Some(&subject));
            if list.is_empty() {
                facts.remove(key);
            }
        }
        if facts.is_empty() {
            parent.remove(TABLE);
        }
    }
    Ok(document.to_string())
}

/// The name of a new file.
const NEW: &str = "ungil.toml";

fn with_facts(text: &str, is_shared: bool, facts: &[Fact]) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse()?;
    let mut table = document.as_item_mut();
    for key in above(is_shared) {
        table = below(table, key, true)?;
    }
    let table = below(table, TABLE, false)?;
    let Some(table) = table.as_table_like_mut() else {
        bail!("`{TABLE}` is not a table");
    };
    for fact in facts {
        let list = table
            .entry(fact.claim().key())
            .or_insert_with(|| value(Array::new()));
        let Some(list) = list.as_array_mut() else {
            bail!("`{TABLE}.{}` is not a list", fact.claim().key());
        };
        let subject = fact.subject();
        if list.iter().all(|it| it.as_str() != Some(&subject)) {
            list.push(subject);
        }
    }
    Ok(document.to_string())
}

/// The table `key` of `table`, made if it is not there; `is_implicit` if it needs no line of its own.
fn below<'t>(table: &'t mut Item, key: &str, is_implicit: bool) -> anyhow::Result<&'t mut Item> {
    // A table within braces can hold no table with a line of its own.
    let is_inline = table.is_inline_table();
    let Some(table) = table.as_table_like_mut() else {
        bail!("what contains `{key}` is not a table");
    };
    Ok(table.entry(key).or_insert_with(|| match is_inline {
        true => value(InlineTable::new()),
        false => {
            let mut new = Table::new();
            new.set_implicit(is_implicit);
            Item::Table(new)
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{with_facts, without};
    use crate::facts::{Claim, Fact, Subject};

    fn facts() -> [Fact; 2] {
        let walk = Subject::in_file(Path::new("src/a.c"), "walk");
        [
            Fact::new(Claim::KeepsLists, walk),
            Fact::new(Claim::HasThreadLocal, Subject::project()),
        ]
    }

    #[test]
    fn the_rest_of_the_file_stays() {
        let text = "[project]  # ours\nname = 'x'\n\n[tool.ungil]\nselect = [\"UG1\"] # some\n\n\
                    [tool.other]\na = 1\n";
        insta::assert_snapshot!(with_facts(text, true, &facts()).unwrap(), @r#"
        [project]  # ours
        name = 'x'

        [tool.ungil]
        select = ["UG1"] # some

        [tool.ungil.confirmed]
        keeps-lists = ["src/a.c:walk"]
        has-thread-local = ["project"]

        [tool.other]
        a = 1
        "#);
        let again = with_facts(text, true, &facts()).unwrap();
        assert_eq!(with_facts(&again, true, &facts()).unwrap(), again);
    }

    #[test]
    fn what_is_taken_back_leaves_no_trace() {
        let [walk, local] = facts();
        let before = "[tool.ungil]\nselect = [\"UG1\"] # some\n\n[tool.other]\na = 1\n";
        let both = with_facts(before, true, &facts()).unwrap();
        let one = without(&both, true, &walk).unwrap();
        assert!(
            one.contains("has-thread-local") && !one.contains("keeps-lists"),
            "{one}"
        );
        assert_eq!(without(&one, true, &local).unwrap(), before);
        let new = with_facts("", false, &facts()[..1]).unwrap();
        assert_eq!(without(&new, false, &walk).unwrap(), "");
        assert_eq!(without("a = 1\n", false, &walk).unwrap(), "a = 1\n");
    }

    #[test]
    fn a_new_file_and_one_without_a_table_get_one() {
        insta::assert_snapshot!(with_facts("", false, &facts()).unwrap(), @r#"
        [confirmed]
        keeps-lists = ["src/a.c:walk"]
        has-thread-local = ["project"]
        "#);
        insta::assert_snapshot!(with_facts("[project]\nname = \"x\"\n", true, &facts()[..1]).unwrap(), @r#"
        [project]
        name = "x"

        [tool.ungil.confirmed]
        keeps-lists = ["src/a.c:walk"]
        "#);
        let braces = "tool = { ungil = { strict = true } }\n";
        insta::assert_snapshot!(with_facts(braces, true, &facts()[..1]).unwrap(), @r#"tool = { ungil = { strict = true , confirmed = { keeps-lists = ["src/a.c:walk"] } } }"#);
    }

    #[test]
    fn what_is_no_list_stays() {
        for text in ["confirmed = 1\n", "[confirmed]\nkeeps-lists = 1\n"] {
            assert!(with_facts(text, false, &facts()).is_err(), "{text}");
        }
    }
}
