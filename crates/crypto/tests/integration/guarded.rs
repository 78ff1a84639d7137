//! Every kernel beside unmapped pages: nothing is read or written beyond a buffer, be it
//! a part of a packet, a key as it was given, or a key as kernels take it.
//!
//! An access beyond one ends the program with SIGSEGV. Results are compared beside it,
//! so that the kernels are known to have run.

use weir_crypto::hazmat::{self, EcbJob, EcbKey, RawSealJob, RawSealingKey};
use weir_crypto::mac::{self, Algorithm, Material, TagJob, TaggingKey, VerifyJob, VerifyingKey};
use weir_crypto::{
    Aead, AesKeySize, Digest, DigestJob, HmacKey, IvSource, JobFault, KeyMaterial, KeyPolicy,
    MacJob, OneTimeKeys, OpeningKey, SealingKey, Suite, Ticket, open, open_as_found, open_once,
    seal, seal_as_made, seal_once, write_tags,
};
use weir_guard::{Side, guarded};
use weir_simd::for_each_tier;

use crate::support::{Packet, laid::Laid, suites_and_policies};

/// Lengths around those of blocks, vectors, chunks, and what shares lanes.
const TEXTS_BYTES: [usize; 31] = [
    0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 127, 128, 129, 160, 176, 177, 191,
    192, 255, 256, 511, 512, 513, 1024, 1500, 3088,
];

/// Packets of one length, so that lanes are filled and some left over.
const ALIKE: usize = 9;

/// Lengths of the packets of each batch: one each, and all of them. Kernels of
/// encrypt-then-MAC suites, which are many, take no other way for packets that are alike.
fn batches_of(suite: Suite) -> Vec<Vec<usize>> {
    let batches = batches();
    match suite {
        Suite::Aead(_) => batches,
        Suite::EncryptThenMac(..) => batches.into_iter().rev().step_by(8).collect(),
    }
}

/// The same for messages.
fn batches() -> Vec<Vec<usize>> {
    let alike = TEXTS_BYTES.map(|bytes| vec![bytes; ALIKE]);
    let mixed = TEXTS_BYTES.iter().rev().chain(&TEXTS_BYTES).copied();
    alike.into_iter().chain([mixed.collect()]).collect()
}

/// A suite, and how its keys are kept.
#[derive(Clone, Copy, Debug)]
struct Subject {
    suite: Suite,
    policy: KeyPolicy,
}

impl Subject {
    fn all() -> impl Iterator<Item = Subject> {
        suites_and_policies().map(|(suite, policy)| Subject { suite, policy })
    }

    fn cipher_key(self) -> Vec<u8> {
        let bytes = self.suite.key_bytes() + self.suite.salt_bytes();
        // Three different keys for triple DES, which takes no others.
        (0..bytes).map(|byte| 7 * byte as u8 + 2).collect()
    }

    fn material(self) -> KeyMaterial {
        let integrity_key = vec![0x36; self.suite.integrity_key_bytes()];
        KeyMaterial::new(self.suite, &self.cipher_key(), &integrity_key).expect("a key")
    }

    /// A sealing key, and tickets of it.
    fn sealing(self, count: usize) -> (SealingKey, Vec<Ticket>) {
        let source = IvSource::RepeatableInsecure;
        let key = SealingKey::with_policy(self.material(), 1, source, self.policy);
        let mut key = key.expect("an engine");
        key.allow_until(u64::MAX);
        let tickets = (0..count).map(|_| key.next_ticket().expect("reserved"));
        let tickets = tickets.collect();
        (key, tickets)
    }

    fn one_time_keys(self, size: AesKeySize, count: usize) -> OneTimeKeys {
        let mut keys = OneTimeKeys::new(size).expect("an engine");
        (0..count).for_each(|_| keys.push(&self.cipher_key()).expect("a key"));
        keys
    }

    fn seal(self, packets: &mut [Packet]) {
        let (key, tickets) = self.sealing(packets.len());
        let jobs = packets.iter_mut().zip(tickets);
        let mut jobs: Vec<_> = jobs.map(|(packet, t)| packet.seal_job(&key, t)).collect();
        seal(&mut jobs).expect("a well-formed batch");
    }

