//! A nonce is never used twice under a key, across runs too.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

use crate::captures::{packets, write_frames};
use crate::processes::{Beside, Folder, Said, example, example_name, until, weir};

/// An SA file of one's own: keys that nobody published. Site A to B goes by
/// GCM, back by CTR.
const OWN: &str = r#"
default = "bypass"

[[sa]]
name = "there"
spi = 0x2001
suite = "aes-128-gcm-16"
key = "000102030405060708090a0b0c0d0e0f10111213"
mode = "tunnel"
tunnel = { source = "198.19.255.1", destination = "198.19.255.2" }

[[sa]]
name = "back"
spi = 0x2002
suite = "aes-128-ctr+hmac-sha2-256-128"
key = "202122232425262728292a2b2c2d2e2f30313233"
integrity_key = "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
mode = "tunnel"
tunnel = { source = "198.19.255.2", destination = "198.19.255.1" }

[[policy]]
source = "198.18.1.0/24"
destination = "198.18.2.0/24"
action = "protect"
sa = "there"

[[policy]]
source = "198.18.2.0/24"
destination = "198.18.1.0/24"
action = "protect"
sa = "back"
"#;

/// Packets from site A to B, and back, over IPv4.
const THERE: usize = 1083;
const BACK: usize = 848;

fn own_file(folder: &Folder, mode: u32) -> String {
    let sa = folder.write("own.toml", OWN);
    let permissions = Permissions::from_mode(mode);
    std::fs::set_permissions(&sa, permissions).expect("a mode");
    sa
}

fn protect(sa: &str, out: &str, more: &[&str]) -> Said {
    let traffic = example_name("traffic.pcapng");
    let arguments = ["protect", &traffic, out, "--sa", sa, "--quiet"];
    weir([&arguments[..], more].concat())
}

/// SPI and IV of every packet that is protected.
fn nonces(capture: &str) -> Vec<(u32, u64)> {
    let packets = packets(capture);
    packets.iter().filter_map(|p| p.spi_and_iv()).collect()
}

#[track_caller]
fn assert_apart(used: &[Vec<(u32, u64)>]) {
    let count: usize = used.iter().map(Vec::len).sum();
    let different: BTreeSet<_> = used.iter().flatten().collect();
    assert_eq!(different.len(), count, "a nonce was used twice");
}

#[test]
fn without_a_state_file_nothing_is_sealed() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let out = folder.name("out.pcapng");
    protect(&sa, &out, &[]).failed(2, &["own.toml.state", "no state file", "--init-state"]);
    assert_eq!(folder.names(), ["own.toml"]);
}

#[test]
fn runs_go_on_where_the_last_one_stopped() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let names = ["first", "second", "third"].map(|name| folder.name(&format!("{name}.pcapng")));
    protect(&sa, &names[0], &["--init-state"]).done();
    protect(&sa, &names[1], &[]).done();
    protect(&sa, &names[2], &["--shards", "2"]).done();
    let used = names.each_ref().map(|name| nonces(name));
    for nonces in &used {
        let of = |spi| nonces.iter().filter(|nonce| nonce.0 == spi).count();
        assert_eq!((of(0x2001), of(0x2002)), (THERE, BACK));
    }
    assert_apart(&used);
    let mode = folder.path("own.toml.state").metadata().expect("state");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    // No key, not even a part of one, is in the state.
    let state = std::fs::read_to_string(folder.path("own.toml.state")).expect("state");
    assert!(!state.contains("0001020304") && !state.contains("2021222324"));
}

#[test]
fn a_state_file_elsewhere_serves_as_well() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let (out, state) = (folder.name("out.pcapng"), folder.name("elsewhere.state"));
    protect(&sa, &out, &["--state", &state]).failed(2, &["elsewhere.state", "no state file"]);
    protect(&sa, &out, &["--state", &state, "--init-state"]).done();
    let first = nonces(&out);
    protect(&sa, &out, &["--state", &state]).done();
    assert_apart(&[first, nonces(&out)]);
    assert!(!folder.path("own.toml.state").exists());
}

#[test]
fn a_state_file_that_was_lost_or_put_back_is_noticed() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let out = folder.name("out.pcapng");
    protect(&sa, &out, &["--init-state"]).done();
    let old = std::fs::read(folder.path("own.toml.state")).expect("state");
    protect(&sa, &out, &[]).done();
    folder.write("own.toml.state", &old);
    protect(&sa, &out, &[]).failed(2, &["own.toml.state", "older"]);
    std::fs::remove_file(folder.path("own.toml.state")).expect("removed");
    protect(&sa, &out, &[]).failed(2, &["own.toml.state", "gone"]);
    protect(&sa, &out, &["--init-state"]).failed(2, &["own.toml.state", "gone"]);
}

