//! Batches of packets through every suite.

use weir_crypto::{
    Aead, IvSource, JobFault, KeyMaterial, KeyPolicy, OpenAt, OpenJob, OpeningKey, Place, SealAt,
    SealJob, SealingKey, Suite, Ticket, memcheck, open, open_as_found, open_in, seal, seal_as_made,
    seal_in,
};

use crate::Case;
use crate::secret::{public, secret};

/// Lengths of text, each rounded up to the suite's blocks: none, partial blocks,
/// whole ones, a few vectors, and more than any kernel takes at once.
const TEXTS_BYTES: [usize; 9] = [0, 1, 15, 16, 48, 100, 255, 400, 1500];

/// Packets of each length, so that the lanes of the widest kernel fill.
const COPIES: usize = 17;

/// Packets of each length where one would do.
const FEW_COPIES: usize = 1;

/// Which packet of the batch arrives damaged.
const DAMAGED: usize = 3;

/// A public way to seal and open; that of one-time keys is [`crate::once`]'s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// `seal` and `open`.
    Slices,
    /// `seal_as_made` and `open_as_found`.
    OneByOne,
    /// `seal_in` and `open_in`.
    Placed,
}

const WAYS: [Way; 3] = [Way::Slices, Way::OneByOne, Way::Placed];

/// Every suite that claims to be constant in time, and every way to keep its
/// keys, in every way.
pub fn cases() -> Vec<Case> {
    let suites = Suite::all().filter(|suite| !suite.is_legacy());
    suites.flat_map(|suite| cases_of(suite, COPIES)).collect()
}

/// Legacy ciphers look up tables by secrets, as their documentation says. They
/// are run as a leak that nobody planted.
pub fn exceptions() -> Vec<Case> {
    let suites = Suite::all().filter(|suite| suite.is_legacy());
    suites
        .flat_map(|suite| cases_of(suite, FEW_COPIES))
        .collect()
}

fn cases_of(suite: Suite, copies: usize) -> impl Iterator<Item = Case> {
    // Policies make a difference to GCM's kernels only.
    let policies: &[KeyPolicy] = match suite {
        Suite::Aead(Aead::AesGcm16(_)) => &KeyPolicy::ALL,
        _ => &[KeyPolicy::Precomputed],
    };
    policies.iter().flat_map(move |&policy| {
        WAYS.map(|way| {
            Case::new(format!("{suite} {policy:?} {way:?}"), move || {
                seal_and_open(suite, policy, way, copies);
            })
        })
    })
}

/// One packet's parts.
struct Packet {
    prefix: Vec<u8>,
    iv: Vec<u8>,
    text: Vec<u8>,
    suffix: Vec<u8>,
    tag: Vec<u8>,
}

impl Packet {
    fn new(suite: Suite, way: Way, text_bytes: usize, seed: u8) -> Packet {
        let suffix_bytes = match (suite, way) {
            (Suite::EncryptThenMac(..), Way::Slices | Way::OneByOne) => 4,
            _ => 0,
        };
        Packet {
            // ESP's header, without and with an extended sequence number.
            prefix: public(8 + usize::from(seed % 2) * 4, seed),
            iv: vec![0; suite.iv_bytes()],
            text: secret(text_bytes.next_multiple_of(suite.block_bytes()), seed),
            suffix: public(suffix_bytes, seed),
            tag: vec![0; suite.tag_bytes()],
        }
    }
}

fn material(suite: Suite) -> KeyMaterial {
    let key = secret(suite.key_bytes() + suite.salt_bytes(), 1);
    let integrity_key = secret(suite.integrity_key_bytes(), 2);
    KeyMaterial::new(suite, &key, &integrity_key).expect("lengths are the suite's")
}

