//! Handshakes and segments, one after the other.

use super::*;
use Direction::{ToClient, ToServer};

fn segment(flags: u8, sequence: u32, acknowledgement: u32) -> Segment {
    Segment {
        flags,
        sequence,
        acknowledgement,
        window: 1000,
        header_bytes: 20,
        ..Segment::default()
    }
}

/// Takes each, and says what the last comes to.
fn after(steps: &[(Direction, Segment)]) -> (Connection, Result<Taken, Unacceptable>) {
    let mut connection = Connection::new(steps[0].1, false);
    let mut last = Ok(Taken::Whole);
    for (direction, segment) in steps {
        last = connection.take(*segment, *direction, None, false);
    }
    (connection, last)
}

fn is_established(steps: &[(Direction, Segment)]) -> bool {
    after(steps).0.stage == Stage::Established
}

const HANDSHAKE: [(Direction, u8, u32, u32); 3] = [
    (ToServer, SYN, u32::MAX, 0),
    (ToClient, SYN | ACK, 500, 0),
    (ToServer, ACK, 0, 501),
];

fn established() -> Connection {
    let steps = HANDSHAKE.map(|(d, flags, seq, ack)| (d, segment(flags, seq, ack)));
    let (connection, last) = after(&steps);
    assert_eq!(
        (connection.stage, last),
        (Stage::Established, Ok(Taken::Whole))
    );
    connection
}

#[test]
fn handshakes_of_every_kind_establish() {
    // Simultaneous open (RFC 9293, figure 7).
    assert!(is_established(&[
        (ToServer, segment(SYN, 100, 0)),
        (ToClient, segment(SYN, 500, 0)),
        (ToServer, segment(SYN | ACK, 100, 501)),
        (ToClient, segment(SYN | ACK, 500, 101)),
    ]));
    // Split: the server answers with a SYN, and the client with a SYN-ACK.
    assert!(is_established(&[
        (ToServer, segment(SYN, 100, 0)),
        (ToClient, segment(SYN, 500, 0)),
        (ToServer, segment(SYN | ACK, 100, 501)),
        (ToClient, segment(ACK, 501, 101)),
    ]));
    // Several SYNs: the SYN-ACK tells which was taken. Several SYN-ACKs: the
    // ACK does.
    let (connection, _) = after(&[
        (ToServer, segment(SYN, 100, 0)),
        (ToServer, segment(SYN, 7000, 0)),
        (ToClient, segment(SYN | ACK, 900, 101)),
        (ToClient, segment(SYN | ACK, 500, 101)),
        (ToServer, segment(ACK, 101, 901)),
    ]);
    assert_eq!(connection.first_sequence(ToServer), Some(101));
    assert_eq!(connection.first_sequence(ToClient), Some(901));
}

#[test]
fn handshakes_that_do_not_fit_establish_nothing() {
    let syn = (ToServer, segment(SYN, 100, 0));
    let syn_ack = (ToClient, segment(SYN | ACK, 500, 101));
    for (step, expected) in [
        (
            (ToServer, segment(ACK, 101, 502)),
            Unacceptable::Acknowledgement,
        ),
        ((ToServer, segment(ACK, 99, 501)), Unacceptable::Window),
        ((ToServer, segment(0, 101, 501)), Unacceptable::NoAck),
        ((ToServer, segment(RST, 102, 0)), Unacceptable::Reset),
        ((ToClient, segment(SYN | ACK, 800, 102)), Unacceptable::Syn),
    ] {
        let (connection, last) = after(&[syn, syn_ack, step]);
        assert_eq!((connection.stage, last), (Stage::Opening, Err(expected)));
        assert!(!connection.is_closed);
    }
}

#[test]
fn data_in_a_syn_are_acknowledged_or_not() {
    for acknowledgement in [101, 105] {
        let syn = Segment {
            payload_bytes: 4,
            ..segment(SYN, 100, 0)
        };
        let steps = [
            (ToServer, syn),
            (ToClient, segment(SYN | ACK, 500, acknowledgement)),
            (ToServer, segment(ACK, acknowledgement, 501)),
        ];
        assert!(is_established(&steps), "{acknowledgement}");
    }
}