    fn seal_as_made(self, packets: &mut [Packet]) {
        let (key, tickets) = self.sealing(packets.len());
        let mut sealed = vec![false; packets.len()];
        seal_as_made(&mut Vec::new(), |batch| {
            for ((packet, ticket), sealed) in packets.iter_mut().zip(tickets).zip(&mut sealed) {
                batch.add(packet.seal_job(&key, ticket), sealed)?;
            }
            Ok::<_, JobFault>(())
        })
        .expect("a well-formed batch");
        assert!(sealed.iter().all(|sealed| *sealed));
    }

    fn seal_in(self, laid: &mut Laid) {
        let (key, tickets) = self.sealing(laid.places.len());
        laid.seal(&key, tickets);
    }

    fn opening_key(self) -> OpeningKey {
        OpeningKey::with_policy(&self.material(), self.policy).expect("an engine")
    }

    fn open(self, packets: &mut [Packet]) {
        let key = self.opening_key();
        let mut jobs: Vec<_> = packets.iter_mut().map(|p| p.open_job(&key)).collect();
        open(&mut jobs);
        assert!(jobs.iter().all(|job| job.verified));
    }

    fn open_as_found(self, packets: &mut [Packet]) {
        let key = self.opening_key();
        let mut verdicts = vec![false; packets.len()];
        open_as_found(&mut Vec::new(), |batch| {
            for (packet, verdict) in packets.iter_mut().zip(&mut verdicts) {
                batch.add(packet.open_job(&key), verdict);
            }
            Ok::<_, ()>(())
        })
        .expect("no error");
        assert!(verdicts.iter().all(|verdict| *verdict));
    }

    fn open_in(self, laid: &mut Laid) {
        laid.open(&self.opening_key());
    }
}

/// Packets without suffixes in a buffer of just their length.
fn lay(packets: &[Packet]) -> Laid {
    let mut laid = Laid::of(packets);
    laid.buffer.shrink_to_fit();
    assert_eq!(laid.buffer.len(), laid.buffer.capacity());
    laid
}

fn assert_laid(laid: &Laid, packets: &[Packet], case: &str) {
    for (number, packet) in packets.iter().enumerate() {
        let parts = [&packet.prefix, &packet.iv, &packet.text, &packet.tag];
        assert!(laid.parts(number) == parts.map(|part| &part[..]), "{case}");
    }
}

fn for_each_batch(mut run: impl FnMut(Subject, Side, &[Packet], &str)) {
    for subject in Subject::all() {
        for (side, lengths) in Side::ALL.into_iter().flat_map(|side| {
            let batches = batches_of(subject.suite).into_iter();
            batches.map(move |lengths| (side, lengths))
        }) {
            let packets: Vec<Packet> = lengths
                .iter()
                .zip(0..)
                .map(|(bytes, seed)| {
                    let prefix_bytes = [8, 12, 0, 13, 16, 20][usize::from(seed) % 6];
                    Packet::new(subject.suite, prefix_bytes, *bytes, seed)
                })
                .collect();
            let case = format!("{subject:?} {side:?} {lengths:?}");
            run(subject, side, &packets, &case);
        }
    }
}

#[test]
fn packets_in_slices_are_sealed_and_opened_within_their_buffers() {
    for_each_batch(|subject, side, plain, case| {
        guarded(side, || {
            let mut sealed = plain.to_vec();
            subject.seal(&mut sealed);
            let mut as_made = plain.to_vec();
            subject.seal_as_made(&mut as_made);
            assert!(sealed == as_made, "{case}");
            subject.open(&mut sealed);
            subject.open_as_found(&mut as_made);
            for ((plain, opened), found) in plain.iter().zip(&sealed).zip(&as_made) {
                assert!(
                    opened.text == plain.text && found.text == plain.text,
                    "{case}"
                );
            }
        });
    });
}

