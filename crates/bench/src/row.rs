//! Results of a plan.

use serde::Serialize;

/// The time that one algorithm needed in one mode at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// A suite or MAC by its name, as in `aes-128-gcm-16` or `umac-64`.
    pub algorithm: String,
    /// `seal` or `open` of a suite, `tag` or `verify` of a MAC.
    pub mode: &'static str,
    /// The CPU tier whose kernels ran: `scalar`, `aesni`, `avx512`, `neon-aes`.
    pub level: &'static str,
    /// Bytes of a packet's payload, or of a message.
    pub bytes: usize,
    /// Keys of each thread.
    pub keys: usize,
    /// Threads that ran at the same time.
    pub threads: usize,
    /// Bits of payload of all threads together, by the median time.
    pub gbit_per_s: f64,
    /// Time of one packet on its thread: the median of the rounds.
    pub ns_per_packet: f64,
    /// Lower and upper quartile of these.
    pub ns_per_packet_quartiles: [f64; 2],
    /// Processor cycles for a byte of payload on one thread, by the median time and
    /// the clock as it was in these rounds; absent where the clock is not known.
    pub cycles_per_byte: Option<f64>,
    /// Rounds measured.
    pub rounds: usize,
}
