//! Files, by Landlock.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::reach::Reach;

/// How much of the request the kernel fulfils.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confined {
    Whole,
    Partly,
    Not,
}

/// The newest interface that is requested; older kernels do less.
const NEWEST: ABI = ABI::V6;

/// State of the system: interfaces, caches, clock.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/etc/localtime"];

/// Devices that ports and other libraries open again.
const DEVICES: [&str; 3] = ["/dev/net/tun", "/dev/null", "/dev/urandom"];

pub fn confine(reach: &Reach) -> anyhow::Result<Confined> {
    let handled = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|set| set.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|set| set.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create);
    let mut rules = handled.context("cannot restrict files")?;
    let reads = AccessFs::ReadFile | AccessFs::ReadDir;
    let all = AccessFs::from_all(NEWEST) & !AccessFs::Execute;
    for path in SYSTEM {
        rules = beneath(rules, Path::new(path), reads)?;
    }
    for path in DEVICES {
        rules = beneath(rules, Path::new(path), all)?;
    }
    for input in &reach.inputs {
        for place in places(input) {
            rules = beneath(rules, &place, reads)?;
        }
    }
    for output in &reach.outputs {
        for place in places(output) {
            rules = beneath(rules, &place, all)?;
        }
    }
    for port in &reach.tcp_ports {
        rules = rules
            .add_rule(NetPort::new(*port, AccessNet::BindTcp))
            .context("cannot restrict TCP ports")?;
    }
    let status = rules.restrict_self().context("cannot restrict files")?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => Confined::Whole,
        RulesetStatus::PartiallyEnforced => Confined::Partly,
        RulesetStatus::NotEnforced => Confined::Not,
    })
}

/// What must be within reach for a file to be: its directory, as files are replaced by new ones of
/// their names, and also that of the file that a link leads to. A device or a pipe stands for
/// itself. Where a directory is still to be made, the one in which it will be.
fn places(path: &Path) -> Vec<PathBuf> {
    if path == Path::new("-") {
        return Vec::new();
    }
    if let Ok(found) = fs::metadata(path)
        && !found.is_file()
        && !is_socket(&found)
    {
        return vec![path.to_owned()];
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let existing = parent.ancestors().find(|folder| folder.is_dir());
    let existing = existing.unwrap_or(Path::new("."));
    let linked = fs::canonicalize(path).ok();
    let linked = linked.as_deref().and_then(Path::parent);
    [Some(existing), linked]
        .into_iter()
        .flatten()
        .map(Path::to_owned)
        .collect()
}

fn is_socket(found: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&found.file_type())
}

/// Allows access below a directory, or to a file as far as it makes sense for one. What is not there
/// needs no rule.
fn beneath(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> anyhow::Result<RulesetCreated> {
    let Ok(descriptor) = PathFd::new(path) else {
        return Ok(rules);
    };
    let access = match path.is_dir() {
        true => access,
        false => access & AccessFs::from_file(NEWEST),
    };
    rules
        .add_rule(PathBeneath::new(descriptor, access))
        .with_context(|| format!("cannot allow access to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::ErrorKind;
    use std::thread;

    use weir_processes::Folder;

    use super::*;

    /// Landlock restricts the thread that enables it.
    #[test]
    fn what_is_out_of_reach_cannot_be_opened() {
        let (inside, other) = (Folder::new(), Folder::new());
        inside.write("rules", "one");
        other.write("secret", "two");
        let (inside_path, other_path) = (inside.path(""), other.path(""));
        let work = move || {
            let output = inside_path.join("out/log");
            fs::create_dir(inside_path.join("out")).expect("a folder");
            std::os::unix::fs::symlink(other_path.join("secret"), inside_path.join("link"))
                .expect("a link");
            let reach = Reach {
                inputs: vec![inside_path.join("rules")],
                outputs: vec![output.clone(), PathBuf::from("-")],
                tcp_ports: vec![],
            };
            let confined = confine(&reach).expect("restricted");
            assert_ne!(confined, Confined::Not, "this kernel has no Landlock");
            let denied = |opened: std::io::Result<File>| {
                let error = opened.expect_err("out of reach");
                assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
            };
            denied(File::open(other_path.join("secret")));
            denied(File::open(inside_path.join("link")));
            denied(File::open("/etc/passwd"));
            denied(File::create(inside_path.join("rules")));
            denied(File::create(inside_path.join("new")));
            denied(File::create(other_path.join("new")));
            // A file that takes the place of another one is read.
            File::open(inside_path.join("rules")).expect("within reach");
            File::create(&output).expect("within reach");
            fs::rename(&output, output.with_extension("old")).expect("within reach");
            File::create(&output).expect("within reach");
            let listening = std::net::TcpListener::bind("127.0.0.1:0");
            if confined == Confined::Whole {
                assert!(listening.is_err(), "a port that is not allowed");
            }
        };
        thread::spawn(work).join().expect("as expected");
        // Other threads are not restricted.
        File::open("/etc/passwd").expect("open");
    }
}
