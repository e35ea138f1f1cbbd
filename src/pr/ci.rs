//! An entry for free-threaded Python in the workflow that tests the package, where the text leaves
//! no doubt how to write it.

use crate::build::BuildKind;
use crate::package::Package;
use crate::source::FileId;

/// The Python to test with.
pub const PYTHON: &str = "3.14t";

/// The first release of `actions/setup-python` that knows such versions.
const SETUP_PYTHON: (u32, u32) = (5, 5);

/// What becomes of the workflows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ci {
    /// This one gets an entry.
    Changed(FileId, Vec<u8>),
    /// One has such an entry.
    Done,
    /// Why a person has to do it: a sentence without its full stop.
    ByHand(String),
}

/// Looks for the workflow that tests `package`, and adds the entry.
#[must_use]
pub fn ci(package: &Package) -> Ci {
    let workflows = package
        .build_files()
        .filter(|(_, kind)| *kind == BuildKind::Workflow);
    let texts = workflows.filter_map(|(id, _)| {
        let text = std::str::from_utf8(package.files.get(id).bytes()).ok()?;
        Some((id, text))
    });
    let texts: Vec<(FileId, &str)> = texts.collect();
    if texts.iter().any(|(_, text)| names_free_threaded(text)) {
        return Ci::Done;
    }
    let changed = texts
        .iter()
        .flat_map(|(id, text)| changed(text).into_iter().map(|new| (*id, new)));
    let changed: Vec<(FileId, String)> = changed.collect();
    match changed.as_slice() {
        [(id, new)] => Ci::Changed(*id, new.clone().into_bytes()),
        [] if texts.is_empty() => {
            Ci::ByHand("no workflow of GitHub Actions is in this tree".into())
        }
        [] => Ci::ByHand(
            "no workflow has a literal list of Python versions that `actions/setup-python` 5.5 or \
             later installs and that is tested without tox or nox"
                .into(),
        ),
        _ => Ci::ByHand("several workflows or jobs have lists of Python versions".into()),
    }
}

/// Whether some line, but for comments, has a version such as `3.13t`.
fn names_free_threaded(text: &str) -> bool {
    let words = text
        .lines()
        .flat_map(|line| code(line).split(|c: char| !c.is_ascii_alphanumeric() && c != '.'));
    words.into_iter().any(|word| {
        let minor = word.strip_prefix("3.").and_then(|it| it.strip_suffix('t'));
        let tag = word.strip_prefix("cp3").and_then(|it| it.strip_suffix('t'));
        minor.or(tag).is_some_and(is_number)
    })
}

/// `text` with an entry in each list of versions that is the matrix of tests.
fn changed(text: &str) -> Vec<String> {
    let is_tested_by_name = text.contains("tox") || text.contains("nox");
    if is_tested_by_name || !installs_free_threaded(text) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let all = (0..lines.len()).filter_map(|at| {
        let (key, rest) = code(lines[at]).trim().split_once(':')?;
        let used = format!("${{{{ matrix.{key} }}}}");
        let used_so = text.contains(&used) || text.contains(&used.replace(' ', ""));
        let is_matrix = is_in_matrix(&lines, at);
        if !is_matrix || !used_so || !key.starts_with("py") {
            return None;
        }
        let mut lines: Vec<String> = lines.iter().map(|it| (*it).to_owned()).collect();
        match rest.trim() {
            "" => in_block(&mut lines, at)?,
            rest => in_brackets(&mut lines[at], rest)?,
        }
        Some(lines.concat())
    });
    all.collect()
}

/// Whether the first line around the one at `at` is `matrix:`.
fn is_in_matrix(lines: &[&str], at: usize) -> bool {
    let outer = lines[..at].iter().rev().find(|line| {
        let code = code(line);
        !code.trim().is_empty() && indent(code) < indent(lines[at])
    });
    outer.is_some_and(|line| code(line).trim() == "matrix:")
}

/// `["3.12", "3.13"]` gets another version at its end.
fn in_brackets(line: &mut String, list: &str) -> Option<()> {
    let items: Vec<&str> = list
        .strip_prefix('[')?
        .strip_suffix(']')?
        .split(',')
        .collect();
    let new = entry(&items)?;
    let at = line.find(']')?;
    let end = line[..at].trim_end().len();
    line.insert_str(end, &format!(", {new}"));
    Some(())
}

