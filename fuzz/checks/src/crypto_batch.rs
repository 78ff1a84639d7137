//! Batches of packets: programs that add and remove keys, push descriptors, run and drop.
//!
//! A model of keys, numbers and places predicts which descriptors are taken, and why others are
//! refused. The promises of [`weir_crypto`]: a refused packet and a batch that is dropped leave
//! the buffer as it was; a sealed packet opens to what it was; one that was changed leaves
//! zeros.

mod model;
mod seeds;

use weir_crypto::mac::{Algorithm, TagWords};
use weir_crypto::{
    Aead, AesKeySize, BATCH_PACKETS, Cipher, Descriptor, Digest, IvSource, KeyId, KeyMaterial,
    Layout, Mac, NonceRule, Opener, OpeningKey, Sealer, SealingKey, Suite, UniversalMac,
};

use model::{Expected, Held, Model};
pub use seeds::{WORDS, seeds};

/// Bytes of the buffer in which the packets lie.
const BUFFER_BYTES: usize = 4096;

/// Most steps of a program.
const MAX_STEPS: usize = 400;

/// A suite of every kernel.
const SUITES: [Suite; 12] = [
    Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128)),
    Suite::Aead(Aead::AesGcm16(AesKeySize::Aes256)),
    Suite::Aead(Aead::ChaCha20Poly1305),
    Suite::Aead(Aead::AesCcm16(AesKeySize::Aes128)),
    Suite::Aead(Aead::AesGmac(AesKeySize::Aes192)),
    Suite::Aead(Aead::AesOcb3(AesKeySize::Aes128)),
    Suite::Aead(Aead::AesCtrMac(UniversalMac::Umac64)),
    Suite::EncryptThenMac(Cipher::AesCbc(AesKeySize::Aes128), Mac::HmacSha1_96),
    Suite::EncryptThenMac(Cipher::AesCtr(AesKeySize::Aes256), Mac::HmacSha2_256_128),
    Suite::EncryptThenMac(Cipher::Null, Mac::HmacSha2_512_256),
    Suite::Mac(Algorithm::Umac(TagWords::Two)),
    Suite::Mac(Algorithm::Hmac(Digest::Sha256)),
];

/// Panics where a promise is broken.
pub fn check(input: &[u8]) {
    let mut program = Program { bytes: input };
    let mut machine = Machine::new();
    for _ in 0..MAX_STEPS {
        if program.bytes.is_empty() {
            break;
        }
        match program.byte() % 8 {
            0 => machine.add_key(&mut program),
            1 => machine.remove_key(&mut program),
            2 => machine.add_context(&mut program),
            _ => machine.batch(&mut program),
        }
    }
}

/// What is left of the input; zeros behind its end.
struct Program<'i> {
    bytes: &'i [u8],
}

impl Program<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        *first
    }

    fn number(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }
}

/// Both directions, and the model of them.
struct Machine {
    sealer: Sealer,
    opener: Opener,
    /// Names of keys, of removed ones too.
    names: Vec<(KeyId, KeyId)>,
    model: Model,
    /// How many keys there have been, so that none comes twice.
    keys: u64,
}

/// The bytes of key number `key`, of which no two are equal.
fn key_bytes(bytes: usize, key: u64) -> Vec<u8> {
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    (0..bytes)
        .map(|i| mixed[i % 8] ^ (i as u8).wrapping_mul(29))
        .collect()
}

/// Cipher key and salt, and integrity key.
fn raw_key(suite: Suite, key: u64) -> (Vec<u8>, Vec<u8>) {
    (
        key_bytes(suite.key_bytes() + suite.salt_bytes(), key),
        key_bytes(suite.integrity_key_bytes(), !key),
    )
}

fn material(suite: Suite, rule: NonceRule, key: u64) -> KeyMaterial {
    let material = match rule {
        NonceRule::Explicit => {
            let (cipher_key, integrity_key) = raw_key(suite, key);
            KeyMaterial::new(suite, &cipher_key, &integrity_key)
        }
        _ => KeyMaterial::with_nonces(suite, &key_bytes(suite.key_bytes(), key), rule),
    };
    material.expect("lengths are the suite's")
}

/// A packet of a batch that was taken.
struct Taken {
    packet: Descriptor,
    number: u64,
    suite: Suite,
    /// Of a one-time key, its number among all keys.
    one_time: Option<u64>,
    /// Bytes of AAD, gap, IV and payload as they were.
    plain: Vec<u8>,
    iv_bytes: usize,
}

