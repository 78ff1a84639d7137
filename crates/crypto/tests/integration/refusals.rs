//! What must not happen: forged packets that open, refused packets that are written, keys shown.

use weir_crypto::{
    BATCH_PACKETS, Descriptor, KeyError, KeyId, KeyMaterial, Layout, NonceRule, Opener, OpeningKey,
    Refusal, Sealer, SealingKey, Suite,
};

use crate::support::laid::Laid;
use crate::support::{Packet, RawKey, is_mac, key_pair, material, parse, suites};

/// A sealer and an opener with a key each.
fn both(suite: Suite) -> ((Sealer, KeyId), (Opener, KeyId)) {
    let (sealing, opening) = key_pair(suite, 1);
    let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
    let (key, other) = (sealer.add(sealing), opener.add(opening));
    ((sealer, key), (opener, other))
}

/// Three packets, so that one has a neighbour on each side; with extended sequence numbers if
/// `seed` is odd and the suite allows it.
fn three_packets(suite: Suite, seed: u8) -> Laid {
    Laid::of(&[(); 3].map(|()| Packet::new(suite, 8, 48, seed)))
}

/// Opens `laid`, under a held key or one-time keys.
fn open(
    laid: &mut Laid,
    suite: Suite,
    opener: &mut Opener,
    held: Option<KeyId>,
    numbers: &[u64],
) -> Vec<bool> {
    let raw = RawKey::new(suite, 1);
    laid.open(opener, |batch, index, packet| {
        let key = held.unwrap_or_else(|| {
            batch
                .add_one_time_key(suite, &raw.key, &raw.integrity_key)
                .expect("a key")
        });
        let pushed = batch.push_numbered(Descriptor { key, ..packet }, numbers[index]);
        assert_eq!(pushed, Ok(()), "{suite}");
    })
}

#[test]
fn one_flipped_bit_anywhere_is_refused_and_no_payload_is_released() {
    for (suite, seed) in suites().flat_map(|suite| [(suite, 1), (suite, 2)]) {
        let ((mut sealer, key), (mut opener, opening)) = both(suite);
        let plain = three_packets(suite, seed);
        let mut sealed = plain.clone();
        let numbers = sealed.seal_under(&mut sealer, key);
        let has_esn = plain.packets[0].layout.esn;
        for held in [Some(opening), None] {
            let mut check = |damaged: Laid, numbers: &[u64], what: &str| {
                let mut opened = damaged.clone();
                let good = open(&mut opened, suite, &mut opener, held, numbers);
                assert_eq!(good, [true, false, true], "{suite}, {what}");
                for index in [0, 2] {
                    assert_eq!(
                        opened.payload(index),
                        plain.payload(index),
                        "{suite}, {what}"
                    );
                }
                let [aad, iv, payload, tag] = opened.parts(1);
                let received = damaged.parts(1);
                assert_eq!(
                    [aad, iv, tag],
                    [received[0], received[1], received[3]],
                    "{suite}"
                );
                match is_mac(suite) {
                    true => assert_eq!(payload, received[2], "{suite}, {what}"),
                    false => assert!(payload.iter().all(|byte| *byte == 0), "{suite}, {what}"),
                }
            };
            for part in 0..4 {
                for bit in 0..plain.parts(1)[part].len() * 8 {
                    let mut damaged = sealed.clone();
                    damaged.flip(1, part, bit);
                    check(damaged, &numbers, &format!("bit {bit} of part {part}"));
                }
            }
            // All bits of the number, or those that the packet does not carry.
            let bits = match suite {
                _ if has_esn => 32..64,
                Suite::Mac(algorithm) if algorithm.has_nonce() => 0..64,
                _ => 0..0,
            };
            for bit in bits {
                let mut numbers = numbers.clone();
                numbers[1] ^= 1 << bit;
                check(
                    sealed.clone(),
                    &numbers,
                    &format!("bit {bit} of the number"),
                );
            }
        }
    }
}

