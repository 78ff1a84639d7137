//! The packets of a batch on their way to the kernels.

use weir_simd::Tier;

use super::key::KeyForm;
use super::packet::Packet;
use super::plan::{KINDS, Kind, ShortTexts};
use super::simd::LaneLimits;
use super::{scalar, simd};
use crate::aead::plan::{INDEXES, Sorted};
use crate::batch::{Cells, Verdicts};
use crate::cipher::Block;
use crate::frames;
use crate::impossible::{Impossible, happens};

/// The packets of a batch, in columns. Kernels see a packet when they come to it
/// ([`Task::packet`]): nothing is gathered before.
pub(crate) struct Columns<'a> {
    pub(crate) cells: Cells<'a>,
    /// Keys of the packets that are AES-GCM's.
    pub(crate) keys: &'a [&'a [u8]],
    pub(crate) forms: &'a [KeyForm],
}

/// Packets of one kind, in the order in which a kernel takes them: shortest first.
pub(super) struct Task<'t, 'a> {
    pub(super) kind: Kind,
    /// Whether they are opened, not sealed.
    pub(super) open: bool,
    /// Whether all have as much payload and associated data.
    pub(super) alike: bool,
    columns: &'t Columns<'a>,
    /// Which packets they are.
    indexes: &'t [u8],
    verdicts: &'t mut Verdicts,
}

/// Inlined always: a call in a kernel would spill its vectors.
impl<'t, 'a> Task<'t, 'a> {
    /// How many packets there are.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.indexes.len()
    }

    /// The packet at `position` of the order.
    #[inline(always)]
    pub(super) fn packet(&self, position: usize) -> Option<Packet<'a>> {
        self.columns.packet(*self.indexes.get(position)?)
    }

    /// The columns of the batch, where all of its packets are alike and in its order.
    #[inline(always)]
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "for kernels of x86-64")
    )]
    pub(super) fn uniform(&mut self) -> Option<(&'t Columns<'a>, &mut Verdicts)> {
        let is_whole = self.indexes.len() == self.columns.cells.places.len();
        (self.alike && is_whole).then_some((self.columns, &mut *self.verdicts))
    }

    /// The key of the packet at `position` of the order.
    #[inline(always)]
    pub(super) fn key(&self, position: usize) -> Option<&'a [u8]> {
        let index = *self.indexes.get(position)?;
        self.columns.keys.get(usize::from(index)).copied()
    }

    /// Bytes of the payload of the packet at `position` of the order.
    #[inline(always)]
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "for kernels of x86-64")
    )]
    pub(super) fn payload_bytes(&self, position: usize) -> Option<usize> {
        let index = *self.indexes.get(position)?;
        let place = self.columns.cells.places.get(usize::from(index))?;
        Some(place.payload_bytes())
    }

    /// Writes or compares the tag of the packet at `position` of the order. A packet that is
    /// opened and whose tag differs keeps a bad verdict, for which its payload is cleared.
    #[inline(always)]
    pub(super) fn finish(&mut self, position: usize, tag: Block) {
        let Some(index) = self.indexes.get(position).copied() else {
            return;
        };
        if happens(Impossible::TagLost) {
            return;
        }
        if self.columns.cells.finish(index.into(), self.open, &tag) {
            self.verdicts.set_good(index.into());
        }
    }
}

impl<'a> Columns<'a> {
    #[inline(always)]
    fn packet(&self, index: u8) -> Option<Packet<'a>> {
        let at = usize::from(index);
        Some(Packet {
            key: self.keys.get(at)?,
            nonce: self.cells.nonces.get(at)?,
            associated: self.cells.associated(at)?,
            text: self.cells.text(at)?,
        })
    }

    /// The kind of all packets, if they have one.
    #[inline]
    fn kind(&self, short: &ShortTexts) -> Option<Kind> {
        if !self.cells.is_uniform {
            return None;
        }
        let first = *self.forms.first()?;
        let are_alike = first != KeyForm::NONE && self.forms.iter().all(|form| *form == first);
        let place = *self.cells.places.first()?;
        are_alike.then(|| Kind::of(Kind::number(short, first, place)))
    }
}

/// Encrypts or decrypts the packets that are AES-GCM's, and writes or compares their tags.
pub(crate) fn process(tier: Tier, open: bool, columns: &Columns<'_>, verdicts: &mut Verdicts) {
    let short = ShortTexts::of(&LaneLimits::of(tier));
    let all = &INDEXES[..columns.keys.len()];
    if let Some(kind) = columns.kind(&short) {
        let mut task = Task {
            kind,
            open,
            alike: true,
            columns,
            indexes: all,
            verdicts,
        };
        return run(tier, &mut task);
    }
    let sorted = Sorted::<KINDS>::new(all, |index| {
        let (place, form) = (
            columns.cells.places[usize::from(index)],
            columns.forms[usize::from(index)],
        );
        (form != KeyForm::NONE).then(|| {
            let number = Kind::number(&short, form, place);
            (number, place.payload_bytes())
        })
    });
    sorted.for_each(|number, indexes| {
        let mut task = Task {
            kind: Kind::of(number),
            open,
            alike: false,
            columns,
            indexes,
            verdicts,
        };
        run(tier, &mut task);
    });
}

fn run(tier: Tier, task: &mut Task<'_, '_>) {
    if happens(Impossible::KernelReturns) {
        return;
    }
    match task.kind.route.computes_keys() {
        false => frames::cleared_of::<FRAMES_BYTES, _>(|| run_kernel(tier, task)),
        true => frames::cleared_of::<COMPUTED_FRAMES_BYTES, _>(|| run_kernel(tier, task)),
    }
}

/// More than the frames of kernels that have all keys at hand, and no time to lose.
const FRAMES_BYTES: usize = 8 * 1024;

/// More than those of kernels that compute keys, and have tables of them.
const COMPUTED_FRAMES_BYTES: usize = 24 * 1024;

/// Processes the packets of a task.
fn run_kernel(tier: Tier, task: &mut Task<'_, '_>) {
    if !simd::run(tier, task) {
        frames::cleared(|| scalar::run(task));
    }
}
