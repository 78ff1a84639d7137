//! What sealing and opening leave in memory: nothing of a key.
//!
//! A thread seals and opens, and waits; its stack, on which the frames of the kernels still
//! lie, is searched for the key and its round keys, and so is its heap once its keys are
//! dropped. They are read through `/proc/self/mem`, which under an emulator of another
//! processor is the emulator's own.

use std::fs::{self, File};
use std::hint::black_box;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::mpsc;
use std::thread;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_crypto::hazmat::{EcbJob, EcbKey, ecb_encrypt};
use weir_crypto::mac::Algorithm;
use weir_crypto::{Aead, Cipher, KeyId, Opener, OpeningKey, Sealer, SealingKey, Suite};
use weir_simd::Tier;
use zeroize::Zeroizing;

use crate::support::laid::Laid;
use crate::support::{Packet, RawKey, suites};

/// What is searched for lies in memory only with each byte exclusive-or this.
const MASK: u8 = 0x5c;

const BLOCK_BYTES: usize = 16;

/// Lengths of payloads, each of several packets that may share vectors and lanes.
const PAYLOADS_BYTES: [usize; 10] = [16, 20, 40, 64, 100, 160, 300, 600, 1500, 3300];

const ALIKE: usize = 16;

/// Frames of a thread's waiting, and what its set-up left in its own frame, lie within these
/// bytes; those of kernels lie beyond.
const PAD_BYTES: usize = 32 * 1024;

const STACK_BYTES: usize = 1024 * 1024;

/// A suite and its keys.
#[derive(Clone, Copy, Debug)]
struct Subject {
    suite: Suite,
    /// No other subject has the same keys.
    seed: u64,
}

impl Subject {
    fn all() -> impl Iterator<Item = Subject> {
        let subjects = suites().zip(0..);
        subjects.map(|(suite, seed)| Subject { suite, seed })
    }

    /// Secret bytes of the subject's own.
    fn bytes(self, count: usize, stream: u64) -> Zeroizing<Vec<u8>> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(stream);
        let mut bytes = Zeroizing::new(vec![0; count]);
        random.fill_bytes(&mut bytes);
        bytes
    }

    fn cipher_key(self) -> Zeroizing<Vec<u8>> {
        self.bytes(self.suite.key_bytes() + self.suite.salt_bytes(), 0)
    }

    fn integrity_key(self) -> Zeroizing<Vec<u8>> {
        self.bytes(self.suite.integrity_key_bytes(), 1)
    }

    fn raw_key(self) -> RawKey {
        RawKey {
            suite: self.suite,
            key: self.cipher_key().to_vec(),
            integrity_key: self.integrity_key().to_vec(),
        }
    }

    /// The suite's secrets as they may lie in memory.
    fn secrets(self) -> Secrets {
        let mut secrets = Secrets::default();
        let cipher_key = self.cipher_key();
        let cipher_key = &cipher_key[..self.suite.key_bytes()];
        match self.suite {
            Suite::EncryptThenMac(Cipher::TripleDesCbc | Cipher::Null, _)
            | Suite::Aead(Aead::ChaCha20Poly1305)
            | Suite::Mac(Algorithm::Poly1305 | Algorithm::Hmac(_)) => secrets.add(cipher_key),
            _ => secrets.add(&round_keys(cipher_key)),
        }
        if let Suite::Aead(Aead::AesGcm16(size) | Aead::AesGmac(size))
        | Suite::Mac(Algorithm::Gmac(size)) = self.suite
        {
            let mut hash_key = Zeroizing::new([0; BLOCK_BYTES]);
            let key = EcbKey::new(size, Tier::Scalar, cipher_key).expect("a key");
            let job = EcbJob {
                key: &key,
                blocks: std::slice::from_mut(&mut *hash_key),
            };
            ecb_encrypt(Tier::Scalar, &mut [job]);
            // As it is, and as kernels have it that multiply numbers: RFC 8452 appendix A.
            let number = u128::from_be_bytes(*hash_key);
            let times_x = (number << 1) ^ ((number >> 127) * (0xc2 << 120 | 1));
            for number in [number, times_x] {
                secrets.add(&number.to_be_bytes());
                secrets.add(&number.to_le_bytes());
            }
        }
        secrets.add(&self.integrity_key());
        secrets
    }

    /// Seals and opens packets in every public way. One-time keys are copied from `raw`, which
    /// lies in the heap until the work is done.
    fn seal_and_open(self, keys: &mut Keys) {
        let Keys {
            sealer,
            sealing,
            opener,
            opening,
            raw,
        } = keys;
        let lengths = PAYLOADS_BYTES.iter().flat_map(|bytes| [*bytes; ALIKE]);
        let packet = |bytes| Packet::new(self.suite, 8, bytes, 2);
        let packets: Vec<Packet> = lengths.map(packet).collect();

        let mut laid = Laid::of(&packets);
        let numbers = laid.seal_under(sealer, *sealing);
        laid.open_under(opener, *opening, &numbers);

        let raw = raw.take().expect("a key that was not used");
        laid.seal_once(sealer, &raw, &numbers);
        laid.open_once(opener, &raw, &numbers);
        for bytes in [raw.key, raw.integrity_key] {
            drop(Zeroizing::new(bytes));
        }
    }
}