#[test]
fn a_packet_of_another_key_is_refused() {
    for suite in suites() {
        let ((mut sealer, key), (mut opener, _)) = both(suite);
        let (_, other) = key_pair(suite, 2);
        let other = opener.add(other);
        let mut laid = three_packets(suite, 4);
        let numbers = laid.seal_under(&mut sealer, key);
        let good = open(&mut laid, suite, &mut opener, Some(other), &numbers);
        assert_eq!(good, [false; 3], "{suite}");
        for index in 0..3 {
            let is_clear = laid.payload(index).iter().all(|byte| *byte == 0);
            assert!(is_clear || is_mac(suite), "{suite}");
        }
    }
}

#[test]
fn a_packet_cut_short_or_grown_is_refused() {
    for suite in suites() {
        let ((mut sealer, key), (mut opener, opening)) = both(suite);
        let mut laid = Laid::of(&[Packet::new(suite, 8, 48, 2)]);
        let number = laid.seal_under(&mut sealer, key)[0];
        // Behind the packet lie bytes that do not belong to it.
        laid.buffer.extend_from_slice(&[7; 200]);
        let block = suite.block_bytes() as u32;
        let right = laid.packets[0];
        let changes: [fn(&mut Descriptor, u32); 8] = [
            |packet, block| packet.layout.payload_bytes -= block,
            |packet, block| packet.layout.payload_bytes += block,
            |packet, _| packet.layout.payload_bytes = 0,
            |packet, _| packet.layout.aad_bytes -= 1,
            |packet, _| packet.layout.aad_bytes += 1,
            |packet, _| packet.layout.aad_bytes = 0,
            |packet, _| packet.layout.gap_bytes = 1,
            |packet, _| packet.offset = 1,
        ];
        for change in changes {
            let mut packet = Descriptor {
                key: opening,
                ..right
            };
            change(&mut packet, block);
            let mut buffer = laid.buffer.clone();
            let mut batch = opener.batch(&mut buffer);
            assert_eq!(batch.push_numbered(packet, number), Ok(()), "{suite}");
            assert_eq!(batch.run().good(), 0, "{suite} {packet:?}");
            let layout = packet.layout;
            let start = usize::try_from(packet.offset).expect("a short buffer")
                + usize::from(layout.aad_bytes)
                + usize::from(layout.gap_bytes)
                + suite.iv_bytes();
            let payload = &buffer[start..start + layout.payload_bytes as usize];
            let is_clear = payload.iter().all(|byte| *byte == 0);
            assert!(is_clear || is_mac(suite), "{suite} {packet:?}");
        }
        laid.open_under(&mut opener, opening, &[number]);
    }
}