impl Machine {
    fn new() -> Machine {
        Machine {
            sealer: Sealer::new(),
            opener: Opener::new(),
            names: vec![(KeyId::default(), KeyId::default())],
            model: Model::new(),
            keys: 0,
        }
    }

    fn add_key(&mut self, program: &mut Program<'_>) {
        let suite = SUITES[usize::from(program.byte()) % SUITES.len()];
        let rule = match (suite, program.byte() % 4) {
            (Suite::Aead(Aead::AesGcm16(_) | Aead::ChaCha20Poly1305), 1) => {
                NonceRule::Xor([0x5a; 12])
            }
            (Suite::Aead(Aead::AesGcm16(_) | Aead::ChaCha20Poly1305), 2) => {
                NonceRule::Srtp([0x3c; 12])
            }
            (Suite::Aead(Aead::AesGcm16(_) | Aead::ChaCha20Poly1305), 3) => NonceRule::LittleEndian,
            _ => NonceRule::Explicit,
        };
        let (first, count) = (u64::from(program.byte()), u64::from(program.number() % 300));
        let key = self.keys;
        self.keys += 1;
        let numbers = first..first + count;
        let ivs = IvSource::RepeatableInsecure;
        let sealing = SealingKey::with_ivs(material(suite, rule, key), numbers.clone(), ivs);
        let opening = OpeningKey::new(&material(suite, rule, key));
        let sealing = self.sealer.add(sealing.expect("an engine"));
        let opening = self.opener.add(opening.expect("an engine"));
        assert!(self.names.iter().all(|(name, _)| *name != sealing));
        self.names.push((sealing, opening));
        self.model.add(Held::new(suite, rule, numbers));
    }

    fn remove_key(&mut self, program: &mut Program<'_>) {
        let at = usize::from(program.byte()) % self.names.len();
        let (sealing, opening) = self.names[at];
        let was_there = self.model.remove(at);
        assert_eq!(self.sealer.remove(sealing).is_some(), was_there);
        assert_eq!(self.opener.remove(opening).is_some(), was_there);
    }

    fn add_context(&mut self, program: &mut Program<'_>) {
        let at = usize::from(program.byte()) % self.names.len();
        let context = u32::from(program.byte() % 4);
        let numbers = 0..u64::from(program.byte());
        let expected = self.model.add_context(at, context, numbers.clone());
        let added = self
            .sealer
            .key_mut(self.names[at].0)
            .map(|key| key.add_context(context, numbers).is_ok());
        assert_eq!(added, expected);
    }

