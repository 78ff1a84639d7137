//! Packets that were taken into a batch and wait for it to run.

use std::cell::Cell;

use arrayvec::ArrayVec;

use super::cells::Cells;
use super::descriptor::Place;
use super::{BATCH_PACKETS, Refusal};
use crate::cipher::Block;
use crate::impossible::{Impossible, happens};
use crate::kernel::Kind;
use crate::mac::{MacPacketKey, MacPackets};
use crate::simd::wipe;

/// Tags of AES-GCM that are not cut.
const WHOLE_TAG_BYTES: usize = 16;

/// Packets in columns, numbered as they came.
pub(super) struct Pending {
    len: usize,
    /// Which kinds of packets there are.
    kinds: u8,
    /// Whether packets lie in the buffer in the order in which they came.
    is_ascending: bool,
    /// Whether their parts are of the same lengths.
    is_alike: bool,
    has_esn: bool,
    has_given_ivs: bool,
    /// Where the last of them ends.
    end: usize,
    nonces: [Block; BATCH_PACKETS],
    places: [Place; BATCH_PACKETS],
    numbers: [u64; BATCH_PACKETS],
    slots: [u32; BATCH_PACKETS],
    kind_of: [Kind; BATCH_PACKETS],
    /// Packets with extended sequence numbers, and what these authenticate: SPI and low half
    /// as they stand in the packet when the batch runs, and the high half between them.
    is_esn: [bool; BATCH_PACKETS],
    esn: [[u8; 12]; BATCH_PACKETS],
    /// Packets whose IV is that of the caller.
    has_given_iv: [bool; BATCH_PACKETS],
    /// Packets that are sealed again, with the tags that they had.
    again: ArrayVec<(u8, Block), BATCH_PACKETS>,
    /// Whole tags of packets that carry a part of theirs, where they are good.
    whole_tags: [Block; BATCH_PACKETS],
    has_cut_tags: bool,
}

/// One of them.
pub(super) struct Packet {
    pub(super) place: Place,
    pub(super) kind: Kind,
    pub(super) slot: u32,
    pub(super) number: u64,
    pub(super) nonce: Block,
    pub(super) is_esn: bool,
}

impl Pending {
    pub(super) fn new() -> Box<Pending> {
        Box::new(Pending {
            len: 0,
            kinds: 0,
            is_ascending: true,
            is_alike: true,
            has_esn: false,
            has_given_ivs: false,
            end: 0,
            nonces: [[0; 16]; BATCH_PACKETS],
            places: [Place::default(); BATCH_PACKETS],
            numbers: [0; BATCH_PACKETS],
            slots: [0; BATCH_PACKETS],
            kind_of: [Kind::Gcm; BATCH_PACKETS],
            is_esn: [false; BATCH_PACKETS],
            esn: [[0; 12]; BATCH_PACKETS],
            has_given_iv: [false; BATCH_PACKETS],
            again: ArrayVec::new(),
            whole_tags: [[0; 16]; BATCH_PACKETS],
            has_cut_tags: false,
        })
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        if self.has_given_ivs {
            self.has_given_iv = [false; BATCH_PACKETS];
        }
        if self.has_esn {
            self.is_esn = [false; BATCH_PACKETS];
        }
        if self.has_cut_tags {
            wipe(&mut self.whole_tags);
        }
        self.again.clear();
        self.has_cut_tags = false;
        self.len = 0;
        self.kinds = 0;
        self.is_ascending = true;
        self.is_alike = true;
        self.has_esn = false;
        self.has_given_ivs = false;
        self.end = 0;
    }

    /// Whether there is a place for one more packet, which ends at `end` in a buffer of
    /// `buffer_bytes` and lies on no other packet.
    #[inline(always)]
    pub(super) fn check(
        &self,
        (place, end): (Place, u64),
        buffer_bytes: usize,
    ) -> Result<Place, Refusal> {
        if self.len >= BATCH_PACKETS {
            return Err(Refusal::BatchFull);
        }
        // Offsets are of 32 bits.
        if end > (buffer_bytes as u64).min(u32::MAX.into()) {
            return Err(Refusal::OutOfBuffer {
                end,
                buffer_bytes: buffer_bytes as u64,
            });
        }
        match place.offset() >= self.end {
            true => Ok(place),
            false => self.check_against_each(place),
        }
    }

