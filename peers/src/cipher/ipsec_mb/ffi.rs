//! The calls into `c/ipsec_mb.c`, as safe types.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::cipher::comparison::Refused;

/// `aes_gcm_enc_dec_t`: key, context, output, input, bytes, nonce, associated
/// data, its bytes, tag, its bytes.
type GcmFunction = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    *mut u8,
    *const u8,
    u64,
    *const u8,
    *const u8,
    u64,
    *mut u8,
    u64,
);

unsafe extern "C" {
    fn weir_ipsec_mb_version() -> *const c_char;
    fn weir_ipsec_mb_manager(code: c_int) -> *mut c_void;
    fn weir_ipsec_mb_free(manager: *mut c_void);
    fn weir_ipsec_mb_arch(manager: *const c_void) -> *const c_char;
    fn weir_ipsec_mb_free_keys(keys: *mut c_void);
    fn weir_ipsec_mb_gcm_keys(count: usize) -> *mut c_void;
    fn weir_ipsec_mb_gcm_key_bytes() -> usize;
    fn weir_ipsec_mb_gcm_expand(manager: *const c_void, raw: *const u8, key: *mut c_void);
    fn weir_ipsec_mb_gcm_seal(manager: *const c_void) -> GcmFunction;
    fn weir_ipsec_mb_gcm_open(manager: *const c_void) -> GcmFunction;
    fn weir_ipsec_mb_gcm_context_bytes() -> usize;
    fn weir_ipsec_mb_etm_keys(count: usize) -> *mut c_void;
    fn weir_ipsec_mb_etm_expand(
        manager: *const c_void,
        sha256: c_int,
        cipher_key: *const u8,
        mac_key: *const u8,
        mac_key_bytes: usize,
        keys: *mut c_void,
        index: usize,
    );
    fn weir_ipsec_mb_etm_seal(
        manager: *mut c_void,
        sha256: c_int,
        ctr: c_int,
        keys: *const c_void,
        records: *const Record<'_>,
        count: usize,
    ) -> usize;
    fn weir_ipsec_mb_chacha_keys(count: usize) -> *mut c_void;
    fn weir_ipsec_mb_chacha_set_key(keys: *mut c_void, index: usize, key: *const u8);
    fn weir_ipsec_mb_chacha(
        manager: *mut c_void,
        open: c_int,
        keys: *const c_void,
        records: *const Record<'_>,
        count: usize,
        associated_bytes: usize,
        computed: *mut [u8; 16],
    ) -> usize;
}

/// The library's own version, as in `1.3.0`.
pub fn version() -> String {
    // SAFETY: takes nothing; returns a string that lives as long as the program.
    let version = unsafe { CStr::from_ptr(weir_ipsec_mb_version()) };
    version.to_string_lossy().into_owned()
}

/// The library's state for one thread.
pub struct Manager(NonNull<c_void>);

impl Manager {
    /// A manager that may use the instructions of this `enum code`; `None` where the
    /// library does not run.
    pub fn new(code: c_int) -> Option<Manager> {
        // SAFETY: takes no pointers; the result is owned.
        NonNull::new(unsafe { weir_ipsec_mb_manager(code) }).map(Manager)
    }

    /// The instructions that it uses, as in `avx512`.
    pub fn arch(&self) -> String {
        // SAFETY: the manager is alive; the string lives as long as the program.
        let arch = unsafe { CStr::from_ptr(weir_ipsec_mb_arch(self.0.as_ptr())) };
        arch.to_string_lossy().into_owned()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // SAFETY: made by `weir_ipsec_mb_manager`, owned, and freed here only.
        unsafe { weir_ipsec_mb_free(self.0.as_ptr()) }
    }
}

/// Memory for keys, from the library's allocator.
struct Keys {
    memory: NonNull<c_void>,
    count: usize,
}