/// Lines with `- "3.13"` below the one at `at` get another one.
fn in_block(lines: &mut Vec<String>, at: usize) -> Option<()> {
    let item = |line: &String| Some(code(line).trim().strip_prefix("- ")?.to_owned());
    let items: Vec<String> = lines[at + 1..].iter().map_while(item).collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let new = entry(&items)?;
    let last = &lines[at + items.len()];
    let end = last
        .ends_with('\n')
        .then_some(match last.ends_with("\r\n") {
            true => "\r\n",
            false => "\n",
        })?;
    let line = format!("{}- {new}{end}", " ".repeat(indent(last)));
    lines.insert(at + items.len() + 1, line);
    Some(())
}

/// The new entry, written as the last of `items` is; `None` if they are not several versions.
fn entry(items: &[&str]) -> Option<String> {
    let is_version = |item: &&str| {
        let text = item.trim().trim_matches(['"', '\'']);
        let text = text.strip_suffix("-dev").unwrap_or(text);
        let minor = text.strip_prefix("3.").unwrap_or_default();
        is_number(minor) || text.starts_with("pypy")
    };
    let quote = items.last()?.trim().chars().next()?;
    let quote = if quote == '\'' { '\'' } else { '"' };
    let is_list = items.len() > 1 && items.iter().all(is_version);
    is_list.then(|| format!("{quote}{PYTHON}{quote}"))
}

/// Whether all uses of `actions/setup-python` are new enough, and there is one.
fn installs_free_threaded(text: &str) -> bool {
    let uses = text.lines().filter_map(|line| {
        let (_, rest) = line.split_once("actions/setup-python@")?;
        Some(rest)
    });
    let mut uses = uses.peekable();
    uses.peek().is_some() && uses.all(is_new)
}

/// `v5`, `v5.6.0`, `0a5c…  # v5.6.0`
fn is_new(release: &str) -> bool {
    let named = release.split_whitespace().rev().find_map(|word| {
        let mut numbers = word.strip_prefix('v')?.split('.').map(str::parse::<u32>);
        let major = numbers.next()?.ok()?;
        // A tag of one number moves along with the newest release.
        Some((major, numbers.next().map_or(Some(u32::MAX), Result::ok)?))
    });
    named.is_some_and(|version| version >= SETUP_PYTHON)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A line without its comment.
fn code(line: &str) -> &str {
    match line.trim_start().starts_with('#') {
        true => "",
        false => line.split(" #").next().unwrap_or_default(),
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::{changed, names_free_threaded};

    fn workflow(list: &str, action: &str) -> String {
        format!(
            "jobs:\n  test:\n    strategy:\n      matrix:\n        python-version:{list}\n        os: \
             [ubuntu-latest]\n    steps:\n      - uses: actions/setup-python@{action}\n        \
             with:\n          python-version: ${{{{ matrix.python-version }}}}\n"
        )
    }

    /// The lines that come.
    fn new_lines(list: &str, action: &str) -> Vec<String> {
        let old = workflow(list, action);
        let new = changed(&old);
        let lines = new.iter().flat_map(|new| new.lines());
        let lines = lines.filter(|line| !old.lines().any(|old| old == *line));
        lines.map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn a_literal_list_gets_an_entry_in_its_own_style() {
        assert_eq!(
            new_lines(" ['3.12', '3.13' ]  # all", "v5"),
            ["python-version: ['3.12', '3.13', '3.14t' ]  # all"]
        );
        let block = "\n          - \"3.12\"\n          - 3.13";
        assert_eq!(new_lines(block, "0ab  # v6.0.0"), ["- \"3.14t\""]);
    }

    #[test]
    fn what_is_not_certain_stays() {
        let list = " ['3.12', '3.13']";
        for (list, action) in [
            (" ['3.13']", "v5"),
            (" ${{ fromJSON(x) }}", "v5"),
            (" ['3.12', '${{ x }}']", "v5"),
            (list, "v4"),
            (list, "v5.4.0"),
            (list, "main"),
            (list, "0ab"),
        ] {
            assert_eq!(new_lines(list, action), [""; 0], "{list} {action}");
        }
        let tox = workflow(list, "v5") + "      - run: tox\n";
        assert_eq!(changed(&tox), [""; 0]);
    }

    #[test]
    fn versions_without_the_gil_are_seen() {
        assert!(names_free_threaded("x: ['3.13', '3.13t']"));
        assert!(names_free_threaded("CIBW_BUILD: cp314t-*"));
        assert!(!names_free_threaded("x: 3.13 # 3.13t"));
        assert!(!names_free_threaded("x: 3.test"));
    }
}
