//! Connections that each do one thing that a sensor may take the wrong way.

use super::host::flags::{ACK, FIN, RST, SYN};
use crate::{Seed, seed};

/// Segments, for mutations to insert.
pub const WORDS: &[&[u8]] = &[
    &[0, ACK, 0, 0, 0, 4, 0],
    &[1, ACK, 0, 0, 0, 4, 0],
    &[0, ACK, 0, 3, 0, 4, 0],
    &[2, ACK, 0, 3, 0, 5, 0],
    &[0, ACK | FIN, 0, 2, 0, 2, 0],
    &[1, ACK | FIN, 0, 0, 0, 0, 0],
    &[0, RST, 0, 0, 0, 0, 0],
    &[0, SYN, 0, 9, 0, 0, 0],
    &[1, SYN | ACK, 0, 9, 0, 0, 0],
    &[0, ACK, 0, 0, 0, 0x0c, 1],
];

const NEXT: u8 = 0;
const SENT: u8 = 1;
const EDGE: u8 = 2;
const INITIAL: u8 = 3;
const TO_EDGE: u8 = 5;
const FAR: u8 = 6;

/// An input that is made segment by segment.
struct Script(Vec<u8>);

impl Script {
    fn new(handshake: u8) -> Script {
        Script(vec![handshake])
    }

    fn segment(
        mut self,
        from: u8,
        flags: u8,
        sequence: (u8, i8),
        acknowledgement: (u8, i8),
        payload_bytes: u8,
    ) -> Script {
        self.0.extend([
            from,
            flags,
            sequence.0 | acknowledgement.0 << 4,
            sequence.1 as u8,
            acknowledgement.1 as u8,
            payload_bytes,
            0,
        ]);
        self
    }

    /// Data of the client, so far from those that are expected.
    fn data(self, distance: i8, payload_bytes: u8) -> Script {
        self.segment(0, ACK, (NEXT, distance), (NEXT, 0), payload_bytes)
    }

    /// The server acknowledges what it has, with data.
    fn response(self, payload_bytes: u8) -> Script {
        self.segment(1, ACK, (NEXT, 0), (NEXT, 0), payload_bytes)
    }

    fn change(mut self, from_end: usize, change: impl FnOnce(&mut u8)) -> Script {
        if let Some(byte) = self.0.iter_mut().rev().nth(from_end) {
            change(byte);
        }
        self
    }

    /// The last segment has other bytes.
    fn version(self, version: u8) -> Script {
        self.change(6, |byte| *byte |= version << 1)
    }

    /// The last segment comes in that form.
    fn form(self, form: u8) -> Script {
        self.change(6, |byte| *byte |= form << 3)
    }

    /// The last segment has that damage.
    fn damage(self, damage: u8) -> Script {
        self.change(1, |byte| *byte |= damage << 5)
    }

    /// The last segment has a timestamp so far from the newest.
    fn timestamp(self, delta: i8) -> Script {
        self.change(1, |byte| *byte |= 1 << 3)
            .change(0, |byte| *byte = delta as u8)
    }
}

/// A connection without anything odd, whose ends use no options.
const BARE: u8 = 0xc8;
/// The same with timestamps.
const TIMED: u8 = 0x08;
/// The same with a window of 20 bytes.
const NARROW: u8 = 0xc0;

/// A connection in which nothing odd happens.
#[cfg(test)]
pub(super) fn plain() -> Vec<u8> {
    let script = Script::new(TIMED).data(0, 5).timestamp(1).response(3);
    let script = script.data(0, 4).timestamp(1).response(0).data(0, 6);
    let closed = script.segment(0, ACK | FIN, (NEXT, 0), (NEXT, 0), 2);
    closed
        .response(3)
        .segment(1, ACK | FIN, (NEXT, 0), (NEXT, 0), 0)
        .0
}

