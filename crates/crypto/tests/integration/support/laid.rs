//! Packets laid out in one buffer, at any alignment, between guard bytes.

use weir_crypto::{OpenAt, OpeningKey, Place, SealAt, SealingKey, Ticket, open_in, seal_in};

use super::Packet;

const GUARD: u8 = 0xa5;

/// Packets in a buffer.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Laid {
    pub buffer: Vec<u8>,
    pub places: Vec<Place>,
    /// Bytes of each packet's IV and tag.
    ends: Vec<(usize, usize)>,
}

impl Laid {
    /// Packets without suffixes, one behind the other.
    pub fn of(packets: &[Packet]) -> Laid {
        let mut laid = Laid::default();
        for packet in packets {
            let parts = [&packet.prefix, &packet.iv, &packet.text, &packet.tag];
            laid.push(0, 0, parts.map(|part| &part[..]));
        }
        laid
    }

    /// Seals all packets under one key.
    pub fn seal(&mut self, key: &SealingKey, tickets: Vec<Ticket>) {
        let jobs = tickets.into_iter().zip(&self.places);
        let mut jobs: Vec<SealAt> = jobs
            .map(|(ticket, &place)| SealAt {
                key: 0,
                ticket,
                place,
            })
            .collect();
        seal_in(&mut self.buffer, &mut jobs, |_| Some(key)).expect("a row of packets");
    }

    /// Opens all packets under one key; each must be authentic.
    pub fn open(&mut self, key: &OpeningKey) {
        let jobs = self.places.iter().map(|&place| OpenAt {
            key: 0,
            place,
            verified: false,
        });
        let mut jobs: Vec<OpenAt> = jobs.collect();
        open_in(&mut self.buffer, &mut jobs, |_| Some(key)).expect("a row of packets");
        assert!(jobs.iter().all(|job| job.verified));
    }

    /// Puts a packet behind the others, with so many guard bytes in front of it
    /// and so many between its prefix and its IV.
    pub fn push(&mut self, skipped: usize, gap: usize, parts: [&[u8]; 4]) {
        let [prefix, iv, text, tag] = parts;
        self.guard(skipped);
        self.places.push(Place {
            offset: self.buffer.len().try_into().expect("a short buffer"),
            prefix_bytes: prefix.len().try_into().expect("a short prefix"),
            gap_bytes: gap.try_into().expect("a short gap"),
            text_bytes: text.len().try_into().expect("a short text"),
        });
        self.ends.push((iv.len(), tag.len()));
        self.buffer.extend_from_slice(prefix);
        self.guard(gap);
        for part in [iv, text, tag] {
            self.buffer.extend_from_slice(part);
        }
    }

    /// A packet's prefix, IV, text and tag.
    pub fn parts(&self, index: usize) -> [&[u8]; 4] {
        let place = self.places[index];
        let (iv_bytes, tag_bytes) = self.ends[index];
        let (prefix, rest) =
            self.buffer[place.offset as usize..].split_at(place.prefix_bytes.into());
        let (iv, rest) = rest[usize::from(place.gap_bytes)..].split_at(iv_bytes);
        let (text, rest) = rest.split_at(place.text_bytes as usize);
        [prefix, iv, text, &rest[..tag_bytes]]
    }

    /// Whether what belongs to no packet is as it was.
    pub fn is_guarded(&self) -> bool {
        let mut others = vec![true; self.buffer.len()];
        for index in 0..self.places.len() {
            for part in self.parts(index) {
                let at = self.offset_of(part);
                others[at..at + part.len()].fill(false);
            }
        }
        let mut others = self.buffer.iter().zip(others);
        others.all(|(byte, is_other)| !is_other || *byte == GUARD)
    }

    /// Where in the buffer a part lies.
    pub fn offset_of(&self, part: &[u8]) -> usize {
        part.as_ptr().addr() - self.buffer.as_ptr().addr()
    }

    fn guard(&mut self, bytes: usize) {
        self.buffer.resize(self.buffer.len() + bytes, GUARD);
    }
}