#[test]
fn packets_in_a_buffer_are_sealed_and_opened_within_it() {
    for_each_batch(|subject, side, plain, case| {
        let mut plain = plain.to_vec();
        plain.iter_mut().for_each(|packet| packet.suffix.clear());
        let mut sealed = plain.clone();
        subject.seal(&mut sealed);
        guarded(side, || {
            let mut laid = lay(&plain);
            subject.seal_in(&mut laid);
            assert_laid(&laid, &sealed, case);
            subject.open_in(&mut laid);
            for (number, packet) in plain.iter().enumerate() {
                assert!(laid.parts(number)[2] == packet.text, "{case}");
            }

            if let Suite::Aead(Aead::AesGcm16(size)) = subject.suite {
                // Their IVs are input.
                let mut packets = plain.clone();
                for (packet, sealed) in packets.iter_mut().zip(&sealed) {
                    packet.iv.copy_from_slice(&sealed.iv);
                }
                let mut laid = lay(&packets);
                let mut keys = subject.one_time_keys(size, plain.len());
                seal_once(&mut keys, &mut laid.buffer, &laid.places).expect("a row of packets");
                assert_laid(&laid, &sealed, case);
                let keys = subject.one_time_keys(size, plain.len());
                let mut verified = Vec::new();
                open_once(&keys, &mut laid.buffer, &laid.places, &mut verified)
                    .expect("a row of packets");
                assert!(verified.into_iter().all(|verified| verified), "{case}");
            }
        });
    });
}

/// The kernels of every tier, whatever is the one in use.
#[test]
fn packets_are_sealed_within_their_buffers_in_every_tier() {
    for_each_batch(|subject, side, plain, case| {
        let mut expected = None;
        for_each_tier(|tier| {
            guarded(side, || {
                let mut packets = plain.to_vec();
                let key = RawSealingKey::with_policy(&subject.material(), tier, subject.policy)
                    .expect("a key");
                let mut jobs: Vec<RawSealJob<'_>> = packets
                    .iter_mut()
                    .map(|packet| RawSealJob {
                        key: &key,
                        prefix: &packet.prefix,
                        iv: &packet.iv,
                        text: &mut packet.text,
                        suffix: &packet.suffix,
                        tag: &mut packet.tag,
                        sealed: false,
                    })
                    .collect();
                hazmat::seal(tier, &mut jobs).expect("a well-formed batch");
                assert!(
                    *expected.get_or_insert(packets.clone()) == packets,
                    "{tier} {case}"
                );
            });
        });
    });
}

/// Parts of a message: one, what ESP has, and any.
fn parts(message: &[u8], seed: usize) -> [Vec<u8>; 4] {
    let cuts = match seed % 3 {
        0 => [0, message.len(), message.len()],
        1 => [8, 16, message.len()],
        _ => [seed % 7, 3 * (seed % 11), 64 + seed % 5],
    };
    let [a, b, c] = cuts.map(|cut| cut.min(message.len()));
    let [b, c] = [b.max(a), c.max(b).max(a)];
    [&message[..a], &message[a..b], &message[b..c], &message[c..]].map(<[u8]>::to_vec)
}

fn slices(parts: &[Vec<u8>; 4]) -> [&[u8]; 4] {
    [&parts[0], &parts[1], &parts[2], &parts[3]]
}

#[test]
fn messages_are_authenticated_within_their_buffers() {
    for algorithm in Algorithm::all() {
        for (side, lengths) in Side::ALL
            .into_iter()
            .flat_map(|side| batches().into_iter().map(move |lengths| (side, lengths)))
        {
            let case = format!("{algorithm} {side:?} {lengths:?}");
            guarded(side, || {
                let material = || {
                    let key = vec![0x36; algorithm.key_bytes()];
                    Material::new(algorithm, &key).expect("a key")
                };
                let messages: Vec<[Vec<u8>; 4]> = lengths
                    .iter()
                    .enumerate()
                    .map(|(seed, &bytes)| parts(&vec![seed as u8; bytes], seed))
                    .collect();
                let mut key = TaggingKey::new(material(), 1).expect("an engine");
                key.allow_until(u64::MAX);
                let tickets: Vec<Ticket> = (messages.iter())
                    .map(|_| key.next_ticket().expect("reserved"))
                    .collect();
                let nonces: Vec<u64> = tickets.iter().map(Ticket::counter).collect();
                let mut tags = vec![vec![0; algorithm.tag_bytes()]; messages.len()];
                let mut jobs: Vec<TagJob<'_>> = messages
                    .iter()
                    .zip(tickets)
                    .zip(&mut tags)
                    .map(|((parts, ticket), tag)| TagJob {
                        key: &key,
                        ticket,
                        parts: slices(parts),
                        tag,
                    })
                    .collect();
                mac::tag(&mut jobs).expect("a well-formed batch");

                for_each_tier(|tier| {
                    let key = hazmat::mac::RawMacKey::new(&material(), tier).expect("a key");
                    let mut again = vec![vec![0; algorithm.tag_bytes()]; messages.len()];
                    let mut jobs: Vec<hazmat::mac::RawTagJob<'_>> = messages
                        .iter()
                        .zip(&nonces)
                        .zip(&mut again)
                        .map(|((parts, &nonce), tag)| hazmat::mac::RawTagJob {
                            key: &key,
                            nonce,
                            parts: slices(parts),
                            tag,
                        })
                        .collect();
                    hazmat::mac::tag(tier, &mut jobs).expect("a well-formed batch");
                    assert!(again == tags, "{tier} {case}");
                });

                let key = VerifyingKey::new(&material()).expect("an engine");
                let mut jobs: Vec<VerifyJob<'_>> = messages
                    .iter()
                    .zip(&nonces)
                    .zip(&tags)
                    .map(|((parts, &nonce), tag)| VerifyJob {
                        key: &key,
                        nonce,
                        parts: slices(parts),
                        tag,
                        verified: false,
                    })
                    .collect();
                mac::verify(&mut jobs);
                assert!(jobs.iter().all(|job| job.verified), "{case}");
            });
        }
    }
}