    #[cold]
    fn check_against_each(&self, place: Place) -> Result<Place, Refusal> {
        let (start, end) = (place.offset(), place.end());
        let overlaps = |other: &Place| start < other.end() && other.offset() < end;
        match self.places[..self.len].iter().any(overlaps) {
            true => Err(Refusal::Overlap {
                // It is one of 32 bits.
                offset: start as u32,
            }),
            false => Ok(place),
        }
    }

    /// Adds a packet that was checked.
    #[inline(always)]
    pub(super) fn add(&mut self, packet: Packet) {
        let index = self.len;
        if index >= BATCH_PACKETS {
            return;
        }
        let place = packet.place;
        self.nonces[index] = packet.nonce;
        self.places[index] = place;
        self.numbers[index] = packet.number;
        self.slots[index] = packet.slot;
        self.kind_of[index] = packet.kind;
        if packet.is_esn {
            self.is_esn[index] = true;
            self.has_esn = true;
        }
        self.len += 1;
        self.kinds |= packet.kind as u8;
        self.is_ascending &= place.offset() >= self.end;
        self.is_alike &= place.is_like(self.places[0]);
        self.end = self.end.max(place.end());
    }

    #[inline]
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.kinds & kind as u8 != 0
    }

    #[inline]
    pub(super) fn place(&self, index: usize) -> Place {
        self.places[index]
    }

    #[inline]
    pub(super) fn kind(&self, index: usize) -> Kind {
        self.kind_of[index]
    }

    #[inline]
    pub(super) fn slots(&self) -> &[u32] {
        &self.slots[..self.len]
    }

    #[inline]
    pub(super) fn number(&self, index: usize) -> u64 {
        self.numbers[index]
    }

    #[inline]
    pub(super) fn nonce(&self, index: usize) -> &Block {
        &self.nonces[index]
    }

    /// The packet that was added last has the IV of its nonce.
    pub(super) fn give_iv(&mut self) {
        if let Some(last) = self.len.checked_sub(1) {
            self.set_iv(last, self.nonces[last]);
        }
    }

    /// Gives a packet an IV: what [`Pending::write_iv`] takes of a block.
    pub(super) fn set_iv(&mut self, index: usize, iv: Block) {
        self.nonces[index] = iv;
        self.has_given_iv[index] = true;
        self.has_given_ivs = true;
    }

    #[inline]
    pub(super) fn has_given_iv(&self, index: usize) -> bool {
        self.has_given_iv[index]
    }

    /// Joins what ESP with extended sequence numbers authenticates.
    pub(super) fn join_esn(&mut self, buffer: &[u8]) {
        if !self.has_esn {
            return;
        }
        for index in 0..self.len {
            let header = buffer.get(self.places[index].aad()).unwrap_or(&[]);
            if let Some([a, b, c, d, low @ ..]) = header.as_array::<8>() {
                let [e, f, g, h, ..] = self.numbers[index].to_be_bytes();
                let aad = [[*a, *b, *c, *d], [e, f, g, h], *low];
                self.esn[index].copy_from_slice(aad.as_flattened());
            }
        }
    }

    /// SPI, high and low half of a packet with extended sequence numbers.
    #[inline]
    pub(super) fn esn(&self, index: usize) -> Option<&[u8; 12]> {
        self.is_esn[index].then_some(&self.esn[index])
    }

    /// Writes the IV of a packet, if it carries one, and says whether it needs none now.
    #[inline]
    pub(super) fn write_iv(&self, index: usize, iv: &mut [u8]) -> bool {
        if happens(Impossible::NoIv) {
            return false;
        }
        let nonce = &self.nonces[index];
        if let Some(iv) = iv.as_mut_array::<8>() {
            *iv = std::array::from_fn(|at| nonce[4 + at]);
            return true;
        }
        match iv.as_mut_array::<16>() {
            // A nonce that was counted is no block.
            Some(iv) if self.has_given_iv[index] => *iv = *nonce,
            Some(_) => return false,
            None => return iv.is_empty(),
        }
        true
    }

    /// The packet that was added last had this tag when its number was used first.
    pub(super) fn expect_tag(&mut self, tag: &Block) {
        if let Some(last) = self.len.checked_sub(1) {
            // A batch has at most 256 packets, each of which is pushed once.
            self.again.push((last as u8, *tag));
        }
    }

    /// Packets that are sealed again, by their indexes, with the tags that they had.
    pub(super) fn again(&self) -> &[(u8, Block)] {
        &self.again
    }

    /// The whole tag of a good packet that carries a part of its own.
    pub(super) fn whole_tag(&self, index: usize) -> Option<&Block> {
        let is_kept = index < self.len && self.has_cut_tag(index);
        is_kept.then(|| &self.whole_tags[index])
    }

    #[inline]
    fn has_cut_tag(&self, index: usize) -> bool {
        self.kind_of[index] == Kind::Gcm && self.places[index].tag_bytes() < WHOLE_TAG_BYTES
    }

    /// Whether all packets have the same lengths and no extended sequence number.
    #[inline]
    fn is_uniform(&self) -> bool {
        self.is_alike && !self.has_esn
    }

    /// The first packet's place, and how many packets have its lengths, if all do.
    #[inline]
    pub(super) fn uniform(&self) -> Option<(Place, usize)> {
        (self.is_uniform() && self.len > 0).then_some((self.places[0], self.len))
    }

    /// The packets as kernels see them that hold several at once.
    #[inline]
    pub(super) fn cells<'a>(&'a mut self, buffer: &'a mut [u8]) -> Cells<'a> {
        let is_uniform = self.is_uniform();
        self.has_cut_tags = if is_uniform {
            // The first place stands for all, the first suite does not.
            self.has(Kind::Gcm) && self.places[0].tag_bytes() < WHOLE_TAG_BYTES
        } else {
            (0..self.len).any(|index| self.has_cut_tag(index))
        };
        Cells {
            buffer: Cell::from_mut(buffer).as_slice_of_cells(),
            places: &self.places[..self.len],
            nonces: &self.nonces[..self.len],
            slots: &self.slots[..self.len],
            kinds: &self.kind_of[..self.len],
            is_uniform: is_uniform && !self.has_cut_tags,
            is_esn: &self.is_esn,
            esn: Cell::from_mut(&mut self.esn[..]).as_slice_of_cells(),
            whole_tags: Cell::from_mut(&mut self.whole_tags[..]).as_slice_of_cells(),
        }
    }

    /// The packets as MACs see them.
    #[inline]
    pub(super) fn mac_packets<'a>(
        &'a self,
        buffer: &'a mut [u8],
        keys: &'a [Option<MacPacketKey<'a>>],
        open: bool,
    ) -> MacPackets<'a> {
        MacPackets {
            buffer,
            places: &self.places[..self.len],
            nonces: &self.nonces[..self.len],
            is_esn: &self.is_esn,
            esn: &self.esn,
            has_ciphers: keys.iter().flatten().any(|key| key.cipher.is_some()),
            keys,
            open,
        }
    }

    /// The packets in the order in which they lie in the buffer.
    pub(super) fn in_order_of_offsets(&self) -> [u8; BATCH_PACKETS] {
        // A batch has at most 256 packets, so that an index is a byte.
        let mut order = std::array::from_fn(|index| index as u8);
        if !self.is_ascending {
            order[..self.len]
                .sort_unstable_by_key(|index| self.places[usize::from(*index)].offset());
        }
        order
    }
}
