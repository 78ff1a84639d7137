//! What is timed.

use std::hint::black_box;
use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_crypto::mac::Algorithm;
use weir_crypto::{Descriptor, KeyId, KeyMaterial, Layout, Opener, Sealer, Suite, hazmat};
use weir_simd::Tier;

use crate::welch::{Class, Turn};

/// Packets of a turn, so that lanes are filled and a turn takes longer than the
/// clock's grain.
const PACKETS: usize = 16;

/// Bytes of payload of each, whole blocks of every suite.
const PAYLOAD_BYTES: usize = 256;

/// Bytes of the longest fixed secret.
const MAX_BYTES: usize = PACKETS * PAYLOAD_BYTES;

/// A row: its name, and the times of N turns.
pub struct Subject {
    pub name: String,
    pub turns: Box<dyn Fn(usize) -> Vec<Turn>>,
}

/// Sealing under every tier, and tags compared by the active one. Legacy
/// ciphers, which look up tables, are left out.
pub fn of_the_crate() -> Vec<Subject> {
    let suites = || {
        let suites = Suite::all().filter(|suite| !suite.is_legacy());
        suites.chain(Algorithm::all().map(Suite::Mac))
    };
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
        let mut fixed = vec![0; MAX_BYTES];
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

/// Bytes of a packet of the suite, with 8 bytes of AAD.
fn packet_bytes(suite: Suite) -> usize {
    AAD_BYTES + suite.iv_bytes() + PAYLOAD_BYTES + suite.tag_bytes()
}

const AAD_BYTES: usize = 8;

/// The packets of a turn, one behind the other.
fn packets(suite: Suite, key: KeyId) -> impl Iterator<Item = Descriptor> {
    (0..PACKETS).map(move |index| Descriptor {
        key,
        context: 0,
        offset: (index * packet_bytes(suite)) as u32,
        layout: Layout {
            payload_bytes: PAYLOAD_BYTES as u32,
            aad_bytes: AAD_BYTES as u16,
            ..Layout::default()
        },
    })
}

/// Fixed or random keys and payloads.
fn seal(tier: Tier, suite: Suite, count: usize) -> Vec<Turn> {
    let mut secrets = Secrets::new();
    let iv = vec![0; suite.iv_bytes()];
    let mut buffer = vec![0; PACKETS * packet_bytes(suite)];
    let mut one_turn = || {
        let class = secrets.class();
        let material = secrets.material(class, suite);
        let mut sealer = hazmat::sealer(tier);
        let key = sealer.add(hazmat::sealing_key(&material, tier).expect("a key"));
        secrets.fill(class, &mut buffer);
        let mut batch = sealer.batch(&mut buffer);
        for packet in packets(suite, key) {
            hazmat::push_with_iv(&mut batch, packet, 1, &iv).expect("a packet that fits");
        }
        turn(class, || {
            black_box(batch.run().all_good());
        })
    };
    (0..count).map(|_| one_turn()).collect()
}

/// Tags that are wrong in their last bit only, or all over.
fn compare_tag(suite: Suite, count: usize) -> Vec<Turn> {
    let tier = weir_simd::tier();
    let mut secrets = Secrets::new();
    let material = secrets.material(Class::Fixed, suite);
    let mut sealer: Sealer = hazmat::sealer(tier);
    let key = sealer.add(hazmat::sealing_key(&material, tier).expect("a key"));
    let mut sealed = vec![0x33; PACKETS * packet_bytes(suite)];
    let mut batch = sealer.batch(&mut sealed);
    for packet in packets(suite, key) {
        hazmat::push_with_iv(&mut batch, packet, 1, &vec![0; suite.iv_bytes()])
            .expect("a packet that fits");
    }
    assert!(batch.run().all_good());

    let mut opener: Opener = hazmat::opener(tier);
    let key = opener.add(hazmat::opening_key(&material, tier).expect("a key"));
    let mut buffer = sealed.clone();
    let mut wrong = vec![0; suite.tag_bytes()];
    let mut one_turn = || {
        let class = secrets.class();
        buffer.copy_from_slice(&sealed);
        for packet in buffer.chunks_exact_mut(packet_bytes(suite)) {
            let (_, tag) = packet.split_at_mut(packet_bytes(suite) - suite.tag_bytes());
            secrets.fill(Class::Random, &mut wrong);
            for (byte, wrong) in tag.iter_mut().zip(&wrong) {
                *byte = *wrong & class.mask() | *byte & !class.mask();
            }
            *tag.last_mut().expect("a tag") ^= 1;
        }
        let mut batch = opener.batch(&mut buffer);
        for packet in packets(suite, key) {
            batch.push_numbered(packet, 1).expect("a packet that fits");
        }
        turn(class, || {
            black_box(batch.run().good());
        })
    };
    (0..count).map(|_| one_turn()).collect()
}

/// What the tags above must not be compared by.
fn compare_byte_by_byte(count: usize) -> Vec<Turn> {
    let mut secrets = Secrets::new();
    let right = secrets.fixed[..PAYLOAD_BYTES].to_vec();
    let mut received = [0; PAYLOAD_BYTES];
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
