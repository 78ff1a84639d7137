//! Where a record leaves.

/// The way by which a record leaves a live pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Egress(u8);

/// The most ports of a pipeline.
pub const MAX_PORTS: usize = 64;

impl Egress {
    /// By no port: the record has been seen, as a sensor does it. Of a file, what the sinks write
    /// is no matter of egress.
    pub const NONE: Egress = Egress(u8::MAX);

    /// To the thread that controls the pipeline: key exchange, ICMP.
    pub const CONTROL: Egress = Egress(u8::MAX - 1);

    /// By the port with this number, below [`MAX_PORTS`].
    pub fn port(number: usize) -> Egress {
        debug_assert!(number < MAX_PORTS, "port {number}");
        Egress((number % MAX_PORTS) as u8)
    }

    /// The number of the port, if it is one.
    #[inline]
    pub fn port_number(self) -> Option<usize> {
        let number = usize::from(self.0);
        (number < MAX_PORTS).then_some(number)
    }
}

impl Default for Egress {
    fn default() -> Egress {
        Egress::NONE
    }
}
