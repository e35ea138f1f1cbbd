//! The text of the script.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::value::Serde;
use serde::{Deserialize, Serialize};

use super::regions::{Region, changed, keep};
use super::scenario::{Value, value};
use super::surface::TypeSurface;
use super::{Need, Reported, Scenario, Surface};
use crate::template::environment;

/// What a script is made of.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a> {
    /// What it calls.
    pub surface: &'a Surface,
    /// How.
    pub scenarios: &'a [Scenario],
    /// The findings of the module.
    pub reported: &'a [Reported],
    /// The name of its file.
    pub file: &'a str,
    /// Whether pytest is to find its scenarios.
    pub pytest: bool,
    /// What is in the file so far: its regions stay, and its findings if a function has them.
    pub old: Option<&'a str>,
}

/// By this a script is known.
const MADE_BY: &str = ", made by `ungil stress`.";

/// Whether `text` is a script that an earlier run has written.
#[must_use]
pub fn is_script(text: &str) -> bool {
    text.lines().take(3).any(|line| line.ends_with(MADE_BY))
}

/// A finding as it stands in the script, by its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    rule: String,
    place: String,
    state: String,
    functions: Vec<String>,
}

/// What the template reads.
#[derive(Serialize)]
struct Page<'a> {
    module: String,
    quoted_module: String,
    file: &'a str,
    regions: Vec<Part>,
    /// Names of scenarios, quoted, and of the functions that return their arguments.
    args_of: Vec<(String, String)>,
    findings: Vec<(String, String)>,
    scenarios: Vec<Call>,
    runtime: &'static str,
    pytest: bool,
}

#[derive(Serialize)]
struct Part {
    name: String,
    about: Vec<String>,
    body: String,
    mark: String,
}

#[derive(Serialize)]
struct Call {
    name: String,
    place: String,
    on: String,
    call: String,
    args: String,
    required: usize,
}

/// Writes the script.
#[must_use]
pub fn script(script: &Script<'_>) -> String {
    let Script {
        surface, scenarios, ..
    } = script;
    let mut regions = regions(surface, scenarios);
    keep(&mut regions, script.old.map(changed).unwrap_or_default());
    let asks = scenarios.iter().filter(|it| it.args.is_err());
    let part = |it: Region| Part {
        name: it.name,
        about: it.about,
        body: it.body,
        mark: it.mark,
    };
    let page = Page {
        module: surface.module.clone(),
        quoted_module: quoted(&surface.module),
        file: script.file,
        regions: regions.into_iter().map(part).collect(),
        args_of: asks
            .map(|it| (quoted(&it.name), args_of(&it.name)))
            .collect(),
        findings: findings(script),
        scenarios: scenarios.iter().map(shown).collect(),
        runtime: include_str!("runtime.py").trim_end(),
        pytest: script.pytest,
    };
    fill(&page)
}

fn fill(page: &Page<'_>) -> String {
    environment()
        .render_named_str("head.py", include_str!("head.py"), Serde(page))
        .expect("the template is part of the program and reads what the page has")
}

/// A text as a literal of Python.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text serialises")
}

fn shown(scenario: &Scenario) -> Call {
    let on = scenario.on.as_deref();
    let args = scenario.args.as_ref();
    Call {
        name: quoted(&scenario.name),
        place: quoted(&scenario.place),
        on: on.map_or("None".to_owned(), quoted),
        call: scenario.call.clone(),
        args: args.map_or("None".to_owned(), |args| format!("[{}]", literals(args))),
        required: scenario.required,
    }
}

/// `"int", ["str", "any"], "object:Stack"`
fn literals(values: &[Value]) -> String {
    let literal = |value: &Value| match value {
        Value::Word(word) => quoted(word),
        Value::Object(name) => quoted(&format!("object:{name}")),
        Value::Tuple(values) => format!("[{}]", literals(values)),
    };
    let all: Vec<String> = values.iter().map(literal).collect();
    all.join(", ")
}

fn findings(script: &Script<'_>) -> Vec<(String, String)> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let names: BTreeSet<&str> = script.scenarios.iter().map(|it| it.name.as_str()).collect();
    for (id, mut row) in script.old.map(old_rows).unwrap_or_default() {
        row.functions.retain(|name| names.contains(name.as_str()));
        row.state = "no longer reported".to_owned();
        if !row.functions.is_empty() {
            rows.insert(id, row);
        }
    }
    for it in script.reported {
        let reach = script
            .scenarios
            .iter()
            .filter(|call| call.findings.contains(&it.id));
        let row = Row {
            rule: it.rule.clone(),
            place: it.place.clone(),
            state: it.state.clone(),
            functions: reach.map(|call| call.name.clone()).collect(),
        };
        rows.insert(it.id.clone(), row);
    }
    let text = |row: &Row| serde_json::to_string(row).expect("text serialises");
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_by_key(|(id, row)| (&row.place, &row.rule, *id));
    rows.into_iter()
        .map(|(id, row)| (quoted(id), text(row)))
        .collect()
}

