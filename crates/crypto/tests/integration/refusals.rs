//! What must not happen: forged packets, nonces used twice, keys shown.

use crate::support::{Packet, key_pair, material};
use weir_crypto::{
    Exhausted, IvSource, JobError, JobFault, KeyError, KeyMaterial, OpeningKey, SealJob,
    SealingKey, Suite, open, open_as_found, seal, seal_as_made,
};

fn seal_one(key: &mut SealingKey, packet: &mut Packet) {
    let ticket = key.next_ticket().expect("enough is reserved");
    seal(&mut [packet.seal_job(key, ticket)]).expect("a well-formed packet");
}

/// Opens a copy, so that the packet can be used again.
fn opens(key: &OpeningKey, packet: &Packet) -> bool {
    let mut copy = packet.clone();
    let mut jobs = [copy.open_job(key)];
    open(&mut jobs);
    let verified = jobs[0].verified;
    assert!(
        verified || copy.text.iter().all(|&byte| byte == 0),
        "a refused packet released its text"
    );
    let (mut found, mut verdict) = (packet.clone(), true);
    open_as_found(&mut Vec::new(), |batch| {
        batch.add(found.open_job(key), &mut verdict);
        Ok::<_, ()>(())
    })
    .expect("no packet is refused");
    assert!((verdict, &found) == (verified, &copy), "as it is found");
    verified
}