/// Offers `refused` to a batch between two packets that are right: it is not taken for the
/// reason that `expected` says, nothing is written, no number is drawn, and the other two are
/// what they are without it. The same holds where packets are opened.
fn expect_refused(suite: Suite, refused: impl Fn(Descriptor) -> Descriptor, expected: &Refusal) {
    let plain = three_packets(suite, 2);
    let packets = |laid: &Laid, key: KeyId| {
        [0, 1, 2].map(|index| Descriptor {
            key,
            ..laid.packets[index]
        })
    };

    let ((mut sealer, key), _) = both(suite);
    let mut without = plain.clone();
    let [first, _, third] = packets(&plain, key);
    let mut batch = sealer.batch(&mut without.buffer);
    assert_eq!((batch.push(first), batch.push(third)), (Ok(1), Ok(2)));
    assert!(batch.run().all_good());

    let ((mut sealer, key), (mut opener, opening)) = both(suite);
    let mut laid = plain.clone();
    let [first, second, third] = packets(&plain, key);
    let mut batch = sealer.batch(&mut laid.buffer);
    assert_eq!(batch.push(first), Ok(1), "{suite}");
    assert_eq!(batch.push(refused(second)), Err(*expected), "{suite}");
    assert_eq!(
        batch.push_numbered(refused(second), 5),
        Err(*expected),
        "{suite}"
    );
    assert_eq!(batch.buffer_mut(), plain.buffer, "{suite}");
    assert_eq!(batch.push(third), Ok(2), "{suite}");
    let verdicts = batch.run();
    assert_eq!((verdicts.len(), verdicts.good()), (2, 2), "{suite}");
    if suite.iv_is_counter() || suite.iv_bytes() == 0 {
        assert!(laid == without, "{suite}");
    }
    assert_eq!(laid.parts(1), plain.parts(1), "{suite}");

    let sealed = laid.clone();
    let [first, second, third] = packets(&plain, opening);
    let mut batch = opener.batch(&mut laid.buffer);
    assert_eq!(batch.push_numbered(first, 1), Ok(()), "{suite}");
    assert_eq!(
        batch.push_numbered(refused(second), 5),
        Err(*expected),
        "{suite}"
    );
    assert_eq!(batch.buffer_mut(), sealed.buffer, "{suite}");
    assert_eq!(batch.push_numbered(third, 2), Ok(()), "{suite}");
    let verdicts = batch.run();
    assert_eq!((verdicts.len(), verdicts.good()), (2, 2), "{suite}");
    for index in [0, 2] {
        assert_eq!(laid.payload(index), plain.payload(index), "{suite}");
    }
    assert_eq!(laid.parts(1), plain.parts(1), "{suite}");
}

#[test]
fn packets_that_overlap_are_refused() {
    for suite in suites() {
        let laid = three_packets(suite, 2);
        let [first, second, _] = [0, 1, 2].map(|index| laid.packets[index].offset);
        let bytes = second - first;
        for offset in [first, first + 1, second - 1] {
            let overlapping = |packet| Descriptor { offset, ..packet };
            expect_refused(suite, overlapping, &Refusal::Overlap { offset });
        }
        // A packet of no payload within another one.
        let within = |packet: Descriptor| Descriptor {
            offset: first + 2,
            layout: Layout {
                aad_bytes: 0,
                payload_bytes: 0,
                ..packet.layout
            },
            ..packet
        };
        expect_refused(suite, within, &Refusal::Overlap { offset: first + 2 });
        // One that covers the one before it and more.
        let block = suite.block_bytes() as u32;
        let covering = |packet: Descriptor| Descriptor {
            offset: 0,
            layout: Layout {
                payload_bytes: packet.layout.payload_bytes + bytes / block * block,
                ..packet.layout
            },
            ..packet
        };
        expect_refused(suite, covering, &Refusal::Overlap { offset: 0 });
    }
}

/// Also a packet in front of all others, and one between two.
#[test]
fn packets_out_of_order_are_taken_where_they_do_not_overlap() {
    for suite in suites() {
        let ((mut sealer, key), (mut opener, opening)) = both(suite);
        let mut laid = three_packets(suite, 2);
        let before = laid.clone();
        let mut batch = sealer.batch(&mut laid.buffer);
        for (index, number) in [(2, 1), (0, 2), (1, 3)] {
            let packet = Descriptor {
                key,
                ..before.packets[index]
            };
            assert_eq!(batch.push(packet), Ok(number), "{suite}");
            let offset = packet.offset;
            let overlap = Err(Refusal::Overlap { offset });
            assert_eq!(batch.push(packet), overlap, "{suite}");
            let offset = packet.offset + 1;
            let overlap = Err(match index {
                2 => Refusal::OutOfBuffer {
                    end: before.buffer.len() as u64 + 1,
                    buffer_bytes: before.buffer.len() as u64,
                },
                _ => Refusal::Overlap { offset },
            });
            assert_eq!(
                batch.push(Descriptor { offset, ..packet }),
                overlap,
                "{suite}"
            );
        }
        assert!(batch.run().all_good(), "{suite}");
        laid.open_under(&mut opener, opening, &[2, 3, 1]);
        for index in 0..3 {
            assert_eq!(laid.payload(index), before.payload(index), "{suite}");
        }
    }
}

