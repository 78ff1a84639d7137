//! What a kernel sees of a batch.

use crate::aead::plan;

/// One packet. Its nonce comes never twice under one key, and its text has at most 2³⁸ - 64
/// bytes.
pub(super) type Packet<'a> = plan::Packet<'a, [u8; 32]>;

/// The packets of a batch, shortest first.
pub(super) type Task<'t, 'a> = plan::Task<'t, 'a, [u8; 32], ()>;
