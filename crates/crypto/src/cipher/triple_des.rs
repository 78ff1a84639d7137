//! Triple DES (SP 800-67), for old captures only: slow, table-based, and with
//! a block so short that a key wears out after 8 MiB.

use des::TdesEde3;
use des::cipher::KeyInit;
use subtle::{Choice, ConstantTimeEq};

use crate::kernel::InvalidLength;

/// Round keys of both directions.
pub(crate) struct TripleDesKey(pub(crate) TdesEde3);

impl TripleDesKey {
    pub(crate) fn new(key: &[u8]) -> Result<TripleDesKey, InvalidLength> {
        TdesEde3::new_from_slice(key)
            .map(TripleDesKey)
            .map_err(|_| InvalidLength)
    }
}

/// Whether two neighbours among the three DES keys are equal, which leaves
/// single DES; RFC 2451 section 2.3 wants such keys refused. The lowest bit of
/// each byte is parity and takes no part in the cipher.
pub(crate) fn is_single_des(key: &[u8]) -> bool {
    let mut parts = key.chunks_exact(8);
    let (Some(k1), Some(k2), Some(k3)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    (equal_but_parity(k1, k2) | equal_but_parity(k2, k3)).into()
}

fn equal_but_parity(a: &[u8], b: &[u8]) -> Choice {
    a.iter().zip(b).fold(Choice::from(1), |equal, (a, b)| {
        equal & (a & 0xfe).ct_eq(&(b & 0xfe))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_collapse_to_single_des_are_found() {
        let parts = |a: u8, b: u8, c: u8| {
            let mut key = [a; 24];
            key[8..16].fill(b);
            key[16..].fill(c);
            key
        };
        assert!(is_single_des(&parts(2, 2, 4)));
        assert!(is_single_des(&parts(2, 3, 4)), "parity does not count");
        assert!(is_single_des(&parts(2, 4, 4)));
        assert!(!is_single_des(&parts(2, 4, 2)), "two-key triple DES");
        assert!(!is_single_des(&parts(2, 4, 6)));
    }
}
