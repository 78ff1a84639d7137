//! The calls into `c/openssl.c`, as safe types.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use crate::cipher::comparison::Refused;

unsafe extern "C" {
    fn weir_openssl_version() -> *const c_char;
    fn weir_openssl_cipher(name: *const c_char, encrypt: c_int) -> *mut c_void;
    fn weir_openssl_key_bytes(cipher: *const c_void) -> c_int;
    fn weir_openssl_free_cipher(cipher: *mut c_void);
    fn weir_openssl_set_key(cipher: *mut c_void, key: *const u8) -> c_int;
    fn weir_openssl_aead_seal(
        cipher: *mut c_void,
        key: *const u8,
        nonce: *const u8,
        associated: *const u8,
        associated_bytes: c_int,
        text: *mut u8,
        text_bytes: c_int,
        tag: *mut u8,
    ) -> c_int;
    fn weir_openssl_aead_open(
        cipher: *mut c_void,
        key: *const u8,
        nonce: *const u8,
        associated: *const u8,
        associated_bytes: c_int,
        text: *mut u8,
        text_bytes: c_int,
        tag: *mut u8,
    ) -> c_int;
    fn weir_openssl_hmac(digest: *const c_char) -> *mut c_void;
    fn weir_openssl_free_hmac(mac: *mut c_void);
    fn weir_openssl_set_hmac_key(mac: *mut c_void, key: *const u8, key_bytes: usize) -> c_int;
    fn weir_openssl_etm_seal(
        cipher: *mut c_void,
        mac: *mut c_void,
        key: *const u8,
        mac_key: *const u8,
        mac_key_bytes: usize,
        counter: *const u8,
        record: *mut u8,
        text_offset: c_int,
        text_bytes: c_int,
        tag_bytes: c_int,
    ) -> c_int;
}

/// The library's own version, as in `3.0.19`.
pub fn version() -> String {
    // SAFETY: takes nothing; returns a string that lives as long as the program.
    let version = unsafe { CStr::from_ptr(weir_openssl_version()) };
    version.to_string_lossy().into_owned()
}

fn done(returned: c_int) -> Result<(), Refused> {
    if returned == 1 { Ok(()) } else { Err(Refused) }
}

/// Lengths that OpenSSL counts in an `int`.
fn int(bytes: usize) -> Result<c_int, Refused> {
    c_int::try_from(bytes).map_err(|_| Refused)
}

/// A cipher's context with a key in it.
struct Cipher {
    context: NonNull<c_void>,
    key_bytes: usize,
}

impl Cipher {
    fn new(name: &str, encrypts: bool, key: &[u8]) -> Option<Cipher> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name ends with a zero and outlives the call.
        let context = unsafe { weir_openssl_cipher(name.as_ptr(), encrypts.into()) };
        let mut cipher = Cipher {
            context: NonNull::new(context)?,
            key_bytes: 0,
        };
        // SAFETY: the context was made just now, by the cipher's name.
        let key_bytes = unsafe { weir_openssl_key_bytes(cipher.context.as_ptr()) };
        cipher.key_bytes = usize::try_from(key_bytes).ok()?;
        let key = cipher.new_key(Some(key)).ok()?;
        // SAFETY: the context is alive, and the key has the length it reads.
        done(unsafe { weir_openssl_set_key(cipher.context.as_ptr(), key) }).ok()?;
        Some(cipher)
    }

    /// The key to pass, null for the one that is in the context.
    #[inline]
    fn new_key(&self, key: Option<&[u8]>) -> Result<*const u8, Refused> {
        match key {
            None => Ok(ptr::null()),
            Some(key) if key.len() == self.key_bytes => Ok(key.as_ptr()),
            Some(_) => Err(Refused),
        }
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: made by `weir_openssl_cipher`, owned, and freed here only.
        unsafe { weir_openssl_free_cipher(self.context.as_ptr()) }
    }
}

/// An AEAD in one direction, with a key.
pub struct Aead(Cipher);

impl Aead {
    /// `None` where OpenSSL has no such cipher or refuses the key.
    pub fn new(name: &str, seals: bool, key: &[u8]) -> Option<Aead> {
        Cipher::new(name, seals, key).map(Aead)
    }

