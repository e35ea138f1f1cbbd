//! The report as one page of HTML: that it is well formed, stands alone, and fits a phone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use support::tree::Tree;

/// Elements without an end.
const EMPTY: [&str; 2] = ["meta", "!doctype"];
/// Elements whose end may be left out.
const OPEN: [&str; 4] = ["th", "td", "tr", "li"];

fn page(tree: &Tree) -> String {
    let ran = tree.ungil(&["check", "--output-format", "html"]);
    ran.text().to_owned()
}

/// The names of the elements around each place, checked for each end to have its beginning.
fn assert_nested(page: &str) {
    let style = Regex::new(r"(?s)<style>.*?</style>").unwrap();
    let page = style.replace(page, "");
    let tag = Regex::new(r#"<(/?)([a-zA-Z!][a-zA-Z0-9]*)((?:[^<>"]|"[^"]*")*)>"#).unwrap();
    let mut open: Vec<String> = Vec::new();
    let mut rest = page.to_string();
    for found in tag.captures_iter(&page) {
        rest = rest.replacen(&found[0], "", 1);
        let name = found[2].to_lowercase();
        if EMPTY.contains(&name.as_str()) {
            continue;
        }
        if found[1].is_empty() {
            open.push(name);
            continue;
        }
        while open
            .last()
            .is_some_and(|it| *it != name && OPEN.contains(&it.as_str()))
        {
            open.pop();
        }
        assert_eq!(open.pop(), Some(name), "{}", &found[0]);
    }
    assert_eq!(open, [""; 0]);
    // All that is left is text.
    assert!(!rest.contains(['<', '>']), "{rest}");
}

#[test]
fn the_page_is_well_formed_and_stands_alone() {
    let page = page(&Tree::example());
    assert_nested(&page);
    for part in [
        "<meta name=\"viewport\"",
        "prefers-color-scheme: dark",
        "<h2>Modules</h2>",
        "<h2>Findings by rule</h2>",
        "class=\"bar\" role=\"img\" aria-label=\"8 of 10 places settled",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["<script", "<link", "src=", "url(", "@import", "http"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let width = Regex::new(r"width:(\d+)%").unwrap();
    let widths = width.captures_iter(&page);
    let widths = widths.map(|it| it[1].parse::<u32>().unwrap());
    assert_eq!(widths.sum::<u32>(), 100);
}

#[test]
fn places_are_links_to_lines() {
    let tree = Tree::example().committed();
    let local = page(&tree);
    let link = Regex::new(r##"<a href="([^"#]*)#L(\d+)">"##).unwrap();
    for found in link.captures_iter(&local) {
        let lines = tree.text(&found[1]).lines().count();
        assert!(found[2].parse::<usize>().unwrap() <= lines, "{}", &found[0]);
    }
    assert_eq!(link.captures_iter(&local).count(), 9);
    // Where a forge has the commit, there.
    tree.git(&["remote", "add", "origin", "git@github.com:a/b.git"]);
    let head = String::from_utf8(tree.git(&["rev-parse", "HEAD"]).stdout).unwrap();
    let url = format!(
        "https://github.com/a/b/blob/{}/inventory.c#L17",
        head.trim()
    );
    let shown = page(&tree);
    assert!(shown.contains(&url), "{url}");
}

#[test]
fn a_diff_has_old_and_new_beside_each_other() {
    let page = page(&Tree::example());
    let old = "<div class=\"side old\"><div><b>17</b>        PyObject *name = \
               PyList_GetItem(names, i);</div></div>";
    let new = "<div class=\"side new\"><div><b>18</b>        PyObject *name = \
               PyList_GetItemRef(names, i);</div></div>";
    let at = page.find(old).unwrap_or_else(|| panic!("{page}"));
    assert!(page[at + old.len()..].starts_with(new), "{page}");
}

#[test]
fn what_asks_for_the_same_is_one_entry() {
    let write = |name: &str| {
        format!(
            "PyObject *\n{name}(PyObject *self, PyObject *list)\n{{\n    return \
             PyList_GetItem(list, 0);\n}}\n"
        )
    };
    let text = format!("#include <Python.h>\n\n{}{}", write("f"), write("g"));
    let page = page(&Tree::new(&[("m.c", text.as_bytes())]));
    assert_nested(&page);
    let entries = page.matches("<details>\n<summary>").count();
    let places = page.matches("<a href=\"m.c#L").count();
    assert_eq!((entries, places), (1, 2), "{page}");
}

/// A browser of this machine: the program that `UNGIL_BROWSER` names, else Chromium where `PATH` has
/// it. Without one, the structure of the page is all that is tested.
fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("UNGIL_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path)
        .flat_map(|folder| ["chromium", "google-chrome"].map(|name| folder.join(name)));
    places.find(|place| place.is_file())
}

/// What the browser makes of a page that shows the report 390 pixels wide, all of it unfolded, and
/// names the width of what is in it.
fn width_on_a_phone(browser: &Path, folder: &Path) -> String {
    let frame = "<iframe id=f src=report.html width=390 height=800></iframe><p id=w></p><script>\
                 document.getElementById('f').onload = e => {\
                 const d = e.target.contentDocument;\
                 d.querySelectorAll('details').forEach(it => it.open = true);\
                 document.getElementById('w').textContent = \
                 'widest ' + d.documentElement.scrollWidth;\
                 }</script>";
    fs::write(folder.join("frame.html"), frame).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            "--virtual-time-budget=2000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg(format!("file://{}", folder.join("frame.html").display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_phone_shows_all_of_it_without_scrolling_aside() {
    let Some(browser) = browser() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("report.html"), page(&Tree::example())).unwrap();
    let shown = width_on_a_phone(&browser, folder.path());
    let width = Regex::new(r"widest (\d+)").unwrap();
    let width = width.captures(&shown).unwrap_or_else(|| panic!("{shown}"));
    assert!(width[1].parse::<u32>().unwrap() <= 390, "{}", &width[0]);
}
