//! Each of these branches, forced in every public way to seal and open, for every suite:
//! no plaintext is left, the packet is refused, and all others of the batch are as they
//! would be without it.

use std::collections::BTreeSet;

use super::Impossible::{self, *};
use super::force;
use crate::mac::{self, Algorithm, Material, TagJob, TaggingKey, VerifyJob, VerifyingKey};
use crate::{
    Aead, AesKeySize, IvSource, JobError, JobFault, KeyMaterial, KeyPolicy, OneTimeKeys, OpenAt,
    OpenJob, OpeningKey, Place, SealAt, SealJob, SealingKey, Suite, Ticket, open, open_as_found,
    open_in, open_once, seal, seal_as_made, seal_in, seal_once,
};

const ALL: [Impossible; 8] = [
    NoIv,
    NotCut,
    NotPlanned,
    KernelReturns,
    NoKey,
    CipherRefuses,
    NoPads,
    TagLost,
];

/// How many times the branch is not taken before it is.
const BEFORE: [usize; 4] = [0, 1, 6, 17];

/// Lengths of text, each rounded up to the suite's blocks. Those of a kind are
/// neighbours, so that kernels for packets of one length run too.
const TEXTS_BYTES: [usize; 26] = [
    0, 16, 16, 16, 16, 16, 64, 64, 64, 64, 64, 64, 64, 64, 64, 100, 100, 1, 300, 300, 300, 300, 80,
    1500, 1500, 3300,
];

const PREFIX_BYTES: usize = 8;

/// A public way to seal or to open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Way {
    Slices,
    OneByOne,
    Placed,
    Once,
}

const WAYS: [Way; 4] = [Way::Slices, Way::OneByOne, Way::Placed, Way::Once];

#[derive(Clone)]
struct Packet {
    prefix: Vec<u8>,
    iv: Vec<u8>,
    text: Vec<u8>,
    tag: Vec<u8>,
}

/// A suite, and how its keys are kept.
#[derive(Clone, Copy, Debug)]
struct Subject {
    suite: Suite,
    policy: KeyPolicy,
}

impl Subject {
    fn all() -> impl Iterator<Item = Subject> {
        Suite::all().flat_map(|suite| {
            let policies = match suite {
                Suite::Aead(Aead::AesGcm16(_)) => &KeyPolicy::ALL[..],
                _ => &[KeyPolicy::Precomputed],
            };
            policies
                .iter()
                .map(move |&policy| Subject { suite, policy })
        })
    }

    /// The size of one-time keys, where there are such for the suite.
    fn one_time(self) -> Option<AesKeySize> {
        match self.suite {
            Suite::Aead(Aead::AesGcm16(size)) if self.policy == KeyPolicy::OnTheFly => Some(size),
            _ => None,
        }
    }

    fn ways(self) -> impl Iterator<Item = Way> {
        let has_once = self.one_time().is_some();
        WAYS.into_iter()
            .filter(move |way| *way != Way::Once || has_once)
    }

    /// The key of packet `number`.
    fn cipher_key(self, number: usize) -> Vec<u8> {
        let bytes = self.suite.key_bytes() + self.suite.salt_bytes();
        (0..bytes).map(|i| (7 * i + 5 * number + 3) as u8).collect()
    }

    fn material(self, number: usize) -> KeyMaterial {
        let integrity_key = vec![0x22 + number as u8; self.suite.integrity_key_bytes()];
        KeyMaterial::new(self.suite, &self.cipher_key(number), &integrity_key).expect("a key")
    }

    /// A key for each packet, so that one under another packet's key is not taken for right.
    fn sealing_keys(self) -> Vec<SealingKey> {
        let key = |number| {
            let (material, source) = (self.material(number), IvSource::RepeatableInsecure);
            let key = SealingKey::with_policy(material, 1, source, self.policy);
            let mut key = key.expect("an engine");
            key.allow_until(1000);
            key
        };
        (0..TEXTS_BYTES.len()).map(key).collect()
    }

    fn opening_keys(self) -> Vec<OpeningKey> {
        let key = |number| OpeningKey::with_policy(&self.material(number), self.policy);
        let keys = (0..TEXTS_BYTES.len()).map(key);
        keys.collect::<Result<_, _>>().expect("an engine")
    }

    fn packets(self) -> Vec<Packet> {
        let packet = |(seed, text_bytes): (usize, &usize)| Packet {
            prefix: vec![seed as u8; PREFIX_BYTES],
            iv: vec![seed as u8 + 1; self.suite.iv_bytes()],
            text: vec![0xa5; text_bytes.next_multiple_of(self.suite.block_bytes())],
            tag: vec![0xee; self.suite.tag_bytes()],
        };
        TEXTS_BYTES.iter().enumerate().map(packet).collect()
    }

