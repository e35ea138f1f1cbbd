//! Moves the assignment that fills a static pointer with a constant to where the module is made.

use super::fill::Fill;
use super::site::Site;
use crate::ast::{ExprId, ExprKind, Function, Init, StmtId, StmtKind, Tree, UnaryOp};
use crate::capi::{Returns, effects};
use crate::edit::{Edit, Fix};
use crate::lex::open_branches;
use crate::modules::{Lines, Module, Route, find_modules, identifiers};
use crate::roles::Role;
use crate::rule::{CallSite, ItemId, PackageCx};
use crate::source::{ByteOffset, ByteSpan};
use crate::state::Variable;

/// Functions that make a constant of literals; so does `PyTuple_New(0)`.
const MAKERS: &[&str] = &[
    "PyUnicode_InternFromString",
    "PyUnicode_FromString",
    "PyBytes_FromString",
    "PyLong_FromLong",
    "PyFloat_FromDouble",
];

/// The fix; `None` where some function may ask for the value before the module is made, or text
/// would lose its place.
pub(super) fn fix(cx: &PackageCx<'_>, variable: &Variable, site: &Site<'_>) -> Option<Fix> {
    let tree = &site.function.tree;
    let fill = Fill::read(tree, site.then, site.lazy.write, variable)?;
    let is_constant = is_constant(tree, site.lazy.value) && means_the_same(cx, site);
    if !fill.is_alone()
        || site.is_of_several()
        || !is_constant
        || !variable.early.is_empty()
        || is_pointed_at(cx, variable, site)
    {
        return None;
    }
    let declaration = Declaration::new(cx, variable, site)?;
    let entry = Entry::new(cx, site)?;
    let mut fix = Fix::safe(format!(
        "fill `{}` during module initialisation",
        variable.name
    ));
    fix.edits = declaration.edits(cx, site)?;
    fix.edits.push(removal(cx, site, site.span)?);
    fix.edits
        .push(entry.edit(cx, variable, site, declaration.end)?);
    fix.edits.sort_by_key(Edit::place);
    Some(fix)
}

/// Whether `value` is a call of literals.
fn is_constant(tree: &Tree, value: ExprId) -> bool {
    let is_literal = |arg: &ExprId| match tree.expr(*arg).kind {
        ExprKind::Int(_) | ExprKind::Float | ExprKind::Char | ExprKind::Str(_) => true,
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        } => matches!(tree.expr(operand).kind, ExprKind::Int(_) | ExprKind::Float),
        _ => false,
    };
    match &tree.expr(tree.without_casts(value)).kind {
        ExprKind::Call { callee, args } => {
            let name = tree.callee_name(*callee).unwrap_or_default();
            let is_empty = || args.iter().all(|&arg| tree.is_null(arg));
            MAKERS.contains(&name) && args.iter().all(is_literal)
                || name == "PyTuple_New" && is_empty()
        }
        _ => false,
    }
}

/// Whether the value is the same elsewhere in the file, and cannot fail for what its text says:
/// no macro, which may be defined anew, and plain characters.
fn means_the_same(cx: &PackageCx<'_>, site: &Site<'_>) -> bool {
    let Some((file, span)) = cx.span(site.item, site.lazy.value) else {
        return false;
    };
    let text = cx.file(file).text(span);
    text.is_ascii()
        && !text.contains('\\')
        && !identifiers(cx, file, span).any(|word| cx.is_macro(word))
}

/// Whether the file takes the address of the variable: what is set to `NULL` through it is filled
/// again on the next use, and by nothing else.
fn is_pointed_at(cx: &PackageCx<'_>, variable: &Variable, site: &Site<'_>) -> bool {
    let bytes = cx.file(site.file).bytes();
    let tokens = cx.program.index[site.file.index()].tokens();
    tokens.windows(2).any(|pair| {
        bytes[pair[0].span.range()] == *b"&"
            && bytes[pair[1].span.range()] == *variable.name.as_bytes()
    })
}

/// The statement at `span` with its line; `None` if a comment or a directive would lose its place,
/// or something would be left without a statement.
fn removal(cx: &PackageCx<'_>, site: &Site<'_>, span: ByteSpan) -> Option<Edit> {
    let layout = site.layout(cx);
    let statement = layout.text_of(span);
    let has = |what: &[u8]| memchr::memmem::find(statement, what).is_some();
    let says_more = [&b"/*"[..], b"//", b"\n#"].into_iter().any(has) || layout.is_commented(span);
    let is_alone = layout.braceless_head(span).is_none();
    (is_alone && !says_more).then(|| layout.remove(span))
}

/// The declaration of the variable.
struct Declaration {
    /// Its text in the function, if it is one of the function.
    moved: Option<ByteSpan>,
    /// Behind this its name is known in the file.
    end: ByteOffset,
}

