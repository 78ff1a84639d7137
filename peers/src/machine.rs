//! The machine and the software of a measurement.

use std::fmt;
use std::fs;
use std::process::Command;
use std::thread;

use crate::instructions;

/// The machine and the software of a measurement.
pub struct Machine {
    processor: String,
    cores: usize,
    kernel: String,
    tier: weir_simd::Tier,
    rustc: String,
    flags: String,
    load: Option<f64>,
}

impl Machine {
    /// This machine.
    pub fn detect() -> Machine {
        Machine {
            processor: processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: thread::available_parallelism().map_or(1, usize::from),
            kernel: read_word("/proc/sys/kernel/osrelease").unwrap_or_default(),
            tier: weir_simd::tier(),
            rustc: rustc().unwrap_or_else(|| "rustc of unknown version".to_owned()),
            flags: flags(),
            load: read_word("/proc/loadavg").and_then(|load| load.parse().ok()),
        }
    }

    /// One line, without the load.
    pub fn summary(&self) -> String {
        format!(
            "{}, {} cores, Linux {}, Weir's tier {}, {}, {}",
            self.processor, self.cores, self.kernel, self.tier, self.rustc, self.flags
        )
    }

    /// The tier that all candidates are limited to.
    pub fn tier(&self) -> Option<String> {
        instructions::limited_to()
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}, {} cores, Linux {}",
            self.processor, self.cores, self.kernel
        )?;
        write!(
            f,
            "Weir's tier {}; {}, {}",
            self.tier, self.rustc, self.flags
        )?;
        match self.load {
            Some(load) if load > 0.5 => write!(
                f,
                "\nthe machine is busy (load {load}): the times are too long, ratios hold better"
            ),
            _ => Ok(()),
        }
    }
}

/// Name and version of a crate that this program was built with; the newest of
/// several.
pub fn versioned(name: &str) -> String {
    versioned_as(name, "")
}

/// Name and version of a crate of which there are several, by how the version
/// begins.
pub fn versioned_as(name: &str, prefix: &str) -> String {
    match version(name, prefix) {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

/// The crate's version by the lock file, where the newest stands last.
fn version(name: &str, prefix: &str) -> Option<&'static str> {
    let lock = include_str!("../../Cargo.lock");
    let entry = format!("name = \"{name}\"\nversion = \"{prefix}");
    let start = lock.rfind(&entry)? + entry.len() - prefix.len();
    lock[start..].split('"').next()
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn read_word(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.split_whitespace().next().map(str::to_owned)
}

fn rustc() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// How this program was built.
fn flags() -> String {
    let profile = if cfg!(debug_assertions) {
        "with debug assertions"
    } else {
        "optimised"
    };
    let flags = option_env!("RUSTFLAGS").unwrap_or_default();
    match flags {
        "" => format!("{profile}, no RUSTFLAGS"),
        flags => format!("{profile}, RUSTFLAGS {flags}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        assert_eq!(
            versioned("weir-peers"),
            concat!("weir-peers ", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(versioned("no-such-crate"), "no-such-crate");
        assert!(versioned_as("aes-gcm", "0.10.").starts_with("aes-gcm 0.10."));
        assert!(versioned("aes-gcm").starts_with("aes-gcm 0.11."));
    }
}