    fn one_time_keys(self, count: usize) -> OneTimeKeys {
        let mut keys = OneTimeKeys::new(self.one_time().expect("GCM")).expect("an engine");
        for number in 0..count {
            keys.push(&self.cipher_key(number)).expect("a key");
        }
        keys
    }

    /// Seals the packets; what the call returned, and which of them it says are sealed.
    fn seal(
        self,
        way: Way,
        keys: &mut [SealingKey],
        packets: &mut [Packet],
    ) -> (Result<(), JobError>, Vec<bool>) {
        let tickets: Vec<Ticket> = keys
            .iter_mut()
            .map(|key| key.next_ticket().expect("reserved"))
            .collect();
        let keys = &*keys;
        let mut is_sealed = vec![true; packets.len()];
        let jobs = packets
            .iter_mut()
            .zip(tickets)
            .zip(keys)
            .map(|((packet, ticket), key)| SealJob {
                key,
                ticket,
                prefix: &packet.prefix,
                iv: &mut packet.iv,
                text: &mut packet.text,
                suffix: &[],
                tag: &mut packet.tag,
            });
        match way {
            Way::Slices => {
                let mut jobs: Vec<SealJob<'_>> = jobs.collect();
                let result = seal(&mut jobs).map(drop);
                let is_sealed = jobs.iter().map(|job| job.ticket.has_sealed()).collect();
                (result, is_sealed)
            }
            Way::OneByOne => {
                let mut others = Vec::new();
                let result = seal_as_made(&mut others, |batch| {
                    for (job, is_sealed) in jobs.zip(&mut is_sealed) {
                        batch.add(job, is_sealed)?;
                    }
                    Ok::<_, JobFault>(())
                });
                assert!(others.is_empty());
                let job = is_sealed.iter().position(|is| !is).unwrap_or(0);
                let result = result.map(drop).map_err(|fault| JobError { job, fault });
                (result, is_sealed)
            }
            Way::Placed => {
                let tickets: Vec<Ticket> = jobs.map(|job| job.ticket).collect();
                let (mut buffer, places) = lay(packets);
                let mut jobs: Vec<SealAt> = (0..)
                    .zip(&places)
                    .zip(tickets)
                    .map(|((key, &place), ticket)| SealAt { key, ticket, place })
                    .collect();
                let key_of = |key| keys.get(key as usize);
                let result = seal_in(&mut buffer, &mut jobs, key_of).map(drop);
                take(packets, &buffer);
                let is_sealed = jobs.iter().map(|job| job.ticket.has_sealed()).collect();
                (result, is_sealed)
            }
            Way::Once => {
                drop(jobs);
                let (mut buffer, places) = lay(packets);
                let mut keys = self.one_time_keys(packets.len());
                let result = seal_once(&mut keys, &mut buffer, &places).map(drop);
                assert!(keys.is_empty());
                take(packets, &buffer);
                let is_sealed = packets.iter().map(|packet| !is_zero(&packet.tag)).collect();
                (result, is_sealed)
            }
        }
    }