/// Seals a batch, opens it, and sees that all but the damaged packet verify.
fn seal_and_open(suite: Suite, policy: KeyPolicy, way: Way, copies: usize) {
    let opening = OpeningKey::with_policy(&material(suite), policy).expect("a key");
    // The IVs of CBC come from a key that is derived from the poisoned one.
    let source = IvSource::RepeatableInsecure;
    let mut sealing = SealingKey::with_policy(material(suite), 1, source, policy).expect("a key");
    sealing.allow_until(u64::MAX);

    let mut packets: Vec<Packet> = TEXTS_BYTES
        .iter()
        .cycle()
        .take(copies * TEXTS_BYTES.len())
        .zip(0..)
        .map(|(&text_bytes, seed)| Packet::new(suite, way, text_bytes, seed))
        .collect();
    let tickets: Vec<Ticket> = packets
        .iter()
        .map(|_| sealing.next_ticket().expect("values are reserved"))
        .collect();
    let verified = match way {
        Way::Slices | Way::OneByOne => {
            seal_slices(way, &sealing, &mut packets, tickets);
            // What is sent is public.
            for packet in &mut packets {
                memcheck::publish(&mut packet.iv);
                memcheck::publish(&mut packet.text);
                memcheck::publish(&mut packet.tag);
            }
            packets[DAMAGED].tag[0] ^= 1;
            open_slices(way, &opening, &mut packets)
        }
        Way::Placed => {
            let (mut buffer, places) = lay(&packets);
            let jobs = tickets.into_iter().zip(&places);
            let mut jobs: Vec<SealAt> = jobs
                .map(|(ticket, &place)| SealAt {
                    key: 0,
                    ticket,
                    place,
                })
                .collect();
            seal_in(&mut buffer, &mut jobs, |_| Some(&sealing)).expect("a row of packets");
            memcheck::publish(&mut buffer);
            // The last byte of a packet is its tag's.
            buffer[places[DAMAGED + 1].offset as usize - 1] ^= 1;
            let mut jobs: Vec<OpenAt> = places
                .iter()
                .map(|&place| OpenAt {
                    key: 0,
                    place,
                    verified: false,
                })
                .collect();
            open_in(&mut buffer, &mut jobs, |_| Some(&opening)).expect("a row of packets");
            jobs.iter().map(|job| job.verified).collect()
        }
    };
    for (index, verified) in verified.into_iter().enumerate() {
        assert_eq!(verified, index != DAMAGED, "{suite}: packet {index}");
    }
}

fn seal_slices(way: Way, key: &SealingKey, packets: &mut [Packet], tickets: Vec<Ticket>) {
    let mut sealed = vec![false; packets.len()];
    let jobs = packets
        .iter_mut()
        .zip(tickets)
        .map(|(packet, ticket)| SealJob {
            key,
            ticket,
            prefix: &packet.prefix,
            iv: &mut packet.iv,
            text: &mut packet.text,
            suffix: &packet.suffix,
            tag: &mut packet.tag,
        });
    match way {
        Way::OneByOne => {
            seal_as_made(&mut Vec::new(), |batch| {
                for (job, sealed) in jobs.zip(&mut sealed) {
                    batch.add(job, sealed)?;
                }
                Ok::<_, JobFault>(())
            })
            .expect("lengths are the suite's");
            assert!(sealed.into_iter().all(|sealed| sealed));
        }
        Way::Slices | Way::Placed => {
            seal(&mut jobs.collect::<Vec<_>>()).expect("lengths are the suite's");
        }
    }
}

fn open_slices(way: Way, key: &OpeningKey, packets: &mut [Packet]) -> Vec<bool> {
    let mut verdicts = vec![false; packets.len()];
    let jobs = packets.iter_mut().map(|packet| OpenJob {
        key,
        prefix: &packet.prefix,
        iv: &packet.iv,
        text: &mut packet.text,
        suffix: &packet.suffix,
        tag: &packet.tag,
        verified: false,
    });
    match way {
        Way::OneByOne => {
            open_as_found(&mut Vec::new(), |batch| {
                for (job, verdict) in jobs.zip(&mut verdicts) {
                    batch.add(job, verdict);
                }
                Ok::<_, ()>(())
            })
            .expect("no packet is refused");
            verdicts
        }
        Way::Slices | Way::Placed => {
            let mut jobs: Vec<OpenJob<'_>> = jobs.collect();
            open(&mut jobs);
            jobs.iter().map(|job| job.verified).collect()
        }
    }
}

/// The packets one behind the other.
fn lay(packets: &[Packet]) -> (Vec<u8>, Vec<Place>) {
    let mut buffer = Vec::new();
    let mut places = Vec::new();
    for packet in packets {
        places.push(Place {
            offset: buffer.len() as u32,
            prefix_bytes: packet.prefix.len() as u16,
            gap_bytes: 0,
            text_bytes: packet.text.len() as u32,
        });
        for part in [&packet.prefix, &packet.iv, &packet.text, &packet.tag] {
            buffer.extend_from_slice(part);
        }
    }
    (buffer, places)
}
