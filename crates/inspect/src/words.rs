//! What the stage enters into the vocabulary of a pipeline.

use weir_stream::Word;

/// Name of the stage.
pub(crate) const STAGE: &str = "inspect";

const OWNER: &str = env!("CARGO_PKG_NAME");

/// The work of inspecting a record.
pub const INSPECT: Word = Word::new(OWNER, STAGE, "Its contents are to be inspected.");

/// The event that a rule matched. The members are those of an alert in EVE JSON.
pub const ALERT: Word = Word::new(OWNER, "alert", "An inspection rule matched.");

/// The event that a packet did what no receiver takes. The members are those of an anomaly in
/// EVE JSON.
pub const ANOMALY: Word = Word::new(OWNER, "anomaly", "A packet did what no receiver takes.");
