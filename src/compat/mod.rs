//! How fixes reach Pythons that lack the functions they call: through the compatibility header
//! the package has, or through a small one of our own with just those functions.

mod header;
mod include;

pub use header::{HEADER_NAME, header, is_needed, provided};
pub use include::{Target, include_edit};
