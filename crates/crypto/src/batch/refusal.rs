//! Why a packet is not taken into a batch.

/// Why a packet was not taken into a batch. Nothing was written, no number was drawn, and the
/// batch goes on without the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The descriptor's key was never added, or has been removed.
    #[error("there is no such key")]
    NoKey,
    /// A one-time key has its packet already.
    #[error("the one-time key has its packet")]
    KeySpent,
    /// The batch has [`crate::BATCH_PACKETS`] packets: run it first.
    #[error("the batch is full")]
    BatchFull,
    /// The packet shares bytes with another one of the batch.
    #[error("the packet at byte {offset} overlaps another one of the batch")]
    Overlap {
        /// [`crate::Descriptor::offset`].
        offset: u32,
    },
    /// The packet does not lie in the buffer.
    #[error("the packet ends at byte {end} of a buffer of {buffer_bytes}")]
    OutOfBuffer {
        /// Where it would end.
        end: u64,
        /// What the buffer has.
        buffer_bytes: u64,
    },
    /// The payload ends inside a block, under a cipher that has no partial ones.
    #[error("the payload has {payload_bytes} bytes, not a multiple of {block_bytes}")]
    PartialBlock {
        /// [`crate::Suite::block_bytes`].
        block_bytes: usize,
        /// What the descriptor says.
        payload_bytes: u64,
    },
    /// The payload is longer than the suite allows.
    #[error("the payload has {payload_bytes} bytes, more than {max_bytes}")]
    PayloadTooLong {
        /// [`crate::Limits::payload_bytes`].
        max_bytes: u64,
        /// What the descriptor says.
        payload_bytes: u64,
    },
    /// The AAD are longer than the suite allows.
    #[error("the associated data have {aad_bytes} bytes, more than {max_bytes}")]
    AadTooLong {
        /// [`crate::Suite::max_aad_bytes`].
        max_bytes: usize,
        /// What the descriptor says.
        aad_bytes: usize,
    },
    /// A packet with extended sequence numbers has AAD of 8 bytes, and not a MAC alone.
    #[error("extended sequence numbers need ESP: 8 bytes of associated data, and no MAC alone")]
    NotEsp,
    /// The key does not have this context.
    #[error("the key has no context {context:#010x}")]
    NoContext {
        /// [`crate::Descriptor::context`].
        context: u32,
    },
    /// The number, or one behind it, was used before.
    #[error("number {number} is used up: the next one is {next}")]
    NumberUsed {
        /// What was given.
        number: u64,
        /// The lowest that may be used.
        next: u64,
    },
    /// [`crate::SealBatch::push_again`] is for AES-GCM and for packets of numbers that were
    /// used.
    #[error("number {number} cannot be sealed again: the next one is {next}")]
    NotSealedBefore {
        /// What was given.
        number: u64,
        /// The lowest that was not used; zero where the suite allows no number twice.
        next: u64,
    },
    /// The number does not fit the nonce.
    #[error("number {number} does not fit the nonce, whose numbers are below {end}")]
    NumberTooLarge {
        /// What was given.
        number: u64,
        /// The first that does not fit.
        end: u64,
    },
    /// To open this packet takes its number, which it does not carry:
    /// [`crate::OpenBatch::push_numbered`].
    #[error("the packet does not carry its number, which must be given")]
    NoNumber,
    /// Numbers from here on are not reserved: [`crate::SealingKey::allow_until`].
    #[error(
        "numbers below {end} are used up: reserve more, or take another key if the protocol ends there"
    )]
    NotReserved {
        /// The first number that is not reserved.
        end: u64,
    },
    /// The key has protected as many packets as it may: take another.
    #[error("the key has reached its limit of packets at number {end}: rekey")]
    KeyExhausted {
        /// The first number that the key may not use.
        end: u64,
    },
}
