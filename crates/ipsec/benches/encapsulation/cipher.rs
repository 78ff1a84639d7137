//! The cipher alone, on packets laid out as the gateway lays them out.

use std::time::Instant;

use weir_crypto::{
    BATCH_PACKETS, Descriptor, KeyId, KeyMaterial, Layout, Opener, OpeningKey, Sealer, SealingKey,
    Suite,
};

/// Bytes from one packet of a batch to the next: as a gateway's, which have
/// headroom and tailroom.
const STRIDE: usize = 320;

/// Where a packet's ESP header is: behind headroom, Ethernet and outer header.
const ESP_OFFSET: usize = 128 + 48;

/// Keys that seal, and packets of one batch.
pub struct Sealing {
    sealer: Sealer,
    keys: Vec<KeyId>,
    layout: Layout,
    memory: Vec<u8>,
}

impl Sealing {
    /// `keys` keys, and memory for a batch of ESP packets of `payload_bytes`.
    pub fn new(keys: usize, payload_bytes: usize) -> Sealing {
        let mut sealer = Sealer::new();
        let keys = (0..keys).map(|number| {
            let key = SealingKey::new(material(number), 1..).expect("a key");
            sealer.add(key)
        });
        Sealing {
            keys: keys.collect(),
            sealer,
            layout: layout(payload_bytes),
            memory: vec![0; BATCH_PACKETS * STRIDE],
        }
    }

    /// Seals a packet under every key in this order, and hands each batch to
    /// `receive`; nanoseconds per packet.
    pub fn round_ns(&mut self, order: &[usize], mut receive: impl FnMut(&[u8])) -> f64 {
        let mut ns = 0;
        for of_batch in order.chunks(BATCH_PACKETS) {
            let start = Instant::now();
            let mut batch = self.sealer.batch(&mut self.memory);
            for (place, key) in of_batch.iter().enumerate() {
                let packet = packet(self.keys[*key], self.layout, place);
                batch.push(packet).expect("a well-formed packet");
            }
            assert!(batch.run().all_good());
            ns += start.elapsed().as_nanos();
            receive(&self.memory);
        }
        ns as f64 / order.len() as f64
    }
}

/// Keys that open, and packets of one batch.
pub struct Opening {
    opener: Opener,
    keys: Vec<KeyId>,
    layout: Layout,
    memory: Vec<u8>,
}

impl Opening {
    /// As [`Sealing::new`].
    pub fn new(keys: usize, payload_bytes: usize) -> Opening {
        let mut opener = Opener::new();
        let keys = (0..keys).map(|number| {
            let key = OpeningKey::new(&material(number)).expect("a key");
            opener.add(key)
        });
        Opening {
            keys: keys.collect(),
            opener,
            layout: layout(payload_bytes),
            memory: vec![0; BATCH_PACKETS * STRIDE],
        }
    }

    /// Opens the batches that a [`Sealing`] sealed in this order; nanoseconds per
    /// packet.
    pub fn round_ns(&mut self, order: &[usize], batches: &[Vec<u8>]) -> f64 {
        let mut ns = 0;
        for (of_batch, sealed) in order.chunks(BATCH_PACKETS).zip(batches) {
            self.memory.copy_from_slice(sealed);
            let start = Instant::now();
            let mut batch = self.opener.batch(&mut self.memory);
            for (place, key) in of_batch.iter().enumerate() {
                let packet = packet(self.keys[*key], self.layout, place);
                batch.push(packet).expect("a well-formed packet");
            }
            assert!(batch.run().all_good(), "all verify");
            ns += start.elapsed().as_nanos();
        }
        ns as f64 / order.len() as f64
    }
}

fn material(number: usize) -> KeyMaterial {
    let suite = Suite::parse("aes-128-gcm-16").expect("a suite");
    let key = [(number as u32).to_be_bytes(); 5];
    KeyMaterial::new(suite, key.as_flattened(), &[]).expect("a key")
}

/// ESP header; payload, padding and trailer.
fn layout(payload_bytes: usize) -> Layout {
    Layout {
        payload_bytes: (payload_bytes + 2).next_multiple_of(4) as u32,
        aad_bytes: 8,
        ..Layout::default()
    }
}

fn packet(key: KeyId, layout: Layout, place: usize) -> Descriptor {
    Descriptor {
        key,
        context: 0,
        offset: (place * STRIDE + ESP_OFFSET) as u32,
        layout,
    }
}
