//! The cipher alone, on packets laid out as the gateway lays them out.

use std::time::Instant;

use weir_crypto::{
    IvSource, KeyMaterial, OpenJob, OpeningKey, SealJob, SealingKey, Suite, Ticket, open, seal,
};
use weir_stream::BATCH_RECORDS;

const ESP_HEADER_BYTES: usize = 8;
const IV_BYTES: usize = 8;
const TAG_BYTES: usize = 16;

/// Bytes from one packet of a batch to the next: as a gateway's, which have
/// room around them.
const STRIDE: usize = 320;

/// Keys that seal.
pub struct Sealer {
    keys: Vec<SealingKey>,
    text_bytes: usize,
    /// A batch's packets.
    memory: Vec<u8>,
}

impl Sealer {
    /// `keys` keys, and memory for a batch of ESP packets of `payload_bytes`.
    pub fn new(keys: usize, payload_bytes: usize) -> Sealer {
        let keys = (0..keys).map(|number| {
            let key = SealingKey::new(material(number), 1, IvSource::RepeatableInsecure);
            let mut key = key.expect("a key");
            key.allow_until(u64::MAX);
            key
        });
        Sealer {
            keys: keys.collect(),
            text_bytes: text_bytes(payload_bytes),
            memory: vec![0; BATCH_RECORDS * STRIDE],
        }
    }

    /// Seals a packet under every key in this order, and hands each batch to
    /// `receive`; nanoseconds per packet.
    pub fn round_ns(&mut self, order: &[usize], mut receive: impl FnMut(&[u8])) -> f64 {
        let mut ns = 0;
        for of_batch in order.chunks(BATCH_RECORDS) {
            let tickets: Vec<Ticket> = of_batch
                .iter()
                .map(|key| self.keys[*key].next_ticket().expect("there are more"))
                .collect();
            let mut jobs = Vec::with_capacity(BATCH_RECORDS);
            let packets = self.memory.chunks_mut(STRIDE);
            for ((key, ticket), packet) in of_batch.iter().zip(tickets).zip(packets) {
                let (prefix, iv, text, tag) = parts(packet, self.text_bytes);
                jobs.push(SealJob {
                    key: &self.keys[*key],
                    ticket,
                    prefix,
                    iv,
                    text,
                    suffix: &[],
                    tag,
                });
            }
            let start = Instant::now();
            seal(&mut jobs).expect("well-formed packets");
            ns += start.elapsed().as_nanos();
            receive(&self.memory);
        }
        ns as f64 / order.len() as f64
    }
}

/// Keys that open.
pub struct Opener {
    keys: Vec<OpeningKey>,
    text_bytes: usize,
    /// A batch's packets.
    memory: Vec<u8>,
}

impl Opener {
    /// As [`Sealer::new`].
    pub fn new(keys: usize, payload_bytes: usize) -> Opener {
        Opener {
            keys: (0..keys)
                .map(|number| OpeningKey::new(&material(number)).expect("a key"))
                .collect(),
            text_bytes: text_bytes(payload_bytes),
            memory: vec![0; BATCH_RECORDS * STRIDE],
        }
    }

    /// Opens the batches that a [`Sealer`] sealed in this order; nanoseconds per
    /// packet.
    pub fn round_ns(&mut self, order: &[usize], batches: &[Vec<u8>]) -> f64 {
        let mut ns = 0;
        for (of_batch, sealed) in order.chunks(BATCH_RECORDS).zip(batches) {
            self.memory.copy_from_slice(sealed);
            let mut jobs = Vec::with_capacity(BATCH_RECORDS);
            let packets = self.memory.chunks_mut(STRIDE);
            for (key, packet) in of_batch.iter().zip(packets) {
                let (prefix, iv, text, tag) = parts(packet, self.text_bytes);
                jobs.push(OpenJob {
                    key: &self.keys[*key],
                    prefix,
                    iv,
                    text,
                    suffix: &[],
                    tag,
                    verified: false,
                });
            }
            let start = Instant::now();
            open(&mut jobs);
            ns += start.elapsed().as_nanos();
            assert!(jobs.iter().all(|job| job.verified), "all verify");
        }
        ns as f64 / order.len() as f64
    }
}

fn material(number: usize) -> KeyMaterial {
    let suite = Suite::parse("aes-128-gcm-16").expect("a suite");
    let key = [(number as u32).to_be_bytes(); 5];
    KeyMaterial::new(suite, key.as_flattened(), &[]).expect("a key")
}

/// Payload, padding and trailer.
fn text_bytes(payload_bytes: usize) -> usize {
    (payload_bytes + 2).next_multiple_of(4)
}

/// ESP header, IV, text and tag of a packet with its headroom.
fn parts(packet: &mut [u8], text_bytes: usize) -> (&[u8], &mut [u8], &mut [u8], &mut [u8]) {
    // Ethernet and outer header behind the rest of the headroom.
    let (_, packet) = packet.split_at_mut(64 + 34);
    let (prefix, packet) = packet.split_at_mut(ESP_HEADER_BYTES);
    let (iv, packet) = packet.split_at_mut(IV_BYTES);
    let (text, packet) = packet.split_at_mut(text_bytes);
    (prefix, iv, text, &mut packet[..TAG_BYTES])
}
