//! Each of these branches, forced for every suite, under held and one-time keys, sealing and
//! opening: the packet has a bad verdict, no plaintext is left, and all others of the batch
//! are as they would be without it.

use std::collections::BTreeSet;

use super::Impossible::{self, *};
use super::force;
use crate::mac::Algorithm;
use crate::{
    Descriptor, IvSource, KeyMaterial, Layout, Opener, OpeningKey, Sealer, SealingKey, Suite,
    Verdicts,
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

/// Lengths of payloads, each rounded up to the suite's blocks. Equal ones are
/// neighbours, so that kernels for packets of one length run too.
const PAYLOADS_BYTES: [usize; 26] = [
    0, 16, 16, 16, 16, 16, 64, 64, 64, 64, 64, 64, 64, 64, 64, 100, 100, 1, 300, 300, 300, 300, 80,
    1500, 1500, 3300,
];

const AAD_BYTES: usize = 8;

/// Whose keys a batch has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Lifetime {
    Held,
    OneTime,
}

const LIFETIMES: [Lifetime; 2] = [Lifetime::Held, Lifetime::OneTime];

/// A suite, and whose keys its packets have.
#[derive(Clone, Copy, Debug)]
struct Subject {
    suite: Suite,
    lifetime: Lifetime,
}

/// Every suite, MACs alone too.
fn suites() -> impl Iterator<Item = Suite> {
    Suite::all().chain(Algorithm::all().map(Suite::Mac))
}

impl Subject {
    fn all() -> impl Iterator<Item = Subject> {
        suites().flat_map(|suite| LIFETIMES.map(|lifetime| Subject { suite, lifetime }))
    }

    /// A key for each packet, so that one under another packet's key does not open.
    fn cipher_key(self, packet: usize) -> Vec<u8> {
        let bytes = self.suite.key_bytes() + self.suite.salt_bytes();
        (0..bytes).map(|i| (7 * i + 5 * packet + 3) as u8).collect()
    }

    fn integrity_key(self, packet: usize) -> Vec<u8> {
        vec![0x22 + packet as u8; self.suite.integrity_key_bytes()]
    }

    fn material(self, packet: usize) -> KeyMaterial {
        let key = self.cipher_key(packet);
        KeyMaterial::new(self.suite, &key, &self.integrity_key(packet)).expect("a key")
    }

    /// The packets, with names of no keys.
    fn packets(self) -> Vec<Descriptor> {
        let mut offset = 0;
        let packet = |payload_bytes: &usize| {
            let payload_bytes = payload_bytes.next_multiple_of(self.suite.block_bytes());
            let packet = Descriptor {
                offset: offset as u32,
                layout: Layout {
                    payload_bytes: payload_bytes as u32,
                    aad_bytes: AAD_BYTES as u16,
                    ..Layout::default()
                },
                ..Descriptor::default()
            };
            let overhead = self.suite.iv_bytes() + self.suite.tag_bytes();
            offset += AAD_BYTES + payload_bytes + overhead;
            packet
        };
        PAYLOADS_BYTES.iter().map(packet).collect()
    }

    /// Where payload and tag of a packet lie.
    fn payload_and_tag(self, packet: &Descriptor, buffer: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let start = packet.offset as usize + AAD_BYTES + self.suite.iv_bytes();
        let (payload, rest) = buffer[start..].split_at(packet.layout.payload_bytes as usize);
        (payload.to_vec(), rest[..self.suite.tag_bytes()].to_vec())
    }

    fn plain(self) -> Vec<u8> {
        let packets = self.packets();
        let last = packets.last().expect("packets");
        let end = last.offset as usize + AAD_BYTES + self.suite.iv_bytes();
        vec![0xa5; end + last.layout.payload_bytes as usize + self.suite.tag_bytes()]
    }

    /// Seals the packets; which are good, and the number of the last.
    fn seal(self, keys: &mut Sealing, buffer: &mut [u8]) -> (Verdicts, Vec<u64>) {
        let mut batch = keys.sealer.batch(buffer);
        let push = |(index, packet): (usize, Descriptor)| {
            let key = match self.lifetime {
                Lifetime::Held => keys.ids[index],
                Lifetime::OneTime => batch
                    .add_one_time_key(
                        self.suite,
                        &self.cipher_key(index),
                        &self.integrity_key(index),
                    )
                    .expect("a key"),
            };
            batch.push(Descriptor { key, ..packet }).expect("a packet")
        };
        let numbers = self.packets().into_iter().enumerate().map(push).collect();
        (batch.run(), numbers)
    }

    /// Opens the packets.
    fn open(self, keys: &mut Opening, numbers: &[u64], buffer: &mut [u8]) -> Verdicts {
        let mut batch = keys.opener.batch(buffer);
        for (index, packet) in self.packets().into_iter().enumerate() {
            let key = match self.lifetime {
                Lifetime::Held => keys.ids[index],
                Lifetime::OneTime => batch
                    .add_one_time_key(
                        self.suite,
                        &self.cipher_key(index),
                        &self.integrity_key(index),
                    )
                    .expect("a key"),
            };
            let packet = Descriptor { key, ..packet };
            batch
                .push_numbered(packet, numbers[index])
                .expect("a packet");
        }
        batch.run()
    }

    /// Whether a packet that is not authentic has zeros for a payload: the message of a MAC
    /// alone was never secret.
    fn clears(self) -> bool {
        !matches!(self.suite, Suite::Mac(_))
    }
}

struct Sealing {
    sealer: Sealer,
    ids: Vec<crate::KeyId>,
}

