//! Why a batch is refused.

use crate::kernel::Misshapen;

/// Why a batch was not sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("job {job} of the batch: {fault}")]
pub struct JobError {
    /// Index of the first job at fault.
    pub job: usize,
    /// What is wrong with it.
    pub fault: JobFault,
}

/// What is wrong with a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JobFault {
    /// The ticket was drawn from another key.
    #[error("the ticket belongs to another key")]
    ForeignTicket,
    /// The ticket has sealed a packet before.
    #[error("the ticket is spent: its counter value has sealed a packet")]
    SpentTicket,
    /// There is no such key.
    #[error("there is no key of number {number}")]
    NoKey {
        /// What the job asks for.
        number: u32,
    },
    /// A batch has as many one-time keys as packets.
    #[error("there are {keys} one-time keys for {packets} packets")]
    KeyCount {
        /// Keys that are not spent.
        keys: usize,
        /// Packets of the batch.
        packets: usize,
    },
    /// The packet begins before the one before it ends.
    #[error("the packet begins at byte {offset}, but the one before it ends at byte {free_from}")]
    Overlap {
        /// [`crate::Place::offset`].
        offset: u32,
        /// Where the packet before it ends.
        free_from: u64,
    },
    /// The packet does not lie in the buffer.
    #[error("the packet ends at byte {end} of a buffer of {buffer_bytes}")]
    OutOfBuffer {
        /// Where it would end.
        end: u64,
        /// What the buffer has.
        buffer_bytes: u64,
    },
    /// The IV's length is not the suite's.
    #[error("the IV has {given_bytes} bytes, {needed_bytes} are needed")]
    Iv {
        /// [`crate::Suite::iv_bytes`].
        needed_bytes: usize,
        /// What was given.
        given_bytes: usize,
    },
    /// The tag's length is not the suite's.
    #[error("the tag has {given_bytes} bytes, {needed_bytes} are needed")]
    Tag {
        /// [`crate::Suite::tag_bytes`].
        needed_bytes: usize,
        /// What was given.
        given_bytes: usize,
    },
    /// The tag's length is not one that the MAC allows.
    #[error("the tag has {given_bytes} bytes, {least_bytes} to {most_bytes} are allowed")]
    MacTag {
        /// The shortest allowed.
        least_bytes: usize,
        /// The longest allowed.
        most_bytes: usize,
        /// What was given.
        given_bytes: usize,
    },
    /// The message is longer than the MAC allows.
    #[error("the message has {given_bytes} bytes, more than {most_bytes}")]
    MessageTooLong {
        /// [`crate::mac::Algorithm::most_message_bytes`].
        most_bytes: u64,
        /// What was given.
        given_bytes: u64,
    },
    /// The text does not fill whole blocks.
    #[error("the text has {given_bytes} bytes, which is no multiple of {block_bytes}")]
    PartialBlock {
        /// [`crate::Suite::block_bytes`].
        block_bytes: usize,
        /// What was given.
        given_bytes: usize,
    },
    /// The text is longer than the mode allows.
    #[error("the text has {given_bytes} bytes, more than {most_bytes}")]
    TooLong {
        /// [`crate::Limits::text_bytes`].
        most_bytes: u64,
        /// What was given.
        given_bytes: u64,
    },
    /// The prefix is longer than the suite allows.
    #[error("the prefix has {given_bytes} bytes, more than {most_bytes}")]
    Prefix {
        /// Most bytes that the suite authenticates in front of the IV.
        most_bytes: usize,
        /// What was given.
        given_bytes: usize,
    },
    /// An AEAD authenticates all it must in its prefix.
    #[error("a suffix of {given_bytes} bytes was given to an AEAD, which takes none")]
    Suffix {
        /// What was given.
        given_bytes: usize,
    },
    /// The packet passed the batch's checks and was given up all the same: a defect of
    /// this crate. The packet must not be sent; its text and tag are zeros.
    #[error("the cipher refused a packet that passed all checks; it must not be sent")]
    Refused,
}

impl From<Misshapen> for JobFault {
    fn from(Misshapen: Misshapen) -> JobFault {
        JobFault::Refused
    }
}
