//! What sealing and opening have in common: keys, the packets that wait, and how they are
//! handed to the kernels.

use arrayvec::ArrayVec;
use weir_simd::{Tier, prefetch};

use super::cells::Cells;
use super::cut::Remainder;
use super::descriptor::Descriptor;
use super::one_time::{OneTime, OneTimeKeys};
use super::pending::{Packet, Pending};
use super::whole_tags::WholeTags;
use super::{BATCH_PACKETS, Refusal, Verdicts};
use crate::aead::{CcmPacket, Plan, ccm, chacha20_poly1305, gcm, ocb3};
use crate::cipher::Block;
use crate::engine::{Family, tier_in_use};
use crate::etm::{EtmKey, EtmPacket};
use crate::frames;
use crate::kernel::{Kernel, Kind};
use crate::keys::{IvSource, KeyError, KeyId, KeyMaterial, NonceRule, Table};
use crate::limits::Lengths;
use crate::mac::{self, MacPacketKey};
use crate::mode::{CbcIvSource, CbcKey, IVS_TOGETHER};
use crate::suite::Suite;
use crate::tags::Tags;
use crate::verdict::tags_agree;

/// A sealing or an opening key.
pub(crate) trait Key: Sized {
    /// Of CBC's schedule.
    type Direction: CbcKey;

    /// Whether packets are opened, not sealed.
    const OPEN: bool;

    fn kernel(&self) -> &Kernel<Self::Direction>;
    fn lengths(&self) -> &Lengths;
    fn salt(&self) -> [u8; 4];

    /// A key for one packet, for the kernels of `tier`.
    fn one_time(material: &KeyMaterial, tier: Tier) -> Result<Self, KeyError>;

    /// Where the IVs of packets that are sealed come from, where nobody may predict them.
    fn ivs(&self) -> Option<&CbcIvSource>;

    /// Processes packets of encrypt-then-MAC.
    fn process_etm(tier: Tier, packets: &mut [EtmPacket<'_, Self::Direction>]);
}

/// Keys, and the packets of a batch.
pub(super) struct Core<K: Key> {
    pub(super) table: Table<K>,
    one_time: OneTimeKeys<K>,
    pending: Box<Pending>,
    /// The random IVs of CBC: what the IVs of keys share, and those of one-time keys with the
    /// number of the next.
    pub(super) ivs: Option<CbcIvSource>,
    next_iv: u64,
    /// For all packets; `None` for the tier that each family of suites has proved.
    tier: Option<Tier>,
}

impl<K: Key> Core<K> {
    pub(super) fn new(tier: Option<Tier>) -> Core<K> {
        Core {
            table: Table::new(),
            one_time: OneTimeKeys::new(tier),
            pending: Pending::new(),
            ivs: None,
            next_iv: 0,
            tier,
        }
    }

    /// Adds a key for one packet of the present batch.
    #[inline]
    pub(super) fn add_one_time(
        &mut self,
        suite: Suite,
        key: &[u8],
        integrity_key: &[u8],
    ) -> Result<KeyId, KeyError> {
        if !K::OPEN && self.ivs.is_none() && suite.has_random_iv() {
            let tier = self.one_time.tier_for(suite)?;
            self.ivs = Some(CbcIvSource::new(IvSource::Random, &[], tier)?);
        }
        self.one_time.add(suite, key, integrity_key)
    }

    /// Takes a packet into the batch. Under a held key, `number_of` says which number and
    /// nonce it gets, once everything else was found right; under a one-time key it gets
    /// `given`, or what stands in the IV of a packet that is opened.
    ///
    /// It is inlined, so that a caller's loop over packets of one layout holds the layout
    /// against the buffer in registers.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        buffer: &[u8],
        descriptor: Descriptor,
        given: Option<u64>,
        number_of: impl FnOnce(&mut K, &[u8]) -> Result<(u64, Block), Refusal>,
    ) -> Result<u64, Refusal> {
        let Core { table, pending, .. } = self;
        let Some(key) = table.get_mut(descriptor.key) else {
            return self.push_one_time(buffer, descriptor, given);
        };
        let lengths = key.lengths();
        let place = lengths.place(descriptor.offset, descriptor.layout)?;
        let place = pending.check(place, buffer.len())?;
        let (number, nonce) = number_of(key, buffer.get(place.iv()).unwrap_or(&[]))?;
        pending.add(Packet {
            place,
            kind: key.kernel().kind(),
            slot: descriptor.key.slot,
            number,
            nonce,
            is_esn: descriptor.layout.esn,
        });
        Ok(number)
    }

    #[inline(always)]
    fn push_one_time(
        &mut self,
        buffer: &[u8],
        descriptor: Descriptor,
        given: Option<u64>,
    ) -> Result<u64, Refusal> {
        let Core {
            one_time, pending, ..
        } = self;
        let OneTime {
            index,
            lengths,
            salt,
            kind,
        } = one_time.find(descriptor.key)?;
        let place = lengths.place(descriptor.offset, descriptor.layout)?;
        let place = pending.check(place, buffer.len())?;
        if descriptor.context != 0 {
            let context = descriptor.context;
            return Err(Refusal::NoContext { context });
        }
        let received = buffer.get(place.iv()).and_then(<[u8]>::as_array::<8>);
        let counted = match received {
            Some(iv) if K::OPEN => u64::from_be_bytes(*iv),
            _ => given.unwrap_or(0),
        };
        let number = given.unwrap_or(counted);
        one_time.spend(index);
        pending.add(Packet {
            place,
            kind,
            slot: descriptor.key.slot,
            number,
            nonce: NonceRule::Explicit.nonce(salt, 0, counted),
            is_esn: descriptor.layout.esn,
        });
        Ok(number)
    }

    /// Forgets the packets and wipes the one-time keys.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.one_time.clear();
    }

