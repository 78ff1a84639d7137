//! Batches of packets through every suite.

use weir_crypto::{
    Aead, IvSource, KeyMaterial, KeyPolicy, OpenJob, OpeningKey, SealJob, SealingKey, Suite,
    memcheck, open, seal,
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

/// Every suite that claims to be constant in time, and every way to keep its
/// keys.
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
    policies.iter().map(move |&policy| {
        Case::new(format!("{suite} {policy:?}"), move || {
            seal_and_open(suite, policy, copies);
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
    fn new(suite: Suite, text_bytes: usize, seed: u8) -> Packet {
        let suffix_bytes = match suite {
            Suite::Aead(_) => 0,
            Suite::EncryptThenMac(..) => 4,
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
fn seal_and_open(suite: Suite, policy: KeyPolicy, copies: usize) {
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
        .map(|(&text_bytes, seed)| Packet::new(suite, text_bytes, seed))
        .collect();
    let tickets: Vec<_> = packets.iter().map(|_| sealing.next_ticket()).collect();
    let mut jobs: Vec<SealJob<'_>> = packets
        .iter_mut()
        .zip(tickets)
        .map(|(packet, ticket)| SealJob {
            key: &sealing,
            ticket: ticket.expect("values are reserved"),
            prefix: &packet.prefix,
            iv: &mut packet.iv,
            text: &mut packet.text,
            suffix: &packet.suffix,
            tag: &mut packet.tag,
        })
        .collect();
    seal(&mut jobs).expect("lengths are the suite's");

    // What is sent is public.
    for packet in &mut packets {
        memcheck::publish(&mut packet.iv);
        memcheck::publish(&mut packet.text);
        memcheck::publish(&mut packet.tag);
    }
    packets[DAMAGED].tag[0] ^= 1;
    let mut jobs: Vec<OpenJob<'_>> = packets
        .iter_mut()
        .map(|packet| OpenJob {
            key: &opening,
            prefix: &packet.prefix,
            iv: &packet.iv,
            text: &mut packet.text,
            suffix: &packet.suffix,
            tag: &packet.tag,
            verified: false,
        })
        .collect();
    open(&mut jobs);
    for (index, job) in jobs.iter().enumerate() {
        assert_eq!(job.verified, index != DAMAGED, "{suite}: packet {index}");
    }
}
