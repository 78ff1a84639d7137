//! Every kernel beside unmapped pages: nothing is read or written beyond a buffer, be it
//! that of a batch, a key as it was given, or a key as kernels take it.
//!
//! An access beyond one ends the program with SIGSEGV. Results are compared beside it,
//! so that the kernels are known to have run.

use weir_crypto::hazmat::{self, EcbJob, EcbKey};
use weir_crypto::{AesKeySize, IvSource, Opener, OpeningKey, Sealer, SealingKey, Suite};
use weir_guard::{Side, guarded};
use weir_simd::{Tier, for_each_tier};

use crate::support::laid::Laid;
use crate::support::{Packet, RawKey, is_mac, suites};

/// Lengths around those of blocks, vectors, chunks, and what shares lanes.
const PAYLOADS_BYTES: [usize; 31] = [
    0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 127, 128, 129, 160, 176, 177, 191,
    192, 255, 256, 511, 512, 513, 1024, 1500, 3088,
];

/// Packets of one length, so that lanes are filled and some left over.
const ALIKE: usize = 9;

/// Lengths of the packets of each batch: one each, and all of them. Kernels of
/// encrypt-then-MAC suites, which are many, take no other way for packets that are alike.
fn batches_of(suite: Suite) -> Vec<Vec<usize>> {
    let alike = PAYLOADS_BYTES.map(|bytes| vec![bytes; ALIKE]);
    let mixed = PAYLOADS_BYTES.iter().rev().chain(&PAYLOADS_BYTES).copied();
    let batches = alike.into_iter().chain([mixed.collect()]);
    match suite {
        Suite::Aead(_) | Suite::Mac(_) => batches.collect(),
        Suite::EncryptThenMac(..) => batches.rev().step_by(8).collect(),
    }
}

/// Packets in a buffer of just their length.
fn lay(packets: &[Packet]) -> Laid {
    let mut laid = Laid::of(packets);
    laid.buffer.shrink_to_fit();
    assert_eq!(laid.buffer.len(), laid.buffer.capacity());
    laid
}

fn for_each_batch(mut run: impl FnMut(&RawKey, Side, &[Packet], &str)) {
    for suite in suites() {
        let key = RawKey::new(suite, 2);
        for (side, lengths) in Side::ALL.into_iter().flat_map(|side| {
            let batches = batches_of(suite).into_iter();
            batches.map(move |lengths| (side, lengths))
        }) {
            let packets: Vec<Packet> = lengths
                .iter()
                .zip(0..)
                .map(|(bytes, seed)| {
                    let aad_bytes = [8, 12, 0, 13, 16, 20, 8][usize::from(seed) % 7];
                    Packet::new(suite, aad_bytes, *bytes, seed)
                })
                .collect();
            run(
                &key,
                side,
                &packets,
                &format!("{suite} {side:?} {lengths:?}"),
            );
        }
    }
}

/// Packets sealed and opened in every public way: held and one-time keys, one packet after the
/// other and backwards.
#[test]
fn packets_are_sealed_and_opened_within_their_buffer() {
    for_each_batch(|raw, side, plain, case| {
        let suite = raw.suite;
        guarded(side, || {
            let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
            let ivs = IvSource::RepeatableInsecure;
            let key = SealingKey::with_ivs(raw.material(), 1.., ivs).expect("an engine");
            let key = sealer.add(key);
            let opening = opener.add(OpeningKey::new(&raw.material()).expect("an engine"));
            let mut laid = lay(plain);
            let numbers = laid.seal_under(&mut sealer, key);
            let sealed = laid.clone();
            laid.open_under(&mut opener, opening, &numbers);
            for (index, packet) in plain.iter().enumerate() {
                assert!(laid.payload(index) == packet.payload, "{case}");
            }

            let mut once = lay(plain);
            once.order.reverse();
            once.seal_once(&mut sealer, raw, &numbers);
            if suite.iv_is_counter() || suite.iv_bytes() == 0 {
                assert!(once.buffer == sealed.buffer, "{case}");
            }
            once.open_once(&mut opener, raw, &numbers);
            for (index, packet) in plain.iter().enumerate() {
                assert!(once.payload(index) == packet.payload, "{case}");
            }

            // What is not authentic is cleared.
            let mut forged = sealed.clone();
            forged.buffer.shrink_to_fit();
            for index in 0..plain.len() {
                forged.flip(index, 3, 3);
            }
            let good = forged.open(&mut opener, |batch, index, packet| {
                let packet = weir_crypto::Descriptor {
                    key: opening,
                    ..packet
                };
                let pushed = batch.push_numbered(packet, numbers[index]);
                assert_eq!(pushed, Ok(()), "{case}");
            });
            assert!(!good.contains(&true), "{case}");
            for index in 0..plain.len() {
                let is_clear = forged.payload(index).iter().all(|byte| *byte == 0);
                assert!(is_clear || is_mac(suite), "{case}");
            }
        });
    });
}

