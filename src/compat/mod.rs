//! How fixes reach Pythons that lack the functions they call: through the compatibility header
//! the package has, or through a small one of our own with just those functions.

mod header;
mod include;
mod shims;

pub use header::{
    FULL_HEADER_NAME, HEADER_NAME, Style, Target, header, in_full, provided, with_uses,
};
pub use include::{Include, Places, include_above, include_below, operand, places, relative};