impl Keys {
    fn check(&self, index: usize) -> Result<(), Refused> {
        if index < self.count {
            Ok(())
        } else {
            Err(Refused)
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // SAFETY: from `aligned_alloc`, owned, and freed here only.
        unsafe { weir_ipsec_mb_free_keys(self.memory.as_ptr()) }
    }
}

/// Most bytes of `struct gcm_context_data`, in words.
const CONTEXT_WORDS: usize = 32;

/// AES-128-GCM with expanded keys.
pub struct GcmKeys {
    manager: Manager,
    keys: Keys,
    key_bytes: usize,
    seal: GcmFunction,
    open: GcmFunction,
    context: [u64; CONTEXT_WORDS],
}

impl GcmKeys {
    /// Memory for `count` keys, all of zeros; `None` without memory.
    pub fn new(manager: Manager, count: usize) -> Option<GcmKeys> {
        // SAFETY: takes no pointers.
        if unsafe { weir_ipsec_mb_gcm_context_bytes() } > size_of::<[u64; CONTEXT_WORDS]>() {
            return None;
        }
        let keys = Keys {
            // SAFETY: takes no pointers; the result is owned.
            memory: NonNull::new(unsafe { weir_ipsec_mb_gcm_keys(count) })?,
            count,
        };
        // SAFETY: the manager is alive and filled in.
        let (key_bytes, seal, open) = unsafe {
            (
                weir_ipsec_mb_gcm_key_bytes(),
                weir_ipsec_mb_gcm_seal(manager.0.as_ptr()),
                weir_ipsec_mb_gcm_open(manager.0.as_ptr()),
            )
        };
        let mut keys = GcmKeys {
            manager,
            keys,
            key_bytes,
            seal,
            open,
            context: [0; CONTEXT_WORDS],
        };
        for index in 0..count {
            keys.expand(index, &[0; 16]).ok()?;
        }
        Some(keys)
    }

    /// Puts a key of 16 bytes in a place.
    #[inline]
    pub fn expand(&mut self, index: usize, key: &[u8]) -> Result<(), Refused> {
        let key: &[u8; 16] = key.try_into().map_err(|_| Refused)?;
        let place = self.place(index)?;
        // SAFETY: the manager is alive; the key has 16 bytes; the place lies
        // within the memory, which is borrowed mutably.
        unsafe {
            weir_ipsec_mb_gcm_expand(self.manager.0.as_ptr(), key.as_ptr(), place);
        }
        Ok(())
    }

    /// Encrypts in place and writes the tag.
    #[inline]
    pub fn seal(
        &mut self,
        index: usize,
        nonce: &[u8; 12],
        associated: &[u8],
        text: &mut [u8],
        tag: &mut [u8; 16],
    ) -> Result<(), Refused> {
        self.run(self.seal, index, nonce, associated, text, tag)
    }

    /// Decrypts in place and writes the tag that the packet should have.
    #[inline]
    pub fn open(
        &mut self,
        index: usize,
        nonce: &[u8; 12],
        associated: &[u8],
        text: &mut [u8],
        tag: &mut [u8; 16],
    ) -> Result<(), Refused> {
        self.run(self.open, index, nonce, associated, text, tag)
    }

    #[inline]
    fn place(&self, index: usize) -> Result<*mut c_void, Refused> {
        self.keys.check(index)?;
        // SAFETY: the memory holds `count` keys of that many bytes.
        Ok(unsafe { self.keys.memory.as_ptr().byte_add(index * self.key_bytes) })
    }

