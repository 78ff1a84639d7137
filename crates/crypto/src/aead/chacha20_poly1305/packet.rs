//! The form and order in which vector kernels take packets.

use std::cell::Cell;

use crate::aead::plan::{MOST_PACKETS, Plan, Planned};
use crate::aead::{AeadKey, AeadPacket, gcm};
use crate::cipher::Block;
use crate::impossible::{Impossible, happens};
use crate::tags::Tags;

/// A packet as vector kernels take it. They hold several at once, so that the text,
/// which is borrowed for writing, is a slice of cells.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "for kernels of x86-64")
)]
pub(super) struct Shared<'a> {
    pub(super) key: &'a [u8; 32],
    /// Never twice under one key.
    pub(super) nonce: [u8; 12],
    /// Where its tag goes.
    place: u8,
    /// Authenticated, not encrypted.
    pub(super) associated: &'a [u8],
    /// Encrypted or decrypted in place; at most 2³⁸ - 64 bytes.
    pub(super) text: &'a [Cell<u8>],
}

impl Planned for Shared<'_> {
    #[inline]
    fn text_bytes(&self) -> usize {
        self.text.len()
    }

    #[inline]
    fn associated_bytes(&self) -> usize {
        self.associated.len()
    }

    #[inline]
    fn has_key_like(&self, _: &Self) -> bool {
        true
    }
}

/// The packets of a batch, shortest first, and where their tags go.
pub(super) struct Task<'t, 'a> {
    pub(super) packets: &'t [Shared<'a>],
    tags: &'t mut Tags<MOST_PACKETS>,
}

impl Task<'_, '_> {
    /// Keeps the tag of the packet at `position`.
    #[inline]
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "for kernels of x86-64")
    )]
    pub(super) fn finish(&mut self, position: usize, tag: Block) {
        if let Some(packet) = self.packets.get(position) {
            self.tags.set(usize::from(packet.place), tag);
        }
    }
}

/// Calls `run` with the ChaCha20-Poly1305 packets among these, in the order in which kernels
/// take them. A packet that is not planned gets no tag.
#[inline]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "for kernels of x86-64")
)]
pub(super) fn in_order(
    packets: &mut [AeadPacket<'_>],
    tags: &mut Tags<MOST_PACKETS>,
    run: impl Fn(&mut Task<'_, '_>),
) {
    let mut plan = Plan::<_, 1>::new();
    for (place, packet) in (0..=u8::MAX).zip(packets) {
        let nonce = packet.nonce();
        if let AeadKey::ChaCha20Poly1305(key) = packet.key
            && !happens(Impossible::CipherRefuses)
        {
            plan.add(Shared {
                key,
                nonce,
                place,
                associated: packet.associated,
                text: gcm::cells(packet.text),
            });
        }
    }
    plan.for_each(
        |_| 0,
        |these| {
            run(&mut Task {
                packets: these.packets,
                tags,
            });
        },
    );
}