    /// Pushes packets, and runs or drops the batch.
    fn batch(&mut self, program: &mut Program<'_>) {
        let mut buffer: Vec<u8> = (0..BUFFER_BYTES).map(|i| (i * i / 7) as u8).collect();
        let before = buffer.clone();
        let mut taken: Vec<Taken> = Vec::new();
        let mut one_time: Vec<(KeyId, u64, Suite)> = Vec::new();
        let mut batch = self.sealer.batch(&mut buffer);
        self.model.begin(BUFFER_BYTES);
        let is_run = loop {
            let step = program.byte();
            match step % 16 {
                0 if step != 0 => break true,
                0 | 1 => break false,
                2 | 3 => {
                    let suite = SUITES[usize::from(program.byte()) % SUITES.len()];
                    let (key, integrity_key) = raw_key(suite, self.keys);
                    let added = batch.add_one_time_key(suite, &key, &integrity_key);
                    assert_eq!(added.is_ok(), self.model.add_one_time(suite));
                    if let Ok(id) = added {
                        one_time.push((id, self.keys, suite));
                        self.keys += 1;
                    }
                }
                _ => {
                    let choice = usize::from(program.byte());
                    let is_one_time = step & 0x10 != 0 && !one_time.is_empty();
                    let (key, at) = match is_one_time {
                        true => (one_time[choice % one_time.len()].0, choice % one_time.len()),
                        false => (
                            self.names[choice % self.names.len()].0,
                            choice % self.names.len(),
                        ),
                    };
                    let packet = Descriptor {
                        key,
                        context: u32::from(program.byte() % 4),
                        offset: u32::from(program.number() % (BUFFER_BYTES as u16 + 64)),
                        layout: Layout {
                            payload_bytes: u32::from(program.number() % 600),
                            aad_bytes: u16::from(program.byte() % 24),
                            gap_bytes: program.byte() % 4,
                            esn: step & 0x20 != 0,
                        },
                    };
                    let given = (step & 0x40 != 0).then(|| u64::from(program.number()));
                    let expected = match is_one_time {
                        true => self.model.push_one_time(at, &packet, given),
                        false => self.model.push(at, &packet, given),
                    };
                    let pushed = match given {
                        None => batch.push(packet),
                        Some(number) => batch.push_numbered(packet, number).map(|()| number),
                    };
                    let Expected {
                        result,
                        suite,
                        iv_bytes,
                    } = expected;
                    assert_eq!(pushed, result, "{packet:?} {given:?}");
                    if let (Ok(number), Some(suite)) = (pushed, suite) {
                        let start = packet.offset as usize;
                        let bytes = usize::from(packet.layout.aad_bytes)
                            + usize::from(packet.layout.gap_bytes)
                            + iv_bytes
                            + packet.layout.payload_bytes as usize;
                        taken.push(Taken {
                            packet,
                            number,
                            suite,
                            one_time: is_one_time.then(|| one_time[at].1),
                            plain: before[start..start + bytes].to_vec(),
                            iv_bytes,
                        });
                    }
                    assert!(taken.len() <= BATCH_PACKETS);
                }
            }
        };
        assert!(batch.buffer_mut() == before, "written before the run");
        if !is_run {
            drop(batch);
            assert!(buffer == before, "written by a batch that was dropped");
            return;
        }
        let verdicts = batch.run();
        assert_eq!(
            (verdicts.len(), verdicts.good()),
            (taken.len(), taken.len())
        );
        let mut is_packet = vec![false; BUFFER_BYTES];
        for Taken {
            packet,
            plain,
            suite,
            ..
        } in &taken
        {
            let start = packet.offset as usize;
            is_packet[start..start + plain.len() + suite.tag_bytes()].fill(true);
        }
        for ((found, was), is_packet) in buffer.iter().zip(&before).zip(is_packet) {
            assert!(is_packet || found == was, "written beside the packets");
        }
        self.open(&taken, &buffer, program.byte());
    }

    /// Opens what was sealed, one packet of which was changed.
    fn open(&mut self, taken: &[Taken], sealed: &[u8], choice: u8) {
        let mut buffer = sealed.to_vec();
        let changed = usize::from(choice) % (taken.len() + 1);
        if let Some(Taken { packet, plain, .. }) = taken.get(changed) {
            // The first byte of the tag.
            buffer[packet.offset as usize + plain.len()] ^= 1;
        }
        let mut batch = self.opener.batch(&mut buffer);
        for taken in taken {
            let held = self
                .names
                .iter()
                .find(|(name, _)| *name == taken.packet.key);
            let key = match (taken.one_time, held) {
                (Some(key), _) => {
                    let (key, integrity_key) = raw_key(taken.suite, key);
                    batch
                        .add_one_time_key(taken.suite, &key, &integrity_key)
                        .expect("as many as were sealed")
                }
                (None, Some((_, opening))) => *opening,
                (None, None) => panic!("a packet of no key was taken"),
            };
            let packet = Descriptor {
                key,
                ..taken.packet
            };
            let pushed = batch.push_numbered(packet, taken.number);
            assert_eq!(pushed, Ok(()), "a packet that was sealed: {packet:?}");
        }
        let verdicts = batch.run();
        for (index, taken) in taken.iter().enumerate() {
            assert_eq!(
                verdicts.is_good(index),
                index != changed,
                "{:?}",
                taken.packet
            );
            let start = taken.packet.offset as usize;
            let opened = &buffer[start..start + taken.plain.len()];
            let layout = taken.packet.layout;
            let iv = usize::from(layout.aad_bytes) + usize::from(layout.gap_bytes);
            let (ahead, payload) = opened.split_at(iv + taken.iv_bytes);
            assert_eq!(ahead[..iv], taken.plain[..iv], "AAD and gap stay");
            match index == changed && !matches!(taken.suite, Suite::Mac(_)) {
                true => assert!(payload.iter().all(|byte| *byte == 0), "payload is released"),
                false => assert_eq!(payload, &taken.plain[iv + taken.iv_bytes..]),
            }
        }
    }
}
