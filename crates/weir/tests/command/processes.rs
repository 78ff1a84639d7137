//! Starting `weir`, and what it left.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Runs `weir` with empty standard input.
pub fn weir<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Said {
    weir_fed(arguments, b"")
}

/// Runs `weir` and feeds its standard input.
pub fn weir_fed<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>, input: &[u8]) -> Said {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("weir starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A command that does not read it all closes the pipe.
    let feeding = thread::spawn(move || drop(stdin.write_all(&input)));
    let said = Said::of(child);
    feeding.join().expect("fed");
    said
}

pub fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments).env_remove("WEIR_ISA");
    command
}

impl Said {
    pub fn of(child: Child) -> Said {
        let output = child.wait_with_output().expect("weir ends");
        Said {
            status: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Asserts success.
    #[track_caller]
    pub fn done(self) -> Said {
        assert_eq!(self.status, Some(0), "{}", self.stderr);
        self
    }

    /// What it said on standard error but for warnings, which insecure keys, such as those of
    /// the examples, raise each time.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        let lines = self.stderr.lines();
        lines.filter(|line| !line.starts_with("weir: warning: "))
    }

    /// Asserts a failure that is told in one line, which contains all `words`.
    #[track_caller]
    pub fn failed(self, status: i32, words: &[&str]) -> Said {
        assert_eq!(self.status, Some(status), "{}", self.stderr);
        let lines: Vec<&str> = self.messages().collect();
        let [line] = lines[..] else {
            panic!("not one line: {:?}", self.stderr);
        };
        assert!(line.starts_with("weir: "), "{line}");
        for word in words {
            assert!(line.contains(word), "{word:?} is not in {line:?}");
        }
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).expect("one JSON document")
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("text")
    }
}

/// A JSON document in a file.
#[track_caller]
pub fn json_file(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("one JSON document")
}

/// The JSON lines of a file.
#[track_caller]
pub fn json_lines(text: &[u8]) -> Vec<Value> {
    std::str::from_utf8(text)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
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

/// A folder for one test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A path as text.
    pub fn name(&self, name: &str) -> String {
        self.path(name).to_str().expect("text").to_owned()
    }

    /// Writes a file and gives its path as text.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), contents).expect("written");
        self.name(name)
    }

    /// A named pipe.
    pub fn pipe(&self, name: &str) -> String {
        let made = Command::new("mkfifo").arg(self.path(name)).status();
        assert!(made.expect("mkfifo").success());
        self.name(name)
    }

    /// Names of all files, hidden ones too.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| name.into_string().expect("text"))
            .collect();
        names.sort();
        names
    }
}

/// A command that runs beside the test; killed when dropped.
pub struct Beside(Option<Child>);

impl Beside {
    pub fn start<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Beside {
        let child = command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Beside(Some(child.expect("weir starts")))
    }

    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("not waited for yet")
    }

    pub fn signal(&mut self, signal: Signal) {
        let pid = Pid::from_child(self.child());
        kill_process(pid, signal).expect("signalled");
    }

    pub fn wait(mut self) -> Said {
        Said::of(self.0.take().expect("not waited for yet"))
    }

    pub fn kill(mut self) -> ExitStatus {
        self.signal(Signal::KILL);
        let mut child = self.0.take().expect("not waited for yet");
        child.wait().expect("it ends")
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Looks again and again until something is there. The limit is for a defect
/// only: nothing depends on how long it takes.
#[track_caller]
pub fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "waited in vain");
        thread::sleep(Duration::from_millis(20));
    }
}