    #[inline]
    fn run(
        &mut self,
        function: GcmFunction,
        index: usize,
        nonce: &[u8; 12],
        associated: &[u8],
        text: &mut [u8],
        tag: &mut [u8; 16],
    ) -> Result<(), Refused> {
        let key = self.place(index)?;
        // SAFETY: the function is the manager's for AES-128; the key's place lies
        // within the memory and was expanded when that was made; the context has
        // room, by the check in `new`; nonce and tag have the lengths that GCM
        // takes, all else is passed with its length, and encryption in place is
        // what the library allows.
        unsafe {
            let text_start = text.as_mut_ptr();
            function(
                key,
                self.context.as_mut_ptr().cast(),
                text_start,
                text_start,
                text.len() as u64,
                nonce.as_ptr(),
                associated.as_ptr(),
                associated.len() as u64,
                tag.as_mut_ptr(),
                tag.len() as u64,
            );
        }
        Ok(())
    }
}

/// AES-128-CBC or -CTR with HMAC, with expanded keys.
pub struct EtmKeys {
    manager: Manager,
    keys: Keys,
    sha256: bool,
    ctr: bool,
}

/// `struct record`: a packet to be sealed.
#[repr(C)]
pub struct Record<'a> {
    record: NonNull<u8>,
    first_block: [u8; 16],
    key: u32,
    text_offset: u32,
    text_bytes: u32,
    tag_bytes: u32,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl<'a> Record<'a> {
    /// A record whose MAC covers all up to the end of the text, and whose tag is
    /// all behind it.
    #[inline]
    pub fn new(
        key: usize,
        first_block: [u8; 16],
        record: &'a mut [u8],
        text_offset: usize,
        text_bytes: usize,
    ) -> Result<Record<'a>, Refused> {
        let short = |bytes: usize| u32::try_from(bytes).map_err(|_| Refused);
        let tag_bytes = text_offset
            .checked_add(text_bytes)
            .and_then(|end| record.len().checked_sub(end))
            .filter(|bytes| matches!(bytes, 12 | 16))
            .ok_or(Refused)?;
        Ok(Record {
            record: NonNull::from(record).cast(),
            first_block,
            key: short(key)?,
            text_offset: short(text_offset)?,
            text_bytes: short(text_bytes)?,
            tag_bytes: short(tag_bytes)?,
            borrowed: PhantomData,
        })
    }
}

impl Record<'_> {
    /// The tag as a number, in the byte order of the machine; 0 of a shorter tag.
    #[inline]
    pub fn tag(&self) -> u128 {
        if self.tag_bytes != 16 {
            return 0;
        }
        let offset = self.text_offset as usize + self.text_bytes as usize;
        // SAFETY: the tag of 16 bytes lies within the record, which is borrowed, by the
        // check in `new`.
        unsafe { self.record.add(offset).cast().read_unaligned() }
    }
}

impl EtmKeys {
    /// Memory for `count` keys, all of zeros; `None` without memory.
    pub fn new(manager: Manager, sha256: bool, ctr: bool, count: usize) -> Option<EtmKeys> {
        let keys = Keys {
            // SAFETY: takes no pointers; the result is owned.
            memory: NonNull::new(unsafe { weir_ipsec_mb_etm_keys(count) })?,
            count,
        };
        let mut keys = EtmKeys {
            manager,
            keys,
            sha256,
            ctr,
        };
        for index in 0..count {
            keys.expand(index, &[0; 16], &[]).ok()?;
        }
        Some(keys)
    }

    /// Puts a cipher key of 16 bytes and a MAC key of at most 64 in a place.
    #[inline]
    pub fn expand(&mut self, index: usize, key: &[u8], mac_key: &[u8]) -> Result<(), Refused> {
        const HMAC_BLOCK_BYTES: usize = 64;
        let key: &[u8; 16] = key.try_into().map_err(|_| Refused)?;
        if mac_key.len() > HMAC_BLOCK_BYTES {
            return Err(Refused);
        }
        self.keys.check(index)?;
        // SAFETY: the manager is alive; the keys have 16 bytes and at most a
        // block; the place lies within the memory, which is borrowed mutably.
        unsafe {
            weir_ipsec_mb_etm_expand(
                self.manager.0.as_ptr(),
                self.sha256.into(),
                key.as_ptr(),
                mac_key.as_ptr(),
                mac_key.len(),
                self.keys.memory.as_ptr(),
                index,
            );
        }
        Ok(())
    }

