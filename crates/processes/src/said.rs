//! Commands that run to their end.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;

/// What a command wrote, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// The exit status, unless a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

/// Runs a command to its end and feeds its standard input.
pub fn run(mut command: Command, input: &[u8]) -> Said {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A command that does not read it all closes the pipe.
    let feeding = thread::spawn(move || drop(stdin.write_all(&input)));
    let said = Said::of(child);
    feeding.join().expect("fed");
    said
}

/// What a message on standard error says behind the name of the program.
fn message(line: &str) -> Option<&str> {
    let (program, message) = line.split_once(": ")?;
    program.starts_with("weir").then_some(message)
}

impl Said {
    /// Waits for the end of a command.
    pub fn of(child: Child) -> Said {
        let output = child.wait_with_output().expect("the program ends");
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
        lines.filter(|line| !message(line).is_some_and(|said| said.starts_with("warning: ")))
    }

    /// Asserts a failure that is reported in one line, which contains all `words`.
    #[track_caller]
    pub fn failed(self, status: i32, words: &[&str]) -> Said {
        assert_eq!(self.status, Some(status), "{}", self.stderr);
        let lines: Vec<&str> = self.messages().collect();
        let [line] = lines[..] else {
            panic!("not one line: {:?}", self.stderr);
        };
        assert!(message(line).is_some(), "{line}");
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

    /// Standard output as text.
    #[track_caller]
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
