//! How fixes reach Pythons that lack the functions they call: through the compatibility header
//! the package has, through a small one of our own with just those functions, or by what stands for
//! them in the file that calls them.

mod atomic;
mod header;
mod include;
mod shims;

pub use header::{
    FULL_HEADER_NAME, HEADER_NAME, Style, Target, all_functions, defined_with, header, in_full,
    is_own, provided, since, stand_ins, with_uses,
};
pub use include::{
    Include, Places, include_above, include_below, operand, places, relative, written_below,
};
