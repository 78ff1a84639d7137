//! Random histories of keys: runs, kills, copies and renames of SA files, the
//! same key under other names, SPIs and salts. No nonce is used twice under a
//! cipher key, of all packets that ever left a process.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;

use crate::captures::{packets, write_frames};
use crate::nonces::whole_blocks;
use crate::processes::{Folder, command, weir};

/// How many histories there are, and how many must have sealed packets after a
/// copy, after a rename and after a kill.
const HISTORIES: u64 = 312;
const WHOLE_HISTORIES: u64 = 300;

/// Runs of a history.
const RUNS: usize = 5;

/// A generator of numbers (SplitMix64), so that histories are the same always.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((number ^ (number >> 31)) % end as u64) as usize
    }
}

/// What happens to the SA files before a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Copy,
    Rename,
    OtherNameAndSpi,
    OtherSalt,
}

/// A key and the SA files that it stands in.
struct History<'a> {
    number: u64,
    random: Random,
    folder: &'a Folder,
    files: Vec<String>,
    /// Numbers of files that were made.
    made: u32,
    /// What happened, and was followed by packets.
    has_copied: bool,
    has_renamed: bool,
    has_killed: bool,
    is_sealed_after: [bool; 3],
    nonces: Vec<[u8; 12]>,
}

/// Ethernet frames from site A to B, long ones so that few fill a buffer.
fn frames(count: usize) -> Vec<Vec<u8>> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    let payload = [0x5a; 1200];
    frame.extend([0x45, 0]);
    frame.extend((20 + payload.len() as u16).to_be_bytes());
    frame.extend([0, 7, 0x40, 0, 64, 99, 0, 0, 198, 18, 1, 1, 198, 18, 2, 2]);
    frame.extend(payload);
    let sum = (14..34).step_by(2).fold(0u32, |sum, at| {
        sum + u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]))
    });
    let checksum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    vec![frame; count]
}

impl History<'_> {
    /// The name of a file that is made now.
    fn new_name(&mut self) -> String {
        self.made += 1;
        self.folder
            .name(&format!("{}-{}.toml", self.number, self.made))
    }

    fn write(&mut self, spi: u32, salt: u32) {
        let path = self.new_name();
        let text = format!(
            "[[sa]]\nname = \"sa {spi}\"\nspi = {spi}\nsuite = \"aes-128-gcm-16\"\n\
             key = \"{:032x}{salt:08x}\"\nmode = \"tunnel\"\n\
             tunnel = {{ source = \"198.19.255.1\", destination = \"198.19.255.2\" }}\n\
             [[policy]]\naction = \"protect\"\nsa = \"sa {spi}\"\n",
            0x1000_0000 + self.number,
        );
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a mode");
        self.files.push(path);
    }

    fn change(&mut self, change: Change) {
        let file = self.random.below(self.files.len());
        match change {
            Change::Copy => {
                let copy = self.new_name();
                fs::copy(&self.files[file], &copy).expect("copied");
                self.files.push(copy);
                self.has_copied = true;
            }
            Change::Rename => {
                let name = self.new_name();
                fs::rename(&self.files[file], &name).expect("renamed");
                self.files[file] = name;
                self.has_renamed = true;
            }
            Change::OtherNameAndSpi => {
                let spi = 0x1000 + self.random.below(0xffff) as u32;
                self.write(spi, 1);
            }
            Change::OtherSalt => {
                let salt = self.random.below(1 << 30) as u32;
                self.write(0x1000, salt);
            }
        }
    }

    /// Arguments of a run with one of the files.
    fn arguments(&mut self, input: &str, output: &str) -> Vec<String> {
        let file = self.files[self.random.below(self.files.len())].clone();
        let ledger = self.folder.name("ledger");
        let arguments = [
            "protect", input, output, "--sa", &file, "-q", "--state", &ledger,
        ];
        let mut arguments: Vec<String> = arguments.map(str::to_owned).into();
        // Of a key that the ledger knows, it changes nothing.
        if self.nonces.is_empty() || self.random.below(3) == 0 {
            arguments.extend(["--new-key", "all"].map(str::to_owned));
        }
        arguments
    }

    /// Takes down what left a process.
    fn sealed(&mut self, capture: &str) {
        let packets = packets(capture);
        assert!(!packets.is_empty(), "packets were sealed");
        for packet in &packets {
            let (_, iv) = packet.spi_and_iv().expect("an ESP packet");
            let mut nonce = [0; 12];
            nonce[..4].copy_from_slice(&(self.number as u32).to_be_bytes());
            nonce[4..].copy_from_slice(&iv.to_be_bytes());
            self.nonces.push(nonce);
        }
        let happened = [self.has_copied, self.has_renamed, self.has_killed];
        for (is_sealed, happened) in self.is_sealed_after.iter_mut().zip(happened) {
            *is_sealed |= happened;
        }
    }

    /// A run that ends in order.
    fn run(&mut self, input: &str) {
        let output = self.folder.name(&format!("{}.pcapng", self.number));
        let arguments = self.arguments(input, &output);
        weir(arguments).done();
        self.sealed(&output);
    }

    /// A run over input without end, killed when packets have left it.
    fn run_and_kill(&mut self, input: &[u8], endless: &[u8], small: &str) {
        let arguments = self.arguments("-", "-");
        let mut child = command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("weir starts");
        let (mut stdin, mut stdout) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let mut sent = vec![0; 4096 + self.random.below(100_000)];
        thread::scope(|scope| {
            let stdin = stdin.take();
            scope.spawn(move || {
                let mut stdin = stdin.expect("a pipe");
                let mut fed = stdin.write_all(input);
                while fed.is_ok() {
                    fed = stdin.write_all(endless);
                }
            });
            stdout.read_exact(&mut sent).expect("packets");
            if self.random.below(4) == 0 {
                let beside = self.folder.name(&format!("{}-beside.pcapng", self.number));
                let arguments = self.arguments(small, &beside);
                weir(arguments).failed(2, &["in use by another process"]);
            }
            child.kill().expect("killed");
            child.wait().expect("it ended");
            // What left it before may be with anybody.
            stdout.read_to_end(&mut sent).expect("the rest");
        });
        let capture = self.folder.name(&format!("{}-killed.pcapng", self.number));
        fs::write(&capture, whole_blocks(&sent)).expect("written");
        self.sealed(&capture);
        self.has_killed = true;
    }
}

