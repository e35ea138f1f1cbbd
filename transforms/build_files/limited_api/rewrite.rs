//! Makes places of a `setup.py` depend on the build.

use std::ops::Range;

use tree_sitter::Node;

use super::sites::{Form, Site, text};
use crate::build::Python;

/// New text for bytes of the file.
pub(super) type Replacement = (Range<usize>, String);

/// Name of the variable that a file with several places gets.
const VARIABLE: &str = "py_gil_disabled";

/// A file under change.
struct Rewrite<'t> {
    python: &'t Python,
    bytes: &'t [u8],
    /// The expression that is true on free-threaded Python.
    condition: String,
}

/// The changes that make `sites` ask only with the GIL: sorted, disjoint.
///
/// # Errors
/// Why a place cannot be changed: lower case, no full stop.
pub(super) fn rewrite(
    python: &Python,
    bytes: &[u8],
    sites: &[Site<'_>],
) -> Result<Vec<Replacement>, String> {
    let (function, import) = config_var(python, bytes)?;
    let quote = quote(python, bytes);
    let call = format!("{function}({quote}Py_GIL_DISABLED{quote})");
    let mut rewrite = Rewrite {
        python,
        bytes,
        condition: call.clone(),
    };
    let mut changes = rewrite.all(sites)?;
    let end = last_import(python, sites);
    let names_it = |node: Node<'_>| text(node, bytes) == VARIABLE;
    let is_free = !python.nodes().any(names_it);
    let uses = changes.iter().filter(|(_, text)| text.contains(&call));
    if let Some(end) = end.filter(|_| uses.count() > 1 && is_free) {
        VARIABLE.clone_into(&mut rewrite.condition);
        changes = rewrite.all(sites)?;
        changes.push((end..end, format!("\n\n{VARIABLE} = {call}")));
    }
    changes.extend(import);
    // An import in front of the variable at the same place.
    changes.sort_by_key(|(range, text)| (range.start, !text.contains("import")));
    let newline = if memchr::memmem::find(bytes, b"\r\n").is_some() {
        "\r\n"
    } else {
        "\n"
    };
    for (_, text) in &mut changes {
        *text = text.replace('\n', newline);
    }
    Ok(changes)
}

impl Rewrite<'_> {
    /// The changes of all places. Places that share a variable share its change.
    fn all(&self, sites: &[Site<'_>]) -> Result<Vec<Replacement>, String> {
        let mut changes: Vec<Replacement> = Vec::new();
        let mut variables = Vec::new();
        for site in sites {
            if let Form::Truth(value) = site.form
                && value.kind() == "identifier"
            {
                variables.push(text(value, self.bytes));
            }
        }
        for site in sites {
            if self.depends_on(site.node, &variables) && !matches!(site.form, Form::Truth(_)) {
                continue;
            }
            for change in self.one(site)? {
                if !changes.contains(&change) {
                    changes.push(change);
                }
            }
        }
        Ok(changes)
    }

    /// Whether `node` stands under a condition with one of `variables`.
    fn depends_on(&self, node: Node<'_>, variables: &[&str]) -> bool {
        let is_named = |part: Node<'_>| {
            part.kind() == "identifier" && variables.contains(&text(part, self.bytes))
        };
        Python::around(node).any(|around| {
            let condition = match around.kind() {
                "if_statement" | "elif_clause" => around.child_by_field_name("condition"),
                _ => None,
            };
            condition.is_some_and(|condition| Python::within(condition).any(is_named))
        })
    }

    fn one(&self, site: &Site<'_>) -> Result<Vec<Replacement>, String> {
        let condition = &self.condition;
        match site.form {
            Form::Truth(value) => self.truth(value),
            Form::Tag(value) => {
                let start = value.start_byte();
                let text = format!("False if {condition} else ");
                Ok(vec![(start..start, text)])
            }
            Form::Element(element) => Ok(self.element(element)),
            Form::Statement(statement) => self.statement(statement),
            Form::Other => Err(self.at(site.node, "the way it is written here")),
        }
    }

    fn at(&self, node: Node<'_>, what: &str) -> String {
        let line = node.start_position().row + 1;
        format!("{what} in line {line} cannot be changed safely")
    }

    /// `True` becomes `not …`; a variable changes where it is set; other values get `and not …`.
    fn truth(&self, value: Node<'_>) -> Result<Vec<Replacement>, String> {
        match value.kind() {
            "true" | "integer" => Ok(vec![(
                value.byte_range(),
                format!("not {}", self.condition),
            )]),
            "identifier" => {
                let set = self.only_value(text(value, self.bytes));
                let set = set.ok_or_else(|| self.at(value, "the variable"))?;
                if set.kind() == "identifier" {
                    return Ok(self.narrow(set));
                }
                self.truth(set)
            }
            _ => Ok(self.narrow(value)),
        }
    }

    /// The value of a variable that the module sets once, and nothing else binds.
    fn only_value(&self, name: &str) -> Option<Node<'_>> {
        let binds = |node: &Node<'_>| {
            let is_it = |field| {
                let bound = node.child_by_field_name(field);
                bound.is_some_and(|bound: Node<'_>| text(bound, self.bytes) == name)
            };
            match node.kind() {
                "assignment" | "augmented_assignment" | "for_statement" => is_it("left"),
                "named_expression" | "aliased_import" => is_it("name") || is_it("alias"),
                "parameters" => {
                    let mut parts = Python::within(*node);
                    parts.any(|part| text(part, self.bytes) == name)
                }
                _ => false,
            }
        };
        let mut bound = self.python.nodes().filter(binds);
        let (only, None) = (bound.next()?, bound.next()) else {
            return None;
        };
        let statement = only.parent()?;
        let is_global = statement.parent()? == self.python.root();
        is_global.then(|| only.child_by_field_name("right"))?
    }

    /// `VALUE and not …`, in the layout of a value in parentheses.
    fn narrow(&self, value: Node<'_>) -> Vec<Replacement> {
        let condition = &self.condition;
        if value.kind() == "parenthesized_expression"
            && let Some(inner) = value
                .named_child(0)
                .filter(|inner| binds_tightly(*inner, self.bytes))
        {
            let end = inner.end_byte();
            let lines = inner.end_position().row > inner.start_position().row;
            let gap = if lines {
                format!("\n{}", " ".repeat(inner.start_position().column))
            } else {
                " ".to_owned()
            };
            return vec![(end..end, format!("{gap}and not {condition}"))];
        }
        let (start, end) = (value.start_byte(), value.end_byte());
        if binds_tightly(value, self.bytes) {
            return vec![(end..end, format!(" and not {condition}"))];
        }
        vec![
            (start..start, "(".to_owned()),
            (end..end, format!(") and not {condition}")),
        ]
    }

    /// An only element makes its list conditional, another one is spread.
    fn element(&self, element: Node<'_>) -> Vec<Replacement> {
        let condition = &self.condition;
        let (start, end) = (element.start_byte(), element.end_byte());
        let list = element
            .parent()
            .filter(|list| list.named_child_count() == 1);
        if let Some(list) = list {
            let (start, end) = (list.start_byte(), list.end_byte());
            let choice = format!(" if not {condition} else []");
            if list.parent().is_some_and(takes_any) {
                return vec![(end..end, choice)];
            }
            return vec![(start..start, "(".to_owned()), (end..end, choice + ")")];
        }
        vec![
            (start..start, "*([".to_owned()),
            (end..end, format!("] if not {condition} else [])")),
        ]
    }

    /// `macros.append(…)` becomes the body of an `if`, with all of its lines.
    fn statement(&self, statement: Node<'_>) -> Result<Vec<Replacement>, String> {
        let start = statement.start_byte();
        let line = memchr::memrchr(b'\n', &self.bytes[..start]).map_or(0, |at| at + 1);
        let indent = &self.bytes[line..start];
        let is_alone = indent.iter().all(|byte| matches!(byte, b' ' | b'\t'));
        let indent = std::str::from_utf8(indent).ok().filter(|_| is_alone);
        let indent = indent.ok_or_else(|| self.at(statement, "the statement"))?;
        let step = if indent.contains('\t') { "\t" } else { "    " };
        let head = format!("if not {}:\n{indent}{step}", self.condition);
        let spans_lines = |part: &Node<'_>| {
            part.kind() == "string" && part.end_position().row > part.start_position().row
        };
        if Python::within(statement).any(|part| spans_lines(&part)) {
            return Err(self.at(statement, "the statement"));
        }
        let range = statement.byte_range();
        let ends = memchr::memchr_iter(b'\n', &self.bytes[range.clone()]);
        let lines = ends.map(|end| {
            let next = range.start + end + 1;
            (next..next, step.to_owned())
        });
        Ok([(start..start, head)].into_iter().chain(lines).collect())
    }
}

