//! The commands of the documentation do what it says: every block of README and docs that is
//! marked `sh` runs, page by page, in a folder with the examples.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::processes::Folder;

/// A fenced block of commands.
struct Block {
    /// Line of the page.
    line: usize,
    text: String,
    /// Why it is not run here.
    skipped: Option<String>,
}

/// Most blocks that are not run.
const MOST_SKIPPED: usize = 5;

#[test]
fn every_command_block_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    find_pages(&root.join("docs"), &mut pages);
    pages.push(root.join("examples/README.md"));
    let (mut ran, mut skipped) = (0, BTreeMap::new());
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        let blocks = blocks(&text);
        let shown = page.strip_prefix(&root).unwrap_or(&page).display();
        for block in &blocks {
            if let Some(reason) = &block.skipped {
                assert!(!reason.is_empty(), "{shown}:{}: no reason", block.line);
                skipped.insert(format!("{shown}:{}", block.line), reason.clone());
            }
        }
        ran += run_page(&root, &shown.to_string(), &blocks);
    }
    println!("{ran} blocks ran; not run: {skipped:#?}");
    assert!(ran >= 10, "{ran} blocks ran");
    assert!(skipped.len() <= MOST_SKIPPED, "{skipped:#?}");
}

fn find_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            find_pages(&path, pages);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
}

/// The blocks of a page that are marked `sh`.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_open = false;
    let mut is_other = false;
    for (number, line) in (1..).zip(page.lines()) {
        let fence = line.trim_start().strip_prefix("```");
        match fence {
            Some(_) if is_open || is_other => (is_open, is_other) = (false, false),
            Some(mark) => {
                let (language, reason) = mark.split_once(' ').unwrap_or((mark, ""));
                is_open = language == "sh";
                is_other = !is_open;
                if is_open {
                    blocks.push(Block {
                        line: number,
                        text: String::new(),
                        skipped: reason.strip_prefix("ci-skip=").map(str::to_owned),
                    });
                }
            }
            None if is_open => {
                if let Some(block) = blocks.last_mut() {
                    block.text += line;
                    block.text.push('\n');
                }
            }
            None => {}
        }
    }
    blocks
}

/// Runs the blocks of a page in order, in a folder of its own; returns how many.
fn run_page(root: &Path, page: &str, blocks: &[Block]) -> usize {
    let folder = Folder::new();
    copy(&root.join("examples"), &folder.path("examples"));
    let weir = Path::new(env!("CARGO_BIN_EXE_weir"));
    let weir_folder = weir.parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut ran = 0;
    for block in blocks.iter().filter(|block| block.skipped.is_none()) {
        let output = Command::new("bash")
            .args(["-euo", "pipefail", "-c", &block.text])
            .current_dir(folder.path(""))
            .env("PATH", format!("{}:{path}", weir_folder.display()))
            .env("XDG_STATE_HOME", folder.path("state"))
            .env("HOME", folder.path(""))
            .env_remove("WEIR_ISA")
            .output()
            .expect("bash starts");
        assert!(
            output.status.success(),
            "{page}:{}: {}\n{}{}",
            block.line,
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        ran += 1;
    }
    ran
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_file() {
            std::fs::copy(entry.path(), &target).expect("copied");
        }
    }
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
