//! What a function takes, by how it reads its arguments.

use super::hints::{of_type, of_value};
use super::tables::{Found, strings};
use super::{Kind, Need, Param};
use crate::ast::{ExprId, ExprKind, Function, Init, LocalId, Name, Tree};
use crate::capi::{Piece, arguments, pieces};
use crate::roles::Convention;
use crate::source::FileId;

/// What Python code gives, or why that is not known.
type Params = Result<Vec<Param>, String>;

/// How many functions deep the arguments are followed.
const MAX_DEPTH: u32 = 3;

/// What the function `name` of a method table takes.
pub(super) fn of_method(
    found: &Found<'_>,
    unit: FileId,
    name: &str,
    convention: Convention,
) -> Params {
    if convention == Convention::NoArgs {
        return Ok(Vec::new());
    }
    let reading = Reading::new(found, unit, name)?;
    match convention {
        Convention::NoArgs => Ok(Vec::new()),
        Convention::One => Ok(vec![required(reading.of_param(1))]),
        Convention::VarArgs | Convention::VarArgsKeywords => {
            reading.of_arguments(Given::Tuple(1), MAX_DEPTH)
        }
        Convention::FastCall | Convention::FastCallKeywords => {
            reading.of_arguments(Given::Array(1), MAX_DEPTH)
        }
        Convention::Method => reading.of_arguments(Given::Array(2), MAX_DEPTH),
        Convention::Unknown => Err(format!("the flags of `{name}` are not written out")),
    }
}

/// What the function `name` takes that gets a tuple and a dict, as `tp_init` does.
pub(super) fn of_slot(found: &Found<'_>, unit: FileId, name: &str) -> Params {
    Reading::new(found, unit, name)?.of_arguments(Given::Tuple(1), MAX_DEPTH)
}

/// What parameter `at` of the function `name` is.
pub(super) fn of_param(found: &Found<'_>, unit: FileId, name: &str, at: u32) -> Kind {
    Reading::new(found, unit, name).map_or(Kind::ANY, |reading| reading.of_param(at))
}

fn required(kind: Kind) -> Param {
    Param {
        kind,
        need: Need::Required,
    }
}

/// How a function gets the arguments: by which parameter.
#[derive(Clone, Copy)]
enum Given {
    Tuple(u32),
    /// An array, with its length in the parameter after it.
    Array(u32),
}

/// A function that reads arguments.
struct Reading<'f, 'p> {
    found: &'f Found<'p>,
    unit: FileId,
    function: &'p Function,
}

impl<'f, 'p> Reading<'f, 'p> {
    fn new(found: &'f Found<'p>, unit: FileId, name: &str) -> Result<Self, String> {
        let (id, function) = found
            .function(unit, name)
            .ok_or_else(|| format!("`{name}` was not found, or could not be analysed"))?;
        Ok(Self {
            found,
            unit: found.item(id).unit,
            function,
        })
    }

