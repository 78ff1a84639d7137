//! Packet numbers: each is used once, in order, as far as is reserved, in every context.

use weir_crypto::{
    Descriptor, IvSource, KeyError, KeyId, KeyMaterial, Layout, MAX_CONTEXTS, NonceRule, Refusal,
    Sealer, SealingKey, Suite,
};

use crate::support::laid::Laid;
use crate::support::{Packet, material, parse, suites};

fn sealer_with(key: SealingKey) -> (Sealer, KeyId) {
    let mut sealer = Sealer::new();
    let key = sealer.add(key);
    (sealer, key)
}

/// A packet of one block of 16 bytes, in a buffer that fits any suite's.
fn packet(key: KeyId, context: u32) -> Descriptor {
    Descriptor {
        key,
        context,
        offset: 0,
        layout: Layout {
            payload_bytes: 16,
            ..Layout::default()
        },
    }
}

const BUFFER_BYTES: usize = 128;

/// Takes a packet into a batch of its own, and drops it.
fn draw(sealer: &mut Sealer, key: KeyId, context: u32) -> Result<u64, Refusal> {
    let mut buffer = [0; BUFFER_BYTES];
    sealer.batch(&mut buffer).push(packet(key, context))
}

fn take(sealer: &mut Sealer, key: KeyId, context: u32, number: u64) -> Result<(), Refusal> {
    let mut buffer = [0; BUFFER_BYTES];
    let mut batch = sealer.batch(&mut buffer);
    batch.push_numbered(packet(key, context), number)
}

#[test]
fn numbers_stop_at_their_reservation_and_go_on_from_there() {
    for suite in suites() {
        let key = SealingKey::new(material(suite, 1), 7..7).expect("a sealing key");
        let (mut sealer, key) = sealer_with(key);
        let not_reserved = |end| Err(Refusal::NotReserved { end });
        assert_eq!(draw(&mut sealer, key, 0), not_reserved(7), "{suite}");

        let reserve = |sealer: &mut Sealer, end| {
            let key = sealer.key_mut(key).expect("a key");
            key.allow_until(end);
            (key.next_number(), key.reserved())
        };
        assert_eq!(reserve(&mut sealer, 9), (7, 2), "{suite}");
        assert_eq!(draw(&mut sealer, key, 0), Ok(7), "{suite}");
        assert_eq!(draw(&mut sealer, key, 0), Ok(8), "{suite}");
        assert_eq!(draw(&mut sealer, key, 0), not_reserved(9), "{suite}");

        // Taking a reservation back would hand the same numbers out again later.
        assert_eq!(reserve(&mut sealer, 3), (9, 0), "{suite}");
        assert_eq!(draw(&mut sealer, key, 0), not_reserved(9), "{suite}");
        assert_eq!(
            take(&mut sealer, key, 0, 9),
            Err(Refusal::NotReserved { end: 9 })
        );
        assert_eq!(reserve(&mut sealer, 10), (9, 1), "{suite}");
        assert_eq!(draw(&mut sealer, key, 0), Ok(9), "{suite}");
        assert_eq!(sealer.key(key).map(SealingKey::next_number), Some(10));
    }
}

#[test]
fn numbers_end_with_their_key() {
    let key = SealingKey::new(material(parse("aes-128-gcm-16"), 1), u64::MAX - 1..);
    let (mut sealer, key) = sealer_with(key.expect("a sealing key"));
    assert_eq!(draw(&mut sealer, key, 0), Ok(u64::MAX - 1));
    let exhausted = Refusal::KeyExhausted { end: u64::MAX };
    assert_eq!(draw(&mut sealer, key, 0), Err(exhausted));

    let key = SealingKey::new(material(parse("3des-cbc+hmac-sha1-96"), 1), 1..);
    let (mut sealer, key) = sealer_with(key.expect("a sealing key"));
    let drawn = std::iter::from_fn(|| draw(&mut sealer, key, 0).ok()).count();
    assert_eq!(drawn, 1 << 20);
    let end = 1 + (1 << 20);
    let exhausted = Err(Refusal::KeyExhausted { end });
    assert_eq!(draw(&mut sealer, key, 0), exhausted);
    // A reservation does not lift the limit.
    sealer.key_mut(key).expect("a key").allow_until(u64::MAX);
    assert_eq!(draw(&mut sealer, key, 0), exhausted);
}

