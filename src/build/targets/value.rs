//! What an expression of a build file can be, without running it.

/// Most alternatives, or items of a list, that are told apart.
const MAX_ITEMS: usize = 4096;

/// Most bytes of a text: longer ones are no paths.
const MAX_TEXT: usize = 4096;

/// A value, or several of which one holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// Text: a path may hold `*`, where it comes from a `glob`.
    Text(String),
    /// A list or tuple.
    List(Vec<Value>),
    /// A dict.
    Pairs(Vec<(Value, Value)>),
    /// One of these, or none: nobody here knows which.
    OneOf(Vec<Value>),
    /// Something that is not seen.
    Unknown,
}

/// All text of a value.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) texts: Vec<String>,
    /// Whether there are things that are not known.
    pub(super) is_open: bool,
    /// Whether some of the text may not be there.
    pub(super) has_choice: bool,
}

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// One of `values`.
    pub(super) fn one_of(mut values: Vec<Value>) -> Self {
        values.dedup();
        match values.len() {
            0 => Self::Unknown,
            1 => values.remove(0),
            n if n > MAX_ITEMS => Self::Unknown,
            _ => Self::OneOf(values),
        }
    }

    /// The items of a list, or of all lists that it may be.
    pub(super) fn items(self) -> Vec<Value> {
        let mut items = match self {
            Self::List(items) => items,
            Self::Pairs(pairs) => pairs.into_iter().map(|(key, _)| key).collect(),
            Self::OneOf(values) => {
                let all = values.into_iter().flat_map(Value::items);
                perhaps(all.collect())
            }
            Self::Text(_) | Self::Unknown => vec![Self::Unknown],
        };
        if items.len() > MAX_ITEMS {
            items = vec![Self::Unknown];
        }
        items
    }

    /// The list with the items of `other` as well.
    pub(super) fn and(self, other: Value) -> Self {
        let mut items = self.items();
        items.extend(other.items());
        Self::List(items)
    }

    /// What `change` makes of each text; all else is not known.
    pub(super) fn each(self, change: &mut dyn FnMut(String) -> Value) -> Self {
        match self {
            Self::Text(text) => match change(text) {
                Self::Text(text) if text.len() > MAX_TEXT => Self::Unknown,
                value => value,
            },
            Self::OneOf(values) => {
                let mut all = Vec::new();
                for value in values {
                    match value.each(change) {
                        Self::OneOf(more) => all.extend(more),
                        value => all.push(value),
                    }
                    if all.len() > MAX_ITEMS {
                        return Self::Unknown;
                    }
                }
                // A single one may be missing as well.
                Self::OneOf(all)
            }
            Self::List(_) | Self::Pairs(_) | Self::Unknown => Self::Unknown,
        }
    }

    /// What `join` makes of both texts.
    pub(super) fn with(self, other: &Value, join: fn(&str, &str) -> String) -> Self {
        self.each(&mut |left| {
            let other = other.clone();
            other.each(&mut |right| Self::Text(join(&left, &right)))
        })
    }

    /// The part at `at` of a tuple of `count` parts.
    pub(super) fn part(&self, at: usize, count: Option<usize>) -> Self {
        match self {
            Self::List(items) if count.is_none_or(|count| items.len() == count) => {
                items.get(at).cloned().unwrap_or(Self::Unknown)
            }
            Self::OneOf(values) => {
                let parts = values.iter().map(|value| value.part(at, count));
                Self::OneOf(parts.collect())
            }
            _ => Self::Unknown,
        }
    }

    /// What a dict holds at `key`.
    pub(super) fn at_key(&self, key: &Value) -> Self {
        let Self::Pairs(pairs) = self else {
            return Self::Unknown;
        };
        let found = pairs.iter().filter(|(it, _)| it == key);
        match (key, pairs.iter().any(|(it, _)| *it == Self::Unknown)) {
            (Self::Text(_), false) => Self::one_of(found.map(|(_, value)| value.clone()).collect()),
            _ => Self::Unknown,
        }
    }

    /// All text in it.
    pub(super) fn texts(&self) -> Texts {
        let mut texts = Texts::default();
        self.collect(&mut texts, 0);
        texts
    }

    fn collect(&self, found: &mut Texts, depth: u32) {
        match self {
            _ if depth > 32 || found.texts.len() > MAX_ITEMS => found.is_open = true,
            Self::Text(text) => found.texts.push(text.clone()),
            Self::List(values) | Self::OneOf(values) => {
                found.has_choice |= matches!(self, Self::OneOf(_));
                for value in values {
                    value.collect(found, depth + 1);
                }
            }
            Self::Pairs(_) | Self::Unknown => found.is_open = true,
        }
    }
}

/// The items of a list, each of which may not be there.
pub(super) fn perhaps(items: Vec<Value>) -> Vec<Value> {
    let choice = |item| match item {
        Value::OneOf(_) | Value::Unknown => item,
        _ => Value::OneOf(vec![item]),
    };
    items.into_iter().map(choice).collect()
}

/// `a/b`, as `os.path.join` does it.
pub(super) fn join(left: &str, right: &str) -> String {
    match (left, right.starts_with('/')) {
        ("", _) | (_, true) => right.to_owned(),
        _ if left.ends_with('/') => format!("{left}{right}"),
        _ => format!("{left}/{right}"),
    }
}

/// The folder of a path, `.` for a plain name.
pub(super) fn folder(path: &str) -> String {
    let path = path.trim_end_matches('/');
    match path.rsplit_once('/') {
        Some((folder, _)) => folder.to_owned(),
        None if matches!(path, "." | "") => "..".to_owned(),
        None => ".".to_owned(),
    }
}