#[test]
fn packets_that_leave_their_buffer_are_refused() {
    for suite in suites() {
        let laid = three_packets(suite, 2);
        let buffer_bytes = laid.buffer.len() as u64;
        let packet_bytes = buffer_bytes / 3;
        let last = laid.packets[2].offset;
        for offset in [last + 1, buffer_bytes as u32, u32::MAX] {
            let end = u64::from(offset) + packet_bytes;
            let out = Refusal::OutOfBuffer { end, buffer_bytes };
            expect_refused(suite, |packet| Descriptor { offset, ..packet }, &out);
        }
        // Lengths that would wrap around in 32 bits.
        let max_bytes = suite.limits().payload_bytes.most;
        let payload_bytes = u32::MAX - (u32::MAX % suite.block_bytes() as u32);
        if u64::from(payload_bytes) <= max_bytes {
            let too_long = |packet: Descriptor| Descriptor {
                layout: Layout {
                    payload_bytes,
                    ..packet.layout
                },
                ..packet
            };
            let end =
                u64::from(laid.packets[1].offset) + packet_bytes - 48 + u64::from(payload_bytes);
            expect_refused(suite, too_long, &Refusal::OutOfBuffer { end, buffer_bytes });
        }
    }
}

#[test]
fn layouts_that_a_suite_does_not_allow_are_refused() {
    let with = |change: fn(&mut Layout)| {
        move |mut packet: Descriptor| {
            change(&mut packet.layout);
            packet
        }
    };
    expect_refused(
        parse("aes-128-cbc+hmac-sha1-96"),
        with(|layout| layout.payload_bytes = 47),
        &Refusal::PartialBlock {
            block_bytes: 16,
            payload_bytes: 47,
        },
    );
    expect_refused(
        parse("3des-cbc+hmac-sha1-96"),
        with(|layout| layout.payload_bytes = 44),
        &Refusal::PartialBlock {
            block_bytes: 8,
            payload_bytes: 44,
        },
    );
    expect_refused(
        parse("3des-cbc+hmac-sha1-96"),
        with(|layout| layout.payload_bytes = (1 << 23) + 8),
        &Refusal::PayloadTooLong {
            max_bytes: 1 << 23,
            payload_bytes: (1 << 23) + 8,
        },
    );
    expect_refused(
        parse("aes-128-ctr+mmh-mac-96"),
        with(|layout| layout.payload_bytes = 65_517),
        &Refusal::PayloadTooLong {
            max_bytes: 65_516,
            payload_bytes: 65_517,
        },
    );
    expect_refused(
        parse("aes-128-ctr+umac-64"),
        with(|layout| layout.aad_bytes = 13),
        &Refusal::AadTooLong {
            max_bytes: 12,
            aad_bytes: 13,
        },
    );
    // Extended sequence numbers.
    for suite in suites() {
        let esn = |aad_bytes| {
            move |mut packet: Descriptor| {
                packet.layout.esn = true;
                packet.layout.aad_bytes = aad_bytes;
                packet
            }
        };
        for aad_bytes in [0, 4, 7, 9, 12] {
            expect_refused(suite, esn(aad_bytes), &Refusal::NotEsp);
        }
        if is_mac(suite) {
            expect_refused(suite, esn(8), &Refusal::NotEsp);
        }
    }
}

