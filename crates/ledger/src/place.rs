//! Where a ledger lies, and who may touch it.

use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::geteuid;

use super::LedgerError;

pub const SLOTS: &str = "slots";
pub const GENERATION: &str = "generation";

/// The ledger of this machine: `/var/lib/weir/ledger` for root, and for another
/// user `weir/ledger` under `$XDG_STATE_HOME` or `~/.local/state`. `None` where
/// the user has no home.
pub fn default_path() -> Option<PathBuf> {
    if geteuid().is_root() {
        return Some("/var/lib/weir/ledger".into());
    }
    // Relative paths are invalid (XDG Base Directory Specification).
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    absolute("XDG_STATE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/state")))
        .map(|state| state.join("weir/ledger"))
}

/// Where the highest numbers of kept windows survive the process: `/run/weir` for root, and for
/// another user `weir` in `$XDG_RUNTIME_DIR`. `None` where that is not set.
pub fn default_marks() -> Option<PathBuf> {
    if geteuid().is_root() {
        return Some("/run/weir".into());
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from)?;
    runtime.is_absolute().then(|| runtime.join("weir"))
}

/// The files of the ledger at `path`, which nothing else may write to.
pub fn files(path: &Path) -> [PathBuf; 2] {
    [path.join(SLOTS), path.join(GENERATION)]
}

/// Whether there is a directory for a ledger, which nobody else can change.
pub fn exists(path: &Path) -> Result<bool, LedgerError> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_dir() => Err(LedgerError::NotALedger {
            path: path.into(),
            what: if found.is_symlink() {
                "is a symbolic link"
            } else {
                "is not a directory"
            },
        }),
        Ok(found) => check_owner(path, &found).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(system(path, "cannot look for it")(error)),
    }
}

/// Creates the directory. Of the default ledger, its parents too; elsewhere they
/// must be there, so that a typing error is noticed.
pub fn create_directory(path: &Path) -> Result<(), LedgerError> {
    let is_default = default_path().is_some_and(|default| default == path);
    let made = DirBuilder::new()
        .mode(0o700)
        .recursive(is_default)
        .create(path);
    match made {
        // Another process was first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => other.map_err(system(path, "cannot create"))?,
    }
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    sync_directory(parent)
}

/// Makes names in a directory last.
pub fn sync_directory(path: &Path) -> Result<(), LedgerError> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(system(path, "cannot sync"))
}

/// Opens a file of the ledger, if it is there.
pub fn open(path: &Path) -> Result<Option<File>, LedgerError> {
    open_with(path, File::options().read(true).write(true))
}

/// Opens a file of the ledger, which is created empty where it is missing.
pub fn open_or_create(path: &Path) -> Result<File, LedgerError> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    open_with(path, &mut options)?
        .ok_or_else(|| system(path, "cannot create")(io::Error::from(io::ErrorKind::NotFound)))
}

fn open_with(path: &Path, options: &mut fs::OpenOptions) -> Result<Option<File>, LedgerError> {
    let no_links = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = match options.mode(0o600).custom_flags(no_links.bits()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(nix::libc::ELOOP) => {
            return Err(LedgerError::NotALedger {
                path: path.into(),
                what: "is a symbolic link",
            });
        }
        Err(error) => return Err(system(path, "cannot open")(error)),
    };
    let found = file.metadata().map_err(system(path, "cannot look at it"))?;
    if !found.is_file() {
        return Err(LedgerError::NotALedger {
            path: path.into(),
            what: "is not a file",
        });
    }
    check_owner(path, &found)?;
    Ok(Some(file))
}

/// Refuses what another user owns or may write to.
fn check_owner(path: &Path, found: &Metadata) -> Result<(), LedgerError> {
    if found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(LedgerError::OpenToOthers {
        path: path.into(),
        owner: found.uid(),
        mode: found.mode() & 0o7777,
    })
}

/// Whether the open file still has its name.
pub fn is_in_place(path: &Path, file: &File) -> bool {
    match (fs::symlink_metadata(path), file.metadata()) {
        (Ok(named), Ok(open)) => (named.dev(), named.ino()) == (open.dev(), open.ino()),
        _ => false,
    }
}

pub fn system(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> LedgerError {
    let path = path.to_owned();
    move |source| LedgerError::System {
        path,
        doing,
        source,
    }
}
