//! A nonce is never used twice under a key, across runs too.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

use crate::captures::{packets, write_frames};
use crate::processes::{Folder, Said, beside, example, example_name, until, weir};

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

/// Protects with the folder's own ledger.
fn protect(folder: &Folder, sa: &str, out: &str, more: &[&str]) -> Said {
    let ledger = folder.name("ledger");
    protect_freely(sa, out, &[&["--state", &ledger], more].concat())
}

fn protect_freely(sa: &str, out: &str, more: &[&str]) -> Said {
    let traffic = example_name("traffic.pcapng");
    let arguments = ["protect", &traffic, out, "--sa", sa, "--quiet"];
    weir([&arguments[..], more].concat())
}

/// The option that lets the ledger learn all keys.
const NEW: [&str; 2] = ["--new-key", "all"];

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
fn without_a_ledger_nothing_is_sealed() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let out = folder.name("out.pcapng");
    let said = protect(&folder, &sa, &out, &[]);
    said.failed(2, &["ledger", "no ledger", "\"there\"", "--new-key there"]);
    // One key is announced, the other is not.
    let said = protect(&folder, &sa, &out, &["--new-key", "there"]);
    said.failed(2, &["\"back\"", "--new-key back"]);
    let said = protect(&folder, &sa, &out, &["--new-key", "nowhere"]);
    said.failed(2, &["own.toml", "nowhere"]);
    assert_eq!(folder.names(), ["own.toml"]);
    let both = ["--new-key", "there", "--new-key", "back"];
    protect(&folder, &sa, &out, &both).done();
}

#[test]
fn runs_go_on_where_the_last_one_stopped() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let names = ["first", "second", "third"].map(|name| folder.name(&format!("{name}.pcapng")));
    protect(&folder, &sa, &names[0], &NEW).done();
    protect(&folder, &sa, &names[1], &[]).done();
    protect(&folder, &sa, &names[2], &["--shards", "2"]).done();
    let used = names.each_ref().map(|name| nonces(name));
    for nonces in &used {
        let of = |spi| nonces.iter().filter(|nonce| nonce.0 == spi).count();
        assert_eq!((of(0x2001), of(0x2002)), (THERE, BACK));
    }
    assert_apart(&used);
    // No key, not even a part of one, is in the ledger.
    for name in ["ledger/slots", "ledger/generation"] {
        let mode = folder.path(name).metadata().expect("a file").permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        let bytes = std::fs::read(folder.path(name)).expect("a file");
        for key in [[0, 1, 2, 3, 4, 5], [0x20, 0x21, 0x22, 0x23, 0x24, 0x25]] {
            assert!(!bytes.windows(6).any(|window| window == key));
        }
    }
}

#[test]
fn another_ledger_is_worth_a_warning() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let out = folder.name("out.pcapng");
    let said = protect(&folder, &sa, &out, &NEW).done();
    assert!(said.stderr.contains("warning") && said.stderr.contains("unknown"));
    assert_eq!(said.stderr.lines().count(), 1);
}

/// A key goes into another SA file that a ledger knows already, under another
/// name and SPI: it goes on, whatever is said of it.
#[test]
fn a_key_that_moves_goes_on() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let other = OWN
        .replace(
            "000102030405060708090a0b0c0d0e0f",
            "a00102030405060708090a0b0c0d0e0f",
        )
        .replace(
            "202122232425262728292a2b2c2d2e2f",
            "a02122232425262728292a2b2c2d2e2f",
        );
    let other = folder.write("other.toml", other);
    let moved = folder.write("moved.toml", OWN.replace("\"there\"", "\"elsewhere\""));
    let copy = folder.write("copy.toml", OWN);
    for file in [&other, &moved, &copy] {
        std::fs::set_permissions(file, Permissions::from_mode(0o600)).expect("a mode");
    }
    let out = folder.name("out.pcapng");
    protect(&folder, &other, &out, &NEW).done();
    protect(&folder, &sa, &out, &NEW).done();
    let mut used = vec![nonces(&out)];
    for (file, more) in [(&moved, &[][..]), (&copy, &NEW), (&sa, &[])] {
        protect(&folder, file, &out, more).done();
        used.push(nonces(&out));
    }
    assert_apart(&used);
}

#[test]
fn a_ledger_that_was_lost_or_put_back_is_noticed() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let out = folder.name("out.pcapng");
    protect(&folder, &sa, &out, &NEW).done();
    let old = std::fs::read(folder.path("ledger/slots")).expect("slots");
    protect(&folder, &sa, &out, &[]).done();
    folder.write("ledger/slots", &old);
    protect(&folder, &sa, &out, &[]).failed(2, &["ledger", "older"]);
    std::fs::remove_file(folder.path("ledger/slots")).expect("removed");
    protect(&folder, &sa, &out, &[]).failed(2, &["ledger", "gone"]);
    protect(&folder, &sa, &out, &NEW).failed(2, &["ledger", "gone"]);
}

/// A receiver that keeps its window opens each packet once, over all runs.
#[test]
fn kept_windows_survive_a_restart() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let names = ["out", "back"].map(|name| folder.name(&format!("{name}.pcapng")));
    protect(&folder, &sa, &names[0], &NEW).done();
    let ledger = folder.name("receiver");
    let unprotect = |sa: &str| {
        let arguments = ["unprotect", &names[0], &names[1], "--sa", sa, "-q"];
        weir([&arguments[..], &["--state", &ledger, "--json", "-"]].concat())
    };
    for _ in 0..2 {
        unprotect(&sa).done();
    }
    assert!(!folder.path("receiver").exists());
    let keep = OWN.replace("mode", "replay_state = \"keep\"\nmode");
    let keep = folder.write("keep.toml", keep);
    std::fs::set_permissions(&keep, Permissions::from_mode(0o600)).expect("a mode");
    let first = unprotect(&keep).done().json();
    assert_eq!(first["unprotected"], THERE + BACK);
    let second = unprotect(&keep);
    assert_eq!(second.status, Some(1), "{}", second.stderr);
    assert_eq!(second.json()["drops"]["replay"], THERE + BACK);
}