impl Declaration {
    fn new(cx: &PackageCx<'_>, variable: &Variable, site: &Site<'_>) -> Option<Self> {
        let span = site.declaration(cx, variable).ok()?;
        let Some(local) = variable.local else {
            return variable.is_static.then_some(Self {
                moved: None,
                end: span.end(),
            });
        };
        let tree = &site.function.tree;
        let StmtKind::Decl(decls) = &tree.stmt(tree.local(local).decl?).kind else {
            return None;
        };
        let (file, function) = cx.item(site.item).place;
        let length = u32::try_from(cx.file(file).bytes().len()).ok()?;
        let whole = ByteSpan::new(0, length);
        let words = identifiers(cx, file, whole).filter(|word| **word == variable.name);
        let own = identifiers(cx, file, function).filter(|word| **word == variable.name);
        let is_only = words.count() == own.count() && !is_declared(cx, &variable.name);
        // A short word may be a function of the C library: `index`, `time`, `y1`.
        let is_own_name = variable.name.contains('_');
        (decls.len() == 1 && is_only && is_own_name).then(|| Self {
            moved: Some(span),
            end: function.start(),
        })
    }

    /// The declaration of a function goes in front of the function.
    fn edits(&self, cx: &PackageCx<'_>, site: &Site<'_>) -> Option<Vec<Edit>> {
        let Some(span) = self.moved else {
            return Some(Vec::new());
        };
        let place = cx.item(site.item).place;
        let lines = Lines::new(cx, place);
        let text = String::from_utf8_lossy(site.layout(cx).text_of(span)).into_owned();
        let above = lines.before(place.1.start(), &[text, String::new()], "");
        Some(vec![above, removal(cx, site, span)?])
    }
}

/// Whether the package declares something of that name at file scope.
fn is_declared(cx: &PackageCx<'_>, name: &str) -> bool {
    let mut declarations = cx.program.declarations();
    cx.is_macro(name)
        || cx.definitions(name).next().is_some()
        || declarations.any(|(_, declaration)| {
            let mut all = declaration.declarators.iter();
            all.any(|declarator| declarator.name == name)
        })
}

/// The function that runs before all others of the file: `PyInit_name`, or the one that
/// `Py_mod_exec` names.
struct Entry<'a> {
    /// In each configuration.
    variants: Vec<(ItemId, &'a Function)>,
    /// How it says that it failed.
    failure: &'static str,
    /// Whether it is the one that makes the module.
    makes_module: bool,
}

impl<'a> Entry<'a> {
    fn new(cx: &PackageCx<'a>, site: &Site<'_>) -> Option<Self> {
        let modules = find_modules(cx);
        let mut own = modules.iter().filter(|module| module.place.0 == site.file);
        let (module, None) = (own.next()?, own.next()) else {
            return None;
        };
        if modules.len() > 1 && is_called_from_elsewhere(cx, site) {
            return None;
        }
        let init = format!("PyInit_{}", module.name);
        let (name, failure) = match module.route {
            Route::Single(_) => (init, "return NULL;"),
            Route::Multi(_) => (exec_of(cx, module, &init)?, "return -1;"),
            Route::Both(..) | Route::Unknown(_) => return None,
        };
        let variants: Vec<_> = cx.definitions(&name).collect();
        let is_here = |(item, _): &(ItemId, &Function)| cx.item(*item).place.0 == site.file;
        variants.iter().all(is_here).then_some(Self {
            variants,
            failure,
            makes_module: matches!(module.route, Route::Single(_)),
        })
    }

    /// The assignment with a test, as the first statements: nothing was made yet that an exit
    /// would have to release. `declared` is where the variable is declared.
    fn edit(
        &self,
        cx: &PackageCx<'_>,
        variable: &Variable,
        site: &Site<'_>,
        declared: ByteOffset,
    ) -> Option<Edit> {
        let edits = self.variants.iter().map(|&(item, function)| {
            let first = first_statement(function)?;
            // `return PyModule_Create(&def);` may get a declaration in front of it.
            if matches!(function.tree.stmt(first).kind, StmtKind::Return(_)) && self.makes_module {
                return None;
            }
            let (file, span) = cx.stmt_span(item, first)?;
            let known = ByteSpan::new(declared.0, span.start().0.max(declared.0));
            if file != site.file || known.is_empty() || leaves_a_branch(cx, site, known) {
                return None;
            }
            let lines = Lines::new(cx, cx.item(item).place);
            if !lines.layout().begins_line(span.start()) {
                return None;
            }
            let indentation = lines.indentation(span.start());
            let text = self.lines(cx, variable, site, &lines, &indentation)?;
            let edit = lines.before(span.start(), &text, &indentation);
            Some(behind_blanks(edit, cx.file(file).bytes(), &indentation))
        });
        let mut edits: Vec<Edit> = edits.collect::<Option<_>>()?;
        edits.dedup();
        edits.pop().filter(|_| edits.is_empty())
    }