#[test]
fn numbers_of_the_protocol_ascend() {
    for suite in suites() {
        let key = SealingKey::new(material(suite, 1), 5..100).expect("a sealing key");
        let (mut sealer, key) = sealer_with(key);
        let used = |number, next| Err(Refusal::NumberUsed { number, next });
        assert_eq!(take(&mut sealer, key, 0, 4), used(4, 5), "{suite}");
        assert_eq!(take(&mut sealer, key, 0, 5), Ok(()), "{suite}");
        assert_eq!(take(&mut sealer, key, 0, 5), used(5, 6), "{suite}");
        // Numbers may be left out, and are used up then.
        assert_eq!(take(&mut sealer, key, 0, 40), Ok(()), "{suite}");
        assert_eq!(take(&mut sealer, key, 0, 39), used(39, 41), "{suite}");
        assert_eq!(draw(&mut sealer, key, 0), Ok(41), "{suite}");
        assert_eq!(take(&mut sealer, key, 0, 41), used(41, 42), "{suite}");
        let end = Err(Refusal::NotReserved { end: 100 });
        assert_eq!(take(&mut sealer, key, 0, 100), end, "{suite}");
        assert_eq!(take(&mut sealer, key, 0, 99), Ok(()), "{suite}");
        assert_eq!(
            draw(&mut sealer, key, 0),
            Err(Refusal::NotReserved { end: 100 })
        );
    }
}

/// Within one batch, too, where the packets of the numbers have not been sealed yet.
#[test]
fn a_refused_packet_uses_no_number() {
    for suite in suites() {
        let key = SealingKey::new(material(suite, 1), 1..).expect("a sealing key");
        let (mut sealer, key) = sealer_with(key);
        let mut laid = Laid::of(&[Packet::new(suite, 8, 16, 2), Packet::new(suite, 8, 16, 4)]);
        let [first, second] = [0, 1].map(|index| Descriptor {
            key,
            ..laid.packets[index]
        });
        let mut batch = sealer.batch(&mut laid.buffer);
        assert_eq!(batch.push(first), Ok(1), "{suite}");
        for _ in 0..3 {
            let offset = first.offset;
            let overlap = Refusal::Overlap { offset };
            assert_eq!(batch.push(first), Err(overlap), "{suite}");
            assert_eq!(batch.push_numbered(first, 900), Err(overlap), "{suite}");
        }
        let used = Refusal::NumberUsed { number: 1, next: 2 };
        assert_eq!(batch.push_numbered(second, 1), Err(used), "{suite}");
        assert_eq!(batch.push(second), Ok(2), "{suite}");
        assert_eq!(batch.run().good(), 2, "{suite}");
    }
}

fn implicit(rule: NonceRule) -> SealingKey {
    let suite = parse("aes-128-gcm-16");
    let material = KeyMaterial::with_nonces(suite, &[0x42; 16], rule).expect("16 bytes");
    SealingKey::new(material, 0..).expect("a sealing key")
}

