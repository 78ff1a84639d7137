//! Packets to be sealed or opened, and the secrets for it.
//!
//! A packet has the layout of the wire:
//!
//! ```text
//!   8 bytes       IV    text ...       tag     up to a multiple of 64 bytes
//!   SPI, number
//! ```
//!
//! A *pass* covers all packets, batch by batch. A batch is laid out before the clock
//! starts, as a preceding stage would leave it.

use std::ops::Range;

use weir_crypto::{Descriptor, Layout, Suite};

use crate::numbers::Numbers;

/// Bytes of a packet in front of the IV: SPI and sequence number.
pub const PREFIX_BYTES: usize = 8;

/// Most packets of a batch, as in a pipeline.
const BATCH_PACKETS: usize = 256;

/// Most bytes of a batch: with its source it takes half of an L2 cache of 1 MiB.
const BATCH_BYTES: usize = 256 << 10;

/// Records begin where cache lines do.
const ALIGNMENT_BYTES: usize = 64;

/// Secrets of many keys, end to end.
pub struct Secrets {
    #[cfg_attr(not(any(ipsec_mb, openssl)), expect(dead_code))]
    suite: Suite,
    /// Lengths of one key's secrets, computed once.
    cipher_key_bytes: usize,
    salted_bytes: usize,
    stride: usize,
    bytes: Vec<u8>,
}

/// The secrets of one key, as libraries take them.
#[derive(Clone, Copy)]
pub struct Secret<'a> {
    /// Cipher key and salt, as in the keying material of ESP.
    pub key_and_salt: &'a [u8],
    pub cipher_key: &'a [u8],
    pub salt: [u8; 4],
    pub integrity_key: &'a [u8],
}

impl Secrets {
    /// Different secrets for `count` keys, for measurements only.
    pub fn make(suite: Suite, count: usize) -> Secrets {
        let salted_bytes = suite.key_bytes() + suite.salt_bytes();
        let stride = salted_bytes + suite.integrity_key_bytes();
        Secrets {
            suite,
            cipher_key_bytes: suite.key_bytes(),
            salted_bytes,
            stride,
            bytes: Numbers(1).bytes(count * stride),
        }
    }

    /// The suite that they are for.
    #[cfg(any(ipsec_mb, openssl))]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Number of keys.
    pub fn count(&self) -> usize {
        self.bytes.len() / self.stride
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = Secret<'_>> {
        (0..self.count()).map(|index| self.get(index))
    }

    #[inline]
    pub fn get(&self, index: usize) -> Secret<'_> {
        let bytes = &self.bytes[index * self.stride..][..self.stride];
        let (key_and_salt, integrity_key) = bytes.split_at(self.salted_bytes);
        let (cipher_key, salt) = key_and_salt.split_at(self.cipher_key_bytes);
        Secret {
            key_and_salt,
            cipher_key,
            salt: salt.first_chunk().copied().unwrap_or_default(),
            integrity_key,
        }
    }
}

/// The start of a packet's cipher: nonce and block counter, or CBC's IV.
pub type FirstBlock = [u8; 16];

/// Salt and IV of a packet to be sealed (RFC 4106, section 4). Writes the IV, which is
/// the packet's counter.
#[inline(always)]
pub fn counted_nonce(salt: [u8; 4], turn: Turn, iv: &mut [u8]) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&salt);
    nonce[4..].copy_from_slice(&turn.counter.to_be_bytes());
    iv.copy_from_slice(&nonce[4..]);
    nonce
}

/// Salt and IV of a received packet.
#[inline(always)]
pub fn received_nonce(salt: [u8; 4], iv: &[u8]) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&salt);
    nonce[4..].copy_from_slice(iv);
    nonce
}

/// Nonce, and a block counter from 1 (RFC 3686, section 4).
#[inline(always)]
pub fn counter_block(nonce: [u8; 12]) -> FirstBlock {
    let mut block = [0; 16];
    block[..12].copy_from_slice(&nonce);
    block[15] = 1;
    block
}

/// Lengths of a packet's parts beside its text.
#[derive(Clone, Copy)]
struct Form {
    iv_bytes: usize,
    tag_bytes: usize,
}

impl Form {
    fn text_offset(self) -> usize {
        PREFIX_BYTES + self.iv_bytes
    }

    fn record_bytes(self, text_bytes: usize) -> usize {
        self.text_offset() + text_bytes + self.tag_bytes
    }

    fn stride(self, text_bytes: usize) -> usize {
        self.record_bytes(text_bytes)
            .next_multiple_of(ALIGNMENT_BYTES)
    }
}

/// The use of a key by a packet.
#[derive(Clone, Copy)]
pub struct Turn {
    /// Number of the key.
    pub key: usize,
    /// Index of the packet among those of the key, from 1.
    pub counter: u64,
}

/// All packets of a pass.
#[derive(Clone)]
pub struct Packets {
    form: Form,
    turns: Vec<Turn>,
    text_bytes: Vec<usize>,
    batches: Vec<Range<usize>>,
    /// The records of each batch.
    records: Vec<Vec<u8>>,
}