    fn tree(&self) -> &'p Tree {
        &self.function.tree
    }

    /// What the parameter `at` is, by its uses.
    fn of_param(&self, at: u32) -> Kind {
        let is_it = |tree: &Tree, expr: ExprId| tree.as_local(expr) == Some(LocalId(at));
        of_value(self.found, self.unit, self.tree(), &is_it)
    }

    fn of_arguments(&self, given: Given, depth: u32) -> Params {
        let tree = self.tree();
        let (Given::Tuple(param) | Given::Array(param)) = given;
        let is_given = |arg: ExprId| tree.as_local(tree.without_casts(arg)) == Some(LocalId(param));
        let mut passed = None;
        for (call, name) in tree.calls() {
            let args = tree.arguments(call);
            let Some(at) = args.iter().position(|&arg| is_given(arg)) else {
                continue;
            };
            if let Some(parsed) = self.parsed(name, args) {
                return parsed;
            }
            let is_own = self.found.function(self.unit, name).is_some();
            if is_own && depth > 0 && passed.is_none() {
                passed = u32::try_from(at).ok().map(|at| (name, at));
            }
        }
        if let Some(items) = self.by_index(given) {
            return Ok(items);
        }
        let Some((name, at)) = passed else {
            let name = &self.function.name;
            return Err(format!("how `{name}` reads them is not known"));
        };
        let given = match given {
            Given::Tuple(_) => Given::Tuple(at),
            Given::Array(_) => Given::Array(at),
        };
        Self::new(self.found, self.unit, name)?.of_arguments(given, depth - 1)
    }

    /// What a call that parses the arguments asks for; `None` if it is none.
    fn parsed(&self, name: &str, args: &[ExprId]) -> Option<Params> {
        let name = name.trim_start_matches('_').trim_end_matches("_SizeT");
        let number = |at: usize| {
            let number = self.tree().as_number(*args.get(at)?)?;
            usize::try_from(number).ok()
        };
        Some(match name {
            "PyArg_ParseTuple" | "PyArg_Parse" => self.by_format(args, 1, None),
            "PyArg_ParseTupleAndKeywords" => self.by_format(args, 2, args.get(3).copied()),
            "PyArg_ParseStack" => self.by_format(args, 2, None),
            "PyArg_UnpackTuple" => {
                let (min, max) = (number(2)?, number(3)?);
                let outs = args.get(4..)?;
                let kind = |at: usize| outs.get(at).map_or(Kind::ANY, |out| self.of_out(*out));
                let need = |at| match at < min {
                    true => Need::Required,
                    false => Need::Optional,
                };
                let params = (0..max).map(|at| Param {
                    kind: kind(at),
                    need: need(at),
                });
                Ok(params.collect())
            }
            _ => return None,
        })
    }

    fn by_format(&self, args: &[ExprId], at: usize, names: Option<ExprId>) -> Params {
        let tree = self.tree();
        let format = args.get(at).and_then(|&format| tree.as_string(format));
        let Some(format) = format else {
            return Err("its format is not a literal".to_owned());
        };
        let outs = args.get(at + if names.is_some() { 2 } else { 1 }..);
        let mut outs = outs.unwrap_or_default().iter().copied();
        let mut names = names
            .map(|it| self.strings(it))
            .unwrap_or_default()
            .into_iter();
        let shown = String::from_utf8_lossy(format);
        let unknown = || format!("the format `{shown}` is not known");
        let mut need = Need::Required;
        let mut by_name = false;
        let mut groups: Vec<Vec<Kind>> = Vec::new();
        let mut params = Vec::new();
        for piece in pieces(format).ok_or_else(unknown)? {
            let kind = match piece {
                Piece::Optional => {
                    need = Need::Optional;
                    continue;
                }
                Piece::KeywordOnly => {
                    by_name = true;
                    continue;
                }
                Piece::Open => {
                    groups.push(Vec::new());
                    continue;
                }
                Piece::Close => Kind::Tuple(groups.pop().ok_or_else(unknown)?),
                Piece::Unit(unit) => {
                    let count = arguments(unit).ok_or_else(unknown)?;
                    let own: Vec<ExprId> = outs.by_ref().take(count).collect();
                    self.of_unit(unit, &own)
                }
            };
            if let Some(group) = groups.last_mut() {
                group.push(kind);
                continue;
            }
            let name = names.next();
            let need = match name.filter(|_| by_name) {
                Some(name) => Need::Keyword(name),
                None => need.clone(),
            };
            params.push(Param { kind, need });
        }
        Ok(params)
    }

    /// The strings of the array that an expression names.
    fn strings(&self, array: ExprId) -> Vec<String> {
        let tree = self.tree();
        match &tree.expr(tree.without_casts(array)).kind {
            ExprKind::Name(Name::Local(local)) => {
                let mut declarations = tree.declarations();
                let init = declarations
                    .find(|it| it.local == *local)
                    .and_then(|it| it.init.as_ref());
                init.map(|init: &Init| strings(tree, init))
                    .unwrap_or_default()
            }
            ExprKind::Name(Name::Global(name)) => self.found.strings(name),
            _ => Vec::new(),
        }
    }

    fn of_unit(&self, unit: &[u8], args: &[ExprId]) -> Kind {
        Kind::Known(match unit {
            b"O!" => {
                let ty = args.first().and_then(|&ty| of_type(self.tree(), ty));
                return ty.unwrap_or(Kind::ANY);
            }
            b"O" => return args.first().map_or(Kind::ANY, |&out| self.of_out(out)),
            b"p" => "bool",
            b"c" => "byte",
            b"C" => "char",
            b"f" | b"d" | b"D" => "float",
            b"w*" | b"w#" | b"Y" => "bytearray",
            b"S" => "bytes",
            b"U" => "str",
            [b'y', ..] => "bytes",
            [b's' | b'z' | b'u' | b'Z' | b'e' | b't', ..] => "str",
            [b'O', ..] => "any",
            _ => "int",
        })
    }

    /// What is stored through `out`, by what becomes of the variable: `&items`.
    fn of_out(&self, out: ExprId) -> Kind {
        let tree = self.tree();
        let Some(local) = tree.as_address(tree.without_casts(out)) else {
            return Kind::ANY;
        };
        let is_it = |tree: &Tree, expr: ExprId| tree.as_local(expr) == Some(local);
        of_value(self.found, self.unit, tree, &is_it)
    }

    /// What is taken by its number: `args[0]`, `PyTuple_GET_ITEM(args, 0)`; as many as the function
    /// compares the length with. `None` if it does not.
    fn by_index(&self, given: Given) -> Option<Vec<Param>> {
        let tree = self.tree();
        let is_length = |expr: ExprId| match given {
            Given::Array(at) => tree.as_local(tree.without_casts(expr)) == Some(LocalId(at + 1)),
            Given::Tuple(at) => tree
                .call(tree.without_casts(expr))
                .is_some_and(|(name, args)| {
                    matches!(name, "PyTuple_Size" | "PyTuple_GET_SIZE" | "Py_SIZE")
                        && args
                            .first()
                            .and_then(|&arg| tree.as_local(tree.without_casts(arg)))
                            == Some(LocalId(at))
                }),
        };
        let lengths = tree.exprs.iter().filter_map(|expr| {
            let ExprKind::Binary { op, lhs, rhs } = expr.kind else {
                return None;
            };
            let number = tree.as_number(rhs).filter(|_| is_length(lhs))?;
            op.is_comparison().then(|| usize::try_from(number).ok())?
        });
        let count = lengths.max()?;
        let kind = |index: usize| {
            let is_it = |tree: &Tree, expr: ExprId| is_item(tree, expr, given, index);
            of_value(self.found, self.unit, tree, &is_it)
        };
        Some((0..count).map(|index| required(kind(index))).collect())
    }
}

/// Whether `expr` is the argument with this index.
fn is_item(tree: &Tree, expr: ExprId, given: Given, index: usize) -> bool {
    let is = |base: ExprId, at: ExprId, param: u32| {
        let number = tree.as_number(at).and_then(|at| usize::try_from(at).ok());
        tree.as_local(tree.without_casts(base)) == Some(LocalId(param)) && number == Some(index)
    };
    match (&tree.expr(expr).kind, given) {
        (ExprKind::Index { base, index: at }, Given::Array(param)) => is(*base, *at, param),
        (ExprKind::Call { args, .. }, Given::Tuple(param)) => {
            let name = tree.called(expr).unwrap_or_default();
            matches!((name, args.as_slice()), ("PyTuple_GetItem" | "PyTuple_GET_ITEM", &[base, at])
                if is(base, at, param))
        }
        _ => false,
    }
}
