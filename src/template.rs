//! Templates of the files that are written.

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;

/// One in which blocks leave no blank lines, and whose last line keeps its end.
#[must_use]
pub fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .expect("the usual delimiters");
    environment.set_syntax(syntax);
    environment
}
