//! `[[tool.setuptools.ext-modules]]` of `pyproject.toml`.

use toml_edit::{Item, TableLike, Value as TomlValue};

use super::value::Value;
use super::{Target, made};
use crate::build::{BuildFile, Toml};

pub(super) fn targets(file: &BuildFile<'_>, tables: &Toml) -> Vec<Target> {
    let modules = tables.get(&["tool", "setuptools", "ext-modules"]);
    let modules: Vec<&dyn TableLike> = match modules {
        Some(Item::ArrayOfTables(tables)) => tables.iter().map(|it| it as _).collect(),
        Some(Item::Value(TomlValue::Array(values))) => {
            let tables = values.iter().filter_map(TomlValue::as_inline_table);
            tables.map(|it| it as _).collect()
        }
        _ => Vec::new(),
    };
    let each = modules.into_iter().flat_map(|module| {
        let name = module.get("name").and_then(Item::as_str);
        let sources = module.get("sources").and_then(Item::as_array);
        let sources = sources.map_or(Value::Unknown, |sources| {
            let text = |it: &TomlValue| it.as_str().map_or(Value::Unknown, Value::text);
            Value::List(sources.iter().map(text).collect())
        });
        made(file, &name.map_or(Value::Unknown, Value::text), &sources)
    });
    each.collect()
}