#[test]
fn contexts_count_by_themselves() {
    for rule in [NonceRule::Xor([1; 12]), NonceRule::Srtp([2; 12])] {
        let mut key = implicit(rule);
        assert_eq!(key.add_context(0xcafe_babe, 0..), Ok(()));
        assert_eq!(key.add_context(7, 100..103), Ok(()));
        let exists = KeyError::ContextExists { context: 7 };
        assert_eq!(key.add_context(7, 0..), Err(exists));
        let (mut sealer, key) = sealer_with(key);
        assert_eq!(draw(&mut sealer, key, 0xcafe_babe), Ok(0));
        assert_eq!(draw(&mut sealer, key, 7), Ok(100));
        assert_eq!(draw(&mut sealer, key, 0xcafe_babe), Ok(1));
        assert_eq!(take(&mut sealer, key, 7, 102), Ok(()));
        let used = Refusal::NumberUsed {
            number: 101,
            next: 103,
        };
        assert_eq!(take(&mut sealer, key, 7, 101), Err(used));
        assert_eq!(
            draw(&mut sealer, key, 7),
            Err(Refusal::NotReserved { end: 103 })
        );
        assert_eq!(take(&mut sealer, key, 0xcafe_babe, 101), Ok(()));
        // From the first declared context on, there are no others.
        for context in [0, 8, u32::MAX] {
            let no_context = Refusal::NoContext { context };
            assert_eq!(draw(&mut sealer, key, context), Err(no_context));
            assert_eq!(take(&mut sealer, key, context, 5000), Err(no_context));
        }
        // A context is added while packets flow.
        let added = sealer.key_mut(key).expect("a key").add_context(8, 9..);
        assert_eq!(added, Ok(()));
        assert_eq!(draw(&mut sealer, key, 8), Ok(9));
    }
}

#[test]
fn contexts_are_256_of_keys_whose_nonces_hold_them() {
    let mut key = implicit(NonceRule::Srtp([2; 12]));
    for context in 0..MAX_CONTEXTS as u32 {
        assert_eq!(key.add_context(context * 0x0101_0101, 0..), Ok(()));
    }
    let too_many = KeyError::TooManyContexts { max: MAX_CONTEXTS };
    assert_eq!(key.add_context(1, 0..), Err(too_many));
    let (mut sealer, key) = sealer_with(key);
    for context in (0..MAX_CONTEXTS as u32).rev() {
        assert_eq!(draw(&mut sealer, key, context * 0x0101_0101), Ok(0));
    }
    for suite in suites() {
        let mut key = SealingKey::new(material(suite, 1), 0..).expect("a sealing key");
        assert_eq!(
            key.add_context(1, 0..),
            Err(KeyError::NoContexts),
            "{suite}"
        );
    }
    let mut key = implicit(NonceRule::LittleEndian);
    assert_eq!(key.add_context(1, 0..), Err(KeyError::NoContexts));
}

/// SRTP's index has 48 bits: rollover counter and sequence number.
#[test]
fn numbers_that_do_not_fit_the_nonce_are_refused() {
    let (mut sealer, key) = sealer_with(implicit(NonceRule::Srtp([2; 12])));
    let end = 1 << 48;
    for number in [end, end + 1, u64::MAX] {
        let too_large = Refusal::NumberTooLarge { number, end };
        assert_eq!(take(&mut sealer, key, 0, number), Err(too_large));
    }
    assert_eq!(take(&mut sealer, key, 0, end - 1), Ok(()));
    assert_eq!(
        draw(&mut sealer, key, 0),
        Err(Refusal::KeyExhausted { end })
    );

    for rule in [NonceRule::Xor([1; 12]), NonceRule::LittleEndian] {
        let (mut sealer, key) = sealer_with(implicit(rule));
        assert_eq!(take(&mut sealer, key, 0, u64::MAX - 1), Ok(()));
        let (number, end) = (u64::MAX, u64::MAX);
        let too_large = Refusal::NumberTooLarge { number, end };
        assert_eq!(take(&mut sealer, key, 0, number), Err(too_large));
    }
}

