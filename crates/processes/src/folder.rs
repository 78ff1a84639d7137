//! Folders for what a test reads and writes.

use std::path::PathBuf;
use std::process::Command;

/// A folder for one test, removed when dropped.
pub struct Folder(tempfile::TempDir);

impl Default for Folder {
    fn default() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }
}

impl Folder {
    /// An empty one.
    pub fn new() -> Folder {
        Folder::default()
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The same as text.
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
