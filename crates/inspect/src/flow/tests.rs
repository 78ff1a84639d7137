//! Flows by their packets.

use super::table::FlowTable;
use super::tcp::{ACK, FIN, RST, SYN};
use super::*;
use crate::checksum::Sum;
use crate::test_packets::{TcpFields, as_packet, ipv4, tcp, udp};
use Direction::{ToClient, ToServer};

const SECOND_NS: u64 = 1_000_000_000;
const CLIENT: u32 = 0xc612_0101;
const SERVER: u32 = 0xc612_0202;

/// One connection between the two, and the table that watches it.
struct Watched {
    table: FlowTable,
    now_ns: u64,
}

impl Watched {
    fn new() -> Watched {
        Watched {
            table: FlowTable::new(FlowLimits::default(), Vec::new()),
            now_ns: 0,
        }
    }

    fn sees(&mut self, packet: &[u8]) -> FlowState {
        let (_, brought) = self
            .table
            .track(&as_packet(packet, self.now_ns), Sum::Unknown);
        FlowState {
            sizes: None,
            may_be_told: false,
            ..brought.state
        }
    }

    fn client_sends(&mut self, flags: u8, numbers: (u32, u32), payload: &[u8]) -> FlowState {
        self.sees(&tcp(
            (CLIENT, SERVER),
            (40_000, 80),
            fields(flags, numbers),
            payload,
        ))
    }

    fn server_sends(&mut self, flags: u8, numbers: (u32, u32), payload: &[u8]) -> FlowState {
        self.sees(&tcp(
            (SERVER, CLIENT),
            (80, 40_000),
            fields(flags, numbers),
            payload,
        ))
    }

    fn shakes_hands(&mut self) -> FlowState {
        self.client_sends(SYN, (u32::MAX, 0), b"");
        self.server_sends(SYN | ACK, (500, 0), b"");
        self.client_sends(ACK, (0, 501), b"")
    }
}

fn fields(flags: u8, (sequence, acknowledgement): (u32, u32)) -> TcpFields {
    TcpFields {
        flags,
        sequence,
        acknowledgement,
    }
}

fn state(direction: Direction, is_established: bool) -> FlowState {
    FlowState {
        direction: Some(direction),
        is_established,
        application: None,
        may_be_told: false,
        sizes: None,
    }
}

#[test]
fn tcp_is_established_by_its_handshake() {
    let mut flow = Watched::new();
    assert_eq!(
        flow.client_sends(SYN, (u32::MAX, 0), b""),
        state(ToServer, false)
    );
    assert_eq!(
        flow.server_sends(SYN | ACK, (500, 0), b""),
        state(ToClient, false)
    );
    // The packet that ends the handshake is part of it.
    assert_eq!(
        flow.client_sends(ACK, (0, 501), b""),
        state(ToServer, false)
    );
    assert_eq!(
        flow.server_sends(ACK, (501, 0), b"x"),
        state(ToClient, true)
    );
    // What comes after the end still belongs to it.
    assert_eq!(
        flow.client_sends(FIN | ACK, (0, 501), b""),
        state(ToServer, true)
    );
    assert_eq!(flow.server_sends(RST, (502, 0), b""), state(ToClient, true));
    assert_eq!(flow.table.counts().opened, 1);
}

#[test]
fn a_handshake_that_does_not_fit_establishes_nothing() {
    // The SYN-ACK acknowledges something else; the ACK comes from the wrong
    // side, carries RST, or acknowledges something else; the SYN-ACK is
    // missing.
    let mut flow = Watched::new();
    flow.client_sends(SYN, (100, 0), b"");
    flow.server_sends(SYN | ACK, (500, 100), b"");
    assert!(!flow.client_sends(ACK, (101, 501), b"").is_established);
    flow.server_sends(SYN | ACK, (500, 101), b"");
    assert!(!flow.server_sends(ACK, (501, 101), b"").is_established);
    assert!(!flow.client_sends(ACK, (101, 500), b"").is_established);
    assert!(flow.client_sends(ACK, (101, 501), b"x").is_established);

    let mut flow = Watched::new();
    flow.client_sends(SYN, (100, 0), b"");
    assert!(!flow.client_sends(ACK, (101, 501), b"").is_established);
    assert!(!flow.server_sends(ACK, (501, 101), b"").is_established);
}

#[test]
fn a_connection_without_its_beginning_is_never_established() {
    let mut flow = Watched::new();
    assert_eq!(flow.server_sends(ACK, (1, 1), b"x"), state(ToServer, false));
    assert_eq!(flow.client_sends(ACK, (1, 1), b"x"), state(ToClient, false));
    // A SYN between the same ends begins a new one, and tells the client.
    flow.shakes_hands();
    assert_eq!(
        flow.client_sends(ACK, (0, 501), b"x"),
        state(ToServer, true)
    );

    // The sender of a SYN-ACK is the server even if it is seen first.
    let mut flow = Watched::new();
    assert_eq!(
        flow.server_sends(SYN | ACK, (500, 1), b""),
        state(ToClient, false)
    );
    assert_eq!(
        flow.client_sends(ACK, (1, 501), b""),
        state(ToServer, false)
    );
}