    /// Encrypts in place and writes the tags, of all records together.
    #[inline]
    pub fn seal(&mut self, records: &mut [Record<'_>]) -> Result<(), Refused> {
        for record in &*records {
            self.keys.check(record.key as usize)?;
            if !self.ctr && !record.text_bytes.is_multiple_of(16) {
                return Err(Refused);
            }
        }
        // SAFETY: the manager is alive and borrowed mutably; keys' places lie
        // within the memory and were expanded when that was made; records borrow
        // their bytes mutably, and text and tag lie within them, by the check in
        // `Record::new`; CBC gets whole blocks.
        let done = unsafe {
            weir_ipsec_mb_etm_seal(
                self.manager.0.as_ptr(),
                self.sha256.into(),
                self.ctr.into(),
                self.keys.memory.as_ptr(),
                records.as_ptr(),
                records.len(),
            )
        };
        if done == records.len() {
            Ok(())
        } else {
            Err(Refused)
        }
    }
}

/// ChaCha20-Poly1305 with its keys, which the library takes as they are.
pub struct ChaChaKeys {
    manager: Manager,
    keys: Keys,
}

impl ChaChaKeys {
    /// Memory for `count` keys, all of zeros; `None` without memory.
    pub fn new(manager: Manager, count: usize) -> Option<ChaChaKeys> {
        let keys = Keys {
            // SAFETY: takes no pointers; the result is owned.
            memory: NonNull::new(unsafe { weir_ipsec_mb_chacha_keys(count) })?,
            count,
        };
        let mut keys = ChaChaKeys { manager, keys };
        for index in 0..count {
            keys.set(index, &[0; 32]).ok()?;
        }
        Some(keys)
    }

    /// Puts a key of 32 bytes in a place.
    #[inline]
    pub fn set(&mut self, index: usize, key: &[u8]) -> Result<(), Refused> {
        let key: &[u8; 32] = key.try_into().map_err(|_| Refused)?;
        self.keys.check(index)?;
        // SAFETY: the key has 32 bytes; the place lies within the memory, which is
        // borrowed mutably.
        unsafe { weir_ipsec_mb_chacha_set_key(self.keys.memory.as_ptr(), index, key.as_ptr()) }
        Ok(())
    }

    /// Encrypts in place and writes the tags. The first bytes of each record are
    /// associated data.
    #[inline]
    pub fn seal(
        &mut self,
        records: &mut [Record<'_>],
        associated_bytes: usize,
    ) -> Result<(), Refused> {
        self.run(false, records, associated_bytes, std::ptr::null_mut())
    }

    /// Decrypts in place and writes the tags that the packets should have.
    #[inline]
    pub fn open(
        &mut self,
        records: &mut [Record<'_>],
        associated_bytes: usize,
        computed: &mut [[u8; 16]],
    ) -> Result<(), Refused> {
        if computed.len() != records.len() {
            return Err(Refused);
        }
        self.run(true, records, associated_bytes, computed.as_mut_ptr())
    }

    #[inline]
    fn run(
        &mut self,
        open: bool,
        records: &mut [Record<'_>],
        associated_bytes: usize,
        computed: *mut [u8; 16],
    ) -> Result<(), Refused> {
        for record in &*records {
            self.keys.check(record.key as usize)?;
            if record.tag_bytes != 16 || associated_bytes > record.text_offset as usize {
                return Err(Refused);
            }
        }
        // SAFETY: the manager is alive and borrowed mutably; keys' places lie within the
        // memory and were written when that was made; records borrow their bytes
        // mutably, and associated data, text and tag of 16 bytes lie within them, by the
        // checks above and in `Record::new`; `computed` has a tag for each record that
        // is opened, and is not used where they are sealed.
        let done = unsafe {
            weir_ipsec_mb_chacha(
                self.manager.0.as_ptr(),
                open.into(),
                self.keys.memory.as_ptr(),
                records.as_ptr(),
                records.len(),
                associated_bytes,
                computed,
            )
        };
        if done == records.len() {
            Ok(())
        } else {
            Err(Refused)
        }
    }
}
