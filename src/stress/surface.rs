//! What Python code can call of a module.

use std::collections::BTreeSet;

use super::reach::reach;
use super::signature::{of_method, of_param, of_slot};
use super::slots;
use super::tables::{Found, Method, TypeTable};
use super::{Act, Entry, Kind, Need, Param};
use crate::program::Program;
use crate::source::FileId;

/// What Python code can call of one module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surface {
    /// The name to import, as far as the C code says it: `pkg.mod`.
    pub module: String,
    /// Its functions, by name.
    pub functions: Vec<Entry>,
    /// Its types, by name.
    pub types: Vec<TypeSurface>,
}

/// What Python code can call of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeSurface {
    /// The last part of its name.
    pub name: String,
    /// The variable that it, or its spec, is in C.
    pub variable: String,
    /// What makes an object, or why none can be made.
    pub make: Entry,
    /// Methods, attributes and slots.
    pub entries: Vec<Entry>,
}

/// Looks up what the module `name` offers, which is made of `files`.
#[must_use]
pub fn surface(program: &Program<'_>, name: &str, files: &BTreeSet<FileId>) -> Surface {
    let found = Found::new(program, files);
    let mut types: Vec<TypeSurface> = found
        .types()
        .filter(|(_, _, table)| is_identifier(last_part(&table.name)))
        .map(|(variable, unit, table)| of_type(&found, variable, unit, &table))
        .collect();
    types.sort_by(|a, b| a.name.cmp(&b.name));
    types.dedup_by(|b, a| a.name == b.name);
    Surface {
        module: import_name(&found, name),
        functions: functions(&found, name),
        types,
    }
}

fn last_part(dotted: &str) -> &str {
    dotted.rsplit('.').next().unwrap_or_default()
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// `pkg.mod`, if the definition of the module or the name of a type says that; else its own name.
fn import_name(found: &Found<'_>, name: &str) -> String {
    let modules = found.modules.iter().map(|(_, dotted, _)| dotted.clone());
    let types = found.types().filter_map(|(_, _, table)| {
        let (module, _) = table.name.rsplit_once('.')?;
        Some(module.to_owned())
    });
    let mut dotted = modules.chain(types);
    let end = format!(".{name}");
    dotted
        .find(|it| it.ends_with(&end))
        .unwrap_or_else(|| name.to_owned())
}

fn functions(found: &Found<'_>, name: &str) -> Vec<Entry> {
    let is_own = |dotted: &str| last_part(dotted) == name;
    let defs = &found.modules;
    let is_named = defs.iter().any(|(_, dotted, _)| is_own(dotted));
    let defs = defs
        .iter()
        .filter(|(_, dotted, _)| !is_named || is_own(dotted));
    let tables = defs.map(|(unit, _, table)| (*unit, table));
    let added = found.added.iter().map(|(unit, table)| (*unit, table));
    let mut entries = Vec::new();
    for (unit, table) in tables.chain(added) {
        entries.extend(methods(found, unit, &found.methods(unit, table)));
    }
    settle(entries)
}

fn methods<'m>(
    found: &'m Found<'_>,
    unit: FileId,
    methods: &'m [&Method],
) -> impl Iterator<Item = Entry> {
    methods.iter().map(move |method| {
        let params = of_method(found, unit, &method.function, method.convention);
        entry(
            found,
            unit,
            &method.name,
            &method.function,
            Act::Call,
            params,
        )
    })
}

fn entry(
    found: &Found<'_>,
    unit: FileId,
    name: &str,
    function: &str,
    act: Act,
    params: Result<Vec<Param>, String>,
) -> Entry {
    Entry {
        name: name.to_owned(),
        act,
        function: function.to_owned(),
        place: found.place(unit, function).unwrap_or_default(),
        params,
        reaches: reach(found, unit, function),
    }
}