    /// Processes the packets. Of those that are not good, payload and, where they were to be
    /// sealed, tag are zeros.
    #[inline]
    pub(super) fn run(&mut self, buffer: &mut [u8]) -> Verdicts {
        let verdicts = self.run_pending(buffer);
        self.clear();
        verdicts
    }

    #[inline]
    fn run_pending(&mut self, buffer: &mut [u8]) -> Verdicts {
        let mut verdicts = Verdicts::none_of(self.pending.len());
        self.pending.join_esn(buffer);
        if self.pending.has(Kind::Gcm) {
            self.run_gcm(buffer, &mut verdicts);
        }
        if self.pending.has(Kind::Ocb3) {
            self.run_ocb3(buffer, &mut verdicts);
        }
        if self.pending.has(Kind::ChaCha20Poly1305) {
            self.run_chacha20_poly1305(buffer, &mut verdicts);
        }
        if self.pending.has(Kind::Ccm) {
            self.run_ccm(buffer, &mut verdicts);
        }
        if self.pending.has(Kind::Etm) || self.pending.has(Kind::Hmac) {
            self.run_etm(buffer, &mut verdicts);
        }
        for kind in [Kind::Mac, Kind::MacSuite] {
            if self.pending.has(kind) {
                self.run_mac(kind, buffer, &mut verdicts);
            }
        }
        self.compare_again(buffer, &mut verdicts);
        if !verdicts.all_good() {
            self.clear_bad(buffer, &verdicts);
        }
        verdicts
    }

    /// Makes packets bad that were sealed again and are not what they were: all of a packet is
    /// the same where its tag is.
    #[inline]
    fn compare_again(&self, buffer: &[u8], verdicts: &mut Verdicts) {
        for (index, tag) in self.pending.again() {
            let index = usize::from(*index);
            let sealed = buffer.get(self.pending.place(index).tag());
            if !sealed.is_some_and(|sealed| tags_agree(sealed, tag)) {
                verdicts.set_bad(index);
            }
        }
    }

    /// As [`Core::run`], and keeps the whole tags of good packets that carry a part of theirs.
    pub(super) fn run_with_tags(&mut self, buffer: &mut [u8], tags: &mut WholeTags) -> Verdicts {
        let verdicts = self.run_pending(buffer);
        tags.take(&verdicts, |index| self.pending.whole_tag(index));
        self.clear();
        verdicts
    }