/// The findings of a script.
fn old_rows(text: &str) -> Vec<(String, Row)> {
    let lines = text
        .lines()
        .skip_while(|line| *line != "FINDINGS = {")
        .skip(1);
    let rows = lines.take_while(|line| *line != "}").filter_map(|line| {
        let (id, row) = line.trim().trim_end_matches(',').split_once(": ")?;
        Some((
            serde_json::from_str(id).ok()?,
            serde_json::from_str(row).ok()?,
        ))
    });
    rows.collect()
}

fn regions(surface: &Surface, scenarios: &[Scenario]) -> Vec<Region> {
    let about = |lines: &[&str]| lines.iter().map(|it| (*it).to_owned()).collect();
    let mut regions = vec![
        Region::new(
            "import".to_owned(),
            about(&["The module: change this if it has another name, or needs something before."]),
            "def import_module():\n    return importlib.import_module(MODULE)".to_owned(),
        ),
        Region::new(
            "yours".to_owned(),
            about(&[
                "Functions that must not be called, by name: SKIP = {\"remove_all\"}",
                "Better arguments for a function than those that are made up:",
                "ARGS[\"Stack.push\"] = lambda m: ([1, 2], \"key\")",
            ]),
            "SKIP = set()\nARGS = {}".to_owned(),
        ),
    ];
    regions.extend(surface.types.iter().map(|ty| maker(surface, ty, scenarios)));
    for scenario in scenarios {
        if let Err(why) = &scenario.args {
            let body = format!(
                "def {}(m):\n    return FILL_IN  # fill in: a tuple with the arguments",
                args_of(&scenario.name)
            );
            let what = format!(
                "The arguments of `{}` ({}) cannot be guessed: {why}.",
                scenario.name, scenario.place
            );
            regions.push(Region::new(
                format!("arguments of {}", scenario.name),
                vec![what],
                body,
            ));
        }
    }
    regions
}

/// The region that makes an object of a type.
fn maker(surface: &Surface, ty: &TypeSurface, scenarios: &[Scenario]) -> Region {
    let name = &ty.name;
    let from = match ty.make.place.as_str() {
        "" => String::new(),
        place => format!(" (`{}`, {place})", ty.make.function),
    };
    let what =
        format!("A new `{name}`{from} for the threads to share; put something in, if it can.");
    let (about, value) = match &ty.make.params {
        Ok(params) => {
            let given = params
                .iter()
                .filter(|it| !matches!(it.need, Need::Keyword(_)));
            let given: Vec<_> = given.collect();
            let required = given.iter().filter(|it| it.need == Need::Required).count();
            let kinds: Vec<Value> = given.iter().map(|it| value(surface, &it.kind)).collect();
            let mut args = vec!["m".to_owned(), quoted(name)];
            args.extend((!kinds.is_empty()).then(|| literals(&kinds)));
            args.extend((required < kinds.len()).then(|| format!("required={required}")));
            (vec![what], format!("new({})", args.join(", ")))
        }
        Err(why) => {
            let callers = callers(ty, scenarios);
            if callers.is_empty() {
                let lines = vec![what, format!("It is not known how: {why}.")];
                (lines, "FILL_IN  # fill in: an object".to_owned())
            } else {
                let line = format!("A `{name}` for the threads to share: {why}.");
                let lines = vec![line, "What these functions return is taken.".to_owned()];
                let args = [quoted(name)].into_iter().chain(callers);
                let args: Vec<String> = args.collect();
                (lines, format!("from_call(m, {})", args.join(", ")))
            }
        }
    };
    let body = format!("def make_{name}(m):\n    return {value}");
    Region::new(format!("make {name}"), about, body)
}

/// The types of which objects have to be filled in.
#[must_use]
pub fn unmade<'s>(surface: &'s Surface, scenarios: &[Scenario]) -> Vec<&'s str> {
    let is_unmade =
        |ty: &&TypeSurface| ty.make.params.is_err() && callers(ty, scenarios).is_empty();
    let types = surface.types.iter().filter(is_unmade);
    types.map(|ty| ty.name.as_str()).collect()
}

/// The names, quoted, of what may make an object of a type that cannot be called: it reaches the
/// variable of the type, and is not of the type itself.
fn callers(ty: &TypeSurface, scenarios: &[Scenario]) -> Vec<String> {
    let own = format!("{}.", ty.name);
    let makes = |it: &&Scenario| it.reaches.contains(&ty.variable) && !it.name.starts_with(&own);
    let all = scenarios.iter().filter(makes);
    all.map(|it| quoted(&it.name))
        .filter(|it| !it.ends_with("()\""))
        .collect()
}

/// The name of the function with the arguments of a scenario.
fn args_of(scenario: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name = scenario.replace('=', "_set");
    format!("args_of_{}", name.chars().map(word).collect::<String>())
}

#[cfg(test)]
mod tests;