    /// `if (x == NULL) { x = value; … }` with the way out if that failed, in the words and braces of
    /// the place it comes from.
    fn lines(
        &self,
        cx: &PackageCx<'_>,
        variable: &Variable,
        site: &Site<'_>,
        lines: &Lines<'_>,
        indentation: &str,
    ) -> Option<Vec<String>> {
        let tree = &site.function.tree;
        let (cond, value) = (site.condition(cx)?, site.text(cx, site.lazy.value)?);
        let head = format!("if ({cond})");
        let deeper = lines.deeper(indentation);
        let mut inner = vec![format!("{deeper}{} = {value};", variable.name)];
        if matches!(tree.stmt(site.then).kind, StmtKind::Block(_)) {
            inner.extend(lines.block(&deeper, &head, self.failure));
        } else {
            inner.push(format!("{deeper}{head}"));
            inner.push(format!("{}{}", lines.deeper(&deeper), self.failure));
        }
        // A module may be made again.
        let mut all = lines.block(indentation, &head, "");
        let body = all.iter().position(|line| line.trim().is_empty())?;
        all.splice(body..=body, inner);
        Some(all)
    }
}

/// The same lines, put in behind the blanks of the line they come before: what a declaration of
/// another fix puts in front of these blanks then stands above.
fn behind_blanks(edit: Edit, bytes: &[u8], indentation: &str) -> Edit {
    let start = edit.span.start().0;
    let blanks = indentation.as_bytes();
    let line = &bytes[edit.span.start().index()..];
    match edit.text.strip_prefix(blanks) {
        Some(text) if edit.span.is_empty() && line.starts_with(blanks) => {
            let length = u32::try_from(blanks.len()).expect("files are shorter than 4 GiB");
            Edit {
                span: ByteSpan::new(start + length, start + length),
                text: [text, blanks].concat(),
                ..edit
            }
        }
        _ => edit,
    }
}

/// The function that `Py_mod_exec` names, if it is the only one, and nothing of the package runs
/// before it.
fn exec_of(cx: &PackageCx<'_>, module: &Module, init: &str) -> Option<String> {
    let roles = cx.roles()?;
    let mut name: Option<&str> = None;
    for (item, function) in cx.program.functions() {
        if item.place.0 != module.place.0 {
            continue;
        }
        for role in roles.of(item, function) {
            match role {
                Role::Slot(slot) if &**slot == "mod_create" => return None,
                Role::Slot(slot) if &**slot == "mod_exec" => {
                    if name.is_some_and(|name| name != function.name) {
                        return None;
                    }
                    name = Some(&function.name);
                }
                _ => {}
            }
        }
    }
    let calls_own = |function: &Function| {
        let tree = &function.tree;
        tree.exprs.iter().any(|expr| match expr.kind {
            ExprKind::Call { callee, .. } => {
                let name = tree.callee_name(callee);
                name.is_none_or(|name| cx.definitions(name).next().is_some())
            }
            _ => false,
        })
    };
    let mut inits = cx.definitions(init);
    name.filter(|_| !inits.any(|(_, function)| calls_own(function)))
        .map(str::to_owned)
}

/// Whether code of other files, which may belong to another module, calls a function of this one, or
/// one that is not read may.
fn is_called_from_elsewhere(cx: &PackageCx<'_>, site: &Site<'_>) -> bool {
    let functions = cx.program.functions();
    let mut own = functions.filter(|(item, _)| item.place.0 == site.file);
    own.any(|(_, function)| {
        let mut calls = cx.calls_to(&function.name).iter();
        let is_elsewhere = |call: &CallSite| cx.item(call.item).place.0 != site.file;
        let is_named = || cx.program.unread.names(&function.name);
        !function.is_static && (calls.any(is_elsewhere) || is_named())
    })
}

/// The first statement behind the declarations at the top; `None` if these make something, or run
/// code of the package.
fn first_statement(function: &Function) -> Option<StmtId> {
    let tree = &function.tree;
    let StmtKind::Block(stmts) = &tree.stmt(function.body).kind else {
        return None;
    };
    let is_decl = |stmt: &&StmtId| matches!(tree.stmt(**stmt).kind, StmtKind::Decl(_));
    let (declared, rest) = stmts.split_at(stmts.iter().take_while(is_decl).count());
    let makes = |value: ExprId| {
        let range = tree.expr(value).range;
        tree.exprs_in(range).any(|(_, expr)| match expr.kind {
            ExprKind::Call { callee, .. } => {
                let effects = tree.callee_name(callee).and_then(effects);
                effects.is_none_or(|effects| effects.returns == Returns::New)
            }
            _ => false,
        })
    };
    let makes_some = declared.iter().any(|&stmt| match &tree.stmt(stmt).kind {
        StmtKind::Decl(decls) => decls.iter().any(|decl| match decl.init {
            Some(Init::Expr(value)) => makes(value),
            Some(Init::List(_)) | None => false,
        }),
        _ => false,
    });
    rest.first().copied().filter(|_| !makes_some)
}

/// Whether a branch of an `#if` that begins in front of `span` ends in it: what the branch declares
/// is not known behind.
fn leaves_a_branch(cx: &PackageCx<'_>, site: &Site<'_>, span: ByteSpan) -> bool {
    let tokens = cx.program.index[site.file.index()].tokens();
    open_branches(cx.file(site.file).bytes(), tokens, span).is_none()
}