#[test]
fn a_reset_counts_at_the_expected_number_alone() {
    for (sequence, expected) in [
        (0, Ok(Taken::Whole)),
        (1, Err(Unacceptable::Reset)),
        (999, Err(Unacceptable::Reset)),
    ] {
        let mut connection = established();
        let rst = segment(RST, sequence, 0);
        assert_eq!(connection.take(rst, ToServer, Some(0), false), expected);
        assert_eq!(connection.is_closed, expected.is_ok());
    }
}

#[test]
fn segments_that_the_receiver_refuses_are_refused() {
    let cases = [
        (segment(0, 0, 501), Unacceptable::NoAck),
        (segment(ACK, 1001, 501), Unacceptable::Window),
        (segment(ACK, 0, 502), Unacceptable::Acknowledgement),
        (
            // In front of the first byte that the server sent.
            segment(ACK, 0, 500),
            Unacceptable::Acknowledgement,
        ),
        (segment(SYN, 5, 0), Unacceptable::Syn),
        (segment(SYN | ACK, 5, 501), Unacceptable::Syn),
        (segment(FIN | ACK, 5000, 501), Unacceptable::Window),
    ];
    for (refused, expected) in cases {
        let mut connection = established();
        assert_eq!(
            connection.take(refused, ToServer, Some(0), false),
            Err(expected),
            "{refused:?}"
        );
        assert!(!connection.is_closed);
        assert_eq!(
            connection.take(segment(ACK, 1000, 501), ToServer, Some(0), false),
            Ok(Taken::Whole)
        );
    }
}

#[test]
fn old_timestamps_are_refused_where_both_ends_use_them() {
    for both in [true, false] {
        let with = |segment: Segment, timestamp| Segment {
            options: Options {
                timestamp,
                ..Options::default()
            },
            ..segment
        };
        let mut connection = Connection::new(with(segment(SYN, 100, 0), Some(50)), false);
        let steps = [
            (ToServer, with(segment(SYN, 100, 0), Some(50))),
            (
                ToClient,
                with(segment(SYN | ACK, 500, 101), both.then_some(9)),
            ),
            (ToServer, with(segment(ACK, 101, 501), Some(60))),
        ];
        for (direction, segment) in steps {
            assert_eq!(
                connection.take(segment, direction, None, false),
                Ok(Taken::Whole)
            );
        }
        // Linux lets one tick pass.
        let older = connection.take(
            with(segment(ACK, 101, 501), Some(59)),
            ToServer,
            Some(101),
            false,
        );
        assert_eq!(older, Ok(Taken::Whole));
        let old = connection.take(
            with(segment(ACK, 101, 501), Some(58)),
            ToServer,
            Some(101),
            false,
        );
        assert_eq!(
            old,
            if both {
                Err(Unacceptable::Timestamp)
            } else {
                Ok(Taken::Whole)
            }
        );
        let new = connection.take(
            with(segment(ACK, 101, 501), Some(60)),
            ToServer,
            Some(101),
            false,
        );
        assert_eq!(new, Ok(Taken::Whole));
    }
}

#[test]
fn windows_are_scaled_where_both_ends_offer_it() {
    for both in [true, false] {
        let scaled = |segment: Segment, scale| Segment {
            options: Options {
                scale,
                ..Options::default()
            },
            ..segment
        };
        let mut connection = Connection::new(scaled(segment(SYN, 100, 0), Some(2)), false);
        for (direction, segment) in [
            (ToServer, scaled(segment(SYN, 100, 0), Some(2))),
            (
                ToClient,
                scaled(segment(SYN | ACK, 500, 101), both.then_some(3)),
            ),
            (ToServer, segment(ACK, 101, 501)),
            (ToClient, segment(ACK, 501, 101)),
        ] {
            assert_eq!(
                connection.take(segment, direction, None, false),
                Ok(Taken::Whole)
            );
        }
        let edge = 101 + if both { 8000 } else { 1000 };
        assert_eq!(
            connection.take(segment(ACK, edge, 501), ToServer, Some(101), false),
            Ok(Taken::Whole)
        );
        let behind = connection.take(segment(ACK, edge + 1, 501), ToServer, Some(101), false);
        assert_eq!(behind, Err(Unacceptable::Window));
    }
}

