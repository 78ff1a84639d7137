//! Operation codes (section 9.2.1 and tables 38 to 40; annex A17.9.3 for RoCEv2's congestion
//! notification).

use std::fmt;

use super::HeaderKind;

/// The transport service of a packet: the upper three bits of its operation code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Reliable datagram.
    Rd,
    /// Unreliable datagram.
    Ud,
    /// Congestion notification, of RoCEv2 alone.
    Cnp,
}

/// What a packet does, within its transport: the lower five bits of its operation code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are those of the specification")]
pub enum Operation {
    SendFirst = 0,
    SendMiddle = 1,
    SendLast = 2,
    SendLastWithImmediate = 3,
    SendOnly = 4,
    SendOnlyWithImmediate = 5,
    RdmaWriteFirst = 6,
    RdmaWriteMiddle = 7,
    RdmaWriteLast = 8,
    RdmaWriteLastWithImmediate = 9,
    RdmaWriteOnly = 10,
    RdmaWriteOnlyWithImmediate = 11,
    RdmaReadRequest = 12,
    RdmaReadResponseFirst = 13,
    RdmaReadResponseMiddle = 14,
    RdmaReadResponseLast = 15,
    RdmaReadResponseOnly = 16,
    Acknowledge = 17,
    AtomicAcknowledge = 18,
    CompareSwap = 19,
    FetchAdd = 20,
    /// Of reliable datagrams alone.
    Resync = 21,
    /// Of reliable connections alone.
    SendLastWithInvalidate = 22,
    /// Of reliable connections alone.
    SendOnlyWithInvalidate = 23,
    /// The one packet of [`Transport::Cnp`], with 16 reserved bytes as payload. It has the number 1
    /// within its transport.
    CongestionNotification = 0x81,
}

/// Who sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// The requester.
    Request,
    /// The responder: acknowledgements and what was read.
    Response,
}

/// An operation code, known or not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(
    /// As the base transport header has it.
    pub u8,
);

impl Transport {
    const ALL: [Transport; 5] = [
        Transport::Rc,
        Transport::Uc,
        Transport::Rd,
        Transport::Ud,
        Transport::Cnp,
    ];

    /// The usual abbreviation, as in `RC`.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Rc => "RC",
            Transport::Uc => "UC",
            Transport::Rd => "RD",
            Transport::Ud => "UD",
            Transport::Cnp => "CNP",
        }
    }

    const fn has(self, operation: Operation) -> bool {
        use Operation as Op;
        match self {
            Transport::Rc => !matches!(operation, Op::Resync | Op::CongestionNotification),
            Transport::Uc => operation as u8 <= Op::RdmaWriteOnlyWithImmediate as u8,
            Transport::Rd => operation as u8 <= Op::Resync as u8,
            Transport::Ud => matches!(operation, Op::SendOnly | Op::SendOnlyWithImmediate),
            Transport::Cnp => matches!(operation, Op::CongestionNotification),
        }
    }
}

impl Operation {
    const ALL: [Operation; 25] = [
        Operation::SendFirst,
        Operation::SendMiddle,
        Operation::SendLast,
        Operation::SendLastWithImmediate,
        Operation::SendOnly,
        Operation::SendOnlyWithImmediate,
        Operation::RdmaWriteFirst,
        Operation::RdmaWriteMiddle,
        Operation::RdmaWriteLast,
        Operation::RdmaWriteLastWithImmediate,
        Operation::RdmaWriteOnly,
        Operation::RdmaWriteOnlyWithImmediate,
        Operation::RdmaReadRequest,
        Operation::RdmaReadResponseFirst,
        Operation::RdmaReadResponseMiddle,
        Operation::RdmaReadResponseLast,
        Operation::RdmaReadResponseOnly,
        Operation::Acknowledge,
        Operation::AtomicAcknowledge,
        Operation::CompareSwap,
        Operation::FetchAdd,
        Operation::Resync,
        Operation::SendLastWithInvalidate,
        Operation::SendOnlyWithInvalidate,
        Operation::CongestionNotification,
    ];