#[test]
fn one_flipped_bit_anywhere_is_refused_and_no_text_is_released() {
    for suite in Suite::all() {
        let (mut sealing, opening) = key_pair(suite, 1, 1);
        // An odd seed gives encrypt-then-MAC packets a suffix.
        let mut packet = Packet::new(suite, 8, 48, 9);
        seal_one(&mut sealing, &mut packet);
        assert!(opens(&opening, &packet), "{suite}");

        let parts: [fn(&mut Packet) -> &mut Vec<u8>; 5] = [
            |packet| &mut packet.prefix,
            |packet| &mut packet.iv,
            |packet| &mut packet.text,
            |packet| &mut packet.suffix,
            |packet| &mut packet.tag,
        ];
        for part in parts {
            for bit in 0..part(&mut packet).len() * 8 {
                part(&mut packet)[bit / 8] ^= 1 << (bit % 8);
                assert!(!opens(&opening, &packet), "{suite}, bit {bit}");
                part(&mut packet)[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

#[test]
fn a_packet_of_another_key_is_refused() {
    for suite in Suite::all() {
        let (mut sealing, _) = key_pair(suite, 1, 1);
        let (_, other) = key_pair(suite, 2, 1);
        let mut packet = Packet::new(suite, 8, 48, 4);
        seal_one(&mut sealing, &mut packet);
        assert!(!opens(&other, &packet), "{suite}");
    }
}

#[test]
fn a_packet_cut_short_or_grown_is_refused() {
    for suite in Suite::all() {
        let (mut sealing, opening) = key_pair(suite, 1, 1);
        let mut packet = Packet::new(suite, 8, 48, 9);
        seal_one(&mut sealing, &mut packet);
        let parts: [fn(&mut Packet) -> &mut Vec<u8>; 3] = [
            |packet| &mut packet.iv,
            |packet| &mut packet.text,
            |packet| &mut packet.tag,
        ];
        for part in parts {
            let mut short = packet.clone();
            if part(&mut short).pop().is_some() {
                assert!(!opens(&opening, &short), "{suite}");
            }
            let mut none = packet.clone();
            let had_bytes = !part(&mut none).is_empty();
            part(&mut none).clear();
            assert!(!had_bytes || !opens(&opening, &none), "{suite}");
            let mut long = packet.clone();
            part(&mut long).push(0);
            assert!(!opens(&opening, &long), "{suite}");
        }
    }
}

#[test]
fn a_ticket_of_another_key_is_refused_before_a_byte_is_written() {
    let suite = Suite::parse("aes-128-gcm-16").expect("a suite");
    let (mut own, _) = key_pair(suite, 1, 2);
    // The same secrets do not make it the same key: each has its own counter.
    let (mut twin, _) = key_pair(suite, 1, 2);
    let mut packets = [Packet::new(suite, 8, 64, 1), Packet::new(suite, 8, 64, 2)];
    let before = packets.clone();
    let tickets = [own.next_ticket(), twin.next_ticket()].map(|t| t.expect("reserved"));

    let mut jobs: Vec<SealJob<'_>> = packets
        .iter_mut()
        .zip(tickets)
        .map(|(packet, ticket)| packet.seal_job(&own, ticket))
        .collect();
    let refused = JobError {
        job: 1,
        fault: JobFault::ForeignTicket,
    };
    assert_eq!(seal(&mut jobs), Err(refused));

    // The first job was in order: its ticket is still good.
    jobs.truncate(1);
    assert!(seal(&mut jobs).is_ok());
    drop(jobs);
    assert_ne!(packets[0], before[0]);
    assert_eq!(packets[1], before[1]);
}

#[test]
fn a_ticket_seals_one_packet_only() {
    for suite in Suite::all() {
        let (mut key, _) = key_pair(suite, 1, 1);
        let mut packet = Packet::new(suite, 8, 48, 1);
        let ticket = key.next_ticket().expect("reserved");
        let mut jobs = [packet.seal_job(&key, ticket)];
        assert!(seal(&mut jobs).is_ok());
        let text = jobs[0].text.to_vec();
        let refused = JobError {
            job: 0,
            fault: JobFault::SpentTicket,
        };
        assert_eq!(seal(&mut jobs), Err(refused), "{suite}");
        assert_eq!(jobs[0].text, text, "{suite}");
    }
}

#[test]
fn wrong_lengths_are_named_and_nothing_is_written() {
    type Case = (&'static str, fn(&mut Packet), JobFault);
    let cases: [Case; 8] = [
        (
            "aes-128-gcm-16",
            |packet| packet.iv.push(0),
            JobFault::Iv {
                needed_bytes: 8,
                given_bytes: 9,
            },
        ),
        (
            "chacha20-poly1305",
            |packet| packet.tag.truncate(12),
            JobFault::Tag {
                needed_bytes: 16,
                given_bytes: 12,
            },
        ),
        (
            "aes-256-gcm-16",
            |packet| packet.suffix.push(1),
            JobFault::Suffix { given_bytes: 1 },
        ),
        (
            "aes-128-cbc+hmac-sha1-96",
            |packet| packet.text.truncate(47),
            JobFault::PartialBlock {
                block_bytes: 16,
                given_bytes: 47,
            },
        ),
        (
            "3des-cbc+hmac-sha1-96",
            |packet| packet.text.truncate(44),
            JobFault::PartialBlock {
                block_bytes: 8,
                given_bytes: 44,
            },
        ),
        (
            "3des-cbc+hmac-sha1-96",
            |packet| packet.text = vec![0; (1 << 23) + 8],
            JobFault::TooLong {
                most_bytes: 1 << 23,
                given_bytes: (1 << 23) + 8,
            },
        ),
        (
            "aes-128-ctr+mmh-mac-96",
            |packet| packet.text = vec![0; 65_517],
            JobFault::TooLong {
                most_bytes: 65_516,
                given_bytes: 65_517,
            },
        ),
        (
            "aes-128-ctr+umac-64",
            |packet| packet.prefix.resize(13, 0),
            JobFault::Prefix {
                most_bytes: 12,
                given_bytes: 13,
            },
        ),
    ];
    for (name, spoil, fault) in cases {
        let suite = Suite::parse(name).expect("a suite");
        let (mut key, _) = key_pair(suite, 1, 3);
        let mut packets = [Packet::new(suite, 8, 48, 2), Packet::new(suite, 8, 48, 2)];
        spoil(&mut packets[1]);
        let before = packets.clone();
        let mut jobs: Vec<SealJob<'_>> = Vec::new();
        let tickets = [key.next_ticket(), key.next_ticket()].map(|t| t.expect("reserved"));
        for (packet, ticket) in packets.iter_mut().zip(tickets) {
            jobs.push(packet.seal_job(&key, ticket));
        }
        assert_eq!(seal(&mut jobs), Err(JobError { job: 1, fault }), "{name}");
        drop(jobs);
        assert!(packets == before, "{name}");

        let ticket = key.next_ticket().expect("reserved");
        let mut others = Vec::new();
        let mut sealed = true;
        let refused = seal_as_made(&mut others, |batch| {
            batch.add(packets[1].seal_job(&key, ticket), &mut sealed)
        });
        assert_eq!(refused, Err(fault), "{name}");
        assert!(others.is_empty(), "{name}");
        drop(others);
        assert!(!sealed && packets == before, "{name}");
    }
}

#[test]
fn packets_are_not_sealed_as_made_under_other_keys_tickets_or_after_an_error() {
    for suite in Suite::all() {
        let (mut own, _) = key_pair(suite, 1, 1);
        let (mut twin, _) = key_pair(suite, 1, 1);
        let mut packets = [Packet::new(suite, 8, 64, 1), Packet::new(suite, 8, 64, 2)];
        let before = packets.clone();
        let tickets = [own.next_ticket(), twin.next_ticket()].map(|t| t.expect("reserved"));
        let mut sealed = [true; 2];
        let outcome = seal_as_made(&mut Vec::new(), |batch| {
            for ((packet, ticket), sealed) in packets.iter_mut().zip(tickets).zip(&mut sealed) {
                batch.add(packet.seal_job(&own, ticket), sealed)?;
            }
            Ok(())
        });
        assert_eq!(outcome, Err(JobFault::ForeignTicket), "{suite}");
        assert_eq!(sealed, [false; 2], "{suite}");
        assert_eq!(packets[0].text, [0; 64], "{suite}");
        assert_eq!(packets[1], before[1], "{suite}");
    }
}

#[test]
fn a_counter_stops_at_its_reservation_and_goes_on_from_there() {
    let suite = Suite::parse("aes-256-ctr+hmac-sha2-256-128").expect("a suite");
    let mut key = SealingKey::new(material(suite, 1), 7, IvSource::Random).expect("a sealing key");
    assert_eq!(key.next_ticket(), Err(Exhausted::Reservation { end: 7 }));

    key.allow_until(9);
    assert_eq!(key.reserved(), 2);
    assert_eq!(key.next_ticket().expect("reserved").counter(), 7);
    assert_eq!(key.next_ticket().expect("reserved").counter(), 8);
    assert_eq!(key.next_ticket(), Err(Exhausted::Reservation { end: 9 }));

    // Taking a reservation back would hand the same values out again later.
    key.allow_until(3);
    assert_eq!(key.next_ticket(), Err(Exhausted::Reservation { end: 9 }));
    key.allow_until(10);
    assert_eq!(key.next_ticket().expect("reserved").counter(), 9);
    assert_eq!(key.next_counter(), 10);
}

#[test]
fn a_counter_ends_with_its_key() {
    let gcm = Suite::parse("aes-128-gcm-16").expect("a suite");
    let mut key =
        SealingKey::new(material(gcm, 1), u64::MAX - 1, IvSource::Random).expect("a sealing key");
    key.allow_until(u64::MAX);
    assert!(key.next_ticket().is_ok());
    assert_eq!(key.next_ticket(), Err(Exhausted::Key { end: u64::MAX }));

    let legacy = Suite::parse("3des-cbc+hmac-sha1-96").expect("a suite");
    let mut key = SealingKey::new(material(legacy, 1), 1, IvSource::Random).expect("a sealing key");
    key.allow_until(u64::MAX);
    let drawn = std::iter::from_fn(|| key.next_ticket().ok()).count();
    assert_eq!(drawn, 1 << 20);
    let end = 1 + (1 << 20);
    assert_eq!(key.next_ticket(), Err(Exhausted::Key { end }));
}

#[test]
fn cbc_ivs_differ_between_keys_and_repeat_only_when_asked_to() {
    for name in ["aes-192-cbc+hmac-sha1-96", "3des-cbc+hmac-sha1-96"] {
        let suite = Suite::parse(name).expect("a suite");
        let first_iv = |seed, source| {
            let mut key = SealingKey::new(material(suite, seed), 1, source).expect("a key");
            key.allow_until(2);
            let mut packet = Packet::new(suite, 8, 48, 1);
            seal_one(&mut key, &mut packet);
            packet.iv
        };
        let repeatable = first_iv(1, IvSource::RepeatableInsecure);
        assert_eq!(repeatable, first_iv(1, IvSource::RepeatableInsecure));
        assert_ne!(repeatable, first_iv(2, IvSource::RepeatableInsecure));
        // Two draws agree by chance once in 2^64 (3DES) or 2^128 runs (AES).
        assert_ne!(first_iv(1, IvSource::Random), first_iv(1, IvSource::Random));
        assert_ne!(repeatable, first_iv(1, IvSource::Random));
    }
}

#[test]
fn counter_ivs_are_the_ticket_in_network_order() {
    for suite in Suite::all().filter(|suite| suite.iv_is_counter()) {
        let first = 0x0102_0304_0506_0708;
        let mut key = SealingKey::new(material(suite, 1), first, IvSource::Random).expect("a key");
        key.allow_until(first + 1);
        let mut packet = Packet::new(suite, 8, 48, 1);
        seal_one(&mut key, &mut packet);
        assert_eq!(packet.iv, [1, 2, 3, 4, 5, 6, 7, 8], "{suite}");
    }
}

#[test]
fn keys_of_wrong_length_are_refused_with_both_lengths() {
    for suite in Suite::all() {
        let needed = suite.key_bytes() + suite.salt_bytes();
        let integrity = suite.integrity_key_bytes();
        // Unequal bytes, so that a 3DES key is not single DES.
        let bytes: Vec<u8> = (0..80).map(|i| i * 3).collect();
        let new = |key: usize, mac: usize| KeyMaterial::new(suite, &bytes[..key], &bytes[..mac]);
        assert!(new(needed, integrity).is_ok(), "{suite}");
        for given in [0, needed.saturating_sub(4), needed + 1] {
            if given != needed {
                let error = new(given, integrity).expect_err("a wrong key length");
                let expected = KeyError::CipherKey {
                    needed_bytes: needed,
                    given_bytes: given,
                };
                assert_eq!(error, expected, "{suite}");
            }
        }
        let error = new(needed, integrity + 1).expect_err("a wrong integrity key length");
        let text = error.to_string();
        assert!(text.contains(&integrity.to_string()), "{text}");
        assert!(text.contains(&(integrity + 1).to_string()), "{text}");
    }
}

#[test]
fn a_triple_des_key_that_is_single_des_is_refused() {
    let suite = Suite::parse("3des-cbc+hmac-sha1-96").expect("a suite");
    let error = KeyMaterial::new(suite, &[0x42; 24], &[0; 20]).expect_err("single DES");
    assert_eq!(error, KeyError::SingleDes);
}

#[test]
fn debug_output_shows_no_secret() {
    let suite = Suite::parse("aes-128-cbc+hmac-sha1-96").expect("a suite");
    let (mut sealing, opening) = key_pair(suite, 1, 1);
    let ticket = sealing.next_ticket().expect("reserved");
    let name = "EncryptThenMac(AesCbc(Aes128), HmacSha1_96)";
    assert_eq!(
        format!("{:?}", material(suite, 1)),
        format!("KeyMaterial {{ suite: {name}, .. }}")
    );
    assert_eq!(
        format!("{sealing:?}"),
        format!("SealingKey {{ suite: {name}, next: 2, allowed: 2, .. }}")
    );
    assert_eq!(
        format!("{opening:?}"),
        format!("OpeningKey {{ suite: {name}, .. }}")
    );
    let ticket = format!("{ticket:?}");
    assert!(ticket.starts_with("Ticket { key: KeyId(") && ticket.contains("counter: 1"));
}

/// Memory that is handed from batch to batch holds no packet of another batch: the verdict
/// on it would be the next packet's.
#[test]
fn a_packet_left_behind_by_another_batch_gets_no_verdict() {
    for suite in Suite::all() {
        let (mut sealing, opening) = key_pair(suite, 1, 1);
        let mut authentic = Packet::new(suite, 8, 64, 1);
        seal_one(&mut sealing, &mut authentic);
        let mut forged = authentic.clone();
        forged.tag[0] ^= 1;

        // Left there by the caller.
        let mut old = authentic.clone();
        let (mut found, mut verdict) = (forged.clone(), true);
        let mut others = vec![old.open_job(&opening)];
        open_as_found(&mut others, |batch| {
            batch.add(found.open_job(&opening), &mut verdict);
            Ok::<_, ()>(())
        })
        .expect("no packet is refused");
        assert!(others.is_empty() && !verdict, "{suite}");

        // Left there by a batch that ended with an error.
        let (mut old, mut old_verdict) = (authentic.clone(), true);
        let (mut found, mut verdict) = (forged.clone(), true);
        let mut others = Vec::new();
        let result = open_as_found(&mut others, |batch| {
            batch.add(old.open_job(&opening), &mut old_verdict);
            Err("a packet is not as planned")
        });
        assert!(result.is_err() && others.is_empty(), "{suite}");
        open_as_found(&mut others, |batch| {
            batch.add(found.open_job(&opening), &mut verdict);
            Ok::<_, ()>(())
        })
        .expect("no packet is refused");
        drop(others);
        assert!(!old_verdict && !verdict, "{suite}");
        for packet in [old, found] {
            assert!(packet.text.iter().all(|byte| *byte == 0), "{suite}");
        }
    }
}
