//! MACs through their public interface: what is tagged verifies, what was changed
//! does not, and nonces cannot be used twice.

use weir_crypto::mac::{
    Algorithm, Material, TagJob, TaggingKey, VerifyJob, VerifyingKey, tag, verify,
};
use weir_crypto::{Exhausted, JobFault, KeyError};

fn material(algorithm: Algorithm, seed: u8) -> Material {
    let key: Vec<u8> = (0..algorithm.key_bytes() as u8)
        .map(|i| i.wrapping_mul(29) ^ seed)
        .collect();
    Material::new(algorithm, &key).expect("the right length")
}

fn tagging(algorithm: Algorithm) -> TaggingKey {
    let mut key = TaggingKey::new(material(algorithm, 1), 7).expect("a key");
    key.allow_until(1000);
    key
}

fn tagged(algorithm: Algorithm, message: &[u8]) -> (u64, Vec<u8>) {
    tagged_under(&mut tagging(algorithm), message)
}

fn tagged_under(key: &mut TaggingKey, message: &[u8]) -> (u64, Vec<u8>) {
    let algorithm = key.algorithm();
    let ticket = key.next_ticket().expect("values are reserved");
    let nonce = ticket.counter();
    let mut out = vec![0; algorithm.tag_bytes()];
    let job = TagJob {
        key,
        ticket,
        parts: [message, &[], &[], &[]],
        tag: &mut out,
    };
    tag(&mut [job]).expect("lengths are allowed");
    (nonce, out)
}

/// Whether each of the messages verifies, in one batch.
fn verified(algorithm: Algorithm, tries: &[(u64, Vec<u8>, Vec<u8>)]) -> Vec<bool> {
    let key = VerifyingKey::new(&material(algorithm, 1)).expect("a key");
    let mut jobs: Vec<VerifyJob<'_>> = tries
        .iter()
        .map(|(nonce, message, tag)| VerifyJob {
            key: &key,
            nonce: *nonce,
            parts: [&[], message, &[], &[]],
            tag,
            verified: true,
        })
        .collect();
    verify(&mut jobs);
    jobs.iter().map(|job| job.verified).collect()
}

/// Each of these is accepted with a probability of 2⁻²⁸ at most, over the choice of
/// the key, which is fixed: a right implementation passes or fails for good.
#[test]
fn forgeries_are_refused() {
    for algorithm in Algorithm::all() {
        for bytes in [0, 1, 31, 32, 64, 100, 1024, 1025, 3072, 9000] {
            let message: Vec<u8> = (0..bytes).map(|i| (i / 7) as u8).collect();
            let (nonce, right) = tagged(algorithm, &message);
            let mut tries = vec![(nonce, message.clone(), right.clone())];
            let mut forge = |nonce, message, tag: &[u8]| tries.push((nonce, message, tag.to_vec()));
            for zeros in [1, 4, 31, 32, 64, 1024] {
                forge(nonce, [&message[..], &vec![0; zeros]].concat(), &right);
                forge(nonce, [&vec![0; zeros], &message[..]].concat(), &right);
            }
            for cut in [1, 4, 32, 1024].into_iter().filter(|cut| *cut <= bytes) {
                forge(nonce, message[..bytes - cut].to_vec(), &right);
                forge(nonce, message[cut..].to_vec(), &right);
            }
            for block in [4, 16, 32, 1024].into_iter().filter(|b| 2 * b <= bytes) {
                let mut swapped = message.clone();
                let (a, b) = swapped.split_at_mut(bytes - block);
                a[..block].swap_with_slice(b);
                if swapped != message {
                    forge(nonce, swapped, &right);
                }
            }
            if bytes > 0 {
                for at in [0, bytes / 2, bytes - 1] {
                    let mut changed = message.clone();
                    changed[at] ^= 0x80;
                    forge(nonce, changed, &right);
                }
            }
            if algorithm.has_nonce() {
                for other in [nonce + 1, nonce - 1, nonce ^ 1 << 40, 0] {
                    forge(other, message.clone(), &right);
                }
            }
            for at in 0..right.len() {
                let mut wrong = right.clone();
                wrong[at] ^= 1;
                forge(nonce, message.clone(), &wrong);
            }
            forge(nonce, message.clone(), &right[..3]);
            forge(nonce, message.clone(), &[]);
            forge(nonce, message.clone(), &[&right[..], &[0]].concat());
            let found = verified(algorithm, &tries);
            assert!(found[0], "{algorithm}: {bytes} bytes");
            let accepted = found[1..].iter().position(|accepted| *accepted);
            assert_eq!(accepted, None, "{algorithm}: {bytes} bytes");
        }
    }
}