#[test]
fn repeating_is_possible_only_by_saying_so() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let names = ["first", "second"].map(|name| folder.name(&format!("{name}.pcapng")));
    for name in &names {
        protect_freely(&sa, name, &["--repeatable-insecure"]).done();
    }
    assert_eq!(packets(&names[0]), packets(&names[1]));
    assert_eq!(
        folder.names(),
        ["first.pcapng", "own.toml", "second.pcapng"]
    );
    let both = ["--repeatable-insecure", "--new-key", "all"];
    protect_freely(&sa, &names[0], &both).failed(2, &["--repeatable-insecure", "--new-key"]);
}

#[test]
fn keys_that_others_can_read_are_refused() {
    for mode in [0o660, 0o604, 0o644] {
        let folder = Folder::new();
        let sa = own_file(&folder, mode);
        let out = folder.name("out.pcapng");
        protect_freely(&sa, &out, &["--repeatable-insecure"]).failed(2, &["own.toml", "chmod"]);
        assert_eq!(folder.names(), ["own.toml"]);
        let allow = ["--repeatable-insecure", "--allow-insecure-permissions"];
        protect_freely(&sa, &out, &allow).done();
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

/// Two keys of one ledger are used at once; one key is used once.
#[test]
fn a_key_seals_in_one_run_at_a_time() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let pipe = folder.pipe("in");
    let traffic = std::fs::read(example("traffic.pcapng")).expect("read");
    let (first, ledger) = (folder.name("first.pcapng"), folder.name("ledger"));
    let arguments = [
        "protect", &pipe, &first, "--sa", &sa, "-q", "--state", &ledger,
    ];
    let running = beside([&arguments[..], &NEW].concat());
    let mut feed = File::create(&pipe).expect("the writing end");
    feed.write_all(&traffic).expect("fed");
    // While the pipe is open the first run holds its keys.
    until(|| {
        let said = protect(&folder, &sa, &folder.name("second.pcapng"), &[]);
        said.stderr.contains("in use").then_some(said)
    })
    .failed(2, &["ledger", "\"there\"", "in use by another process"]);
    let other = OWN
        .replace(
            "000102030405060708090a0b0c0d0e0f",
            "b00102030405060708090a0b0c0d0e0f",
        )
        .replace(
            "202122232425262728292a2b2c2d2e2f",
            "b02122232425262728292a2b2c2d2e2f",
        );
    let other = folder.write("other.toml", other);
    std::fs::set_permissions(&other, Permissions::from_mode(0o600)).expect("a mode");
    protect(&folder, &other, &folder.name("other.pcapng"), &NEW).done();
    drop(feed);
    running.wait().done();
    let second = folder.name("second.pcapng");
    protect(&folder, &sa, &second, &[]).done();
    assert_apart(&[nonces(&first), nonces(&second)]);
}

#[test]
fn a_killed_run_repeats_nothing() {
    let folder = Folder::new();
    let sa = own_file(&folder, 0o600);
    let pipe = folder.pipe("in");
    let traffic = std::fs::read(example("traffic.pcapng")).expect("read");
    let ledger = folder.name("ledger");
    let arguments = ["protect", &pipe, "-", "--sa", &sa, "-q", "--state", &ledger];
    let mut running = beside([&arguments[..], &NEW].concat());
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
    protect(&folder, &sa, &second, &[]).done();
    let (sent, second) = (nonces(&sent), nonces(&second));
    assert!(sent.len() > 100 && second.len() == THERE + BACK);
    assert_apart(&[sent, second]);
}

/// The blocks of a pcapng stream up to where it was cut.
pub fn whole_blocks(stream: &[u8]) -> &[u8] {
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
    folder.write(
        "own.toml",
        OWN.replace("suite =", "direction = \"outbound\"\nsuite ="),
    );
    write_frames(folder.path("in.pcapng"), &[]);
    let config = folder.write(
        "weir.toml",
        "[input]\npcap = [\"in.pcapng\"]\n[pipeline]\nstages = [\"protect\"]\n\
         [ipsec]\nsa = \"own.toml\"\nstate = \"ledger\"\n",
    );
    let names = ["in.pcapng", "own.toml", "weir.toml"];
    weir([&["check", &config, "--quiet"], &NEW[..]].concat()).done();
    assert_eq!(folder.names(), names);
    // A run would not begin without its keys, so a check says so.
    for verb in ["check", "run"] {
        let said = weir([verb, &config, "--quiet"]);
        said.failed(2, &["ledger", "no ledger", "--new-key"]);
    }
    assert_eq!(folder.names(), names);
    weir([&["run", &config, "--quiet"], &NEW[..]].concat()).done();
    weir(["check", &config, "--quiet"]).done();
    // No configuration may say that keys are new: it would say so for ever.
    let text = std::fs::read_to_string(&config).expect("read");
    for line in [
        "init_state = true",
        "new_keys = [\"all\"]",
        "new_key = \"all\"",
    ] {
        folder.write("weir.toml", format!("{text}{line}\n"));
        weir(["check", &config, "--quiet"]).failed(2, &["weir.toml:", "unknown key"]);
    }
}
