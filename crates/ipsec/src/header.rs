//! Fields of IP headers that ESP reads and changes.
//!
//! An IPv4 header keeps its checksum by difference (RFC 1624), so that a right
//! one stays right and a wrong one stays wrong: protecting a packet neither
//! repairs nor hides what was broken before, and unprotecting it gives the
//! very bytes back. (One of the 2^16 values cannot keep this promise: 0xffff,
//! which no sender computes.)

/// Bytes of an IPv4 header without options.
pub const IPV4_BYTES: usize = 20;
/// Bytes of an IPv6 header without extension headers.
pub const IPV6_BYTES: usize = 40;

const IPV4_DONT_FRAGMENT: u8 = 0x40;

/// What a tunnel's outer header takes from the inner one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Inherited {
    /// DSCP and ECN: the traffic class of IPv6, the TOS byte of IPv4.
    pub traffic_class: u8,
    /// IPv4's DF; set for IPv6, which routers never fragment.
    pub dont_fragment: bool,
    /// IPv6's flow label; 0 for IPv4.
    pub flow_label: u32,
}

/// IP version of a packet, by its first bits; 0 where there are none.
#[inline]
pub fn version(packet: &[u8]) -> u8 {
    packet.first().map_or(0, |first| first >> 4)
}

/// Reads what the outer header inherits. Default values where the packet is
/// shorter than its header.
#[inline]
pub fn inherited(packet: &[u8]) -> Inherited {
    match packet.first_chunk() {
        Some(&[first, second, third, fourth, _, _, _, _]) if first >> 4 == 6 => Inherited {
            traffic_class: first << 4 | second >> 4,
            dont_fragment: true,
            flow_label: u32::from_be_bytes([0, second & 0x0f, third, fourth]),
        },
        Some(&[_, tos, _, _, _, _, flags, _]) => Inherited {
            traffic_class: tos,
            dont_fragment: flags & IPV4_DONT_FRAGMENT != 0,
            flow_label: 0,
        },
        None => Inherited::default(),
    }
}

/// Sets the ECN field of a packet.
pub fn set_ecn(packet: &mut [u8], ecn: u8) {
    match *packet {
        [first, second, ..] if first >> 4 == 6 => {
            packet[1] = second & !0x30 | ecn << 4;
        }
        [first, second, ..] => set_word(packet, 0, [first, second & !3 | ecn]),
        _ => {}
    }
}

/// The TTL or hop limit is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlExceeded;

/// Whether a router may pass a packet on: its TTL or hop limit, which is
/// returned with its place, is more than one.
///
/// # Errors
/// It is not.
pub fn check_ttl(packet: &[u8]) -> Result<(usize, u8), TtlExceeded> {
    let at = if version(packet) == 6 { 7 } else { 8 };
    match packet.get(at) {
        Some(ttl) if *ttl > 1 => Ok((at, *ttl)),
        _ => Err(TtlExceeded),
    }
}

/// Takes one from the TTL or hop limit, as a router does.
///
/// # Errors
/// Nothing would be left.
pub fn decrement_ttl(packet: &mut [u8]) -> Result<(), TtlExceeded> {
    let (at, ttl) = check_ttl(packet)?;
    match packet.get(9).copied() {
        Some(protocol) if at == 8 => set_word(packet, 8, [ttl - 1, protocol]),
        _ => packet[at] = ttl - 1,
    }
    Ok(())
}

/// Sets the length fields of a packet to its `packet_bytes`, at most 65,535
/// (IPv4) or 65,575 (IPv6).
pub fn set_length(packet: &mut [u8], packet_bytes: usize) {
    if version(packet) == 6 {
        let payload_bytes = packet_bytes.saturating_sub(IPV6_BYTES) as u16;
        if let Some(field) = packet.get_mut(4..6) {
            field.copy_from_slice(&payload_bytes.to_be_bytes());
        }
    } else {
        set_word(packet, 2, (packet_bytes as u16).to_be_bytes());
    }
}