    /// The name that the specification gives it, as in `SEND Only`.
    pub fn name(self) -> &'static str {
        match self {
            Operation::SendFirst => "SEND First",
            Operation::SendMiddle => "SEND Middle",
            Operation::SendLast => "SEND Last",
            Operation::SendLastWithImmediate => "SEND Last with Immediate",
            Operation::SendOnly => "SEND Only",
            Operation::SendOnlyWithImmediate => "SEND Only with Immediate",
            Operation::RdmaWriteFirst => "RDMA WRITE First",
            Operation::RdmaWriteMiddle => "RDMA WRITE Middle",
            Operation::RdmaWriteLast => "RDMA WRITE Last",
            Operation::RdmaWriteLastWithImmediate => "RDMA WRITE Last with Immediate",
            Operation::RdmaWriteOnly => "RDMA WRITE Only",
            Operation::RdmaWriteOnlyWithImmediate => "RDMA WRITE Only with Immediate",
            Operation::RdmaReadRequest => "RDMA READ Request",
            Operation::RdmaReadResponseFirst => "RDMA READ response First",
            Operation::RdmaReadResponseMiddle => "RDMA READ response Middle",
            Operation::RdmaReadResponseLast => "RDMA READ response Last",
            Operation::RdmaReadResponseOnly => "RDMA READ response Only",
            Operation::Acknowledge => "Acknowledge",
            Operation::AtomicAcknowledge => "ATOMIC Acknowledge",
            Operation::CompareSwap => "CmpSwap",
            Operation::FetchAdd => "FetchAdd",
            Operation::Resync => "RESYNC",
            Operation::SendLastWithInvalidate => "SEND Last with Invalidate",
            Operation::SendOnlyWithInvalidate => "SEND Only with Invalidate",
            Operation::CongestionNotification => "Congestion Notification",
        }
    }

    /// Who sends it; a congestion notification belongs to no request.
    pub const fn direction(self) -> Option<Direction> {
        use Operation as Op;
        match self {
            Op::RdmaReadResponseFirst
            | Op::RdmaReadResponseMiddle
            | Op::RdmaReadResponseLast
            | Op::RdmaReadResponseOnly
            | Op::Acknowledge
            | Op::AtomicAcknowledge => Some(Direction::Response),
            Op::CongestionNotification => None,
            _ => Some(Direction::Request),
        }
    }

    /// Whether bytes may follow the headers.
    pub const fn may_have_payload(self) -> bool {
        use Operation as Op;
        !matches!(
            self,
            Op::RdmaReadRequest
                | Op::Acknowledge
                | Op::AtomicAcknowledge
                | Op::CompareSwap
                | Op::FetchAdd
                | Op::Resync
        )
    }

    /// The extended headers that the operation brings with it, in every transport.
    const fn extended_headers(self) -> &'static [HeaderKind] {
        use Operation as Op;
        match self {
            Op::SendLastWithImmediate
            | Op::SendOnlyWithImmediate
            | Op::RdmaWriteLastWithImmediate => &[HeaderKind::ImmDt],
            Op::RdmaWriteFirst | Op::RdmaWriteOnly | Op::RdmaReadRequest => &[HeaderKind::Reth],
            Op::RdmaWriteOnlyWithImmediate => &[HeaderKind::Reth, HeaderKind::ImmDt],
            Op::RdmaReadResponseFirst
            | Op::RdmaReadResponseLast
            | Op::RdmaReadResponseOnly
            | Op::Acknowledge => &[HeaderKind::Aeth],
            Op::AtomicAcknowledge => &[HeaderKind::Aeth, HeaderKind::AtomicAckEth],
            Op::CompareSwap | Op::FetchAdd => &[HeaderKind::AtomicEth],
            Op::SendLastWithInvalidate | Op::SendOnlyWithInvalidate => &[HeaderKind::Ieth],
            _ => &[],
        }
    }
}

impl Opcode {
    /// RoCEv2's congestion notification.
    pub const CONGESTION_NOTIFICATION: Opcode = Opcode(0x81);

    /// The code of an operation, where the transport has it.
    pub fn of(transport: Transport, operation: Operation) -> Option<Opcode> {
        let low = operation as u8 & 0x1f;
        transport
            .has(operation)
            .then_some(Opcode((transport as u8) << 5 | low))
    }

    /// All known codes, in ascending order.
    pub fn all() -> impl Iterator<Item = Opcode> {
        (0..=u8::MAX).map(Opcode).filter(|opcode| opcode.is_known())
    }

