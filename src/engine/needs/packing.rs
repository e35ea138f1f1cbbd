//! What a build does with the folder of a header that comes in: whoever lists its files, copies or
//! installs them, or names each of them for a source distribution, has to know of one more.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tree_sitter::Node;

use crate::build::{BuildFile, BuildKind, Content, Python, Toml};
use crate::package::{FileKind, Package};
use crate::source::FileId;

/// What build files take of the tree.
pub(super) struct Packing {
    taken: Vec<Taken>,
    /// The headers of the package.
    headers: Vec<PathBuf>,
    /// The build file that says what a source distribution packs, where nothing packs all files.
    packer: Option<PathBuf>,
}

/// Files that a build file takes.
struct Taken {
    /// The build file.
    by: PathBuf,
    how: How,
    /// As it is written.
    pattern: String,
    files: Gitignore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// It looks which files there are.
    Lists,
    /// Copied or installed.
    Copies,
    /// Packed into a source distribution.
    Packs,
}

/// Calls that look which files a folder has, and whether the last argument is a pattern.
const LISTERS: [(&str, bool); 8] = [
    ("glob", true),
    ("iglob", true),
    ("rglob", true),
    ("listdir", false),
    ("scandir", false),
    ("iterdir", false),
    ("walk", false),
    ("find_files", false),
];

/// Calls that copy a file or a folder.
const COPIERS: [&str; 6] = [
    "copy",
    "copy2",
    "copyfile",
    "copytree",
    "copy_file",
    "copy_tree",
];

/// What packs all files that a version control system knows.
const PACKS_ALL: [&str; 4] = ["setuptools_scm", "setuptools-scm", "use_scm_version", "pbr"];

/// What `setup` installs beside modules.
const INSTALLED: [&str; 3] = ["package_data", "data_files", "headers"];

/// What Meson installs.
const MESON: [&str; 4] = [
    "install_headers",
    "install_sources",
    "install_data",
    "copyfile",
];

impl Packing {
    pub(super) fn new(package: &Package) -> Self {
        let mut taken = Vec::new();
        for (id, kind) in package.build_files() {
            let build = BuildFile::new(id, kind, package.files.get(id));
            match (&build.content, kind) {
                (Content::Python(python), _) => of_setup(&build, python, &mut taken),
                (Content::Toml(toml), _) => of_pyproject(&build, toml, &mut taken),
                (Content::Text, BuildKind::Manifest) => of_manifest(&build, &mut taken),
                (Content::Text, BuildKind::Meson) => of_meson(&build, &mut taken),
                (Content::Text | Content::Broken(_), _) => {}
            }
        }
        let is_header = |(id, _): &(FileId, _)| package.info(*id).kind == FileKind::Header;
        let headers = package.analysed().filter(is_header);
        Self {
            taken,
            headers: headers.map(|(_, file)| file.path().to_path_buf()).collect(),
            packer: packer(package),
        }
    }

    /// What a build has to know of if `file` includes the header at `path` as `operand`.
    pub(super) fn doubts(
        &self,
        path: &Path,
        is_new: bool,
        file: &Path,
        operand: &str,
    ) -> Vec<String> {
        let mut doubts = Vec::new();
        if is_new {
            self.doubt_header(path, &mut doubts);
        }
        let copied = self.takers(file, How::Copies).next();
        let copied = copied.filter(|_| is_new || operand.starts_with(".."));
        if let Some(taken) = copied.filter(|taken| !is_new || !taken.takes(path)) {
            doubts.push(format!(
                "the `#include` of `{operand}` also works where `{}` copies or installs `{}` (`{}`)",
                taken.by.display(),
                file.display(),
                taken.pattern,
            ));
        }
        doubts
    }

    /// Whether a build copies or installs the file.
    pub(super) fn copies(&self, file: &Path) -> bool {
        self.takers(file, How::Copies).next().is_some()
    }