#[test]
fn messages_are_hashed_within_their_buffers() {
    for digest in Digest::ALL {
        for (side, lengths) in Side::ALL
            .into_iter()
            .flat_map(|side| batches().into_iter().map(move |lengths| (side, lengths)))
        {
            let mut expected = None;
            for_each_tier(|tier| {
                guarded(side, || {
                    let messages: Vec<Vec<u8>> = (lengths.iter().zip(0..))
                        .map(|(&bytes, seed)| vec![seed; bytes])
                        .collect();
                    let mut digests = vec![vec![0; digest.bytes()]; messages.len()];
                    let mut jobs: Vec<DigestJob<'_>> = messages
                        .iter()
                        .zip(&mut digests)
                        .map(|(message, digest)| DigestJob { message, digest })
                        .collect();
                    digest.hash(tier, &mut jobs).expect("right lengths");
                    let raw_key: Vec<u8> = (0x36..0x4a).collect();
                    let key = HmacKey::new(digest, &raw_key);
                    let mut tags = vec![vec![0; digest.bytes()]; messages.len()];
                    let parts: Vec<[Vec<u8>; 4]> = (messages.iter().enumerate())
                        .map(|(seed, message)| parts(message, seed))
                        .collect();
                    let mut jobs: Vec<MacJob<'_>> = parts
                        .iter()
                        .zip(&mut tags)
                        .map(|(parts, tag)| MacJob {
                            key: &key,
                            parts: slices(parts),
                            tag,
                        })
                        .collect();
                    write_tags(tier, &mut jobs).expect("right lengths");
                    let results = (digests, tags);
                    let case = format!("{digest:?} {tier} {side:?} {lengths:?}");
                    assert!(
                        *expected.get_or_insert(results.clone()) == results,
                        "{case}"
                    );
                });
            });
        }
    }
}

#[test]
fn blocks_are_encrypted_within_their_buffers() {
    for ((size, key_bytes), side) in AesKeySize::ALL
        .into_iter()
        .zip([16, 24, 32])
        .flat_map(|size| Side::ALL.map(|side| (size, side)))
    {
        let mut expected = None;
        for_each_tier(|tier| {
            guarded(side, || {
                let key = EcbKey::new(size, tier, &vec![0x5c; key_bytes]).expect("a key");
                let mut texts: Vec<Vec<u8>> = (0..70).map(|blocks| vec![7; 16 * blocks]).collect();
                let jobs = |texts: &mut [Vec<u8>], work: &dyn Fn(&mut [EcbJob<'_>])| {
                    let mut jobs: Vec<EcbJob<'_>> = texts
                        .iter_mut()
                        .map(|text| EcbJob { key: &key, text })
                        .collect();
                    work(&mut jobs);
                };
                jobs(&mut texts, &|jobs| {
                    hazmat::ecb_encrypt(tier, jobs).expect("whole blocks");
                });
                assert!(
                    *expected.get_or_insert(texts.clone()) == texts,
                    "{size:?} {tier} {side:?}"
                );
                jobs(&mut texts, &|jobs| {
                    hazmat::ecb_decrypt(tier, jobs).expect("whole blocks");
                });
                assert!(texts.iter().flatten().all(|byte| *byte == 7), "{tier}");
            });
        });
    }
}
