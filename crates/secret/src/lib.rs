//! Keys in configuration files: hex digits, in the file or in one of their own.
//!
//! A [`Secret`] is read where a configuration has one and says nothing of itself, neither in messages of
//! the parser nor in `Debug`; memory that held it is wiped. Files of keys are their owner's alone.
//!
//! ```
//! use serde::Deserialize;
//! use weir_secret::Secret;
//!
//! let text = serde::de::value::StrDeserializer::<serde::de::value::Error>::new("0x00:ff 1a");
//! let secret = Secret::deserialize(text).expect("hex digits");
//! assert_eq!(secret.bytes().as_deref(), Ok(&vec![0x00, 0xff, 0x1a]));
//! assert_eq!(format!("{secret:?}"), "Secret(…)");
//! ```

#![forbid(unsafe_code)]

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use zeroize::Zeroizing;

/// Text that must not be shown.
pub struct Secret(Zeroizing<String>);

/// Bytes of a key, wiped when dropped.
pub type SecretBytes = Zeroizing<Vec<u8>>;

/// Longest key in hex, with separators: far more than any suite takes.
const LONGEST_TEXT_BYTES: u64 = 4096;

impl Secret {
    /// The bytes that the text means, as [`bytes_of_hex`] reads them.
    ///
    /// # Errors
    /// What is wrong with the text, without the text.
    pub fn bytes(&self) -> Result<SecretBytes, &'static str> {
        bytes_of_hex(&self.0)
    }

    /// Reads a secret from a file, which must be its owner's alone unless
    /// `allow_insecure_permissions`.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(path: &Path, allow_insecure_permissions: bool) -> Result<Secret, String> {
        let file = File::open(path).map_err(|error| format!("cannot open: {error}"))?;
        if !allow_insecure_permissions {
            check_permissions(&file, path)?;
        }
        let mut contents =
            read_secret(file, LONGEST_TEXT_BYTES).map_err(|e| format!("cannot read: {e}"))?;
        match String::from_utf8(std::mem::take(&mut *contents)) {
            Ok(text) => Ok(Secret(Zeroizing::new(text))),
            Err(error) => {
                drop(Zeroizing::new(error.into_bytes()));
                Err("is not a text file: give the key as hex digits".into())
            }
        }
    }
}

/// The bytes of hex digits in pairs, with an optional `0x` in front and colons or white space in
/// between.
///
/// # Errors
/// What is wrong with the text, without the text.
pub fn bytes_of_hex(text: &str) -> Result<SecretBytes, &'static str> {
    let text = text.trim();
    let text = text.strip_prefix("0x").unwrap_or(text);
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 2));
    let mut high = None;
    for character in text.chars() {
        if character == ':' || character.is_whitespace() {
            continue;
        }
        let digit = character
            .to_digit(16)
            .ok_or("must be hex digits (0-9, a-f)")? as u8;
        match high.take() {
            None => high = Some(digit),
            Some(high) => bytes.push(high << 4 | digit),
        }
    }
    match high {
        None => Ok(bytes),
        Some(_) => Err("has an odd number of hex digits"),
    }
}

/// Reads a file into memory that is wiped.
///
/// # Errors
/// It cannot be read, or is longer than `most_bytes`.
pub fn read_secret(file: File, most_bytes: u64) -> io::Result<Zeroizing<Vec<u8>>> {
    // Of the full size at once: a buffer that grows leaves copies behind.
    let bytes = file.metadata()?.len().clamp(LONGEST_TEXT_BYTES, most_bytes) + 1;
    let mut contents = Zeroizing::new(Vec::with_capacity(bytes as usize));
    file.take(most_bytes + 1).read_to_end(&mut contents)?;
    if contents.len() as u64 > most_bytes {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("longer than {most_bytes} bytes"),
        ));
    }
    Ok(contents)
}

/// Refuses a regular file that others may read or write, but for the group of
/// this process, which may read it.
///
/// # Errors
/// What to do about it.
pub fn check_permissions(file: &File, path: &Path) -> Result<(), String> {
    let metadata = file
        .metadata()
        .map_err(|error| format!("cannot read its permissions: {error}"))?;
    let mode = metadata.permissions().mode();
    let is_own_group = metadata.gid() == nix::unistd::getegid().as_raw();
    if metadata.is_file() && !is_private(mode, is_own_group) {
        return Err(format!(
            "holds keys and is open to others (mode {:04o}): run `chmod 600 {}`, or allow it with \
             --allow-insecure-permissions",
            mode & 0o7777,
            path.display()
        ));
    }
    Ok(())
}

/// Whether only the owner, and readers of this process's own group, have access.
fn is_private(mode: u32, is_own_group: bool) -> bool {
    let permitted = if is_own_group { 0o040 } else { 0 };
    mode & 0o066 & !permitted == 0
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        deserializer.deserialize_any(SecretVisitor)
    }
}

struct SecretVisitor;

impl SecretVisitor {
    /// Serde's own message would repeat the value.
    fn refuse<T, E: de::Error>() -> Result<T, E> {
        Err(E::custom("must be hex digits in quotes"))
    }
}

impl<'de> Visitor<'de> for SecretVisitor {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hex digits in quotes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Secret, E> {
        Ok(Secret(Zeroizing::new(text.to_owned())))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Secret, E> {
        Ok(Secret(Zeroizing::new(text)))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Secret, E> {
        SecretVisitor::refuse()
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Secret, E> {
        SecretVisitor::refuse()
    }

    fn visit_i128<E: de::Error>(self, _: i128) -> Result<Secret, E> {
        SecretVisitor::refuse()
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Secret, E> {
        SecretVisitor::refuse()
    }

    fn visit_u128<E: de::Error>(self, _: u128) -> Result<Secret, E> {
        SecretVisitor::refuse()
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Secret, E> {
        SecretVisitor::refuse()
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, _: A) -> Result<Secret, A::Error> {
        SecretVisitor::refuse()
    }

    fn visit_map<A: de::MapAccess<'de>>(self, _: A) -> Result<Secret, A::Error> {
        SecretVisitor::refuse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Result<Vec<u8>, &'static str> {
        Secret(Zeroizing::new(text.into()))
            .bytes()
            .map(|bytes| bytes.to_vec())
    }

    #[test]
    fn readers_of_the_own_group_are_no_others() {
        for (mode, of_own_group, of_another) in [
            (0o600, true, true),
            (0o400, true, true),
            (0o640, true, false),
            (0o440, true, false),
            (0o620, false, false),
            (0o660, false, false),
            (0o604, false, false),
            (0o644, false, false),
        ] {
            assert_eq!(is_private(mode, true), of_own_group, "{mode:o}");
            assert_eq!(is_private(mode, false), of_another, "{mode:o}");
        }
    }

    #[test]
    fn hex_with_and_without_ornament() {
        for text in ["00ff1a", "0x00FF1A", "00:ff:1a", " 00 ff\n1a\n"] {
            assert_eq!(bytes(text), Ok(vec![0x00, 0xff, 0x1a]), "{text}");
        }
        assert_eq!(bytes(""), Ok(vec![]));
        assert_eq!(bytes("0g"), Err("must be hex digits (0-9, a-f)"));
        assert_eq!(bytes("abc"), Err("has an odd number of hex digits"));
        for (wrong, what) in [("0g", "hex digits"), ("abc", "odd number"), ("x0", "hex")] {
            let error = bytes(wrong).expect_err("not hex");
            assert!(error.contains(what) && !error.contains(wrong), "{error}");
        }
    }
}
