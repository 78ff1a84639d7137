//! Records on their way through a sender and a receiver of secure packets.
//!
//! The promises of [`weir_fabric::secure`]: what is protected is restored as it was, but for the
//! checksums that are computed anew; a packet that was changed on its way is refused, or brings the payload
//! that was sent; no packet of somebody without the keys is accepted; and forgeries leave nothing behind.

use weir_fabric::secure::{
    Batch, DropReason, ExtendedMode, Places, PlainPolicy, Receiver, Secret, Sender, SessionRandom,
    TagLimits, Unlisted,
};
use weir_fabric::wire::Packet;
use weir_packet::wire::LinkType;

use crate::Seed;
use crate::fabric::packets;

const LINK_TYPES: [LinkType; 4] = [
    LinkType::Ethernet,
    LinkType::RawIp,
    LinkType::InfiniBand,
    LinkType::Erf,
];
const NOW_SECONDS: u64 = 1_700_000_000;
const FIRST_EPOCH: u64 = 77;
/// P_Key of the packets to start from.
const PARTITION_KEY: u16 = 0xffff;
const EXTENDED_MODES: [ExtendedMode; 3] = [
    ExtendedMode::Never,
    ExtendedMode::Fallback,
    ExtendedMode::Always,
];

pub use crate::fabric::WORDS;

/// A byte of settings, two for a change on the way, and a record.
pub fn seeds() -> Vec<Seed> {
    let of_link = |name: &str| match name {
        name if name.starts_with("rocev2") => 1,
        name if name.starts_with("native") => 2,
        "erf" => 3,
        _ => 0,
    };
    packets()
        .into_iter()
        .enumerate()
        .map(|(at, mut seed)| {
            let settings = of_link(seed.name) | ((at % 3) as u8) << 2;
            let change = [settings, 7 * at as u8, 1 << (at % 8)];
            seed.bytes.splice(..0, change);
            seed
        })
        .collect()
}

/// Panics where a promise of senders and receivers is broken.
pub fn check(input: &[u8]) {
    let Some(([settings, place, bits], record)) = input.split_first_chunk() else {
        return;
    };
    let link = LINK_TYPES[usize::from(settings & 3)];
    let extended = EXTENDED_MODES[usize::from(settings >> 2) % EXTENDED_MODES.len()];
    check_strangers(link, record);

    let mut sender = Sender::new(PlainPolicy::default());
    let added = sender.add_unlisted(keys(1, extended), FIRST_EPOCH..FIRST_EPOCH + 9);
    assert_eq!(added, Ok(()));
    let protected = processed(link, &[record, record], |batch| {
        sender.protect(batch, NOW_SECONDS);
    });
    if let [Ok(first), second] = &protected[..] {
        // The same packet again has the same bytes in 32-bit mode, and another number in extended mode.
        assert!(second.is_ok());
        assert_eq!(protected[0] == protected[1], first.len() == record.len());
        check_restored(link, record, first);
        check_changed(link, record, first, usize::from(*place), *bits);
    }
    assert!(sender.flows() <= 1);
}

fn keys(secret: u8, extended: ExtendedMode) -> Unlisted {
    let Ok(secret) = Secret::new(vec![secret; 32]) else {
        panic!("32 bytes are a secret");
    };
    let mut keys = Unlisted::new(PARTITION_KEY, &secret, SessionRandom([3; 16]));
    keys.extended = extended;
    keys
}

fn receiver(secret: u8) -> Receiver {
    let mut receiver = Receiver::new(PlainPolicy::default(), TagLimits::default());
    let added = receiver.add_unlisted(keys(secret, ExtendedMode::Fallback), FIRST_EPOCH);
    assert_eq!(added, Ok(()));
    receiver
}

/// What becomes of records that lie in one buffer.
fn processed(
    link: LinkType,
    records: &[&[u8]],
    process: impl FnOnce(&mut Batch<'_>),
) -> Vec<Result<Vec<u8>, DropReason>> {
    let mut buffer = Vec::new();
    let mut ranges = Vec::new();
    for record in records {
        let start = buffer.len();
        buffer.extend_from_slice(record);
        ranges.push(start..buffer.len());
        buffer.extend([0; Batch::SPACE_BYTES]);
    }
    let mut places = Places::new();
    let mut batch = places.batch(&mut buffer);
    for range in ranges {
        assert!(batch.push(link, range));
    }
    process(&mut batch);
    let outcomes = batch.iter();
    outcomes.map(|record| record.map(<[u8]>::to_vec)).collect()
}

fn unprotect(
    receiver: &mut Receiver,
    link: LinkType,
    records: &[&[u8]],
) -> Vec<Result<Vec<u8>, DropReason>> {
    processed(link, records, |batch| {
        receiver.unprotect(batch, NOW_SECONDS);
    })
}

/// Nobody who made the input has this receiver's keys.
fn check_strangers(link: LinkType, record: &[u8]) {
    let mut receiver = receiver(2);
    let outcomes = unprotect(&mut receiver, link, &[record, record]);
    assert!(outcomes.iter().all(|outcome| outcome.is_err()));
    assert_eq!(receiver.flows(), 0);
}

fn check_restored(link: LinkType, record: &[u8], secure: &[u8]) {
    let mut receiver = receiver(1);
    let restored = match &unprotect(&mut receiver, link, &[secure])[..] {
        [Ok(restored)] => restored.clone(),
        reason => panic!("an intact packet is dropped: {reason:?}"),
    };
    assert_eq!(
        without_checksums(link, &restored),
        without_checksums(link, record)
    );
    assert_eq!(receiver.flows(), 1);
}

fn check_changed(link: LinkType, record: &[u8], secure: &[u8], place: usize, bits: u8) {
    let mut changed = secure.to_vec();
    let at = place % changed.len().max(1);
    changed[at] ^= bits;
    let mut receiver = receiver(1);
    match &unprotect(&mut receiver, link, &[&changed])[0] {
        Err(reason) => assert_ne!(*reason, DropReason::CipherRefused),
        Ok(restored) => {
            let [restored, sent] = [&restored[..], record].map(|record| {
                let packet = Packet::parse(link, record).ok().flatten();
                packet.map(|packet| (packet.bth().psn, packet.payload().to_vec()))
            });
            assert_eq!(restored, sent);
        }
    }
}

/// A record whose checksums of IPv4 and UDP and whose VCRC are zeros.
fn without_checksums(link: LinkType, record: &[u8]) -> Vec<u8> {
    let mut out = record.to_vec();
    let Ok(Some(packet)) = Packet::parse(link, record) else {
        panic!("no packet was protected");
    };
    if let Some(ip) = packet.ip_range().filter(|ip| ip.len() == 20) {
        out[ip.start + 10..ip.start + 12].fill(0);
    }
    if let Some(udp) = packet.udp_range() {
        out[udp.start + 6..udp.end].fill(0);
    }
    if let Some(vcrc) = packet.vcrc_range() {
        out[vcrc].fill(0);
    }
    out
}