#[test]
fn a_ticket_is_spent_once_and_by_its_own_key() {
    let algorithm = Algorithm::parse("mmh-mac-128").expect("a name");
    let (mut key, mut other) = (tagging(algorithm), tagging(algorithm));
    let mut out = [0; 16];
    let mut jobs = [TagJob {
        key: &key,
        ticket: other.next_ticket().expect("values are reserved"),
        parts: [b"message", &[], &[], &[]],
        tag: &mut out,
    }];
    let error = tag(&mut jobs).expect_err("another key's ticket");
    assert_eq!(error.fault, JobFault::ForeignTicket);
    assert_eq!(out, [0; 16]);

    let ticket = key.next_ticket().expect("values are reserved");
    let mut jobs = [TagJob {
        key: &key,
        ticket,
        parts: [b"message", &[], &[], &[]],
        tag: &mut out,
    }];
    tag(&mut jobs).expect("lengths are allowed");
    let error = tag(&mut jobs).expect_err("a ticket that is spent");
    assert_eq!(error.fault, JobFault::SpentTicket);
}

#[test]
fn counters_end_where_they_are_reserved() {
    let algorithm = Algorithm::parse("umac-64").expect("a name");
    let mut key = TaggingKey::new(material(algorithm, 1), 7).expect("a key");
    assert_eq!(key.next_ticket(), Err(Exhausted::Reservation { end: 7 }));
    key.allow_until(8);
    assert_eq!((key.reserved(), key.next_counter()), (1, 7));
    assert!(key.next_ticket().is_ok());
    assert_eq!(key.next_ticket(), Err(Exhausted::Reservation { end: 8 }));
    let mut key = TaggingKey::new(material(algorithm, 1), u64::MAX).expect("a key");
    key.allow_until(u64::MAX);
    assert_eq!(key.next_ticket(), Err(Exhausted::Key { end: u64::MAX }));
}

/// More keys than are spent, as many, fewer; of algorithms that take turns.
#[test]
fn keys_in_the_memory_of_spent_keys_are_as_new() {
    let algorithms: Vec<Algorithm> = Algorithm::all().collect();
    let materials = |count: usize, seed: usize| -> Vec<(Material, u64)> {
        let algorithm = |index: usize| algorithms[(index / 9 + seed) % algorithms.len()];
        (0..count)
            .map(|index| (material(algorithm(index), (index + seed) as u8), 3))
            .collect()
    };
    for (before, now) in [(300, 300), (40, 300), (300, 40)] {
        let spent = TaggingKey::new_batch(materials(before, 1)).expect("keys");
        let over = TaggingKey::new_batch_over(spent, materials(now, 2)).expect("keys");
        let new = TaggingKey::new_batch(materials(now, 2)).expect("keys");
        assert_eq!(over.len(), now);
        for (mut over, mut new) in over.into_iter().zip(new) {
            assert_eq!(over.reserved(), 0);
            over.allow_until(10);
            new.allow_until(10);
            let message = [7; 1100];
            let tags = [&mut over, &mut new].map(|key| tagged_under(key, &message));
            assert_eq!(tags[0], tags[1], "{}", new.algorithm());
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_says_what_would() {
    for algorithm in Algorithm::all() {
        for given_bytes in [0, 1, algorithm.key_bytes() - 1] {
            let error = Material::new(algorithm, &vec![1; given_bytes]).expect_err("too short");
            let needed_bytes = algorithm.key_bytes();
            let expected = KeyError::IntegrityKey {
                needed_bytes,
                given_bytes,
            };
            assert_eq!(error, expected, "{algorithm}");
        }
        let mut key = tagging(algorithm);
        let mut out = vec![0; algorithm.tag_bytes() + 1];
        let mut jobs = [TagJob {
            ticket: key.next_ticket().expect("values are reserved"),
            key: &key,
            parts: [b"message", &[], &[], &[]],
            tag: &mut out,
        }];
        let error = tag(&mut jobs).expect_err("a tag too long");
        assert!(error.to_string().contains("allowed"), "{error}");
    }
    for (name, most_bytes) in [("mmh-mac-32", 1 << 16), ("umac-128", 1 << 24)] {
        let algorithm = Algorithm::parse(name).expect("a name");
        let message = vec![0; most_bytes + 1];
        let mut key = tagging(algorithm);
        let mut out = vec![0; algorithm.tag_bytes()];
        let mut jobs = [TagJob {
            ticket: key.next_ticket().expect("values are reserved"),
            key: &key,
            parts: [&message[..1], &message[1..], &[], &[]],
            tag: &mut out,
        }];
        let error = tag(&mut jobs).expect_err("a message too long");
        let expected = JobFault::MessageTooLong {
            most_bytes: most_bytes as u64,
            given_bytes: most_bytes as u64 + 1,
        };
        assert_eq!(error.fault, expected);
    }
}

#[test]
fn keys_show_no_secret() {
    let algorithm = Algorithm::parse("umac-64").expect("a name");
    let text = format!(
        "{:?} {:?} {:?}",
        material(algorithm, 1),
        tagging(algorithm),
        VerifyingKey::new(&material(algorithm, 1)).expect("a key")
    );
    assert!(
        text.contains("Umac") && !text.contains("pad_keys"),
        "{text}"
    );
}