/// The kernels of every tier, whatever is the active one.
#[test]
fn packets_are_sealed_and_opened_within_their_buffer_in_every_tier() {
    for_each_batch(|raw, side, plain, case| {
        let mut expected = None;
        for_each_tier(|tier| {
            guarded(side, || {
                let laid = seal_and_open_under(tier, raw, plain, case);
                let expected = expected.get_or_insert_with(|| laid.clone());
                assert!(*expected == laid, "{tier} {case}");
            });
        });
    });
}

/// The sealed packets.
fn seal_and_open_under(tier: Tier, raw: &RawKey, plain: &[Packet], case: &str) -> Laid {
    let suite = raw.suite;
    let mut sealer = hazmat::sealer(tier);
    let key = sealer.add(hazmat::sealing_key(&raw.material(), tier).expect("a key"));
    let mut laid = lay(plain);
    let numbers: Vec<u64> = (1..=plain.len() as u64).collect();
    let good = laid.seal(&mut sealer, |batch, index, packet| {
        let packet = weir_crypto::Descriptor { key, ..packet };
        let iv = vec![index as u8; suite.iv_bytes()];
        hazmat::push_with_iv(batch, packet, numbers[index], &iv).expect("a packet that fits");
    });
    assert!(!good.contains(&false), "{tier} {case}");
    let sealed = laid.clone();
    let mut opener = hazmat::opener(tier);
    let key = opener.add(hazmat::opening_key(&raw.material(), tier).expect("a key"));
    laid.buffer.shrink_to_fit();
    laid.open_under(&mut opener, key, &numbers);
    for (index, packet) in plain.iter().enumerate() {
        assert!(laid.payload(index) == packet.payload, "{tier} {case}");
    }
    // One-time keys have kernels of their own.
    if !suite.iv_is_counter() && suite.iv_bytes() > 0 {
        return sealed;
    }
    let mut once = lay(plain);
    once.seal_once(&mut sealer, raw, &numbers);
    once.open_once(&mut opener, raw, &numbers);
    for (index, packet) in plain.iter().enumerate() {
        assert!(once.payload(index) == packet.payload, "{tier} {case}");
    }
    sealed
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
                let mut all: Vec<Vec<[u8; 16]>> =
                    (0..70).map(|blocks| vec![[7; 16]; blocks]).collect();
                let run = |all: &mut [Vec<[u8; 16]>], work: &dyn Fn(&mut [EcbJob<'_>])| {
                    let mut jobs: Vec<EcbJob<'_>> = all
                        .iter_mut()
                        .map(|blocks| EcbJob { key: &key, blocks })
                        .collect();
                    work(&mut jobs);
                };
                run(&mut all, &|jobs| hazmat::ecb_encrypt(tier, jobs));
                assert!(
                    *expected.get_or_insert(all.clone()) == all,
                    "{size:?} {tier} {side:?}"
                );
                run(&mut all, &|jobs| hazmat::ecb_decrypt(tier, jobs));
                let mut bytes = all.iter().flatten().flatten();
                assert!(bytes.all(|byte| *byte == 7), "{tier}");
            });
        });
    }
}
