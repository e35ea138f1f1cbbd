//! Where `errno` is still wanted: a release may run code that sets it.
//!
//! ```c
//! n = write(fd, PyBytes_AS_STRING(v), size);
//!                                               /* here */
//! if (n < 0)
//!     PyErr_SetFromErrno(PyExc_OSError);
//! Py_DECREF(v);
//! ```

mod own;

pub(crate) use own::errno_functions;

use std::collections::BTreeSet;

use crate::cfg::{Base, Callee, Cfg, Instr, InstrKind, Point};
use crate::dataflow::{self, Analysis, Direction, NodeId, Solution};
use crate::rule::ErrnoFunctions;
use crate::strong::scene::Scene;

/// The points of a function at which a later step reads the error number of an earlier one.
#[derive(Debug)]
pub(crate) struct Errno<'a> {
    wanted: Wanted<'a>,
    solution: Option<Solution<bool>>,
}

impl Scene<'_> {
    /// Whether the error number of an earlier call is still wanted at `point`.
    pub(in crate::strong) fn is_errno_wanted(&self, point: Point) -> bool {
        let errno = self.errno.get_or_init(|| {
            let own = errno_functions(self.cx);
            Errno::new(self.cfg, Around::new(own, &self.function.name))
        });
        errno.is_wanted(point)
    }
}

impl<'a> Errno<'a> {
    pub(crate) fn new(cfg: &'a Cfg, around: Around<'a>) -> Self {
        let wanted = Wanted { cfg, around };
        let solution = dataflow::solve(cfg, &wanted).ok();
        Self { wanted, solution }
    }

    /// Whether it is wanted right before the step at `point`.
    pub(crate) fn is_wanted(&self, point: Point) -> bool {
        let Some(solution) = &self.solution else {
            return true;
        };
        let mut wanted = *solution.input(point.block.index());
        let instrs = &self.wanted.cfg.block(point.block).instrs;
        for instr in instrs[point.index..].iter().rev() {
            self.wanted.step(instr, &mut wanted);
        }
        wanted
    }
}

/// What the package does with the number around one of its functions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around<'a> {
    /// Functions that read it.
    reading: &'a BTreeSet<Box<str>>,
    /// Functions after which it is the same again.
    keeping: &'a BTreeSet<Box<str>>,
    /// Whether a caller reads what the function leaves.
    is_awaited: bool,
}

impl<'a> Around<'a> {
    /// Of the function `name`.
    pub(crate) fn new(own: &'a ErrnoFunctions, name: &str) -> Self {
        Self {
            reading: &own.reading,
            keeping: &own.keeping,
            is_awaited: own.awaited.contains(name),
        }
    }
}

#[derive(Debug)]
struct Wanted<'a> {
    cfg: &'a Cfg,
    around: Around<'a>,
}

impl Analysis for Wanted<'_> {
    type Domain = bool;
    const DIRECTION: Direction = Direction::Backward;

    fn bottom(&self) -> bool {
        false
    }

    fn boundary(&self) -> bool {
        self.around.is_awaited
    }

    fn transfer(&self, node: NodeId, wanted: &mut bool) {
        for instr in self.cfg.blocks[node].instrs.iter().rev() {
            self.step(instr, wanted);
        }
    }

    fn join(&self, into: &mut bool, from: &bool) -> bool {
        let grows = *from && !*into;
        *into |= from;
        grows
    }
}

impl Wanted<'_> {
    /// From the state behind `instr` to the one before it.
    fn step(&self, instr: &Instr, wanted: &mut bool) {
        match &instr.kind {
            InstrKind::Load { place, .. } => {
                *wanted |= matches!(&place.base, Base::Global(name) if matches!(&**name, "errno" | "h_errno"));
            }
            InstrKind::Call { callee, .. } => match callee {
                Callee::Named(name) if self.reads(name) => *wanted = true,
                Callee::Named(name) if self.keeps(name) => {}
                Callee::Named(_) | Callee::Indirect(_) => *wanted = false,
            },
            _ => {}
        }
    }

    fn reads(&self, name: &str) -> bool {
        reads(name) || self.around.reading.contains(name)
    }

    fn keeps(&self, name: &str) -> bool {
        keeps(name) || self.around.keeping.contains(name)
    }
}

/// What reads the error number by its name.
pub(crate) const READERS: [&str; 17] = [
    "GetLastError",
    "PyErr_SetExcFromWindowsErr",
    "PyErr_SetExcFromWindowsErrWithFilename",
    "PyErr_SetExcFromWindowsErrWithFilenameObject",
    "PyErr_SetFromErrno",
    "PyErr_SetFromErrnoWithFilename",
    "PyErr_SetFromErrnoWithFilenameObject",
    "PyErr_SetFromErrnoWithFilenameObjects",
    "PyErr_SetFromWindowsErr",
    "PyErr_SetFromWindowsErrWithFilename",
    "WSAGetLastError",
    "__error",
    "__errno_location",
    "__h_errno_location",
    "_errno",
    "dlerror",
    "perror",
];

/// Whether a function of this name reads the error number of what was called before.
pub(crate) fn reads(name: &str) -> bool {
    READERS.contains(&name)
        || name.starts_with("PyErr_SetFromErrno")
        || name.starts_with("PyErr_SetFromWindowsErr")
        || name.starts_with("PyErr_SetExcFromWindowsErr")
}

/// Whether the code takes `name` for a call that does not touch the error number.
fn keeps(name: &str) -> bool {
    name.starts_with("PyEval_")
        || name.starts_with("PyGILState_")
        || name.contains("DECREF")
        || name.contains("INCREF")
        || matches!(
            name,
            "Py_CLEAR" | "PyErr_Occurred" | "PyMem_Free" | "free" | "PyBuffer_Release"
        )
}