/// Whether ` and not x` behind the expression takes it as a whole.
fn binds_tightly(value: Node<'_>, bytes: &[u8]) -> bool {
    match value.kind() {
        "boolean_operator" => {
            let operator = value.child_by_field_name("operator");
            operator.is_some_and(|operator| text(operator, bytes) == "and")
        }
        "conditional_expression" | "lambda" | "named_expression" => false,
        _ => true,
    }
}

/// Whether a conditional expression may stand in `around` without parentheses.
fn takes_any(around: Node<'_>) -> bool {
    matches!(
        around.kind(),
        "keyword_argument" | "assignment" | "augmented_assignment" | "argument_list" | "pair"
    )
}

/// How the file asks for a configuration variable, and the import that it needs for that.
fn config_var(
    python: &Python,
    bytes: &[u8],
) -> Result<(&'static str, Option<Replacement>), String> {
    let statements = python.statements();
    let is_import = |node: &&Node<'_>| node.kind().contains("import");
    let imports: Vec<Node<'_>> = statements.iter().filter(is_import).copied().collect();
    let binds = |node: &Node<'_>, wanted: &str| {
        let mut cursor = node.walk();
        let mut names = node.children_by_field_name("name", &mut cursor);
        names.any(|name| {
            let alias = name.child_by_field_name("alias").unwrap_or(name);
            text(alias, bytes) == wanted
        })
    };
    if imports.iter().any(|node| binds(node, "sysconfig")) {
        return Ok(("sysconfig.get_config_var", None));
    }
    if imports.iter().any(|node| binds(node, "get_config_var")) {
        return Ok(("get_config_var", None));
    }
    let mut nodes = python.nodes();
    if nodes.any(|node| node.kind() == "identifier" && text(node, bytes) == "sysconfig") {
        return Err("`sysconfig` has another meaning in this file".to_owned());
    }
    let import = new_import(&imports, bytes).ok_or("the file has no import at the top")?;
    Ok(("sysconfig.get_config_var", Some(import)))
}