    /// Opens the packets, and says which are authentic.
    fn open(self, way: Way, keys: &[OpeningKey], packets: &mut [Packet]) -> Vec<bool> {
        let mut verified = vec![true; packets.len()];
        let jobs = packets.iter_mut().zip(keys).map(|(packet, key)| OpenJob {
            key,
            prefix: &packet.prefix,
            iv: &packet.iv,
            text: &mut packet.text,
            suffix: &[],
            tag: &packet.tag,
            // Whatever it held before.
            verified: true,
        });
        match way {
            Way::Slices => {
                let mut jobs: Vec<OpenJob<'_>> = jobs.collect();
                open(&mut jobs);
                jobs.iter().map(|job| job.verified).collect()
            }
            Way::OneByOne => {
                let found = open_as_found(&mut Vec::new(), |batch| {
                    for (job, verdict) in jobs.zip(&mut verified) {
                        batch.add(job, verdict);
                    }
                    Ok::<_, ()>(())
                });
                assert!(found.is_ok());
                verified
            }
            Way::Placed => {
                drop(jobs);
                let (mut buffer, places) = lay(packets);
                let mut jobs: Vec<OpenAt> = (0..)
                    .zip(&places)
                    .map(|(key, &place)| OpenAt {
                        key,
                        place,
                        verified: true,
                    })
                    .collect();
                let key_of = |key| keys.get(key as usize);
                open_in(&mut buffer, &mut jobs, key_of).expect("a row of packets");
                take(packets, &buffer);
                jobs.iter().map(|job| job.verified).collect()
            }
            Way::Once => {
                drop(jobs);
                let (mut buffer, places) = lay(packets);
                let keys = self.one_time_keys(packets.len());
                open_once(&keys, &mut buffer, &places, &mut verified).expect("a row of packets");
                take(packets, &buffer);
                verified
            }
        }
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// The packets one behind the other.
fn lay(packets: &[Packet]) -> (Vec<u8>, Vec<Place>) {
    let mut buffer = Vec::new();
    let place = |packet: &Packet| {
        let place = Place {
            offset: buffer.len() as u32,
            prefix_bytes: PREFIX_BYTES as u16,
            gap_bytes: 0,
            text_bytes: packet.text.len() as u32,
        };
        for part in [&packet.prefix, &packet.iv, &packet.text, &packet.tag] {
            buffer.extend_from_slice(part);
        }
        place
    };
    let places = packets.iter().map(place).collect();
    (buffer, places)
}

/// Takes the packets back out of the buffer.
fn take(packets: &mut [Packet], mut buffer: &[u8]) {
    for packet in packets {
        let parts = [
            &mut packet.prefix,
            &mut packet.iv,
            &mut packet.text,
            &mut packet.tag,
        ];
        for part in parts {
            let (head, rest) = buffer.split_at(part.len());
            part.copy_from_slice(head);
            buffer = rest;
        }
    }
}

/// Whether the branch gives up one packet and not a whole kernel's.
fn is_of_one_packet(what: Impossible) -> bool {
    what != KernelReturns
}

/// What must have been seen over all suites: which branches were taken on which way.
fn assert_reached(reached: &BTreeSet<(Way, Impossible)>, unreachable: &[(Way, Impossible)]) {
    for way in WAYS {
        for what in ALL {
            let is_reached = reached.contains(&(way, what));
            let is_expected = !unreachable.contains(&(way, what));
            assert_eq!(is_reached, is_expected, "{way:?} {what:?}");
        }
    }
}

#[test]
fn what_is_not_sealed_is_refused_and_leaves_no_plaintext() {
    let mut reached = BTreeSet::new();
    for subject in Subject::all() {
        let plain = subject.packets();
        let mut keys = subject.sealing_keys();
        let opening_keys = subject.opening_keys();
        for way in subject.ways() {
            for (what, before) in ALL.into_iter().flat_map(|w| BEFORE.map(|b| (w, b))) {
                let case = format!("{subject:?} {way:?} {what:?} after {before}");
                let mut packets = plain.clone();
                let ((result, is_sealed), happened) =
                    force(what, before, || subject.seal(way, &mut keys, &mut packets));
                let refused = is_sealed.iter().filter(|is| !**is).count();
                match is_sealed.iter().position(|is| !is) {
                    None => assert_eq!(result, Ok(()), "{case}"),
                    Some(job) => {
                        let fault = JobFault::Refused;
                        assert_eq!(result, Err(JobError { job, fault }), "{case}");
                    }
                }
                assert!(happened || refused == 0, "{case}");
                assert!(refused <= 1 || !is_of_one_packet(what), "{case}");
                if refused > 0 {
                    reached.insert((way, what));
                }
                for (packet, _) in packets.iter().zip(&is_sealed).filter(|(_, is)| !**is) {
                    assert!(is_zero(&packet.text) && is_zero(&packet.tag), "{case}");
                }
                for (number, packet) in packets.iter_mut().enumerate() {
                    if is_sealed[number] {
                        let key = std::slice::from_ref(&opening_keys[number]);
                        let packet = std::slice::from_mut(packet);
                        assert_eq!(subject.open(Way::Slices, key, packet), [true], "{case}");
                        assert!(packet[0].text == plain[number].text, "{case}");
                    }
                }
            }
        }
    }
    // Only packets in a buffer are cut from it, one-time keys are GCM's, and their IVs
    // are input.
    let unreachable = [
        (Way::Slices, NotCut),
        (Way::OneByOne, NotCut),
        (Way::Once, NoIv),
        (Way::Once, CipherRefuses),
        (Way::Once, NoPads),
    ];
    assert_reached(&reached, &unreachable);
}

#[test]
fn what_is_not_opened_is_not_authentic_and_leaves_no_plaintext() {
    let mut reached = BTreeSet::new();
    for subject in Subject::all() {
        let plain = subject.packets();
        let mut sealed = plain.clone();
        let mut sealing_keys = subject.sealing_keys();
        let result = subject.seal(Way::Slices, &mut sealing_keys, &mut sealed).0;
        assert_eq!(result, Ok(()));
        let keys = subject.opening_keys();
        // One-time keys take any IVs.
        for way in subject.ways() {
            for (what, before) in ALL.into_iter().flat_map(|w| BEFORE.map(|b| (w, b))) {
                let case = format!("{subject:?} {way:?} {what:?} after {before}");
                let mut packets = sealed.clone();
                let (verified, happened) =
                    force(what, before, || subject.open(way, &keys, &mut packets));
                let refused = verified.iter().filter(|is| !**is).count();
                assert!(happened || refused == 0, "{case}");
                assert!(refused <= 1 || !is_of_one_packet(what), "{case}");
                if refused > 0 {
                    reached.insert((way, what));
                }
                for ((packet, plain), verified) in packets.iter().zip(&plain).zip(verified) {
                    match verified {
                        true => assert!(packet.text == plain.text, "{case}"),
                        false => assert!(is_zero(&packet.text), "{case}"),
                    }
                }

                // A tag of zeros is what a tag looks like that nobody computed.
                let mut forged = sealed.clone();
                forged.iter_mut().for_each(|packet| packet.tag.fill(0));
                let (verified, _) = force(what, before, || subject.open(way, &keys, &mut forged));
                assert!(verified.iter().all(|verified| !verified), "{case}");
                assert!(forged.iter().all(|packet| is_zero(&packet.text)), "{case}");
            }
        }
    }
    let unreachable = [
        (Way::Slices, NoIv),
        (Way::OneByOne, NoIv),
        (Way::Placed, NoIv),
        (Way::Once, NoIv),
        (Way::Slices, NotCut),
        (Way::OneByOne, NotCut),
        (Way::Once, CipherRefuses),
        (Way::Once, NoPads),
    ];
    assert_reached(&reached, &unreachable);
}

#[test]
fn messages_without_a_tag_are_refused_and_not_authentic() {
    let messages: Vec<Vec<u8>> = (0..19).map(|i| vec![i as u8; 97 * i]).collect();
    for algorithm in Algorithm::all() {
        let material = || {
            let key = vec![0x33; algorithm.key_bytes()];
            Material::new(algorithm, &key).expect("a key")
        };
        let mut key = TaggingKey::new(material(), 1).expect("an engine");
        key.allow_until(10_000);
        let verifying = VerifyingKey::new(&material()).expect("an engine");
        let mut reached = false;
        for (what, before) in [KernelReturns, TagLost, NoKey]
            .into_iter()
            .flat_map(|what| [0, 1, 9].map(|before| (what, before)))
        {
            let case = format!("{algorithm} {what:?} after {before}");
            let tickets: Vec<Ticket> = messages
                .iter()
                .map(|_| key.next_ticket().expect("reserved"))
                .collect();
            let nonces: Vec<u64> = tickets.iter().map(Ticket::counter).collect();
            let mut tags = vec![vec![0xee; algorithm.tag_bytes()]; messages.len()];
            let mut jobs: Vec<TagJob<'_>> = messages
                .iter()
                .zip(&mut tags)
                .zip(tickets)
                .map(|((message, tag), ticket)| TagJob {
                    key: &key,
                    ticket,
                    parts: [message, &[], &[], &[]],
                    tag,
                })
                .collect();
            let (result, _) = force(what, before, || mac::tag(&mut jobs));
            let is_tagged: Vec<bool> = jobs.iter().map(|job| job.ticket.has_sealed()).collect();
            let first = is_tagged.iter().position(|is| !is);
            let fault = JobFault::Refused;
            let expected = first.map_or(Ok(()), |job| Err(JobError { job, fault }));
            assert_eq!(result, expected, "{case}");
            reached |= first.is_some();

            let verify = |tags: &[Vec<u8>]| -> Vec<bool> {
                let mut jobs: Vec<VerifyJob<'_>> = messages
                    .iter()
                    .zip(tags)
                    .zip(&nonces)
                    .map(|((message, tag), nonce)| VerifyJob {
                        key: &verifying,
                        nonce: *nonce,
                        parts: [message, &[], &[], &[]],
                        tag,
                        verified: true,
                    })
                    .collect();
                mac::verify(&mut jobs);
                jobs.iter().map(|job| job.verified).collect()
            };
            assert_eq!(verify(&tags), is_tagged, "{case}");
            for (tag, is_tagged) in tags.iter().zip(&is_tagged) {
                assert!(*is_tagged || is_zero(tag), "{case}");
            }

            // What is not computed does not verify, also against zeros.
            let zeros = vec![vec![0; algorithm.tag_bytes()]; messages.len()];
            for (tags, is_right) in [(&tags, true), (&zeros, false)] {
                let (verified, _) = force(what, before, || verify(tags));
                for (verified, is_tagged) in verified.into_iter().zip(&is_tagged) {
                    assert!(!verified || (is_right && *is_tagged), "{case}");
                }
            }
        }
        // HMAC's lanes and Poly1305 have no such branch.
        let has_branches = !matches!(algorithm, Algorithm::Hmac(_) | Algorithm::Poly1305);
        assert_eq!(reached, has_branches, "{algorithm}");
    }
}
