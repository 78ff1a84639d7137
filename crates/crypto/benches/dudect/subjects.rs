//! What is timed.

use std::hint::black_box;
use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_crypto::hazmat::{self, RawSealJob, RawSealingKey};
use weir_crypto::{KeyMaterial, KeyPolicy, OpenJob, OpeningKey, Suite, open};
use weir_simd::Tier;

use crate::welch::{Class, Turn};

/// Packets of a turn, so that lanes are filled and a turn takes longer than the
/// clock's grain.
const PACKETS: usize = 16;

/// Bytes of text of each, whole blocks of every suite.
const TEXT_BYTES: usize = 256;

/// Bytes of the longest fixed secret.
const MOST_BYTES: usize = PACKETS * TEXT_BYTES;

/// A row: its name, and the times of so many turns.
pub struct Subject {
    pub name: String,
    pub turns: Box<dyn Fn(usize) -> Vec<Turn>>,
}

/// Sealing under every tier, and tags compared by the tier in force. Legacy
/// ciphers, which look up tables, are left out.
pub fn of_the_crate() -> Vec<Subject> {
    let suites = || Suite::all().filter(|suite| !suite.is_legacy());
    let tiers = Tier::ALL
        .into_iter()
        .filter(|tier| *tier <= weir_simd::tier());
    let sealing = tiers.flat_map(|tier| {
        suites().map(move |suite| Subject {
            name: format!("{tier} seal {suite}"),
            turns: Box::new(move |count| seal(tier, suite, count)),
        })
    });
    let comparing = suites().map(|suite| Subject {
        name: format!("{} compare the tag {suite}", weir_simd::tier()),
        turns: Box::new(move |count| compare_tag(suite, count)),
    });
    sealing.chain(comparing).collect()
}

/// What must be seen.
pub fn planted() -> Vec<Subject> {
    vec![Subject {
        name: "planted: bytes compared up to the first difference".into(),
        turns: Box::new(compare_byte_by_byte),
    }]
}

/// Two sources of secrets, of which one always gives the same.
struct Secrets {
    rng: ChaCha8Rng,
    /// The fixed secret, which looks like the others: bytes all alike would draw
    /// less power, and a processor's clock is said to follow.
    fixed: Vec<u8>,
}

impl Secrets {
    fn new() -> Secrets {
        let mut rng = ChaCha8Rng::seed_from_u64(2017);
        let mut fixed = vec![0; MOST_BYTES];
        rng.fill_bytes(&mut fixed);
        Secrets { rng, fixed }
    }

    fn class(&mut self) -> Class {
        [Class::Fixed, Class::Random][(self.rng.next_u32() & 1) as usize]
    }

    /// Fills `bytes` as `class` wants it, by the same instructions: a branch on the
    /// class would be remembered by the processor when the clock has started.
    fn fill(&mut self, class: Class, bytes: &mut [u8]) {
        self.rng.fill_bytes(bytes);
        let kept = class.mask();
        for (byte, fixed) in bytes.iter_mut().zip(&self.fixed) {
            *byte = *byte & kept | fixed & !kept;
        }
    }

    fn material(&mut self, class: Class, suite: Suite) -> KeyMaterial {
        let mut key = vec![0; suite.key_bytes() + suite.salt_bytes()];
        let mut integrity_key = vec![0; suite.integrity_key_bytes()];
        self.fill(class, &mut key);
        self.fill(class, &mut integrity_key);
        KeyMaterial::new(suite, &key, &integrity_key).expect("lengths are the suite's")
    }
}

/// `work` timed, in the class that it was prepared for.
fn turn(class: Class, work: impl FnOnce()) -> Turn {
    let start = Instant::now();
    work();
    Turn {
        class,
        ns: start.elapsed().as_nanos() as f64,
    }
}

/// Fixed or random keys and texts.
fn seal(tier: Tier, suite: Suite, count: usize) -> Vec<Turn> {
    let mut secrets = Secrets::new();
    let iv = vec![0; suite.iv_bytes()];
    let mut texts = vec![[0; TEXT_BYTES]; PACKETS];
    let mut tags = vec![vec![0; suite.tag_bytes()]; PACKETS];
    let mut one_turn = || {
        let class = secrets.class();
        let material = secrets.material(class, suite);
        let key =
            RawSealingKey::with_policy(&material, tier, KeyPolicy::Precomputed).expect("a key");
        secrets.fill(class, texts.as_flattened_mut());
        let mut jobs: Vec<RawSealJob<'_>> = texts
            .iter_mut()
            .zip(&mut tags)
            .map(|(text, tag)| RawSealJob {
                key: &key,
                prefix: b"header",
                iv: &iv,
                text,
                suffix: b"",
                tag,
                sealed: false,
            })
            .collect();
        turn(class, || {
            hazmat::seal(tier, black_box(&mut jobs)).expect("lengths are the suite's")
        })
    };
    (0..count).map(|_| one_turn()).collect()
}

/// Tags that are wrong in their last bit only, or all over.
fn compare_tag(suite: Suite, count: usize) -> Vec<Turn> {
    let mut secrets = Secrets::new();
    let material = secrets.material(Class::Fixed, suite);
    let sealing = RawSealingKey::new(&material).expect("a key");
    let opening = OpeningKey::new(&material).expect("a key");
    let iv = vec![0; suite.iv_bytes()];
    let mut sealed = [0x33; TEXT_BYTES];
    let mut right = vec![0; suite.tag_bytes()];
    sealing
        .seal(b"header", &iv, &mut sealed, b"", &mut right)
        .expect("lengths are the suite's");
    let mut texts = vec![sealed; PACKETS];
    let mut tags = vec![right.clone(); PACKETS];
    let mut one_turn = || {
        let class = secrets.class();
        texts.fill(sealed);
        for tag in &mut tags {
            secrets.fill(Class::Random, tag);
            for (byte, right) in tag.iter_mut().zip(&right) {
                *byte = *byte & class.mask() | right & !class.mask();
            }
            *tag.last_mut().expect("a tag") ^= 1;
        }
        let mut jobs: Vec<OpenJob<'_>> = texts
            .iter_mut()
            .zip(&tags)
            .map(|(text, tag)| OpenJob {
                key: &opening,
                prefix: b"header",
                iv: &iv,
                text,
                suffix: b"",
                tag,
                verified: false,
            })
            .collect();
        turn(class, || {
            black_box(open(black_box(&mut jobs)));
        })
    };
    (0..count).map(|_| one_turn()).collect()
}

/// What the tags above must not be compared by.
fn compare_byte_by_byte(count: usize) -> Vec<Turn> {
    let mut secrets = Secrets::new();
    let right = secrets.fixed[..TEXT_BYTES].to_vec();
    let mut received = [0; TEXT_BYTES];
    let mut one_turn = || {
        let class = secrets.class();
        secrets.fill(class, &mut received);
        turn(class, || {
            let same = right
                .iter()
                .zip(&received)
                .take_while(|(a, b)| black_box(a == b));
            black_box(same.count());
        })
    };
    (0..count).map(|_| one_turn()).collect()
}