/// `import sysconfig` behind the imports of modules whose names come before, else in front of the
/// first import. `None` if there are none.
fn new_import(imports: &[Node<'_>], bytes: &[u8]) -> Option<Replacement> {
    let comes_before = |node: &&Node<'_>| match node.kind() {
        "future_import_statement" => true,
        "import_statement" => text(**node, bytes) < "import sysconfig",
        _ => false,
    };
    if let Some(last) = imports.iter().take_while(comes_before).last() {
        let end = last.end_byte();
        return Some((end..end, "\nimport sysconfig".to_owned()));
    }
    let start = imports.first()?.start_byte();
    Some((start..start, "import sysconfig\n".to_owned()))
}

/// The end of the last import of the module in front of the first site.
fn last_import(python: &Python, sites: &[Site<'_>]) -> Option<usize> {
    let first = sites.first()?.node.start_byte();
    let statements = python.statements().into_iter();
    let imports = statements.filter(|node| node.kind().contains("import"));
    let before = imports.take_while(|node| node.end_byte() < first);
    before.last().map(|node| node.end_byte())
}

/// The quote that most strings of the file have.
fn quote(python: &Python, bytes: &[u8]) -> char {
    let strings = python.nodes().filter(|node| node.kind() == "string");
    let (single, double): (Vec<_>, Vec<_>) =
        strings.partition(|node| text(*node, bytes).ends_with('\''));
    if single.len() > double.len() {
        '\''
    } else {
        '"'
    }
}