    #[cold]
    fn clear_bad(&self, buffer: &mut [u8], verdicts: &Verdicts) {
        for index in (0..self.pending.len()).filter(|index| !verdicts.is_good(*index)) {
            let place = self.pending.place(index);
            let bytes = match K::OPEN {
                true => place.payload(),
                false => place.payload().start..place.end(),
            };
            // The message of a MAC alone is not ours to clear.
            if matches!(self.pending.kind(index), Kind::Mac | Kind::Hmac) {
                if !K::OPEN
                    && let Some(tag) = buffer.get_mut(place.tag())
                {
                    tag.fill(0);
                }
            } else if let Some(bytes) = buffer.get_mut(bytes) {
                bytes.fill(0);
            }
        }
    }

    /// The tier of a family.
    fn tier_of(&self, family: Family) -> Tier {
        self.tier.unwrap_or_else(|| tier_in_use(family))
    }

    /// The key of a packet, but for one-time keys that are kept as they came.
    #[inline]
    fn key_at(&self, slot: u32) -> Option<&K> {
        match KeyId::one_time_index(slot) {
            None => self.table.at(slot),
            Some(index) => self.one_time.expanded(index as usize),
        }
    }

    /// The key in a slot, of [`Kind::Etm`] or [`Kind::Hmac`].
    #[inline]
    fn etm_key_at(&self, slot: u32) -> Option<&EtmKey<K::Direction>> {
        let one_time = KeyId::one_time_index(slot).and_then(|at| self.one_time.etm(at as usize));
        match one_time {
            Some(key) => Some(key),
            None => self.key_at(slot)?.kernel().etm(),
        }
    }

    /// Makes the IVs of CBC that are not given, side by side.
    fn make_ivs(&mut self) {
        let Core {
            table,
            one_time,
            pending,
            ivs,
            next_iv,
            ..
        } = self;
        let mut blocks = ArrayVec::<(usize, Block), IVS_TOGETHER>::new();
        let mut common: Option<&CbcIvSource> = None;
        for index in 0..pending.len() {
            if pending.kind(index) != Kind::Etm || pending.has_given_iv(index) {
                continue;
            }
            let slot = pending.slots()[index];
            let (source, number) = match KeyId::one_time_index(slot) {
                None => (table.at(slot).and_then(K::ivs), pending.number(index)),
                Some(at) => match one_time.etm_suite(at as usize) {
                    Some(suite) if suite.has_random_iv() => {
                        *next_iv += 1;
                        (ivs.as_ref(), *next_iv)
                    }
                    _ => (None, 0),
                },
            };
            let Some(source) = source else {
                continue;
            };
            let is_common = common.is_some_and(|common| common.shares_key_with(source));
            if blocks.is_full() || !is_common {
                encrypt_ivs(common, &mut blocks, pending);
                common = Some(source);
            }
            blocks.push((index, source.block(number)));
        }
        encrypt_ivs(common, &mut blocks, pending);
    }

    /// The packet that was taken last is to have this tag.
    pub(super) fn expect_tag(&mut self, tag: &Block) {
        self.pending.expect_tag(tag);
    }

    /// The packet that was taken last has the IV of its nonce.
    pub(super) fn give_iv(&mut self) {
        self.pending.give_iv();
    }

    #[inline(never)]
    fn run_gcm(&mut self, buffer: &mut [u8], verdicts: &mut Verdicts) {
        let tier = self.tier_of(Family::Gcm);
        let Core {
            table,
            one_time,
            pending,
            ..
        } = self;
        let raw = gcm::takes_raw_keys(tier, pending.uniform());
        let cells = pending.cells(buffer);
        let mut keys = ArrayVec::<_, BATCH_PACKETS>::new();
        let mut forms = ArrayVec::<_, BATCH_PACKETS>::new();
        for slot in cells.slots {
            let key = match KeyId::one_time_index(*slot) {
                Some(index) => one_time.gcm(index as usize),
                None => match table.at(*slot).map(K::kernel) {
                    Some(Kernel::Gcm(key)) if raw => Some(key.raw_view()),
                    Some(Kernel::Gcm(key)) => Some(key.view()),
                    _ => None,
                },
            };
            let (form, key) = key.unwrap_or((gcm::KeyForm::NONE, &[]));
            keys.push(key);
            forms.push(form);
        }
        if !K::OPEN {
            for (index, form) in forms.iter_mut().enumerate() {
                if *form != gcm::KeyForm::NONE && !cells.write_iv(index) {
                    *form = gcm::KeyForm::NONE;
                }
            }
        }
        let columns = gcm::Columns {
            cells,
            keys: &keys,
            forms: &forms,
        };
        gcm::process(tier, K::OPEN, &columns, verdicts);
    }

