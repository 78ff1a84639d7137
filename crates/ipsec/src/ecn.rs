//! Explicit congestion notification across a tunnel (RFC 6040).

/// The two low bits of the traffic class.
pub const ECN_MASK: u8 = 3;

/// Not ECN-capable transport.
const NOT_ECT: u8 = 0;
/// ECN-capable transport (1).
const ECT_1: u8 = 1;
/// Congestion experienced.
const CE: u8 = 3;

/// The inner packet cannot show that congestion was experienced: its transport
/// knows no ECN, and the tunnel's end must drop it instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MustDrop;

/// The ECN field of the packet that leaves the tunnel, from those of the inner
/// and of the outer header (RFC 6040, section 4.2, figure 4). At the entry,
/// the field is copied (section 4.1, normal mode).
///
/// # Errors
/// Congestion was experienced by a packet that is not ECN-capable.
#[inline]
pub fn decapsulated(inner: u8, outer: u8) -> Result<u8, MustDrop> {
    match (inner & ECN_MASK, outer & ECN_MASK) {
        (NOT_ECT, CE) => Err(MustDrop),
        (NOT_ECT, _) => Ok(NOT_ECT),
        (CE, _) | (_, CE) => Ok(CE),
        (ECT_1, _) | (_, ECT_1) => Ok(ECT_1),
        (inner, _) => Ok(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6040, figure 4: a row per inner field, a column per outer one, in
    /// the order Not-ECT, ECT(0), ECT(1), CE.
    #[test]
    fn figure_4_of_rfc_6040() {
        const ECT_0: u8 = 2;
        let order = [NOT_ECT, ECT_0, ECT_1, CE];
        let table = [
            [Ok(NOT_ECT), Ok(NOT_ECT), Ok(NOT_ECT), Err(MustDrop)],
            [Ok(ECT_0), Ok(ECT_0), Ok(ECT_1), Ok(CE)],
            [Ok(ECT_1), Ok(ECT_1), Ok(ECT_1), Ok(CE)],
            [Ok(CE), Ok(CE), Ok(CE), Ok(CE)],
        ];
        for (inner, row) in order.iter().zip(table) {
            for (outer, expected) in order.iter().zip(row) {
                // The DSCP bits above take no part.
                assert_eq!(
                    decapsulated(inner | 0xb8, outer | 0x28),
                    expected,
                    "inner {inner}, outer {outer}"
                );
            }
        }
    }
}
