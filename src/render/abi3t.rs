//! What keeps modules from the stable ABI `abi3t`, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::View;
use super::json::{Location, location};
use crate::engine::{Abi3t, ModuleAbi, Obstacle, ObstacleKind};
use crate::source::{ByteSpan, FileId};

/// Most lines that the text names of one file; `json` names them all.
const SHOWN: usize = 8;

/// For people: a paragraph a module, by kind and name, with lines.
#[must_use]
pub fn abi3t(view: View<'_>, found: &Abi3t) -> String {
    let mut out = String::new();
    for module in &found.modules {
        paragraph(view, module, &mut out);
    }
    out
}

fn paragraph(view: View<'_>, module: &ModuleAbi, out: &mut String) {
    let (name, file) = (&module.name, view.path(module.file));
    if module.obstacles.is_empty() {
        *out += &format!("Module `{name}` ({file}): nothing prevents a build for `abi3t`\n\n");
        return;
    }
    *out += &format!("Module `{name}` ({file}) uses what `abi3t` does not have:\n");
    let kinds: BTreeMap<ObstacleKind, Vec<&Obstacle>> =
        module
            .obstacles
            .iter()
            .fold(BTreeMap::new(), |mut kinds, obstacle| {
                kinds
                    .entry(obstacle.kind)
                    .or_insert_with(Vec::new)
                    .push(obstacle);
                kinds
            });
    for (kind, obstacles) in kinds {
        let places: usize = obstacles.iter().map(|obstacle| obstacle.places.len()).sum();
        let (title, advice) = (kind.title(), kind.advice());
        let used = match places {
            1 => "1 place".to_owned(),
            _ => format!("{places} places"),
        };
        writeln!(out, "  {title}, {used}: {advice}").expect("writing to a string cannot fail");
        for obstacle in obstacles {
            let lines = lines(view, &obstacle.places);
            writeln!(out, "    {}  {lines}", obstacle.name)
                .expect("writing to a string cannot fail");
        }
    }
    out.push('\n');
}

/// `a.c:3, 17; b.c:5`.
fn lines(view: View<'_>, places: &[(FileId, ByteSpan)]) -> String {
    let mut files: BTreeMap<FileId, Vec<u32>> = BTreeMap::new();
    for (file, span) in places {
        let line = view.package.files.get(*file).position(span.start()).line.0;
        files.entry(*file).or_default().push(line);
    }
    let each = files.into_iter().map(|(file, mut lines)| {
        lines.dedup();
        let shown: Vec<String> = lines.iter().take(SHOWN).map(u32::to_string).collect();
        let more = match lines.len().saturating_sub(SHOWN) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        format!("{}:{}{more}", view.path(file), shown.join(", "))
    });
    each.collect::<Vec<_>>().join("; ")
}

/// One module.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "Module"))]
struct JsonModule<'a> {
    /// Its name, from `PyInit_name`.
    module: &'a str,
    /// The file with its `PyInit_` function, relative to the current folder.
    file: String,
    /// By kind and name.
    obstacles: Vec<JsonObstacle<'a>>,
}

/// One obstacle to the ABI.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "Obstacle"))]
struct JsonObstacle<'a> {
    /// In what way.
    kind: JsonKind,
    /// The type, `struct`, variable, function, version, or `TYPE.FIELD`.
    name: &'a str,
    /// What to do about it.
    advice: &'a str,
    /// Its places, by file and position.
    places: Vec<Location>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, schemars(rename = "Kind", inline))]
enum JsonKind {
    OlderVersion,
    ModuleDefinition,
    StaticType,
    InstanceLayout,
    Field,
    Name,
}

impl From<ObstacleKind> for JsonKind {
    fn from(kind: ObstacleKind) -> Self {
        match kind {
            ObstacleKind::OlderVersion => Self::OlderVersion,
            ObstacleKind::ModuleDefinition => Self::ModuleDefinition,
            ObstacleKind::StaticType => Self::StaticType,
            ObstacleKind::InstanceLayout => Self::InstanceLayout,
            ObstacleKind::Field => Self::Field,
            ObstacleKind::Name => Self::Name,
        }
    }
}

/// For programs: one array of modules.
#[must_use]
pub fn abi3t_json(view: View<'_>, found: &Abi3t) -> String {
    let obstacle = |obstacle: &'_ Obstacle| {
        let places = obstacle.places.iter();
        places
            .map(|(file, span)| location(view, *file, *span))
            .collect::<Vec<_>>()
    };
    let modules = found.modules.iter().map(|module| JsonModule {
        module: &module.name,
        file: view.path(module.file),
        obstacles: module
            .obstacles
            .iter()
            .map(|each| JsonObstacle {
                kind: each.kind.into(),
                name: &each.name,
                advice: each.kind.advice(),
                places: obstacle(each),
            })
            .collect(),
    });
    let list: Vec<_> = modules.collect();
    serde_json::to_string_pretty(&list).expect("strings and numbers always serialise") + "\n"
}

/// The JSON schema of what [`abi3t_json`] writes.
#[cfg(test)]
pub(super) fn abi3t_schema() -> String {
    super::json::schema_of::<Vec<JsonModule<'_>>>("ungil check --abi3t --output-format json")
}