/// Everything that is made of a subject's secrets.
struct Keys {
    sealer: Sealer,
    sealing: KeyId,
    opener: Opener,
    opening: KeyId,
    /// Of one-time keys.
    raw: Option<RawKey>,
}

impl Keys {
    fn new(subject: Subject) -> Keys {
        let raw = subject.raw_key();
        let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
        let sealing = SealingKey::new(raw.material(), 1..).expect("a sealing key");
        let opening = OpeningKey::new(&raw.material()).expect("an opening key");
        Keys {
            sealing: sealer.add(sealing),
            opening: opener.add(opening),
            sealer,
            opener,
            raw: Some(raw),
        }
    }
}

/// Blocks to be searched for, masked.
#[derive(Default)]
struct Secrets(Vec<[u8; BLOCK_BYTES]>);

impl Secrets {
    /// Every block of `secret`, as it is, and each of its words as kernels have it that
    /// process many packets of one key in lanes: beside itself.
    fn add(&mut self, secret: &[u8]) {
        let (blocks, _) = secret.as_chunks::<BLOCK_BYTES>();
        let (words, _) = secret.as_chunks::<4>();
        let beside = |word: &[u8; 4]| std::array::from_fn(|i| word[i % 4]);
        let all = blocks.iter().copied().chain(words.iter().map(beside));
        self.0.extend(all.map(masked));
    }

    /// How many places of `memory` hold one of them.
    fn count_in(&self, memory: &[u8]) -> usize {
        let mut begins = vec![false; 1 << 16];
        let begin = |bytes: &[u8; BLOCK_BYTES]| usize::from(bytes[0]) << 8 | usize::from(bytes[1]);
        for secret in &self.0 {
            begins[begin(secret)] = true;
        }
        let is_secret = |window: &&[u8; BLOCK_BYTES]| {
            let window = masked(**window);
            begins[begin(&window)] && self.0.contains(&window)
        };
        memory.array_windows().filter(is_secret).count()
    }
}

fn masked(block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
    block.map(|byte| byte ^ MASK)
}

/// The schedule of an AES key (FIPS 197 section 5.2), the key itself first.
fn round_keys(key: &[u8]) -> Zeroizing<Vec<u8>> {
    let words = key.len() / 4;
    let mut schedule = Zeroizing::new(Vec::with_capacity(16 * (words + 7)));
    schedule.extend_from_slice(key);
    let mut round_constant = 1;
    for at in words..4 * (words + 7) {
        let mut word: [u8; 4] = std::array::from_fn(|i| schedule[4 * (at - 1) + i]);
        if at % words == 0 {
            word.rotate_left(1);
            word = word.map(substituted);
            word[0] ^= round_constant;
            round_constant = times_x(round_constant);
        } else if words == 8 && at % words == 4 {
            word = word.map(substituted);
        }
        for (i, byte) in word.into_iter().enumerate() {
            let before = schedule[4 * (at - words) + i];
            schedule.push(byte ^ before);
        }
    }
    schedule
}

fn times_x(byte: u8) -> u8 {
    (byte << 1) ^ (0x1b * (byte >> 7))
}

/// FIPS 197 section 5.1.1: the inverse, byte to the power of 254, and an affine function.
fn substituted(byte: u8) -> u8 {
    let product = |a: u8, b: u8| {
        let (_, product) = (0..8).fold((a, 0), |(a, sum), bit| {
            (times_x(a), sum ^ (a * (b >> bit & 1)))
        });
        product
    };
    let inverse = (0..253).fold(byte, |power, _| product(power, byte));
    (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn))
}