    #[inline(never)]
    fn run_ocb3(&mut self, buffer: &mut [u8], verdicts: &mut Verdicts) {
        let tier = self.tier_of(Family::Ocb3);
        let Core {
            table,
            one_time,
            pending,
            ..
        } = self;
        let key_at = |slot| {
            let key = match KeyId::one_time_index(slot) {
                Some(index) => one_time.expanded(index as usize),
                None => table.at(slot),
            };
            match key?.kernel() {
                Kernel::Ocb3(key) => Some(key),
                _ => None,
            }
        };
        let (cells, mut plan) = (pending.cells(buffer), Plan::<_, { ocb3::KINDS }>::new());
        plan_packets::<K, _, _>(&cells, Kind::Ocb3, key_at, &mut plan);
        let mut tags = Tags::new();
        ocb3::compute_tags(tier, K::OPEN, &plan, &mut tags);
        finish::<K, _, _>(&cells, &plan, &tags, verdicts);
    }

    #[inline(never)]
    fn run_chacha20_poly1305(&mut self, buffer: &mut [u8], verdicts: &mut Verdicts) {
        let tier = self.tier_of(Family::ChaCha20Poly1305);
        let Core {
            table,
            one_time,
            pending,
            ..
        } = self;
        let key_at = |slot| match KeyId::one_time_index(slot) {
            Some(index) => one_time.chacha20(index as usize),
            None => match table.at(slot)?.kernel() {
                Kernel::ChaCha20Poly1305(key) => Some(key.bytes()),
                _ => None,
            },
        };
        let (cells, mut plan) = (pending.cells(buffer), Plan::<_, 1>::new());
        plan_packets::<K, _, _>(&cells, Kind::ChaCha20Poly1305, key_at, &mut plan);
        let mut tags = Tags::new();
        chacha20_poly1305::compute_tags(tier, K::OPEN, &plan, &mut tags);
        finish::<K, _, _>(&cells, &plan, &tags, verdicts);
    }

    #[inline(never)]
    fn run_ccm(&self, buffer: &mut [u8], verdicts: &mut Verdicts) {
        let pending = &*self.pending;
        let mut packets = ArrayVec::<CcmPacket<'_>, BATCH_PACKETS>::new();
        let order = pending.in_order_of_offsets();
        let mut remainder = Remainder::of(buffer);
        for index in &order[..pending.len()] {
            let index = usize::from(*index);
            if pending.kind(index) == Kind::Ccm
                && let Some(cut) = remainder.cut(pending.place(index))
                && let Some(key) = self.key_at(pending.slots()[index])
                && let Some(key) = key.kernel().ccm()
                && (K::OPEN || pending.write_iv(index, cut.iv))
            {
                packets.push(CcmPacket {
                    index,
                    key,
                    nonce: *pending.nonce(index),
                    associated: match pending.esn(index) {
                        None => cut.aad,
                        Some(aad) => aad,
                    },
                    text: cut.payload,
                    tag: cut.tag,
                    is_good: false,
                });
            }
        }
        ccm::process(self.tier_of(Family::Ccm), K::OPEN, &mut packets);
        let good = packets.iter().filter(|packet| packet.is_good);
        verdicts.set_all_good(good.map(|packet| packet.index));
    }