#[test]
fn a_syn_in_a_connection_counts_where_it_is_taken() {
    let mut connection = established();
    assert_eq!(
        connection.take(segment(SYN, 7, 0), ToServer, Some(0), false),
        Err(Unacceptable::Syn)
    );
    assert!(connection.reopened_by(segment(SYN | ACK, 1, 9)).is_none());
    assert!(connection.reopened_by(segment(SYN | ACK, 1, 8)).is_some());
}

#[test]
fn options_are_read_to_the_first_that_makes_no_sense() {
    let read = |bytes: &[u8]| {
        let options = Options::read(bytes);
        (options.scale, options.timestamp)
    };
    let all = [
        2, 4, 5, 180, 1, 3, 3, 7, 4, 2, 8, 10, 0, 0, 1, 2, 0, 0, 0, 0,
    ];
    assert_eq!(read(&all), (Some(7), Some(258)));
    assert_eq!(read(&[3, 3, 200]), (Some(MAX_SCALE), None));
    assert_eq!(read(&[0, 3, 3, 7]), (None, None));
    assert_eq!(read(&[5, 0, 3, 3, 7]), (None, None));
    assert_eq!(read(&[5, 9, 3, 3, 7]), (None, None));
    assert_eq!(read(&[3]), (None, None));
}

/// Linux takes data that are next in order before it looks at what they acknowledge,
/// where nothing else about their segment is new.
#[test]
fn old_acknowledgements_do_not_stop_data_in_order() {
    let of = |connection: &mut Connection, changed: Segment, next, has_gap| {
        connection.take(changed, ToServer, Some(next), has_gap)
    };
    let old = Segment {
        payload_bytes: 10,
        ..segment(ACK | PSH, 0, 501u32.wrapping_sub(1 << 29))
    };
    assert_eq!(of(&mut established(), old, 0, false), Ok(Taken::Whole));
    let refused = Err(Unacceptable::Acknowledgement);
    for changed in [
        Segment {
            payload_bytes: 0,
            ..old
        },
        Segment {
            flags: ACK | URG,
            ..old
        },
        Segment { window: 999, ..old },
        Segment {
            header_bytes: 24,
            ..old
        },
    ] {
        assert_eq!(
            of(&mut established(), changed, 0, false),
            refused,
            "{changed:?}"
        );
    }
    assert_eq!(of(&mut established(), old, 0, true), refused);
    assert_eq!(of(&mut established(), old, 7, false), refused);
}

#[test]
fn signatures_come_with_all_segments_or_with_none() {
    let signed = |segment: Segment| Segment {
        options: Options {
            is_signed: true,
            ..segment.options
        },
        ..segment
    };
    let plain = segment(ACK, 0, 501);
    let refused = Err(Unacceptable::Signature);
    assert_eq!(
        established().take(signed(plain), ToServer, Some(0), false),
        refused
    );
    assert_eq!(
        established().take(plain, ToServer, Some(0), false),
        Ok(Taken::Whole)
    );
    let steps = HANDSHAKE.map(|(d, flags, seq, ack)| (d, signed(segment(flags, seq, ack))));
    let (mut connection, last) = after(&steps);
    assert_eq!(
        (connection.stage, last),
        (Stage::Established, Ok(Taken::Whole))
    );
    assert_eq!(connection.take(plain, ToServer, Some(0), false), refused);
    let option = [&[1, 1, 19, 18][..], &[0; 16]].concat();
    assert!(Options::read(&option).is_signed);
    assert!(!Options::read(&option[..19]).is_signed);
}
