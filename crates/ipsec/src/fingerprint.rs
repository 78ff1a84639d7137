//! By what the ledger knows the keys of associations.

use std::net::IpAddr;

use weir_ledger::Fingerprint;

/// Of the key that nonces are counted under: the cipher key without its salt, or for a suite
/// without cipher the integrity key. Suite, salt, MAC key and SPI are left out: the same cipher key
/// under another of them counts on.
pub fn of_sealing(cipher_key: &[u8], integrity_key: &[u8]) -> Fingerprint {
    match cipher_key {
        [] => Fingerprint::over("weir integrity key fingerprint", &[integrity_key]),
        _ => Fingerprint::over("weir cipher key fingerprint", &[cipher_key]),
    }
}

/// Of all by which a receiver knows an association: its keys, with the salt, its SPI, and its
/// destination where that is fixed.
pub fn of_window(
    key: &[u8],
    integrity_key: &[u8],
    spi: u32,
    destination: Option<IpAddr>,
) -> Fingerprint {
    let spi = &spi.to_be_bytes()[..];
    let destination = match destination {
        None => Vec::new(),
        Some(IpAddr::V4(address)) => address.octets().to_vec(),
        Some(IpAddr::V6(address)) => address.octets().to_vec(),
    };
    let parts = [key, integrity_key, spi, &destination];
    Fingerprint::over("weir replay window fingerprint", &parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_under_the_nonce_counts_and_nothing_else() {
        let of = of_sealing;
        assert_eq!(of(&[1; 16], &[2; 20]), of(&[1; 16], &[3; 32]));
        assert_ne!(of(&[1; 16], &[]), of(&[1; 32], &[]));
        assert_ne!(of(&[], &[1; 20]), of(&[1; 20], &[]));
        assert_ne!(of(&[], &[1; 20]), of(&[], &[2; 20]));
    }

    #[test]
    fn windows_differ_by_key_and_spi() {
        let of = |key: &[u8], integrity_key: &[u8], spi| of_window(key, integrity_key, spi, None);
        let one = of(&[1; 20], &[2; 20], 0x1001);
        assert_eq!(one, of(&[1; 20], &[2; 20], 0x1001));
        assert_ne!(one, of(&[1; 20], &[2; 20], 0x1002));
        assert_ne!(one, of(&[1; 20], &[3; 20], 0x1001));
        assert_ne!(one, of(&[3; 20], &[2; 20], 0x1001));
        assert_ne!(of(&[1; 20], &[1; 2], 7), of(&[1; 2], &[1; 20], 7));
        let there = of_window(&[1; 20], &[2; 20], 0x1001, Some([10, 0, 0, 1].into()));
        assert_ne!(one, there);
        assert_ne!(of(&[1; 20], &[], 7), of_sealing(&[1; 20], &[]));
    }
}
