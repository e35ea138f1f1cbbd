//! How fixes reach Pythons that lack the functions they call: through the compatibility header
//! the package has, or through a small one of our own with just those functions.

mod header;
mod include;
mod shims;

pub use crate::capi::COMPAT_HEADER as HEADER_NAME;
pub use header::{FULL_HEADER_NAME, Target, header, provided, with_uses};
pub use include::{Include, Places, include_above, include_below, places, relative};