/// The keys of successive packets.
#[derive(Clone, Copy)]
pub enum Order {
    /// This many keys, in random order.
    Random(usize),
    /// A key for every packet.
    Own,
}

impl Packets {
    /// Packets with texts of these sizes, rounded up to whole blocks like ESP's
    /// padding.
    pub fn new(suite: Suite, text_bytes: &[usize], order: Order) -> Packets {
        let form = Form {
            iv_bytes: suite.iv_bytes(),
            tag_bytes: suite.tag_bytes(),
        };
        let block_bytes = suite.block_bytes();
        let text_bytes: Vec<usize> = text_bytes
            .iter()
            .map(|bytes| bytes.next_multiple_of(block_bytes))
            .collect();
        let mut numbers = Numbers(2);
        let turns = turns(order, text_bytes.len(), &mut numbers);
        let batches = batches(form, &text_bytes);
        let records = batches.iter().map(|batch| {
            let strides = text_bytes[batch.clone()].iter().map(|n| form.stride(*n));
            numbers.bytes(strides.sum())
        });
        let records = records.collect();
        let mut packets = Packets {
            form,
            turns,
            text_bytes,
            batches,
            records,
        };
        for number in 0..packets.batch_count() {
            packets.edit(number, |packets| {
                for parts in packets.map(Packet::into_parts) {
                    parts.iv.fill(0);
                    parts.tag.fill(0);
                }
            });
        }
        packets
    }

    /// Number of batches.
    pub fn batch_count(&self) -> usize {
        self.batches.len()
    }

    /// Lays a batch out in a buffer.
    pub fn lay_out<'a>(&'a self, number: usize, buffer: &'a mut Buffer) -> Batch<'a> {
        let records = &self.records[number];
        let bytes = buffer.aligned(records.len());
        bytes.copy_from_slice(records);
        self.batch(number, bytes)
    }

    /// A batch's records.
    pub fn records(&self, number: usize) -> &[u8] {
        &self.records[number]
    }

    /// Replaces a batch's records.
    pub fn set_records(&mut self, number: usize, records: &[u8]) {
        self.records[number].copy_from_slice(records);
    }

    /// The same packets with the IVs of others.
    pub fn with_ivs_of(&self, others: &Packets) -> Packets {
        self.with_parts_of(others, |parts, other| parts.iv.copy_from_slice(other.iv))
    }

    /// The same packets with the tags of others.
    pub fn with_tags_of(&self, others: &Packets) -> Packets {
        self.with_parts_of(others, |parts, other| parts.tag.copy_from_slice(other.tag))
    }

    /// The same packets, the first with another tag.
    pub fn with_forged_tag(&self) -> Packets {
        let mut packets = self.clone();
        packets.edit(0, |mut packets| {
            let tag = packets.next().map(|packet| packet.into_parts().tag);
            if let Some(byte) = tag.and_then(<[u8]>::first_mut) {
                *byte ^= 1;
            }
        });
        packets
    }

    fn with_parts_of(&self, others: &Packets, copy: fn(Parts<'_>, Parts<'_>)) -> Packets {
        let mut packets = self.clone();
        for number in 0..packets.batch_count() {
            let mut records = others.records[number].clone();
            let others = others.batch(number, &mut records);
            packets.edit(number, |packets| {
                let others = others.into_packets().map(Packet::into_parts);
                for (parts, other) in packets.map(Packet::into_parts).zip(others) {
                    copy(parts, other);
                }
            });
        }
        packets
    }

    fn edit(&mut self, number: usize, edit: impl FnOnce(BatchPackets<'_>)) {
        let mut records = std::mem::take(&mut self.records[number]);
        edit(self.batch(number, &mut records).into_packets());
        self.records[number] = records;
    }

    fn batch<'a>(&'a self, number: usize, bytes: &'a mut [u8]) -> Batch<'a> {
        let range = self.batches[number].clone();
        Batch {
            form: self.form,
            turns: &self.turns[range.clone()],
            text_bytes: &self.text_bytes[range],
            bytes,
        }
    }
}

fn turns(order: Order, count: usize, numbers: &mut Numbers) -> Vec<Turn> {
    let Order::Random(keys) = order else {
        return (0..count).map(|key| Turn { key, counter: 1 }).collect();
    };
    let mut order: Vec<usize> = (0..count).map(|number| number % keys).collect();
    for last in (1..count).rev() {
        order.swap(last, numbers.below(last + 1));
    }
    let mut used = vec![0; keys];
    let turns = order.into_iter().map(|key| {
        used[key] += 1;
        Turn {
            key,
            counter: used[key],
        }
    });
    turns.collect()
}

/// Cuts packets into batches, in order.
fn batches(form: Form, text_bytes: &[usize]) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (number, text_bytes) in text_bytes.iter().enumerate() {
        let stride = form.stride(*text_bytes);
        if number - start == BATCH_PACKETS || (number > start && bytes + stride > BATCH_BYTES) {
            batches.push(start..number);
            (start, bytes) = (number, 0);
        }
        bytes += stride;
    }
    batches.push(start..text_bytes.len());
    batches
}

