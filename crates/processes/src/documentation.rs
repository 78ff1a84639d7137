//! The commands of the documentation: the blocks of pages that are marked `sh`, or `sh root` where
//! they make networks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folder::Folder;

/// A fenced block of commands.
struct Block {
    /// Line of the page.
    line: usize,
    text: String,
    /// Whether it runs in a network of its own.
    needs_root: bool,
    /// Why it is not run here.
    skipped: Option<String>,
}

/// What became of the blocks of pages.
#[derive(Debug, Default)]
pub struct Blocks {
    /// How many ran.
    pub ran: usize,
    /// The others, `PAGE:LINE`, with the reasons.
    pub skipped: BTreeMap<String, String>,
}

impl Blocks {
    /// Runs the blocks of pages of a repository, page by page, in a folder with its examples.
    /// `program` and those in its folder are the first on PATH.
    pub fn run(root: &Path, pages: &[PathBuf], program: &Path) -> Blocks {
        let mut all = Blocks::default();
        for page in pages {
            let text = std::fs::read_to_string(page).expect("a page");
            let mut blocks = blocks(&text);
            let shown = page.strip_prefix(root).unwrap_or(page).display();
            if blocks.iter().any(|block| block.needs_root) && !can_make_networks() {
                println!("{shown}: blocks that make networks are skipped: no right to make them");
                blocks.retain(|block| !block.needs_root);
            }
            for block in &blocks {
                if let Some(reason) = &block.skipped {
                    assert!(!reason.is_empty(), "{shown}:{}: no reason", block.line);
                    let place = format!("{shown}:{}", block.line);
                    all.skipped.insert(place, reason.clone());
                }
            }
            all.ran += run_page(root, &shown.to_string(), &blocks, program);
        }
        println!("{} blocks ran; not run: {:#?}", all.ran, all.skipped);
        all
    }
}

/// The Markdown pages in a folder and those below it, in order.
pub fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found
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
                        needs_root: reason == "root",
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
fn run_page(root: &Path, page: &str, blocks: &[Block], program: &Path) -> usize {
    let folder = Folder::new();
    copy(&root.join("examples"), &folder.path("examples"));
    let programs = program.parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut ran = 0;
    for block in blocks.iter().filter(|block| block.skipped.is_none()) {
        let mut bash = match block.needs_root {
            true => in_a_network_of_its_own(),
            false => Command::new("bash"),
        };
        let output = bash
            .args(["-euo", "pipefail", "-c", &block.text])
            .current_dir(folder.path(""))
            .env("PATH", format!("{}:{path}", programs.display()))
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

/// What a block puts into `/run`, the names of network namespaces among it, is its own too.
fn in_a_network_of_its_own() -> Command {
    let mut unshare = Command::new("unshare");
    let private = "mount -t tmpfs tmpfs /run && exec bash \"$@\"";
    unshare.args(["--net", "--mount", "bash", "-c", private, "bash"]);
    unshare
}

/// # Panics
/// They cannot be made, and `WEIR_REQUIRE_PEERS=1` requires them.
fn can_make_networks() -> bool {
    let mut trial = in_a_network_of_its_own();
    let made = trial.args(["-c", "ip netns add trial"]).output();
    let can = made.is_ok_and(|output| output.status.success());
    let required = std::env::var("WEIR_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(can || !required, "required, but no networks can be made");
    can
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