#[test]
fn packets_without_a_key_or_context_are_refused() {
    for suite in suites() {
        let no_key = |key| move |packet| Descriptor { key, ..packet };
        expect_refused(suite, no_key(KeyId::default()), &Refusal::NoKey);
        let (mut other, ids) = (Sealer::new(), [1, 2]);
        let [_, beyond] = ids.map(|seed| other.add(key_pair(suite, seed).0));
        expect_refused(suite, no_key(beyond), &Refusal::NoKey);
        for context in [1, u32::MAX] {
            // An opener of MACs and of nonces that are sent counts no contexts at all.
            let ((mut sealer, key), _) = both(suite);
            let mut laid = three_packets(suite, 2);
            let before = laid.clone();
            let mut batch = sealer.batch(&mut laid.buffer);
            let packet = Descriptor {
                key,
                context,
                ..before.packets[0]
            };
            let refused = Refusal::NoContext { context };
            assert_eq!(batch.push(packet), Err(refused), "{suite}");
            assert_eq!(batch.push_numbered(packet, 9), Err(refused), "{suite}");
            let raw = RawKey::new(suite, 1);
            let key = batch
                .add_one_time_key(suite, &raw.key, &raw.integrity_key)
                .expect("a key");
            let packet = Descriptor { key, ..packet };
            assert_eq!(batch.push(packet), Err(refused), "{suite}");
            // The key still has its packet to come.
            let packet = Descriptor {
                context: 0,
                ..packet
            };
            assert_eq!(batch.push(packet), Ok(0), "{suite}");
            assert_eq!(batch.run().good(), 1, "{suite}");
        }
    }
}

#[test]
fn removed_keys_protect_nothing_more() {
    for suite in suites() {
        let ((mut sealer, key), (mut opener, opening)) = both(suite);
        let mut laid = three_packets(suite, 2);
        let numbers = laid.seal_under(&mut sealer, key);
        let sealed = laid.clone();
        assert_eq!(sealer.key(key).map(SealingKey::next_number), Some(4));
        let removed = sealer.remove(key).expect("a key");
        assert_eq!(removed.next_number(), 4, "{suite}");
        assert!(sealer.key(key).is_none() && sealer.remove(key).is_none());
        assert!(opener.remove(opening).is_some() && opener.key(opening).is_none());

        // Others take their places, but not their names.
        let (sealing, other) = key_pair(suite, 2);
        let (successor, other) = (sealer.add(sealing), opener.add(other));
        assert!(successor != key && other != opening);
        let packet = Descriptor {
            key,
            ..laid.packets[0]
        };
        let mut batch = sealer.batch(&mut laid.buffer);
        assert_eq!(batch.push(packet), Err(Refusal::NoKey), "{suite}");
        drop(batch);
        let packet = Descriptor {
            key: opening,
            ..packet
        };
        let mut batch = opener.batch(&mut laid.buffer);
        assert_eq!(
            batch.push_numbered(packet, 1),
            Err(Refusal::NoKey),
            "{suite}"
        );
        drop(batch);
        assert!(laid == sealed, "{suite}");

        // A key that comes back counts on.
        let key = sealer.add(removed);
        let mut batch = sealer.batch(&mut laid.buffer);
        let packet = Descriptor { key, ..packet };
        assert_eq!(batch.push(packet), Ok(4), "{suite}");
        drop(batch);
        let back = opener.add(OpeningKey::new(&material(suite, 1)).expect("a key"));
        laid.open_under(&mut opener, back, &numbers);
    }
}