#[test]
fn nonces_that_are_not_sent_are_those_of_gcm_and_chacha20_poly1305() {
    for suite in suites() {
        let key = vec![7; suite.key_bytes()];
        let name = suite.name();
        let is_allowed = name.ends_with("-gcm-16") || name == "chacha20-poly1305";
        for rule in [
            NonceRule::Xor([1; 12]),
            NonceRule::Srtp([2; 12]),
            NonceRule::LittleEndian,
        ] {
            let error = KeyMaterial::with_nonces(suite, &key, rule).err();
            let expected = (!is_allowed).then_some(KeyError::NonceRule { suite });
            assert_eq!(error, expected, "{suite}");
            if is_allowed {
                // The salt is part of nonces that are sent.
                let salted = [&key[..], &[0; 4]].concat();
                let expected = KeyError::CipherKey {
                    needed_bytes: key.len(),
                    given_bytes: salted.len(),
                };
                let error = KeyMaterial::with_nonces(suite, &salted, rule).err();
                assert_eq!(error, Some(expected), "{suite}");
            }
        }
        let key = crate::support::RawKey::new(suite, 1);
        if key.integrity_key.is_empty() {
            let explicit = KeyMaterial::with_nonces(suite, &key.key, NonceRule::Explicit);
            assert!(explicit.is_ok(), "{suite}");
        }
    }
}

fn first_iv(suite: Suite, seed: u8, first: u64, source: IvSource) -> Vec<u8> {
    let key = SealingKey::with_ivs(material(suite, seed), first.., source).expect("a key");
    let (mut sealer, key) = sealer_with(key);
    let mut laid = Laid::of(&[Packet::new(suite, 8, 48, 2)]);
    laid.seal_under(&mut sealer, key);
    laid.parts(0)[1].to_vec()
}

#[test]
fn cbc_ivs_differ_between_keys_and_repeat_only_on_request() {
    for name in ["aes-192-cbc+hmac-sha1-96", "3des-cbc+hmac-sha1-96"] {
        let suite = parse(name);
        let first_iv = |seed, source| first_iv(suite, seed, 1, source);
        let repeatable = first_iv(1, IvSource::RepeatableInsecure);
        assert_eq!(repeatable, first_iv(1, IvSource::RepeatableInsecure));
        assert_ne!(repeatable, first_iv(2, IvSource::RepeatableInsecure));
        // Two draws agree by chance once in 2^64 (3DES) or 2^128 runs (AES).
        assert_ne!(first_iv(1, IvSource::Random), first_iv(1, IvSource::Random));
        assert_ne!(repeatable, first_iv(1, IvSource::Random));
    }
}

#[test]
fn counter_ivs_are_the_number_in_network_order() {
    let is_counted = |suite: &Suite| suite.iv_is_counter() && suite.iv_bytes() > 0;
    for suite in suites().filter(is_counted) {
        let iv = first_iv(suite, 1, 0x0102_0304_0506_0708, IvSource::Random);
        assert_eq!(iv, [1, 2, 3, 4, 5, 6, 7, 8], "{suite}");
    }
}

/// Many keys expanded at once are the keys that they are one by one.
#[test]
fn keys_of_a_batch_are_those_made_one_by_one() {
    let all: Vec<Suite> = suites().collect();
    for count in [1, 40, 300] {
        // Runs of one suite, and of every suite.
        let subject = |index: usize| (all[index / 9 % all.len()], index as u8);
        let materials = (0..count).map(|index| {
            let (suite, seed) = subject(index);
            material(suite, seed)
        });
        let keys = SealingKey::new_batch(materials.collect(), 3..5).expect("keys");
        assert_eq!(keys.len(), count);
        for (index, key) in keys.into_iter().enumerate() {
            let (suite, seed) = subject(index);
            assert_eq!(
                (key.suite(), key.next_number(), key.reserved()),
                (suite, 3, 2)
            );
            let alone = SealingKey::new(material(suite, seed), 3..5).expect("a key");
            let mut sealed = [key, alone].map(|key| {
                let (mut sealer, key) = sealer_with(key);
                let mut laid = Laid::of(&[Packet::new(suite, 8, 1100, 2)]);
                laid.seal_under(&mut sealer, key);
                laid
            });
            if suite.iv_is_counter() || suite.iv_bytes() == 0 {
                assert_eq!(sealed[0], sealed[1], "{suite}");
            } else {
                let opening = weir_crypto::OpeningKey::new(&material(suite, seed));
                let mut opener = weir_crypto::Opener::new();
                let key = opener.add(opening.expect("a key"));
                sealed[0].open_under(&mut opener, key, &[3]);
            }
        }
    }
}