    /// Whether transport and operation are known. Others are those of the extended reliable
    /// connection, of later annexes, and of manufacturers.
    #[inline]
    pub fn is_known(self) -> bool {
        self.traits().operation.is_some()
    }

    /// The transport, also of operations that are not known.
    #[inline]
    pub fn transport(self) -> Option<Transport> {
        self.traits().transport
    }

    /// The operation, where the transport has it.
    #[inline]
    pub fn operation(self) -> Option<Operation> {
        self.traits().operation
    }

    /// Who sends it.
    #[inline]
    pub fn direction(self) -> Option<Direction> {
        self.traits().operation.and_then(Operation::direction)
    }

    /// Whether bytes may follow the headers; those behind an unknown code are taken for payload.
    #[inline]
    pub fn may_have_payload(self) -> bool {
        self.traits().may_have_payload
    }

    /// The extended headers behind the base transport header, in their order.
    pub fn extended_headers(self) -> impl Iterator<Item = HeaderKind> {
        let traits = self.traits();
        let [first, second] = [traits.of_transport, traits.of_operation];
        first.iter().chain(second).copied()
    }

    /// Bytes of all of them.
    #[inline]
    pub fn extended_bytes(self) -> usize {
        usize::from(self.traits().extended_bytes)
    }

    #[inline]
    fn traits(self) -> &'static Traits {
        &TRAITS[usize::from(self.0)]
    }
}

impl fmt::Display for Opcode {
    /// As in `RC SEND Only`; an unknown code as in `0xa4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.transport(), self.operation()) {
            (Some(Transport::Cnp), Some(operation)) => f.write_str(operation.name()),
            (Some(transport), Some(operation)) => {
                write!(f, "{} {}", transport.name(), operation.name())
            }
            _ => write!(f, "0x{:02x}", self.0),
        }
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opcode(0x{:02x}, {self})", self.0)
    }
}

/// What there is to know of a code.
struct Traits {
    transport: Option<Transport>,
    operation: Option<Operation>,
    may_have_payload: bool,
    /// Extended headers that the transport puts in front.
    of_transport: &'static [HeaderKind],
    of_operation: &'static [HeaderKind],
    extended_bytes: u8,
}

impl Traits {
    const UNKNOWN: Traits = Traits {
        transport: None,
        operation: None,
        may_have_payload: true,
        of_transport: &[],
        of_operation: &[],
        extended_bytes: 0,
    };

    const fn of(code: u8) -> Traits {
        let transport = (code >> 5) as usize;
        if transport >= Transport::ALL.len() {
            return Traits::UNKNOWN;
        }
        let transport = Transport::ALL[transport];
        let mut index = 0;
        while index < Operation::ALL.len() {
            let operation = Operation::ALL[index];
            if transport.has(operation) && operation as u8 & 0x1f == code & 0x1f {
                return Traits::known(transport, operation);
            }
            index += 1;
        }
        Traits {
            transport: Some(transport),
            ..Traits::UNKNOWN
        }
    }

    const fn known(transport: Transport, operation: Operation) -> Traits {
        let of_transport: &[HeaderKind] = match (transport, operation.direction()) {
            (Transport::Rd, Some(Direction::Request)) => &[HeaderKind::Rdeth, HeaderKind::Deth],
            (Transport::Rd, _) => &[HeaderKind::Rdeth],
            (Transport::Ud, _) => &[HeaderKind::Deth],
            _ => &[],
        };
        let of_operation = operation.extended_headers();
        Traits {
            transport: Some(transport),
            operation: Some(operation),
            may_have_payload: operation.may_have_payload(),
            of_transport,
            of_operation,
            extended_bytes: sum_bytes(of_transport) + sum_bytes(of_operation),
        }
    }
}

const fn sum_bytes(headers: &[HeaderKind]) -> u8 {
    let (mut sum, mut index) = (0, 0);
    while index < headers.len() {
        sum += headers[index].bytes() as u8;
        index += 1;
    }
    sum
}

