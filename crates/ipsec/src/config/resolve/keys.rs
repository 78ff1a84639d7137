//! Keys: given once, of the right length, none of them weak.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use weir_crypto::{KeyMaterial, Suite};
use weir_secret::{Secret, SecretBytes};
use zeroize::Zeroizing;

use super::{Blamed, Resolver};
use crate::config::Secrets;

/// The three ways to give a key.
pub(super) struct KeySource {
    /// As in `key`, `key_file`, `key_fd`.
    pub name: &'static str,
    pub inline: Option<Spanned<Secret>>,
    pub file: Option<Spanned<PathBuf>>,
    pub descriptor: Option<Spanned<u32>>,
}

impl Resolver<'_> {
    pub(super) fn secrets(
        &self,
        suite: Suite,
        whole: Range<usize>,
        key: KeySource,
        integrity_key: KeySource,
    ) -> Result<Secrets, Blamed> {
        let key_bytes = suite.key_bytes() + suite.salt_bytes();
        let (key_span, key) = self.secret(key, key_bytes, &whole)?;
        let (_, integrity_key) = self.secret(integrity_key, suite.integrity_key_bytes(), &whole)?;
        if key.len() != key_bytes {
            let salt = match suite.salt_bytes() {
                0 => String::new(),
                salt_bytes => format!(" ({} of key, then {salt_bytes} of salt)", suite.key_bytes()),
            };
            let message = format!(
                "key: {suite} needs {key_bytes} bytes{salt}, {} are given",
                key.len()
            );
            return Err((key_span, message));
        }
        // Lengths are right by now; what is left is a weak 3DES key.
        KeyMaterial::new(suite, &key, &integrity_key)
            .map_err(|error| (key_span, format!("key: {error}")))?;
        Ok(Secrets { key, integrity_key })
    }

    /// Finds a key of `needed_bytes`, and the place to blame.
    fn secret(
        &self,
        source: KeySource,
        needed_bytes: usize,
        whole: &Range<usize>,
    ) -> Result<(Range<usize>, SecretBytes), Blamed> {
        let name = source.name;
        let given = [
            source.inline.as_ref().map(Spanned::span),
            source.file.as_ref().map(Spanned::span),
            source.descriptor.as_ref().map(Spanned::span),
        ];
        let mut given = given.into_iter().flatten();
        let Some(span) = given.next() else {
            if needed_bytes == 0 {
                return Ok((whole.clone(), Zeroizing::default()));
            }
            let message = format!(
                "{name}: missing; {needed_bytes} bytes are needed: give {name}, {name}_file or \
                 {name}_fd"
            );
            return Err((whole.clone(), message));
        };
        if let Some(second) = given.next() {
            let message = format!("give only one of {name}, {name}_file and {name}_fd");
            return Err((second, message));
        }
        let blamed = |message: String| (span.clone(), format!("{name}: {message}"));
        let secret = match (source.inline, source.file, source.descriptor) {
            (Some(secret), _, _) => secret.into_inner(),
            (None, Some(path), _) => {
                let beside = self.blame.path.parent().unwrap_or(Path::new(""));
                let path = beside.join(path.get_ref());
                self.key_file(&path)
                    .map_err(|message| blamed(format!("{}: {message}", path.display())))?
            }
            (None, None, Some(descriptor)) => {
                let path = format!("/dev/fd/{}", descriptor.get_ref());
                self.key_file(Path::new(&path))
                    .map_err(|message| blamed(format!("descriptor {path}: {message}")))?
            }
            (None, None, None) => return Err(blamed("missing".into())),
        };
        let bytes = secret.bytes().map_err(|error| blamed(error.into()))?;
        if needed_bytes == 0 && !bytes.is_empty() {
            return Err(blamed("the suite takes none: remove it".into()));
        }
        if name == "integrity_key" && bytes.len() != needed_bytes {
            return Err(blamed(format!(
                "{needed_bytes} bytes are needed, {} are given",
                bytes.len()
            )));
        }
        Ok((span, bytes))
    }

    fn key_file(&self, path: &Path) -> Result<Secret, String> {
        let options = self
            .files
            .ok_or("a text that is not a file may not name files")?;
        Secret::read(path, options.allow_insecure_permissions)
    }
}