    fn doubt_header(&self, header: &Path, doubts: &mut Vec<String>) {
        let shown = header.display();
        for (how, does) in [(How::Lists, "list"), (How::Copies, "copy or install")] {
            if let Some(taken) = self.takers(header, how).next() {
                let (by, pattern) = (taken.by.display(), &taken.pattern);
                doubts.push(format!(
                    "`{by}` may also {does} the new `{shown}`, which matches `{pattern}`"
                ));
            }
        }
        let beside = |taken: &&Taken| {
            let named = Path::new(&taken.pattern);
            let is_header = named.extension().is_some_and(|ending| ending == "h");
            taken.how == How::Packs && is_header && header.parent() == named.parent()
        };
        if let Some(taken) = self.taken.iter().find(beside)
            && self.takers(header, How::Packs).next().is_none()
        {
            let by = taken.by.display();
            doubts.push(format!(
                "you add the new `{shown}` to `{by}`, which lists each header"
            ));
        } else if let Some(by) = self.packer.as_ref().filter(|_| self.is_left_out(header)) {
            let by = by.display();
            doubts.push(format!(
                "the source distribution contains the new `{shown}` (`{by}` lists its content)"
            ));
        }
    }

    /// Whether a source distribution has all headers but the new one, or would have its first one.
    fn is_left_out(&self, header: &Path) -> bool {
        // What is installed beside modules is packed, too.
        let is_packed = |path: &Path| {
            let mut takers = [How::Packs, How::Copies].into_iter();
            takers.any(|how| self.takers(path, how).next().is_some())
        };
        !is_packed(header) && self.headers.iter().all(|path| is_packed(path))
    }

    fn takers<'p>(&'p self, path: &'p Path, how: How) -> impl Iterator<Item = &'p Taken> {
        let takes = move |taken: &&Taken| taken.how == how && taken.takes(path);
        self.taken.iter().filter(takes)
    }
}

/// The manifest of setuptools, or else the file that calls it.
fn packer(package: &Package) -> Option<PathBuf> {
    let mut packer: Option<PathBuf> = None;
    for (id, kind) in package.build_files() {
        let file = package.files.get(id);
        let is_caller = match kind {
            BuildKind::SetupPy | BuildKind::Manifest => true,
            BuildKind::PyProject => false,
            _ => continue,
        };
        let text = String::from_utf8_lossy(file.bytes());
        if PACKS_ALL.iter().any(|word| text.contains(word)) {
            return None;
        }
        if is_caller && (packer.is_none() || kind == BuildKind::Manifest) {
            packer = Some(file.path().to_path_buf());
        }
    }
    packer
}

impl Taken {
    /// `pattern` is one for files somewhere below the folder of the build file. Nothing for one
    /// that is none.
    fn new(by: &Path, how: How, pattern: &str) -> Option<Self> {
        // glob(os.path.join(folder, "*")): whatever folder that is, it says nothing of this one.
        if pattern.chars().all(|c| "*?./".contains(c)) {
            return None;
        }
        let folder = by.parent().unwrap_or(Path::new(""));
        let mut builder = GitignoreBuilder::new("");
        let pattern = pattern.trim_start_matches("./");
        let line = folder.join("**").join(pattern);
        builder.add_line(None, &line.to_string_lossy()).ok()?;
        Some(Self {
            by: by.to_path_buf(),
            how,
            pattern: pattern.to_owned(),
            files: builder.build().ok()?,
        })
    }

    fn takes(&self, path: &Path) -> bool {
        self.files
            .matched_path_or_any_parents(path, false)
            .is_ignore()
    }
}

fn add(build: &BuildFile<'_>, how: How, pattern: &str, taken: &mut Vec<Taken>) {
    taken.extend(Taken::new(build.source.path(), how, pattern));
}