    /// Encrypts in place, under another key where one is given.
    #[inline]
    pub fn seal(
        &mut self,
        key: Option<&[u8]>,
        nonce: &[u8; 12],
        associated: &[u8],
        text: &mut [u8],
        tag: &mut [u8; 16],
    ) -> Result<(), Refused> {
        let key = self.0.new_key(key)?;
        // SAFETY: the context is alive and borrowed mutably; the key is null or
        // as long as the cipher's, the nonce and the tag as long as the AEAD's;
        // the other ranges are passed with their lengths, and the text is the
        // only one that is read and written.
        done(unsafe {
            weir_openssl_aead_seal(
                self.0.context.as_ptr(),
                key,
                nonce.as_ptr(),
                associated.as_ptr(),
                int(associated.len())?,
                text.as_mut_ptr(),
                int(text.len())?,
                tag.as_mut_ptr(),
            )
        })
    }

    /// Decrypts in place what verifies, under another key where one is given.
    #[inline]
    pub fn open(
        &mut self,
        key: Option<&[u8]>,
        nonce: &[u8; 12],
        associated: &[u8],
        text: &mut [u8],
        tag: &mut [u8; 16],
    ) -> Result<(), Refused> {
        let key = self.0.new_key(key)?;
        // SAFETY: as in `seal`.
        done(unsafe {
            weir_openssl_aead_open(
                self.0.context.as_ptr(),
                key,
                nonce.as_ptr(),
                associated.as_ptr(),
                int(associated.len())?,
                text.as_mut_ptr(),
                int(text.len())?,
                tag.as_mut_ptr(),
            )
        })
    }
}

/// A cipher and HMAC over what it made, with keys.
pub struct EncryptThenMac {
    cipher: Cipher,
    mac: Hmac,
}

struct Hmac(NonNull<c_void>);

impl Drop for Hmac {
    fn drop(&mut self) {
        // SAFETY: made by `weir_openssl_hmac`, owned, and freed here only.
        unsafe { weir_openssl_free_hmac(self.0.as_ptr()) }
    }
}

impl EncryptThenMac {
    /// `None` where OpenSSL has not both or refuses a key.
    pub fn new(cipher: &str, digest: &str, key: &[u8], mac_key: &[u8]) -> Option<EncryptThenMac> {
        let cipher = Cipher::new(cipher, true, key)?;
        let digest = CString::new(digest).ok()?;
        // SAFETY: the name ends with a zero and outlives the call.
        let mac = Hmac(NonNull::new(unsafe { weir_openssl_hmac(digest.as_ptr()) })?);
        // SAFETY: the context is alive, and the key is passed with its length.
        let set =
            unsafe { weir_openssl_set_hmac_key(mac.0.as_ptr(), mac_key.as_ptr(), mac_key.len()) };
        done(set).ok()?;
        Some(EncryptThenMac { cipher, mac })
    }

    /// Encrypts a record's text in place and writes the tag behind it, over all
    /// from the start of the record; under other keys where they are given.
    #[inline]
    pub fn seal(
        &mut self,
        keys: Option<(&[u8], &[u8])>,
        first_block: &[u8; 16],
        record: &mut [u8],
        text_offset: usize,
        text_bytes: usize,
    ) -> Result<(), Refused> {
        const SHORTEST_DIGEST_BYTES: usize = 20;
        let key = self.cipher.new_key(keys.map(|(key, _)| key))?;
        let (mac_key, mac_key_bytes) =
            keys.map_or((ptr::null(), 0), |(_, key)| (key.as_ptr(), key.len()));
        let tag_bytes = text_offset
            .checked_add(text_bytes)
            .and_then(|end| record.len().checked_sub(end))
            .filter(|bytes| *bytes <= SHORTEST_DIGEST_BYTES)
            .ok_or(Refused)?;
        // SAFETY: both contexts are alive and borrowed mutably; keys are null or
        // as long as the cipher's, and passed with their length; the ciphers take
        // 16 bytes of first block; text and tag lie within the record, by the
        // arithmetic above, and the tag is no longer than any digest.
        done(unsafe {
            weir_openssl_etm_seal(
                self.cipher.context.as_ptr(),
                self.mac.0.as_ptr(),
                key,
                mac_key,
                mac_key_bytes,
                first_block.as_ptr(),
                record.as_mut_ptr(),
                int(text_offset)?,
                int(text_bytes)?,
                int(tag_bytes)?,
            )
        })
    }
}
