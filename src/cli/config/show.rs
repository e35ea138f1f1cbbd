//! `ungil config`: what is in force, and where it comes from.

use std::collections::BTreeMap;
use std::fmt::Write;

use toml::Value;

use super::Settings;
use super::file::KEYS;
use crate::cli::Status;
use crate::cli::args::{AnalysisArgs, OptionArgs};
use crate::cli::session::{Ledger, Session};
use crate::cli::talk::{Talk, write_results};
use crate::engine::Compat;
use crate::facts::Reference;
use crate::rule::Errors;

pub(in crate::cli) fn run(args: &AnalysisArgs, talk: &Talk) -> anyhow::Result<Status> {
    let run = Session::read(args, Ledger::AsAsked, talk)?;
    let shown = Shown {
        flags: &args.options,
        run: &run,
        settings: &run.settings,
    };
    write_results(shown.text().as_bytes())?;
    Ok(Status::Clean)
}

/// Keys with a table of their own.
const TABLES: [&str; 3] = ["per-file-ignores", "functions", "confirmed"];

struct Shown<'a> {
    flags: &'a OptionArgs,
    run: &'a Session,
    settings: &'a Settings,
}

impl Shown<'_> {
    /// A configuration file that says the same as the flags and the file of this run together.
    fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        if let Ok(format) = std::env::var("UNGIL_OUTPUT_FORMAT") {
            let _ = writeln!(out, "# UNGIL_OUTPUT_FORMAT = {}", Value::from(format));
        }
        for key in KEYS.iter().filter(|key| !TABLES.contains(key)) {
            let (value, flag) = self.value(key);
            let _ = writeln!(out, "{key} = {value}  # {}", self.origin(key, flag));
        }
        let file = &self.settings.in_file;
        self.lists("per-file-ignores", &file.per_file_ignores, &mut out);
        self.functions(&mut out);
        self.lists("confirmed", &file.confirmed, &mut out);
        out
    }

    fn lists(&self, table: &str, lists: &BTreeMap<String, Vec<String>>, out: &mut String) {
        if lists.is_empty() {
            return;
        }
        let origin = self.origin(table, None);
        let _ = writeln!(out, "\n[{table}]  # {origin}");
        for (key, texts) in lists {
            let is_bare = key
                .bytes()
                .all(|it| it == b'-' || it == b'_' || it.is_ascii_alphanumeric());
            let key = match is_bare {
                true => key.clone(),
                false => Value::from(key.as_str()).to_string(),
            };
            let _ = writeln!(out, "{key} = {}", list(texts));
        }
    }

    fn functions(&self, out: &mut String) {
        let functions = &self.settings.in_file.functions;
        if functions.is_empty() {
            return;
        }
        let origin = self.origin("functions", None);
        let _ = writeln!(out, "\n[functions]  # {origin}");
        for (name, facts) in functions {
            let returns = facts.returns.map(|reference| match reference {
                Reference::New => "returns = \"new\"".to_owned(),
                Reference::Borrowed => "returns = \"borrowed\"".to_owned(),
            });
            let steals = facts.steals.as_ref().map(|args| {
                let args = args.iter().map(|arg| Value::from(i64::from(arg.get())));
                format!("steals = {}", Value::Array(args.collect()))
            });
            let facts: Vec<String> = returns.into_iter().chain(steals).collect();
            let _ = writeln!(out, "{name} = {{ {} }}", facts.join(", "));
        }
    }

    /// What a key stands for, and the flag that has to do with it.
    fn value(&self, key: &str) -> (Value, Option<&'static str>) {
        let (flags, file) = (self.flags, &self.settings.in_file);
        let named = |given: bool, name| given.then_some(name);
        let both =
            |a: &[String], b: &[String], name| (list([a, b].concat()), named(!a.is_empty(), name));
        let paths = |dirs: &[std::path::PathBuf]| -> Vec<String> {
            dirs.iter().map(|dir| dir.display().to_string()).collect()
        };
        match key {
            "select" if flags.select.is_empty() => (list(&file.select), None),
            "select" => (list(&flags.select), Some("--select")),
            "ignore" => both(&flags.ignore, &file.ignore, "--ignore"),
            "exclude" => both(&flags.exclude, &file.exclude, "--exclude"),
            "include-dirs" => both(
                &paths(&flags.include_dirs),
                &paths(&file.include_dirs),
                "-I",
            ),
            "define" => both(&flags.defines, &file.define, "-D"),
            "unsafe-fixes" => {
                let flag = named(flags.unsafe_fixes, "--unsafe-fixes");
                (self.settings.unsafe_fixes.into(), flag)
            }
            "build-files" => {
                let flag = named(flags.build_files, "--build-files");
                (self.settings.engine.build_files.into(), flag)
            }
            "thread-safe" => both(&[], &file.thread_safe, ""),
            "strict" => (self.settings.strict.into(), named(flags.strict, "--strict")),
            "compat" | "compat-header" | "compat-name" => self.compat(key),
            "errors" => {
                let value = match self.settings.engine.errors {
                    Errors::Preserve => "preserve",
                    Errors::Propagate => "propagate",
                };
                (value.into(), named(flags.errors.is_some(), "--errors"))
            }
            _ => {
                let version = self.run.package.python.min.to_string();
                let flag = named(flags.min_python.is_some(), "--min-python");
                (version.into(), flag)
            }
        }
    }

    fn compat(&self, key: &str) -> (Value, Option<&'static str>) {
        let (flags, engine) = (self.flags, &self.settings.engine);
        let named = |given: bool, name| given.then_some(name);
        match key {
            "compat" => {
                let value = match engine.compat {
                    Compat::Auto => "auto",
                    Compat::Header => "header",
                    Compat::None => "none",
                };
                (value.into(), named(flags.compat.is_some(), "--compat"))
            }
            "compat-header" => {
                let header = engine.compat_header.as_ref();
                let path = header.map_or(String::new(), |header| header.path.display().to_string());
                (
                    path.into(),
                    named(flags.compat_header.is_some(), "--compat-header"),
                )
            }
            _ => {
                let name = engine.compat_name.as_deref();
                let name = name.unwrap_or(crate::compat::HEADER_NAME);
                (
                    name.into(),
                    named(flags.compat_name.is_some(), "--compat-name"),
                )
            }
        }
    }

    /// Flag and line of a file, or else why the value is what it is.
    fn origin(&self, key: &str, flag: Option<&str>) -> String {
        // Of these the flag takes the place of what the file says.
        let replaces = !matches!(key, "ignore" | "exclude" | "include-dirs" | "define");
        let file = self.settings.file.as_deref();
        let line = self.settings.in_file.lines.get(key).zip(file);
        let line = line.map(|(line, file)| format!("{}:{line}", file.display()));
        match (flag, line) {
            (Some(flag), None) => flag.to_owned(),
            (Some(flag), Some(_)) if replaces => flag.to_owned(),
            (Some(flag), Some(line)) => format!("{flag}, {line}"),
            (None, Some(line)) => line,
            (None, None) if key == "min-python" => self.run.package.python.source.clone(),
            (None, None) if key == "select" => "default: all rules".to_owned(),
            (None, None) => "default".to_owned(),
        }
    }
}

fn list(texts: impl AsRef<[String]>) -> Value {
    Value::Array(texts.as_ref().iter().cloned().map(Value::String).collect())
}