#[test]
fn a_one_time_key_protects_one_packet_of_one_batch() {
    for suite in suites() {
        let raw = RawKey::new(suite, 1);
        let ((mut sealer, _), (mut opener, _)) = both(suite);
        let mut laid = three_packets(suite, 2);
        let plain = laid.clone();
        let packet = |key, index: usize| Descriptor {
            key,
            ..plain.packets[index]
        };

        let mut batch = sealer.batch(&mut laid.buffer);
        let key = batch
            .add_one_time_key(suite, &raw.key, &raw.integrity_key)
            .expect("a key");
        assert_eq!(batch.push_numbered(packet(key, 0), 77), Ok(()), "{suite}");
        let spent = Err(Refusal::KeySpent);
        assert_eq!(batch.push_numbered(packet(key, 1), 78), spent, "{suite}");
        assert_eq!(batch.push(packet(key, 1)).map(drop), spent, "{suite}");
        assert!(batch.run().all_good());
        assert_eq!(laid.parts(1), plain.parts(1), "{suite}");

        // Neither in the next batch, in which another key may be in its place.
        let mut batch = sealer.batch(&mut laid.buffer);
        let gone = Err(Refusal::NoKey);
        assert_eq!(batch.push_numbered(packet(key, 1), 78), gone, "{suite}");
        let unused = batch
            .add_one_time_key(suite, &raw.key, &raw.integrity_key)
            .expect("a key");
        assert_eq!(batch.push_numbered(packet(key, 1), 78), gone, "{suite}");
        drop(batch);
        let mut batch = sealer.batch(&mut laid.buffer);
        assert_eq!(batch.push_numbered(packet(unused, 1), 78), gone, "{suite}");
        drop(batch);

        let mut batch = opener.batch(&mut laid.buffer);
        // A name of the sealer's is none of the opener's, once that has a batch of its own.
        let key = batch
            .add_one_time_key(suite, &raw.key, &raw.integrity_key)
            .expect("a key");
        assert_eq!(batch.push_numbered(packet(key, 0), 77), Ok(()), "{suite}");
        assert_eq!(batch.push_numbered(packet(key, 1), 77), spent, "{suite}");
        assert!(batch.run().all_good(), "{suite}");
        let mut batch = opener.batch(&mut laid.buffer);
        assert_eq!(batch.push_numbered(packet(key, 1), 77), gone, "{suite}");
        drop(batch);
        assert_eq!(laid.payload(0), plain.payload(0), "{suite}");
    }
}

#[test]
fn a_batch_has_at_most_256_one_time_keys() {
    for suite in suites() {
        let raw = RawKey::new(suite, 1);
        let max = BATCH_PACKETS;
        let too_many = KeyError::TooManyOneTimeKeys { max };
        let mut sealer = Sealer::new();
        let mut batch = sealer.batch(&mut []);
        for number in 0..=max {
            let added = batch.add_one_time_key(suite, &raw.key, &raw.integrity_key);
            assert_eq!(added.err(), (number == max).then_some(too_many), "{suite}");
        }
        let mut opener = Opener::new();
        let mut batch = opener.batch(&mut []);
        for number in 0..=max {
            let added = batch.add_one_time_key(suite, &raw.key, &raw.integrity_key);
            assert_eq!(added.err(), (number == max).then_some(too_many), "{suite}");
        }
    }
}

#[test]
fn packets_that_do_not_carry_their_number_need_it_to_be_opened() {
    for suite in suites() {
        let ((mut sealer, key), (mut opener, opening)) = both(suite);
        let mut laid = three_packets(suite, 1);
        laid.seal_under(&mut sealer, key);
        let packet = Descriptor {
            key: opening,
            ..laid.packets[0]
        };
        let is_needed =
            packet.layout.esn || matches!(suite, Suite::Mac(algorithm) if algorithm.has_nonce());
        let mut batch = opener.batch(&mut laid.buffer);
        let expected = match is_needed {
            true => Err(Refusal::NoNumber),
            false => Ok(()),
        };
        assert_eq!(batch.push(packet), expected, "{suite}");
    }
    let suite = parse("chacha20-poly1305");
    let material = KeyMaterial::with_nonces(suite, &[7; 32], NonceRule::LittleEndian);
    let key = OpeningKey::new(&material.expect("32 bytes")).expect("a key");
    let mut opener = Opener::new();
    let key = opener.add(key);
    let mut buffer = [0; 64];
    let mut batch = opener.batch(&mut buffer);
    let packet = Descriptor {
        key,
        ..Descriptor::default()
    };
    assert_eq!(batch.push(packet), Err(Refusal::NoNumber));
}

