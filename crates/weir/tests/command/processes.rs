//! Starting `weir`, and the examples that it is tested with.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use weir_processes::{Beside, Folder, Said, json_file, json_lines, until};

/// Runs `weir` with empty standard input.
pub fn weir<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Said {
    weir_fed(arguments, b"")
}

/// Runs `weir` and feeds its standard input.
pub fn weir_fed<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Said {
    weir_processes::run(command(arguments), input)
}

/// Starts `weir` beside the test.
pub fn beside<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Beside {
    Beside::start(command(arguments))
}

pub fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments).env_remove("WEIR_ISA");
    command
}

/// A file of the examples.
pub fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

/// An example's path as text.
pub fn example_name(name: &str) -> String {
    example(name).to_str().expect("text").to_owned()
}

/// An SA file for the gateway at the other end of the examples' tunnels, with keys
/// of its own, and one for a gateway that seals as the examples do and opens what
/// the other one sends.
pub fn example_both_ways(folder: &Folder) -> (String, String) {
    let text = std::fs::read_to_string(example("sa.toml")).expect("read");
    let (head, own) = text.split_at(text.find("[[sa]]").expect("associations"));
    let other: Vec<String> = own
        .lines()
        .map(|line| match line.split_once(" = \"") {
            Some((name @ ("key" | "integrity_key"), digits)) => {
                let reversed: String = digits.trim_end_matches('"').chars().rev().collect();
                format!("{name} = \"{reversed}\"")
            }
            Some((name @ ("name" | "sa"), value)) => format!("{name} = \"other-{value}"),
            _ => line.replace("spi = 0x100", "spi = 0x200"),
        })
        .collect();
    let other = other.join("\n");
    let directed = |text: &str, direction: &str| {
        let line = format!("\ndirection = \"{direction}\"\nsuite =");
        text.replace("\nsuite =", &line)
    };
    let remote = folder.write("remote-sa.toml", format!("{head}{other}\n"));
    let both = format!(
        "{head}{}\n{}\n",
        directed(own, "outbound"),
        directed(&other, "inbound")
    );
    (remote, folder.write("both-sa.toml", both))
}