/// One input for each way of going wrong.
pub fn seeds() -> Vec<Seed> {
    let ends = |script: Script| script.data(0, 5).response(5).data(0, 3).0;
    let bare = || Script::new(BARE).data(0, 4).response(3);
    let timed = || Script::new(TIMED).data(0, 4).timestamp(5).response(3);
    let narrow = || Script::new(NARROW).data(0, 4).response(3);
    vec![
        seed("empty", []),
        seed("plain", ends(bare())),
        seed(
            "wrapped",
            ends(
                Script::new(0x1d)
                    .data(0, 7)
                    .response(7)
                    .data(0, 7)
                    .response(7)
                    .data(0, 7),
            ),
        ),
        seed(
            "reset_elsewhere",
            ends(bare().segment(0, RST, (NEXT, 100), (NEXT, 0), 0)),
        ),
        seed(
            "reset_far_away",
            ends(bare().segment(0, RST, (FAR, 48), (NEXT, 0), 0)),
        ),
        seed(
            "reset_one_before",
            ends(bare().segment(0, RST | ACK, (NEXT, -1), (NEXT, 0), 0)),
        ),
        seed(
            "reset",
            ends(bare().segment(0, RST, (NEXT, 0), (NEXT, 0), 0)),
        ),
        seed(
            "reset_then_syn",
            ends(bare().segment(0, RST, (FAR, 48), (NEXT, 0), 0).segment(
                0,
                SYN,
                (FAR, 9),
                (NEXT, 0),
                0,
            )),
        ),
        seed("syn", ends(bare().segment(0, SYN, (NEXT, 0), (NEXT, 0), 0))),
        seed(
            "syn_again_with_data",
            ends(
                Script::new(BARE)
                    .segment(0, SYN, (INITIAL, 0), (NEXT, 0), 4)
                    .version(1),
            ),
        ),
        seed(
            "syn_ack_again_with_data",
            ends(
                Script::new(BARE)
                    .segment(1, SYN | ACK, (INITIAL, 0), (NEXT, 0), 4)
                    .version(1),
            ),
        ),
        seed(
            "syn_taken",
            ends(bare().segment(0, SYN, (INITIAL, 7), (NEXT, 0), 0).segment(
                1,
                SYN | ACK,
                (NEXT, 50),
                (5, 8),
                0,
            )),
        ),
        seed(
            "fin_behind_window",
            ends(bare().segment(0, FIN | ACK, (FAR, 48), (NEXT, 0), 0)),
        ),
        seed(
            "fin_ahead",
            ends(bare().segment(0, FIN | ACK, (NEXT, 5), (NEXT, 0), 0)),
        ),
        seed(
            "fin_ahead_covered",
            ends(
                bare()
                    .segment(0, FIN | ACK, (NEXT, 7), (NEXT, 0), 2)
                    .data(6, 7)
                    .version(1),
            ),
        ),
        seed(
            "fin_ahead_of_both_then_syn",
            ends(
                bare()
                    .segment(1, FIN | ACK, (NEXT, 3), (NEXT, 0), 0)
                    .segment(0, FIN | ACK, (NEXT, 8), (NEXT, 0), 0)
                    .segment(0, SYN, (NEXT, 0), (NEXT, 0), 0),
            ),
        ),
        seed(
            "fins",
            ends(
                bare()
                    .segment(0, FIN | ACK, (NEXT, 0), (NEXT, 0), 1)
                    .response(2)
                    .segment(1, FIN | ACK, (NEXT, 0), (NEXT, 0), 1),
            ),
        ),
        seed(
            "data_behind_fin",
            ends(bare().segment(0, FIN | ACK, (NEXT, 0), (NEXT, 0), 1)),
        ),
        seed(
            "ack_of_unsent",
            ends(bare().segment(1, ACK, (NEXT, 0), (SENT, 5), 0).response(0)),
        ),
        seed(
            "ack_of_unsent_with_data",
            ends(
                bare()
                    .segment(1, ACK, (NEXT, 0), (SENT, 5), 4)
                    .version(2)
                    .response(4),
            ),
        ),
        seed(
            "ack_of_missing",
            ends(bare().data(3, 4).segment(1, ACK, (NEXT, 0), (SENT, 0), 0)),
        ),
        seed(
            "ack_half_of_all_numbers_away",
            ends(bare().segment(0, ACK, (NEXT, 0), (FAR, -128), 4).version(1)),
        ),
        seed(
            "ack_long_ago",
            ends(
                bare()
                    .segment(0, ACK, (NEXT, 0), (INITIAL, -9), 4)
                    .version(1),
            ),
        ),
        seed(
            "ack_old",
            ends(
                bare()
                    .response(7)
                    .response(7)
                    .segment(0, ACK, (NEXT, 0), (INITIAL, 2), 4),
            ),
        ),
        seed(
            "no_ack",
            ends(bare().segment(0, 0, (NEXT, 0), (NEXT, 0), 4).version(1)),
        ),
        seed("checksum", ends(bare().data(0, 4).version(1).damage(4))),
        seed(
            "checksum_zero",
            ends(bare().data(0, 4).version(1).damage(6)),
        ),
        seed(
            "checksum_of_pseudo_header",
            ends(bare().data(0, 4).version(1).damage(7)),
        ),
        seed(
            "checksum_of_ip",
            ends(bare().data(0, 4).version(1).damage(5)),
        ),
        seed(
            "checksum_of_fin",
            ends(
                bare()
                    .segment(0, FIN | ACK, (NEXT, 0), (NEXT, 0), 0)
                    .damage(4),
            ),
        ),
        seed(
            "timestamp_older",
            ends(timed().data(0, 4).version(1).timestamp(-5)),
        ),
        seed(
            "timestamp_one_older",
            ends(timed().data(0, 4).version(1).timestamp(-1)),
        ),
        seed(
            "timestamp_newer_of_old_data",
            ends(timed().data(-9, 2).timestamp(100).data(0, 3).timestamp(1)),
        ),
        seed(
            "timestamp_of_bare_connection",
            ends(bare().data(0, 4).timestamp(-100)),
        ),
        seed(
            "timestamps_from_zero",
            ends(
                Script::new(0x48)
                    .data(0, 4)
                    .timestamp(-100)
                    .data(0, 4)
                    .timestamp(-3),
            ),
        ),
        seed(
            "behind_window",
            ends(narrow().segment(0, ACK, (EDGE, 1), (NEXT, 0), 4).version(1)),
        ),
        seed(
            "at_edge",
            ends(
                narrow()
                    .segment(0, ACK, (EDGE, 0), (NEXT, 0), 4)
                    .version(1)
                    .data(0, 7)
                    .data(0, 7)
                    .response(1)
                    .data(0, 7),
            ),
        ),
        seed(
            "up_to_edge",
            ends(
                narrow()
                    .segment(0, ACK, (TO_EDGE, 0), (NEXT, 0), 4)
                    .data(0, 7)
                    .data(0, 7)
                    .response(1),
            ),
        ),
        seed(
            "across_edge",
            ends(
                narrow()
                    .segment(0, ACK, (EDGE, -2), (NEXT, 0), 4)
                    .version(1),
            ),
        ),
        seed(
            "window_full",
            ends(
                Script::new(0xcc)
                    .data(0, 6)
                    .data(0, 1)
                    .version(1)
                    .response(0),
            ),
        ),
        seed(
            "scaled_windows",
            ends(
                Script::new(0xf0)
                    .segment(0, ACK, (EDGE, -8), (NEXT, 0), 4)
                    .response(0),
            ),
        ),
        seed(
            "old_data",
            ends(bare().data(-4, 4).version(1).data(-2, 6).version(2)),
        ),
        seed(
            "keep_alive",
            ends(bare().response(0).data(-1, 0).data(-1, 1).version(3)),
        ),
        seed(
            "reordered",
            ends(
                bare()
                    .data(4, 4)
                    .data(8, 3)
                    .data(2, 4)
                    .version(1)
                    .data(0, 2),
            ),
        ),
        seed(
            "overlaps_ahead",
            ends(
                bare()
                    .data(4, 4)
                    .data(2, 7)
                    .version(1)
                    .data(8, 5)
                    .version(2)
                    .data(7, 7)
                    .version(3)
                    .data(0, 7),
            ),
        ),
        seed(
            "adjoining_ahead",
            ends(
                bare()
                    .data(4, 3)
                    .data(7, 3)
                    .data(5, 5)
                    .version(1)
                    .data(0, 4),
            ),
        ),
        seed(
            "fragments",
            ends(
                bare()
                    .data(0, 4)
                    .form(1)
                    .data(0, 4)
                    .form(2)
                    .data(0, 4)
                    .form(4),
            ),
        ),
        seed("fragment_alone", ends(bare().data(0, 4).version(1).form(3))),
        seed(
            "fragments_overlapping",
            ends(bare().data(0, 4).version(1).form(5).data(0, 4).form(6)),
        ),
        seed(
            "fragment_with_wrong_checksum",
            ends(
                bare()
                    .data(0, 4)
                    .form(7)
                    .data(0, 3)
                    .form(1)
                    .damage(5)
                    .version(1),
            ),
        ),
    ]
}
