//! Programs that tests start: what they wrote, the folders that they work in, and the commands of the
//! documentation. For tests only.
//!
//! ```
//! use std::process::Command;
//!
//! let mut sum = Command::new("sh");
//! sum.args(["-c", "read a b; echo $((a + b))"]);
//! assert_eq!(weir_processes::run(sum, b"2 3").done().text(), "5\n");
//! ```
//!
//! Everything here panics where a test has failed or cannot go on.

mod beside;
mod documentation;
mod folder;
mod said;

pub use beside::{Beside, until};
pub use documentation::{Blocks, pages};
pub use folder::Folder;
pub use said::{Said, json_file, json_lines, run};