fn of_setup(build: &BuildFile<'_>, python: &Python, taken: &mut Vec<Taken>) {
    let bytes = build.source.bytes();
    let text = |node: Node<'_>| node.utf8_text(bytes).unwrap_or_default().to_owned();
    let strings = |node| Python::within(node).filter_map(|node| Python::string(node, bytes));
    for node in python.nodes() {
        let name = match node.kind() {
            "call" => node.child_by_field_name("function").map(text),
            "keyword_argument" => node.child_by_field_name("name").map(text),
            // {"package_data": {...}} for setup(**options)
            "pair" => node.child_by_field_name("key").map(text),
            _ => continue,
        };
        let name = name.unwrap_or_default();
        let name = name.rsplit('.').next().unwrap_or_default();
        let name = name.trim_matches(['"', '\'']);
        let value = if node.kind() == "call" {
            "arguments"
        } else {
            "value"
        };
        let Some(value) = node.child_by_field_name(value) else {
            continue;
        };
        // glob(os.path.join("src", "*.h"))
        let joined = || strings(value).collect::<Vec<_>>().join("/");
        let lister = LISTERS.iter().find(|lister| lister.0 == name);
        if name == "depends" && node.kind() != "call" {
            strings(value).for_each(|pattern| add(build, How::Packs, pattern, taken));
        } else if INSTALLED.contains(&name) && node.kind() != "call" {
            // {"package": ["*.h"]}
            let patterns = Python::within(value).filter(|node| !is_key(*node));
            let patterns = patterns.filter_map(|node| Python::string(node, bytes));
            patterns.for_each(|pattern| add(build, How::Copies, pattern, taken));
        } else if COPIERS.contains(&name) && node.kind() == "call" {
            // copytree(os.path.join("vendor", "src"), target): only the first is what is taken.
            if let Some(from) = value.named_child(0) {
                let joined = strings(from).collect::<Vec<_>>().join("/");
                add(build, How::Copies, &joined, taken);
            }
        } else if let Some((_, is_pattern)) = lister.filter(|_| node.kind() == "call") {
            let joined = joined();
            match (is_pattern, joined.is_empty()) {
                (_, true) => {}
                (true, false) => add(build, How::Lists, &joined, taken),
                (false, false) => add(build, How::Lists, &format!("{joined}/"), taken),
            }
        }
    }
}

fn is_key(node: Node<'_>) -> bool {
    let parent = node.parent().filter(|parent| parent.kind() == "pair");
    parent.is_some_and(|parent| parent.child_by_field_name("key") == Some(node))
}

fn of_pyproject(build: &BuildFile<'_>, toml: &Toml, taken: &mut Vec<Taken>) {
    let path = ["tool", "setuptools", "package-data"];
    let table = toml.table(&path).into_iter();
    let keys: Vec<String> = table
        .flat_map(|table| {
            table
                .iter()
                .map(|(key, _)| key.to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    for key in &keys {
        let patterns = toml.strings(&[&path[..], &[key]].concat());
        patterns
            .into_iter()
            .for_each(|(pattern, _)| add(build, How::Copies, pattern, taken));
    }
}

/// `include a/b.h *.txt`, `recursive-include src *.h`, `graft src`, `global-include *.h`
fn of_manifest(build: &BuildFile<'_>, taken: &mut Vec<Taken>) {
    let text = String::from_utf8_lossy(build.source.bytes());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        match (command, &words[..]) {
            ("include" | "global-include", patterns) => {
                patterns
                    .iter()
                    .for_each(|pattern| add(build, How::Packs, pattern, taken));
            }
            ("recursive-include", [folder, patterns @ ..]) => {
                for pattern in patterns {
                    add(build, How::Packs, &format!("{folder}/**/{pattern}"), taken);
                }
            }
            ("graft", [folder]) => add(build, How::Packs, &format!("{folder}/**"), taken),
            _ => {}
        }
    }
}

/// A line of Meson that installs or copies, and the words in quotes behind it up to the next `)`.
fn of_meson(build: &BuildFile<'_>, taken: &mut Vec<Taken>) {
    let words = build.words();
    let text = build.source.bytes();
    for word in words.iter().filter(|word| MESON.contains(&word.text)) {
        let rest = &text[word.range.end..];
        let end = memchr::memchr(b')', rest).unwrap_or(rest.len());
        let call = String::from_utf8_lossy(&rest[..end]);
        let quoted = call.split('\'').skip(1).step_by(2);
        quoted.for_each(|pattern| add(build, How::Copies, pattern, taken));
    }
}