/// Memory in which batches are laid out, one at a time.
#[derive(Default)]
pub struct Buffer(Vec<u8>);

impl Buffer {
    fn aligned(&mut self, bytes: usize) -> &mut [u8] {
        if self.0.len() < bytes + ALIGNMENT_BYTES {
            self.0.resize(bytes + ALIGNMENT_BYTES, 0);
        }
        let offset = self.0.as_ptr().align_offset(ALIGNMENT_BYTES);
        &mut self.0[offset..][..bytes]
    }

    /// The batch that is laid out.
    pub fn records(&mut self, bytes: usize) -> &[u8] {
        self.aligned(bytes)
    }
}

/// Packets that are processed together.
pub struct Batch<'a> {
    form: Form,
    pub turns: &'a [Turn],
    text_bytes: &'a [usize],
    bytes: &'a mut [u8],
}

impl<'a> Batch<'a> {
    /// The same packets, to be read before the work.
    #[cfg(any(ipsec_mb, openssl, prototype))]
    pub fn reborrow(&mut self) -> Batch<'_> {
        Batch {
            bytes: self.bytes,
            ..*self
        }
    }

    /// Its packets in order, without keys.
    #[inline]
    pub fn descriptors(&self) -> impl Iterator<Item = Descriptor> + use<'a> {
        let form = self.form;
        let mut end = 0;
        self.text_bytes.iter().map(move |text_bytes| {
            let offset = end;
            end += form.stride(*text_bytes);
            Descriptor {
                offset: offset as u32,
                layout: Layout {
                    payload_bytes: *text_bytes as u32,
                    aad_bytes: PREFIX_BYTES as u16,
                    ..Layout::default()
                },
                ..Descriptor::default()
            }
        })
    }

    /// The memory of the packets.
    #[inline]
    pub fn into_bytes(self) -> &'a mut [u8] {
        self.bytes
    }

    /// Its packets in order.
    #[inline]
    pub fn into_packets(self) -> BatchPackets<'a> {
        BatchPackets(self)
    }
}

/// Packets of a batch in order.
pub struct BatchPackets<'a>(Batch<'a>);

impl<'a> Iterator for BatchPackets<'a> {
    type Item = Packet<'a>;

    #[inline]
    fn next(&mut self) -> Option<Packet<'a>> {
        let Batch {
            form,
            turns,
            text_bytes,
            bytes,
        } = &mut self.0;
        let turn = turns.split_off_first()?;
        let text_bytes = *text_bytes.split_off_first()?;
        let record = bytes.split_off_mut(..form.stride(text_bytes))?;
        Some(Packet {
            turn: *turn,
            record: &mut record[..form.record_bytes(text_bytes)],
            text_offset: form.text_offset(),
            text_bytes,
        })
    }
}

/// One packet.
pub struct Packet<'a> {
    pub turn: Turn,
    pub record: &'a mut [u8],
    /// Offset of the text in the record, behind the IV.
    pub text_offset: usize,
    pub text_bytes: usize,
}

/// One packet's parts.
pub struct Parts<'a> {
    pub prefix: &'a [u8],
    pub iv: &'a mut [u8],
    pub text: &'a mut [u8],
    pub tag: &'a mut [u8],
}

impl<'a> Packet<'a> {
    /// Its parts.
    #[inline]
    pub fn into_parts(self) -> Parts<'a> {
        let (front, rest) = self.record.split_at_mut(self.text_offset);
        let (prefix, iv) = front.split_at_mut(PREFIX_BYTES);
        let (text, tag) = rest.split_at_mut(self.text_bytes);
        Parts {
            prefix,
            iv,
            text,
            tag,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_as_large_as_allowed() {
        let suite = Suite::parse("aes-128-gcm-16").expect("a suite");
        for (text_bytes, packets_of_batch) in [(64, 256), (1420, 178), (9000, 28), (300_000, 1)] {
            let packets = Packets::new(suite, &vec![text_bytes; 300], Order::Own);
            assert_eq!(packets.batches[0].len(), packets_of_batch, "{text_bytes}");
            let mut buffer = Buffer::default();
            let mut seen = 0;
            for number in 0..packets.batch_count() {
                let batch = packets.lay_out(number, &mut buffer);
                for packet in batch.into_packets() {
                    assert_eq!((packet.turn.key, packet.text_bytes), (seen, text_bytes));
                    assert!(
                        packet
                            .record
                            .as_ptr()
                            .addr()
                            .is_multiple_of(ALIGNMENT_BYTES)
                    );
                    seen += 1;
                }
            }
            assert_eq!(seen, 300);
        }
    }

    #[test]
    fn keys_are_used_equally_often_and_count_their_packets() {
        let turns = turns(Order::Random(4), 64, &mut Numbers(2));
        for key in 0..4 {
            let own = turns.iter().filter(|turn| turn.key == key);
            assert!(own.map(|turn| turn.counter).eq(1..=16));
        }
    }
}