impl Sealing {
    fn of(subject: Subject) -> Sealing {
        let mut sealer = Sealer::new();
        let key = |packet| {
            let (material, ivs) = (subject.material(packet), IvSource::RepeatableInsecure);
            let key = SealingKey::with_ivs(material, 1.., ivs);
            sealer.add(key.expect("an engine"))
        };
        let ids = (0..PAYLOADS_BYTES.len()).map(key).collect();
        Sealing { sealer, ids }
    }
}

struct Opening {
    opener: Opener,
    ids: Vec<crate::KeyId>,
}

impl Opening {
    fn of(subject: Subject) -> Opening {
        let mut opener = Opener::new();
        let key = |packet| {
            let key = OpeningKey::new(&subject.material(packet));
            opener.add(key.expect("an engine"))
        };
        let ids = (0..PAYLOADS_BYTES.len()).map(key).collect();
        Opening { opener, ids }
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Whether the branch gives up one packet and not a whole kernel's.
fn is_of_one_packet(what: Impossible) -> bool {
    what != KernelReturns
}

/// What must have been seen over all suites: which branches were taken.
fn assert_reached(reached: &BTreeSet<(Lifetime, Impossible)>, unreachable: &[Impossible]) {
    for lifetime in LIFETIMES {
        for what in ALL {
            let is_reached = reached.contains(&(lifetime, what));
            let is_expected = !unreachable.contains(&what);
            assert_eq!(is_reached, is_expected, "{lifetime:?} {what:?}");
        }
    }
}

#[test]
fn what_is_not_sealed_is_bad_and_leaves_no_plaintext() {
    let mut reached = BTreeSet::new();
    for subject in Subject::all() {
        let plain = subject.plain();
        let packets = subject.packets();
        let mut sealing = Sealing::of(subject);
        let mut opening = Opening::of(subject);
        for (what, before) in ALL.into_iter().flat_map(|w| BEFORE.map(|b| (w, b))) {
            let case = format!("{subject:?} {what:?} after {before}");
            let mut buffer = plain.clone();
            let ((verdicts, numbers), happened) =
                force(what, before, || subject.seal(&mut sealing, &mut buffer));
            let refused = verdicts.len() - verdicts.good();
            assert!(happened || refused == 0, "{case}");
            assert!(refused <= 1 || !is_of_one_packet(what), "{case}");
            if refused > 0 {
                reached.insert((subject.lifetime, what));
            }
            for (index, packet) in packets.iter().enumerate() {
                if !verdicts.is_good(index) {
                    let (payload, tag) = subject.payload_and_tag(packet, &buffer);
                    assert!(is_zero(&payload) || !subject.clears(), "{case}");
                    assert!(is_zero(&tag), "{case}");
                }
            }
            // All others open, and what is not sealed does not.
            let opened = subject.open(&mut opening, &numbers, &mut buffer);
            assert_eq!(opened, verdicts, "{case}");
            for (index, packet) in packets.iter().enumerate() {
                if verdicts.is_good(index) {
                    let (payload, _) = subject.payload_and_tag(packet, &buffer);
                    let (expected, _) = subject.payload_and_tag(packet, &plain);
                    assert!(payload == expected, "{case}");
                }
            }
        }
    }
    assert_reached(&reached, &[]);
}

#[test]
fn what_is_not_opened_is_bad_and_leaves_no_plaintext() {
    let mut reached = BTreeSet::new();
    for subject in Subject::all() {
        let plain = subject.plain();
        let packets = subject.packets();
        let mut sealed = plain.clone();
        let (verdicts, numbers) = subject.seal(&mut Sealing::of(subject), &mut sealed);
        assert!(verdicts.all_good());
        let mut opening = Opening::of(subject);
        // A tag of zeros is what a tag looks like that nobody computed.
        let mut forged = sealed.clone();
        for packet in &packets {
            let start = packet.offset as usize + AAD_BYTES + subject.suite.iv_bytes();
            let tag = start + packet.layout.payload_bytes as usize;
            forged[tag..tag + subject.suite.tag_bytes()].fill(0);
        }
        for (what, before) in ALL.into_iter().flat_map(|w| BEFORE.map(|b| (w, b))) {
            let case = format!("{subject:?} {what:?} after {before}");
            let mut buffer = sealed.clone();
            let (verdicts, happened) = force(what, before, || {
                subject.open(&mut opening, &numbers, &mut buffer)
            });
            let refused = verdicts.len() - verdicts.good();
            assert!(happened || refused == 0, "{case}");
            assert!(refused <= 1 || !is_of_one_packet(what), "{case}");
            if refused > 0 {
                reached.insert((subject.lifetime, what));
            }
            for (index, packet) in packets.iter().enumerate() {
                let (payload, _) = subject.payload_and_tag(packet, &buffer);
                match verdicts.is_good(index) || !subject.clears() {
                    true => {
                        let (expected, _) = subject.payload_and_tag(packet, &plain);
                        assert!(payload == expected, "{case}");
                    }
                    false => assert!(is_zero(&payload), "{case}"),
                }
            }

            let mut buffer = forged.clone();
            let (verdicts, _) = force(what, before, || {
                subject.open(&mut opening, &numbers, &mut buffer)
            });
            assert_eq!(verdicts.good(), 0, "{case}");
            for packet in &packets {
                let (payload, _) = subject.payload_and_tag(packet, &buffer);
                assert!(is_zero(&payload) || !subject.clears(), "{case}");
            }
        }
    }
    // IVs are received.
    assert_reached(&reached, &[NoIv]);
}