/// Sets the field at `offset` that says which protocol follows.
pub fn set_next_protocol(packet: &mut [u8], offset: usize, protocol: u8) {
    match packet.get(8).copied() {
        Some(ttl) if version(packet) != 6 => set_word(packet, 8, [ttl, protocol]),
        _ => {
            if let Some(field) = packet.get_mut(offset) {
                *field = protocol;
            }
        }
    }
}

/// Replaces the 16-bit word at an even offset of an IPv4 header and corrects
/// the checksum: HC' = ~(~HC + ~m + m'), RFC 1624, equation 3.
fn set_word(header: &mut [u8], at: usize, new: [u8; 2]) {
    let Some(header) = header.first_chunk_mut::<IPV4_BYTES>() else {
        return;
    };
    let Some(word) = header.get_mut(at..at + 2) else {
        return;
    };
    let old = u16::from_be_bytes([word[0], word[1]]);
    word.copy_from_slice(&new);
    let new = u16::from_be_bytes(new);
    let checksum = u16::from_be_bytes([header[10], header[11]]);
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_packet::wire::internet_checksum;

    use super::*;

    fn ipv4() -> impl Strategy<Value = [u8; 20]> {
        any::<[u8; 20]>().prop_map(|mut header| {
            header[0] = 0x45;
            header[10..12].fill(0);
            let checksum = internet_checksum(&header);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            header
        })
    }

    proptest! {
        #[test]
        fn a_right_checksum_stays_right(
            header in ipv4(), ecn in 0u8..4, bytes in 20usize..65536, protocol: u8,
        ) {
            let mut changed = header;
            set_ecn(&mut changed, ecn);
            set_length(&mut changed, bytes);
            set_next_protocol(&mut changed, 9, protocol);
            let _ = decrement_ttl(&mut changed);
            prop_assert_eq!(internet_checksum(&changed), 0);
            prop_assert_eq!(inherited(&changed).traffic_class & 3, ecn);
            prop_assert_eq!(changed[9], protocol);
        }

        #[test]
        fn changes_are_undone_with_whatever_checksum(
            header in ipv4(), checksum in 0u16..0xffff, bytes in 20usize..65536, protocol: u8,
        ) {
            let mut header = header;
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            let mut changed = header;
            set_length(&mut changed, bytes);
            set_next_protocol(&mut changed, 9, protocol);
            set_next_protocol(&mut changed, 9, header[9]);
            set_length(&mut changed, usize::from(u16::from_be_bytes([header[2], header[3]])));
            prop_assert_eq!(changed, header);
        }
    }

    #[test]
    fn ipv6_fields() {
        let mut header = [0u8; 40];
        header[..8].copy_from_slice(&[0x6b, 0x9a, 0xbc, 0xde, 0, 0, 50, 2]);
        assert_eq!(
            inherited(&header),
            Inherited {
                traffic_class: 0xb9,
                dont_fragment: true,
                flow_label: 0xabcde
            }
        );
        set_ecn(&mut header, 3);
        assert_eq!(inherited(&header).traffic_class, 0xbb);
        assert_eq!(inherited(&header).flow_label, 0xabcde);
        set_length(&mut header, 40 + 1000);
        assert_eq!(header[4..6], 1000u16.to_be_bytes());
        assert_eq!(decrement_ttl(&mut header), Ok(()));
        assert_eq!(decrement_ttl(&mut header), Err(TtlExceeded));
        assert_eq!(header[7], 1);
    }

    #[test]
    fn nothing_is_read_past_the_end() {
        for bytes in 0..20 {
            let mut header = vec![0x45; bytes];
            let _ = (inherited(&header), version(&header));
            set_ecn(&mut header, 1);
            set_length(&mut header, 100);
            set_next_protocol(&mut header, 9, 50);
            assert!(decrement_ttl(&mut header).is_ok() == (bytes > 8));
        }
    }
}