#[test]
fn ends_meet_again_after_a_reset_or_a_long_time() {
    let mut flow = Watched::new();
    flow.shakes_hands();
    flow.client_sends(SYN, (7, 0), b"");
    assert!(
        flow.client_sends(ACK, (0, 501), b"").is_established,
        "a stray SYN"
    );
    flow.server_sends(RST | ACK, (501, 0), b"");
    assert_eq!(flow.server_sends(SYN, (9, 0), b""), state(ToServer, false));
    assert_eq!(flow.table.counts().opened, 2);

    let mut flow = Watched::new();
    flow.shakes_hands();
    flow.now_ns = 600 * SECOND_NS;
    assert!(flow.client_sends(ACK, (0, 501), b"").is_established);
    flow.now_ns = 1_200 * SECOND_NS + 1;
    assert!(!flow.client_sends(ACK, (0, 501), b"").is_established);
    // The next capture may be older.
    flow.shakes_hands();
    flow.now_ns = 0;
    assert!(!flow.client_sends(ACK, (0, 501), b"").is_established);
}

#[test]
fn datagrams_are_established_when_both_ends_have_spoken() {
    let mut flow = Watched::new();
    let question = udp((CLIENT, SERVER), (4711, 53), b"?");
    let answer = udp((SERVER, CLIENT), (53, 4711), b"!");
    assert_eq!(flow.sees(&question), state(ToServer, false));
    assert_eq!(flow.sees(&question), state(ToServer, false));
    assert_eq!(flow.sees(&answer), state(ToClient, true));
    assert_eq!(flow.sees(&question), state(ToServer, true));
    flow.now_ns = 301 * SECOND_NS;
    assert_eq!(flow.sees(&answer), state(ToServer, false));
}

#[test]
fn fragments_and_other_protocols_have_no_flow() {
    let mut flow = Watched::new();
    let packets = [
        ipv4(17, (CLIENT, SERVER), 0x2000, &[0; 16]),
        ipv4(17, (CLIENT, SERVER), 0x0002, &[0; 16]),
        ipv4(6, (CLIENT, SERVER), 0, &[0; 12]),
        ipv4(47, (CLIENT, SERVER), 0, &[0; 16]),
    ];
    for packet in packets {
        assert_eq!(flow.sees(&packet), FlowState::default());
    }
    assert_eq!(flow.table.counts().opened, 0);
    let nothing = FlowCondition::default();
    let not_established = FlowCondition {
        established: Some(false),
        ..nothing
    };
    assert!(nothing.matches(&FlowState::default()));
    assert!(!not_established.matches(&FlowState::default()));
}

#[test]
fn the_protocol_is_told_by_the_first_bytes_of_a_stream() {
    let request = b"GET / HTTP/1.1\r\n\r\n";
    let mut flow = Watched::new();
    flow.shakes_hands();
    assert_eq!(flow.client_sends(ACK, (9, 501), request).application, None);
    let first = flow.client_sends(ACK, (0, 501), request);
    assert_eq!(first.application, Some(AppProtocol::Http));
    let answer = flow.server_sends(ACK, (501, 18), b"anything");
    assert_eq!(answer.application, Some(AppProtocol::Http));

    let mut midstream = Watched::new();
    assert_eq!(
        midstream.client_sends(ACK, (1, 1), request).application,
        None
    );
}

#[test]
fn a_full_table_forgets_quiet_flows_and_counts_them() {
    let mut table = FlowTable::new(
        FlowLimits {
            flows: 8,
            ..FlowLimits::default()
        },
        Vec::new(),
    );
    let mut now_ns = 0;
    let mut send = |from: u32, to: u32, now_ns| {
        let packet = udp((from, to), (1, 2), b"");
        table.track(&as_packet(&packet, now_ns), Sum::Unknown);
        table.counts()
    };
    for client in 0..8 {
        send(client, SERVER, now_ns);
    }
    // Flow 0 speaks all the time while a thousand others pass by.
    for client in 100..1100 {
        now_ns += 1;
        send(0, SERVER, now_ns);
        let counts = send(client, SERVER, now_ns);
        assert_eq!(counts.evicted, u64::from(client - 99));
    }
    let opened = send(0, SERVER, now_ns).opened;
    assert_eq!(opened, 1008, "flow 0 was never forgotten");
    // Flows that are over make room without being missed.
    now_ns += 31 * SECOND_NS;
    let counts = send(5000, SERVER, now_ns);
    assert_eq!((counts.opened, counts.evicted), (1009, 1000));
}

#[test]
fn inspectors_that_share_limits_keep_no_more_together() {
    let limits = FlowLimits::default();
    for inspectors in [1, 2, 3, 32] {
        let each = limits.shared_by(inspectors);
        assert!(each.flows * inspectors <= limits.flows && each.flows > 0);
        assert!(each.stream_bytes * inspectors <= limits.stream_bytes);
    }
    assert_eq!(limits.shared_by(0), limits);
    assert_eq!(limits.shared_by(usize::MAX).flows, 1);
}
