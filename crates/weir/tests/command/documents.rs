//! The commands of the documentation do what it says, and the architecture is what it says.

use std::collections::BTreeMap;
use std::path::Path;

use weir_processes::{Blocks, pages};

/// Most blocks that are not run.
const MOST_SKIPPED: usize = 5;

/// Every block of README and docs that is marked `sh` runs.
#[test]
fn every_command_block_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = vec![root.join("README.md")];
    all.extend(pages(&root.join("docs")));
    all.push(root.join("examples/README.md"));
    let blocks = Blocks::run(&root, &all, env!("CARGO_BIN_EXE_weir").as_ref());
    assert!(blocks.ran >= 10, "{} blocks ran", blocks.ran);
    assert!(blocks.skipped.len() <= MOST_SKIPPED, "{blocks:#?}");
}

/// ARCHITECTURE's table of crates is that of the manifests, and no crate uses one of its own
/// level or of a higher one.
#[test]
fn crates_use_those_that_the_architecture_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("a page");
    let mut levels = BTreeMap::new();
    let mut described = BTreeMap::new();
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        if let [level, name, _, uses] = cells[..]
            && let Ok(level) = level.parse::<u32>()
        {
            let name = name.trim_matches('`').to_string();
            let uses = uses.split(", ").map(|name| name.trim_matches('`'));
            let uses: Vec<String> = uses
                .filter(|name| !name.is_empty())
                .map(Into::into)
                .collect();
            levels.insert(name.clone(), level);
            described.insert(name, uses);
        }
    }
    let mut declared = BTreeMap::new();
    for folder in std::fs::read_dir(root.join("crates"))
        .expect("a folder")
        .flatten()
    {
        let manifest =
            std::fs::read_to_string(folder.path().join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("TOML");
        let uses = manifest.get("dependencies").and_then(toml::Value::as_table);
        let uses = uses.into_iter().flatten().map(|(name, _)| name);
        let mut uses: Vec<String> = uses
            .filter_map(|name| name.strip_prefix("weir-"))
            .map(Into::into)
            .collect();
        uses.sort();
        declared.insert(folder.file_name().into_string().expect("a name"), uses);
    }
    assert_eq!(described, declared);
    for (name, uses) in &declared {
        for used in uses {
            assert!(levels[used] < levels[name], "{name} uses {used}");
        }
    }
}