/// The mappings of the process that may be written.
fn writable_mappings() -> Vec<Range<usize>> {
    let maps = fs::read_to_string("/proc/self/maps").expect("maps");
    let mapping = |line: &str| {
        let mut fields = line.split_whitespace();
        let (begin, end) = fields.next()?.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        let is_writable = fields.next()?.starts_with("rw");
        is_writable.then_some(address(begin)?..address(end)?)
    };
    maps.lines().filter_map(mapping).collect()
}

/// A copy of the memory at these addresses, which is at most as long as the mapping is now.
fn read_memory(addresses: Range<usize>) -> Zeroizing<Vec<u8>> {
    let memory = File::open("/proc/self/mem").expect("memory");
    let mut copy = Zeroizing::new(vec![0; addresses.len()]);
    let mut filled = 0;
    while filled < copy.len() {
        match memory.read_at(&mut copy[filled..], (addresses.start + filled) as u64) {
            Ok(bytes @ 1..) => filled += bytes,
            // What another thread has just unmapped.
            Ok(0) | Err(_) => break,
        }
    }
    copy.truncate(filled);
    copy
}

/// Clears what earlier frames have left on the stack of this thread.
#[inline(never)]
fn clear_stack() {
    black_box([0u8; STACK_BYTES / 2]);
}

/// Runs `work` with its frames that far from those of the caller.
#[inline(never)]
fn further_down(work: impl FnOnce()) {
    let pad = black_box([0u8; PAD_BYTES]);
    apart(work);
    black_box(pad);
}

#[inline(never)]
fn apart(work: impl FnOnce()) {
    work();
}

/// The writable mapping that holds `address`.
fn mapping_of(address: usize) -> Range<usize> {
    let mut mappings = writable_mappings().into_iter();
    let mapping = mappings.find(|mapping| mapping.contains(&address));
    mapping.expect("the address of a value")
}

/// How many secrets are where they should not be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Found {
    /// On the stack of a thread that has done its work with its keys.
    on_stack: usize,
    /// In what this thread had allocated, after its keys were dropped.
    in_heap: usize,
}

fn left_behind(subject: Subject, work: fn(Subject, &mut Keys)) -> Found {
    let (said, heard) = mpsc::channel();
    let (proceed, may_proceed) = mpsc::channel::<()>();
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(move || {
        // Too long for a cache of the allocator, where it could be of another heap.
        let allocated = black_box(vec![0u8; 8192]);
        let stack = (&raw const said).addr();
        let heap = allocated.as_ptr().addr();
        let mut keys = None;
        further_down(|| keys = Some(Keys::new(subject)));
        clear_stack();
        further_down(|| keys.iter_mut().for_each(|keys| work(subject, keys)));
        said.send((stack, heap)).expect("a listener");
        may_proceed.recv().expect("a word");
        drop(keys);
        said.send((stack, heap)).expect("a listener");
        may_proceed.recv().expect("a word");
    });
    let thread = thread.expect("a thread");
    let secrets = subject.secrets();
    let (stack, _) = heard.recv().expect("a thread that works");
    let on_stack = secrets.count_in(&read_memory(mapping_of(stack).start..stack - PAD_BYTES));
    proceed.send(()).expect("a thread that waits");
    let (_, heap) = heard.recv().expect("a thread that works");
    let in_heap = secrets.count_in(&read_memory(mapping_of(heap)));
    proceed.send(()).expect("a thread that waits");
    thread.join().expect("no panic");
    Found { on_stack, in_heap }
}

#[test]
fn nothing_of_a_key_is_left_behind() {
    for subject in Subject::all() {
        let control = Subject {
            seed: !subject.seed,
            ..subject
        };
        if subject.suite.key_bytes() > 0 {
            let found = left_behind(control, copy_the_key);
            assert!(
                found.on_stack > 9 && found.in_heap > 9,
                "{control:?} {found:?}"
            );
        }
        let found = left_behind(subject, Subject::seal_and_open);
        let nothing = Found {
            on_stack: 0,
            in_heap: 0,
        };
        assert_eq!(found, nothing, "{subject:?}");
    }
}

/// Control: copies that nobody wipes.
fn copy_the_key(subject: Subject, _: &mut Keys) {
    let mut copies = [[0; BLOCK_BYTES]; 512];
    copies.fill(std::array::from_fn(|i| subject.cipher_key()[i]));
    black_box(copies);
    black_box(copies.to_vec());
}
