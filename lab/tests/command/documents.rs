//! The commands of the lab's pages do what they say.

use std::path::Path;

use weir_processes::{Blocks, pages};

/// Every block that is marked `sh` runs.
#[test]
fn every_command_block_runs() {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = lab.parent().expect("the repository");
    let mut all = vec![lab.join("README.md")];
    all.extend(pages(&lab.join("docs")));
    let blocks = Blocks::run(root, &all, env!("CARGO_BIN_EXE_weir-lab").as_ref());
    assert!(blocks.ran >= 8, "{blocks:#?}");
    assert!(blocks.skipped.len() <= 1, "{blocks:#?}");
}