static TRAITS: [Traits; 256] = {
    let mut table = [const { Traits::UNKNOWN }; 256];
    let mut code = 0;
    while code < table.len() {
        table[code] = Traits::of(code as u8);
        code += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transport_has_its_operations() {
        let count = |transport| {
            Opcode::all()
                .filter(|opcode| opcode.transport() == Some(transport))
                .count()
        };
        let counts = Transport::ALL.map(count);
        assert_eq!(counts, [23, 12, 22, 2, 1]);
        for opcode in Opcode::all() {
            let (transport, operation) = (opcode.transport(), opcode.operation());
            let (transport, operation) = transport.zip(operation).expect("known");
            assert_eq!(Opcode::of(transport, operation), Some(opcode));
        }
        assert_eq!(Opcode::of(Transport::Uc, Operation::Acknowledge), None);
        assert_eq!(Opcode::of(Transport::Rc, Operation::Resync), None);
        for unknown in [0x15, 0x2c, 0x66, 0x80, 0x82, 0xa4, 0xff].map(Opcode) {
            assert!(!unknown.is_known(), "{unknown}");
            assert_eq!(unknown.extended_bytes(), 0);
            assert!(unknown.may_have_payload());
        }
    }

    #[test]
    fn codes_are_those_of_the_specification() {
        let code = |transport, operation| Opcode::of(transport, operation).map(|opcode| opcode.0);
        assert_eq!(code(Transport::Rc, Operation::Acknowledge), Some(0x11));
        assert_eq!(
            code(Transport::Rc, Operation::SendOnlyWithInvalidate),
            Some(0x17)
        );
        assert_eq!(code(Transport::Uc, Operation::RdmaWriteOnly), Some(0x2a));
        assert_eq!(code(Transport::Rd, Operation::Resync), Some(0x55));
        assert_eq!(
            code(Transport::Ud, Operation::SendOnlyWithImmediate),
            Some(0x65)
        );
        let cnp = code(Transport::Cnp, Operation::CongestionNotification);
        assert_eq!(cnp, Some(Opcode::CONGESTION_NOTIFICATION.0));
        assert_eq!(Opcode(0x64).to_string(), "UD SEND Only");
        assert_eq!(Opcode(0x81).to_string(), "Congestion Notification");
        assert_eq!(Opcode(0xa4).to_string(), "0xa4");
    }

    /// Tables 38 to 40: which headers follow which code, in order.
    #[test]
    fn extended_headers_follow_in_their_order() {
        use HeaderKind::{Aeth, AtomicAckEth, AtomicEth, Deth, Ieth, ImmDt, Rdeth, Reth};
        let rows: [(u8, &[HeaderKind]); 18] = [
            (0x00, &[]),
            (0x03, &[ImmDt]),
            (0x06, &[Reth]),
            (0x09, &[ImmDt]),
            (0x0b, &[Reth, ImmDt]),
            (0x0c, &[Reth]),
            (0x0d, &[Aeth]),
            (0x0e, &[]),
            (0x11, &[Aeth]),
            (0x12, &[Aeth, AtomicAckEth]),
            (0x13, &[AtomicEth]),
            (0x17, &[Ieth]),
            (0x40, &[Rdeth, Deth]),
            (0x4b, &[Rdeth, Deth, Reth, ImmDt]),
            (0x4e, &[Rdeth]),
            (0x52, &[Rdeth, Aeth, AtomicAckEth]),
            (0x65, &[Deth, ImmDt]),
            (0x81, &[]),
        ];
        for (code, expected) in rows {
            let headers: Vec<HeaderKind> = Opcode(code).extended_headers().collect();
            assert_eq!(headers, expected, "{}", Opcode(code));
            let bytes: usize = expected.iter().map(|header| header.bytes()).sum();
            assert_eq!(Opcode(code).extended_bytes(), bytes);
        }
    }

    #[test]
    fn responses_and_requests_differ() {
        let responses =
            Opcode::all().filter(|opcode| opcode.direction() == Some(Direction::Response));
        let responses: Vec<u8> = responses.map(|opcode| opcode.0).collect();
        assert_eq!(responses, [13, 14, 15, 16, 17, 18, 77, 78, 79, 80, 81, 82]);
        assert_eq!(Opcode(0x81).direction(), None);
        let without: Vec<u8> = (Opcode::all().filter(|opcode| !opcode.may_have_payload()))
            .map(|opcode| opcode.0)
            .collect();
        assert_eq!(without, [12, 17, 18, 19, 20, 76, 81, 82, 83, 84, 85]);
    }
}