#[test]
fn no_nonce_is_used_twice_in_any_history() {
    let folder = Folder::new();
    let small = folder.name("small.pcapng");
    write_frames(&small, &frames(3));
    let input = fs::read(&small).expect("a capture");
    // The packets of a capture without its header, again and again.
    let begun = folder.name("begun.pcapng");
    write_frames(&begun, &[]);
    let header_bytes = fs::read(&begun).expect("a capture").len();
    let endless = input[header_bytes..].repeat(20);

    let next = Mutex::new(0..HISTORIES);
    let whole = Mutex::new(0);
    let used = Mutex::new(HashSet::new());
    thread::scope(|scope| {
        // They share one ledger.
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(number) = { next.lock().expect("a lock").next() } {
                    let history = history(number, &folder, &small, &input, &endless);
                    let mut used = used.lock().expect("a lock");
                    for nonce in &history.nonces {
                        assert!(used.insert(*nonce), "history {number}: {nonce:02x?} twice");
                    }
                    *whole.lock().expect("a lock") +=
                        u64::from(history.is_sealed_after == [true; 3]);
                }
            });
        }
    });
    let whole = whole.into_inner().expect("a number");
    assert!(whole >= WHOLE_HISTORIES, "{whole} whole histories");
}

/// The history of one key, which is the only one with its number.
fn history<'a>(
    number: u64,
    folder: &'a Folder,
    small: &str,
    input: &[u8],
    endless: &[u8],
) -> History<'a> {
    let mut history = History {
        number,
        random: Random(0x5eed_0000 + number),
        folder,
        files: Vec::new(),
        made: 0,
        has_copied: false,
        has_renamed: false,
        has_killed: false,
        is_sealed_after: [false; 3],
        nonces: Vec::new(),
    };
    history.write(0x1000, 1);
    let mut changes = vec![
        Change::Copy,
        Change::Rename,
        Change::OtherNameAndSpi,
        [Change::OtherSalt, Change::Copy, Change::Rename][history.random.below(3)],
    ];
    let killed = history.random.below(RUNS - 1);
    for run in 0..RUNS {
        if run > 0 {
            let change = changes.swap_remove(history.random.below(changes.len()));
            history.change(change);
        }
        if run == killed {
            history.run_and_kill(input, endless, small);
        } else {
            history.run(small);
        }
    }
    history
}
