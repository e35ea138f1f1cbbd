//! What the script calls, by the findings that the calls reach.

use std::collections::BTreeSet;

use super::surface::TypeSurface;
use super::{Act, Entry, Kind, Need, Surface};

/// A finding, as far as the script needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// Its id.
    pub id: String,
    /// The code of the rule.
    pub rule: String,
    /// `m.c:12`
    pub place: String,
    /// What is to be done about it: `safe fix`, `by hand`.
    pub state: String,
    /// The functions that it is in, or the variables that it is about.
    pub subjects: BTreeSet<String>,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// `Stack.push`, `Stack.size`, `Stack()`.
    pub name: String,
    /// The type of the object that the threads share.
    pub on: Option<String>,
    /// A Python expression of the module `m`, the object `self`, and the list `args`.
    pub call: String,
    /// What the arguments are; why that is not known.
    pub args: Result<Vec<Value>, String>,
    /// How many arguments have to be given.
    pub required: usize,
    /// The C function.
    pub function: String,
    /// Where it begins.
    pub place: String,
    /// The names of the functions that it reaches, and of the variables that these use.
    pub reaches: BTreeSet<String>,
    /// The ids of the findings among these.
    pub findings: Vec<String>,
}

/// The kind of a value, in the words of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A word.
    Word(String),
    /// An object of a type of the module, by the name of the type.
    Object(String),
    /// A tuple of such.
    Tuple(Vec<Value>),
}

/// The calls that `surface` offers, in its order.
#[must_use]
pub fn scenarios(surface: &Surface, reported: &[Reported]) -> Vec<Scenario> {
    let maker = Maker { surface, reported };
    let functions = surface
        .functions
        .iter()
        .map(|entry| maker.scenario(None, entry));
    let methods = surface.types.iter().flat_map(|ty| {
        let entries = std::iter::once(&ty.make).chain(&ty.entries);
        entries.map(|entry| maker.scenario(Some(ty), entry))
    });
    functions.chain(methods).collect()
}

struct Maker<'s> {
    surface: &'s Surface,
    reported: &'s [Reported],
}

impl Maker<'_> {
    fn scenario(&self, ty: Option<&TypeSurface>, entry: &Entry) -> Scenario {
        let reached = self.reported.iter();
        let reached = reached.filter(|it| !entry.reaches.is_disjoint(&it.subjects));
        let makes = entry.act == Act::Make;
        // What making an object takes is said where one is made.
        let params = match (&entry.params, makes) {
            (_, true) => Ok(&[][..]),
            (Ok(params), false) => Ok(params.as_slice()),
            (Err(why), false) => Err(why.clone()),
        };
        let is_required = |need: &Need| !matches!(need, Need::Optional);
        let required = params.as_ref().map_or(0, |params| {
            let last = params.iter().rposition(|it| is_required(&it.need));
            last.map_or(0, |at| at + 1)
        });
        Scenario {
            name: name(ty, entry),
            on: ty.filter(|_| !makes).map(|ty| ty.name.clone()),
            call: call(ty, entry),
            args: params.map(|params| params.iter().map(|it| self.value(&it.kind)).collect()),
            required,
            function: entry.function.clone(),
            place: entry.place.clone(),
            reaches: entry.reaches.clone(),
            findings: reached.map(|it| it.id.clone()).collect(),
        }
    }

    fn value(&self, kind: &Kind) -> Value {
        value(self.surface, kind)
    }
}

/// `kind` in the words of the script. A type of which the module has no table may be any object.
pub(super) fn value(surface: &Surface, kind: &Kind) -> Value {
    match kind {
        Kind::Known(word) => Value::Word((*word).to_owned()),
        Kind::Tuple(kinds) => Value::Tuple(kinds.iter().map(|it| value(surface, it)).collect()),
        Kind::Own(variable) => {
            let is_it = |ty: &&TypeSurface| is_of(&ty.variable, &ty.name, variable);
            match surface.types.iter().find(is_it) {
                Some(ty) => Value::Object(ty.name.clone()),
                None => Value::Word("any".to_owned()),
            }
        }
    }
}

/// Whether code that says `named` means the type with this variable, or spec, and name: a type that a
/// spec makes is kept in another variable.
fn is_of(variable: &str, name: &str, named: &str) -> bool {
    let bare = |text: &str| text.replace('_', "").to_lowercase();
    let named_bare = bare(named);
    variable == named || named_bare == bare(&format!("{name}Type")) || named_bare == bare(name)
}

fn name(ty: Option<&TypeSurface>, entry: &Entry) -> String {
    let own = &entry.name;
    match (ty, entry.act) {
        (Some(ty), Act::Make) => format!("{}()", ty.name),
        (Some(ty), Act::Set) => format!("{}.{own}=", ty.name),
        (Some(ty), _) => format!("{}.{own}", ty.name),
        (None, _) => own.clone(),
    }
}

fn call(ty: Option<&TypeSurface>, entry: &Entry) -> String {
    let (of, name) = (if ty.is_some() { "self" } else { "m" }, &entry.name);
    match entry.act {
        Act::Call => format!("{of}.{name}({})", arguments(entry)),
        Act::Get => format!("{of}.{name}"),
        Act::Set => format!("setattr({of}, \"{name}\", args[0])"),
        Act::Slot(call) => call.replace("{0}", "args[0]").replace("{1}", "args[1]"),
        Act::Make => format!("make(m, \"{}\")", ty.map_or("", |ty| ty.name.as_str())),
    }
}

/// `*args`, or `*args[:1], key=args[1]`.
fn arguments(entry: &Entry) -> String {
    let params = entry.params.as_deref().unwrap_or_default();
    if params.is_empty() && entry.params.is_ok() {
        return String::new();
    }
    let is_named = |need: &Need| matches!(need, Need::Keyword(_));
    let Some(first) = params.iter().position(|it| is_named(&it.need)) else {
        return "*args".to_owned();
    };
    let mut text = format!("*args[:{first}]");
    for (at, param) in params.iter().enumerate() {
        if let Need::Keyword(name) = &param.need {
            text += &format!(", {name}=args[{at}]");
        }
    }
    text
}

#[cfg(test)]
mod tests;