/// One entry for each name and act, in their order: of those of several configurations the first whose
/// arguments are known.
fn settle(mut entries: Vec<Entry>) -> Vec<Entry> {
    let order = |act: Act| match act {
        Act::Make => 0,
        Act::Call => 1,
        Act::Get => 2,
        Act::Set => 3,
        Act::Slot(_) => 4,
    };
    entries.sort_by(|a, b| {
        let key = |it: &Entry| (it.name.clone(), order(it.act), it.params.is_err());
        key(a).cmp(&key(b))
    });
    entries.dedup_by(|b, a| a.name == b.name && a.act == b.act);
    entries
}

fn of_type(found: &Found<'_>, variable: &str, unit: FileId, table: &TypeTable) -> TypeSurface {
    let mut entries = Vec::new();
    for (slot, named) in &table.slots {
        match slot.as_str() {
            "tp_methods" => entries.extend(methods(found, unit, &found.methods(unit, named))),
            "tp_getset" => entries.extend(attributes(found, unit, named)),
            "tp_init" => {
                let params = of_slot(found, unit, named);
                let again = Act::Slot("self.__init__(*args)");
                entries.push(entry(found, unit, "__init__", named, again, params));
            }
            slot => entries.extend(of_slot_named(found, unit, slot, named)),
        }
    }
    TypeSurface {
        name: last_part(&table.name).to_owned(),
        variable: variable.to_owned(),
        make: make(found, unit, table),
        entries: settle(entries),
    }
}

fn attributes(found: &Found<'_>, unit: FileId, table: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for attribute in found.attributes(unit, table) {
        let name = &attribute.name;
        if let Some(get) = &attribute.get {
            entries.push(entry(found, unit, name, get, Act::Get, Ok(Vec::new())));
        }
        if let Some(set) = &attribute.set {
            let params = vec![required(of_param(found, unit, set, 1))];
            entries.push(entry(found, unit, name, set, Act::Set, Ok(params)));
        }
    }
    entries
}

fn required(kind: Kind) -> Param {
    Param {
        kind,
        need: Need::Required,
    }
}

/// A slot that an expression calls. What an operator gets is what its function makes of it.
fn of_slot_named(found: &Found<'_>, unit: FileId, slot: &str, function: &str) -> Option<Entry> {
    let (call, kinds) = slots::call(slot)?;
    found.function(unit, function)?;
    let params = match slot {
        "tp_call" => of_slot(found, unit, function),
        _ => Ok((1..)
            .zip(kinds)
            .map(|(at, kind)| {
                required(match *kind {
                    "any" => of_param(found, unit, function, at),
                    kind => Kind::Known(kind),
                })
            })
            .collect()),
    };
    Some(entry(found, unit, slot, function, Act::Slot(call), params))
}

/// What calling the type takes.
fn make(found: &Found<'_>, unit: FileId, table: &TypeTable) -> Entry {
    let slot = |name: &str| {
        let found = table.slots.iter().find(|(slot, _)| slot == name);
        found.map(|(_, function)| function.as_str())
    };
    let (new, init) = (slot("tp_new"), slot("tp_init"));
    let own = |name: Option<&'_ str>| {
        name.filter(|name| found.function(unit, name).is_some())
            .map(str::to_owned)
    };
    let params = match (own(init), own(new)) {
        (Some(init), _) => of_slot(found, unit, &init),
        (None, Some(new)) => of_slot(found, unit, &new),
        (None, None) if new.is_some() || table.is_heap => Ok(Vec::new()),
        (None, None) => Err("the type has no `tp_new`, so calling it makes no object".to_owned()),
    };
    let function = own(init).or_else(|| own(new)).unwrap_or_default();
    let mut made = entry(found, unit, "make", &function, Act::Make, params);
    // Calling the type runs all of these; so does the end of the object.
    let others = [
        "tp_new",
        "tp_init",
        "tp_dealloc",
        "tp_finalize",
        "tp_traverse",
        "tp_clear",
    ];
    for function in others.iter().filter_map(|name| slot(name)) {
        made.reaches.extend(reach(found, unit, function));
    }
    made
}