#[test]
fn keys_of_wrong_length_are_refused_with_both_lengths() {
    for suite in suites() {
        let needed = suite.key_bytes() + suite.salt_bytes();
        let integrity = suite.integrity_key_bytes();
        // Unequal bytes, so that a 3DES key is not single DES.
        let bytes: Vec<u8> = (0..80).map(|i| i * 3).collect();
        let new = |key: usize, mac: usize| KeyMaterial::new(suite, &bytes[..key], &bytes[..mac]);
        assert!(new(needed, integrity).is_ok(), "{suite}");
        let is_hmac = matches!(suite, Suite::Mac(algorithm) if !algorithm.has_nonce());
        for given in [0, needed.saturating_sub(4), needed + 1] {
            // HMAC alone takes longer ones.
            if given == needed || is_hmac && given > needed {
                continue;
            }
            let expected = KeyError::CipherKey {
                needed_bytes: needed,
                given_bytes: given,
            };
            assert_eq!(new(given, integrity).err(), Some(expected), "{suite}");
            let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
            let (key, mac) = (&bytes[..given], &bytes[..integrity]);
            let added = sealer.batch(&mut []).add_one_time_key(suite, key, mac);
            assert_eq!(added, Err(expected), "{suite}");
            let added = opener.batch(&mut []).add_one_time_key(suite, key, mac);
            assert_eq!(added, Err(expected), "{suite}");
        }
        let expected = KeyError::IntegrityKey {
            needed_bytes: integrity,
            given_bytes: integrity + 1,
        };
        assert_eq!(new(needed, integrity + 1).err(), Some(expected), "{suite}");
        let (key, mac) = (&bytes[..needed], &bytes[..=integrity]);
        let added = Sealer::new()
            .batch(&mut [])
            .add_one_time_key(suite, key, mac);
        assert_eq!(added, Err(expected), "{suite}");
        let text = expected.to_string();
        assert!(text.contains(&integrity.to_string()), "{text}");
        assert!(text.contains(&(integrity + 1).to_string()), "{text}");
    }
}

#[test]
fn a_triple_des_key_that_is_single_des_is_refused() {
    let suite = parse("3des-cbc+hmac-sha1-96");
    let error = KeyMaterial::new(suite, &[0x42; 24], &[0; 20]).expect_err("single DES");
    assert_eq!(error, KeyError::SingleDes);
    let mut sealer = Sealer::new();
    let added = sealer
        .batch(&mut [])
        .add_one_time_key(suite, &[0x42; 24], &[0; 20]);
    assert_eq!(added, Err(KeyError::SingleDes));
}

#[test]
fn debug_output_shows_no_secret() {
    let suite = parse("aes-128-cbc+hmac-sha1-96");
    let (sealing, opening) = key_pair(suite, 1);
    let name = "EncryptThenMac(AesCbc(Aes128), HmacSha1_96)";
    assert_eq!(
        format!("{:?}", material(suite, 1)),
        format!("KeyMaterial {{ suite: {name}, .. }}")
    );
    let numbers = format!(
        "Numbers {{ next: 1, end: {0}, reserved: {0}, limit: {0} }}",
        u64::MAX
    );
    assert_eq!(
        format!("{sealing:?}"),
        format!("SealingKey {{ suite: {name}, numbers: {numbers}, .. }}")
    );
    assert_eq!(
        format!("{opening:?}"),
        format!("OpeningKey {{ suite: {name}, .. }}")
    );
    let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
    sealer.add(sealing);
    opener.add(opening);
    assert_eq!(
        format!("{sealer:?} {opener:?}"),
        "Sealer { .. } Opener { .. }"
    );
    for (rule, name) in [
        (NonceRule::Xor([0x5a; 12]), "Xor(..)"),
        (NonceRule::Srtp([0x5a; 12]), "Srtp(..)"),
    ] {
        assert_eq!(format!("{rule:?}"), name);
    }
}