#[test]
fn repeating_is_possible_only_by_saying_so() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let names = ["first", "second"].map(|name| folder.name(&format!("{name}.pcapng")));
    for name in &names {
        protect(&sa, name, &["--repeatable-insecure"]).done();
    }
    assert_eq!(packets(&names[0]), packets(&names[1]));
    assert_eq!(
        folder.names(),
        ["first.pcapng", "own.toml", "second.pcapng"]
    );
    let both = ["--repeatable-insecure", "--init-state"];
    protect(&sa, &names[0], &both).failed(2, &["--repeatable-insecure", "--init-state"]);
}

#[test]
fn keys_that_others_can_read_are_refused() {
    for mode in [0o640, 0o604, 0o644] {
        let folder = Folder::new();
        let sa = own_file(&folder, mode);
        let out = folder.name("out.pcapng");
        protect(&sa, &out, &["--repeatable-insecure"]).failed(2, &["own.toml", "chmod"]);
        assert_eq!(folder.names(), ["own.toml"]);
        let allow = ["--repeatable-insecure", "--allow-insecure-permissions"];
        protect(&sa, &out, &allow).done();
        let unprotect = [
            "unprotect",
            &out,
            &folder.name("back.pcapng"),
            "--sa",
            &sa,
            "-q",
        ];
        weir(unprotect).failed(2, &["own.toml", "chmod"]);
        weir([&unprotect[..], &["--allow-insecure-permissions"]].concat()).done();
    }
}

#[test]
fn one_run_at_a_time_counts() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let pipe = folder.pipe("in");
    let traffic = std::fs::read(example("traffic.pcapng")).expect("read");
    let first = folder.name("first.pcapng");
    let running = Beside::start(["protect", &pipe, &first, "--sa", &sa, "-q", "--init-state"]);
    let mut feed = File::create(&pipe).expect("the writing end");
    feed.write_all(&traffic).expect("fed");
    // While the pipe is open the first run holds the state.
    until(|| folder.path("own.toml.state").exists().then_some(()));
    let second = folder.name("second.pcapng");
    protect(&sa, &second, &[]).failed(2, &["own.toml.state", "in use by another process"]);
    drop(feed);
    running.wait().done();
    protect(&sa, &second, &[]).done();
    assert_apart(&[nonces(&first), nonces(&second)]);
}

#[test]
fn a_killed_run_repeats_nothing() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let pipe = folder.pipe("in");
    let traffic = std::fs::read(example("traffic.pcapng")).expect("read");
    let mut running = Beside::start(["protect", &pipe, "-", "--sa", &sa, "-q", "--init-state"]);
    let mut stdout = running.child().stdout.take().expect("a pipe");
    let feeding = std::thread::spawn(move || {
        let mut feed = File::create(&pipe).expect("the writing end");
        let _ = feed.write_all(&traffic[..traffic.len() / 2]);
        feed
    });
    // What left the process before it was killed may be with anybody.
    let mut sent = vec![0; 300_000];
    stdout.read_exact(&mut sent).expect("packets");
    running.kill();
    // The pipe was open to the end, or broke when its reader was killed.
    let _ = feeding.join();
    stdout.read_to_end(&mut sent).expect("the rest");
    let sent = folder.write("sent.pcapng", whole_blocks(&sent));
    let second = folder.name("second.pcapng");
    protect(&sa, &second, &[]).done();
    let (sent, second) = (nonces(&sent), nonces(&second));
    assert!(sent.len() > 100 && second.len() == THERE + BACK);
    assert_apart(&[sent, second]);
}

/// The blocks of a pcapng stream up to where it was cut.
fn whole_blocks(stream: &[u8]) -> &[u8] {
    let mut end = 0;
    while let Some(length) = stream.get(end + 4..end + 8) {
        let length = u32::from_le_bytes(length.try_into().expect("4 bytes")) as usize;
        if end + length > stream.len() {
            break;
        }
        end += length;
    }
    &stream[..end]
}

#[test]
fn a_check_uses_nothing_up() {
    let folder = Folder::new();
    own_file(&folder, 0o600);
    write_frames(folder.path("in.pcapng"), &[]);
    let config = folder.write(
        "weir.toml",
        "[input]\npcap = [\"in.pcapng\"]\n[pipeline]\nstages = [\"protect\"]\n\
         [ipsec]\nsa = \"own.toml\"\ninit_state = true\n",
    );
    weir(["check", &config, "--quiet"]).done();
    assert_eq!(folder.names(), ["in.pcapng", "own.toml", "weir.toml"]);
    // A run would not begin without its state, so a check says so.
    let text = std::fs::read_to_string(&config).expect("read");
    folder.write("weir.toml", text.replace("init_state = true", ""));
    for verb in ["check", "run"] {
        let said = weir([verb, &config, "--quiet"]);
        said.failed(2, &["own.toml.state", "no state file"]);
    }
    assert_eq!(folder.names(), ["in.pcapng", "own.toml", "weir.toml"]);
}