    #[inline(never)]
    fn run_etm(&mut self, buffer: &mut [u8], verdicts: &mut Verdicts) {
        let tier = self.tier_of(Family::EncryptThenMac);
        self.one_time.expand_etm(tier);
        if !K::OPEN {
            self.make_ivs();
        }
        let pending = &*self.pending;
        let mut packets = ArrayVec::<EtmPacket<'_, K::Direction>, BATCH_PACKETS>::new();
        let order = pending.in_order_of_offsets();
        let mut remainder = Remainder::of(buffer);
        for index in &order[..pending.len()] {
            let index = usize::from(*index);
            let place = pending.place(index);
            if matches!(pending.kind(index), Kind::Etm | Kind::Hmac)
                && let Some(bytes) = remainder.cut_whole(place)
                && let Some(key) = self.etm_key_at(pending.slots()[index])
                && let layout = place.etm_layout()
                && let Some(iv) = bytes.get_mut(layout.iv..layout.payload)
                && (K::OPEN || pending.write_iv(index, iv))
            {
                prefetch(key);
                packets.push(EtmPacket {
                    index,
                    key,
                    bytes,
                    layout,
                    trailing: match pending.esn(index) {
                        None => &[],
                        Some([_, _, _, _, high @ .., _, _, _, _]) => high,
                    },
                    is_good: false,
                });
            }
        }
        K::process_etm(tier, &mut packets);
        let good = packets.iter().filter(|packet| packet.is_good);
        verdicts.set_all_good(good.map(|packet| packet.index));
    }

    #[inline(never)]
    fn run_mac(&mut self, kind: Kind, buffer: &mut [u8], verdicts: &mut Verdicts) {
        let pending = &*self.pending;
        let mut keys = ArrayVec::<Option<MacPacketKey<'_>>, BATCH_PACKETS>::new();
        for (index, slot) in pending.slots().iter().enumerate() {
            let key = match pending.kind(index) == kind {
                true => self.key_at(*slot).and_then(|key| key.kernel().mac()),
                false => None,
            };
            let iv = buffer
                .get_mut(pending.place(index).iv())
                .unwrap_or_default();
            keys.push(key.filter(|_| K::OPEN || pending.write_iv(index, iv)));
        }
        let mut packets = pending.mac_packets(buffer, &keys, K::OPEN);
        // Universal hashes beside a cipher were tested as parts of their suites.
        let tier = |family| match (kind, family) {
            (Kind::MacSuite, Family::Umac | Family::Mmh) => self.tier_of(Family::CtrMac),
            _ => self.tier_of(family),
        };
        frames::cleared(|| mac::process(tier, &mut packets, verdicts));
    }
}

/// Encrypts blocks under the key of a source and gives their packets the IVs.
fn encrypt_ivs(
    source: Option<&CbcIvSource>,
    ivs: &mut ArrayVec<(usize, Block), IVS_TOGETHER>,
    pending: &mut Pending,
) {
    let mut blocks: ArrayVec<Block, IVS_TOGETHER> = ivs.iter().map(|(_, block)| *block).collect();
    if let Some(source) = source {
        source.encrypt(&mut blocks);
        for ((index, _), block) in ivs.drain(..).zip(blocks) {
            pending.set_iv(index, block);
        }
    }
}

/// Plans the packets of a kind whose keys `key_at` finds in their slots, and writes the IVs of
/// those that are sealed.
#[inline(always)]
fn plan_packets<'a, K: Key, T, const KINDS: usize>(
    cells: &Cells<'a>,
    kind: Kind,
    key_at: impl Fn(u32) -> Option<&'a T>,
    plan: &mut Plan<'a, T, KINDS>,
) {
    for ((index, slot), kind_of) in (0..=u8::MAX).zip(cells.slots).zip(cells.kinds) {
        if *kind_of == kind
            && let Some(key) = key_at(*slot)
            && let Some(packet) = cells.packet(index, key)
            && (K::OPEN || cells.write_iv(index.into()))
        {
            // One that is not planned gets no tag.
            plan.add(packet);
        }
    }
}

/// Writes or compares the tags of the planned packets that have one.
#[inline(always)]
fn finish<K: Key, T, const KINDS: usize>(
    cells: &Cells<'_>,
    plan: &Plan<'_, T, KINDS>,
    tags: &Tags<BATCH_PACKETS>,
    verdicts: &mut Verdicts,
) {
    for packet in plan.packets() {
        let index = usize::from(packet.index);
        if let Some(tag) = tags.get(index)
            && cells.finish(index, K::OPEN, tag)
        {
            verdicts.set_good(index);
        }
    }
}
