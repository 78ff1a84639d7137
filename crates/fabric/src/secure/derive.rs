//! Keys of one sender towards one receiver.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hkdf::Hkdf;
use sha2::Sha256;
use weir_crypto::{Aead, AesKeySize, KeyError, KeyMaterial, NonceRule, Suite};
use zeroize::Zeroizing;

use super::format::Role;

/// Where packets come from, or go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// Local identifier, of native packets without a GRH.
    Lid(u16),
    /// Of RoCEv2 over IPv4.
    Ipv4(Ipv4Addr),
    /// Global identifier: of a GRH, or the address of RoCEv2 over IPv6.
    Gid(Ipv6Addr),
}

/// A queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// Of its port.
    pub address: Address,
    /// Its number, 24 bits.
    pub queue_pair: u32,
}

/// The secret of a partition or of a session, wiped when dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

/// 128 random bits that both sides share since the set-up of their communication (III.F). They are
/// no secret, and are never used for two set-ups under one secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionRandom(pub [u8; 16]);

/// Why bytes are no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret has {given_bytes} bytes, 16 to 64 are needed")]
pub struct SecretLength {
    /// What was given.
    pub given_bytes: usize,
}

/// The keys of one sender towards one receiver, wiped when dropped.
pub struct SenderKeys {
    /// Of 32-bit mode.
    pub(super) gcm_32: GcmKey,
    /// Of extended mode.
    pub(super) gcm_128: GcmKey,
    /// Of packets that are authenticated only.
    pub(super) cmac_32: Zeroizing<[u8; 16]>,
    identity: [u8; 32],
}

/// A key of AES-128-GCM, and the 12 bytes that its nonces begin from.
#[derive(Clone)]
pub(super) struct GcmKey(Zeroizing<[u8; 28]>);

/// The label of each key, in front of the addresses. The number is that of the format.
pub(super) mod label {
    pub const GCM_32: &str = "weir fabric 1 gcm-32";
    pub const GCM_128: &str = "weir fabric 1 gcm-128";
    pub const CMAC_32: &str = "weir fabric 1 cmac-32";
    pub const UNLISTED: &str = "weir fabric 1 unlisted";
    pub const IDENTITY: &str = "weir fabric 1 identity";
    pub const REQUEST: &str = "weir fabric 1 session request";
    pub const REPLY: &str = "weir fabric 1 session reply";
}

impl Address {
    /// The kind, and the address itself.
    #[inline]
    pub(super) fn to_number(self) -> (u8, u128) {
        match self {
            Address::Lid(lid) => (1, u128::from(lid)),
            Address::Ipv4(address) => (4, u128::from(u32::from(address))),
            Address::Gid(gid) => (6, u128::from(gid)),
        }
    }

    /// The address of such a number; kinds that there are not are those of GIDs.
    pub(super) fn from_number(kind: u8, value: u128) -> Address {
        match kind {
            1 => Address::Lid(value as u16),
            4 => Address::Ipv4((value as u32).into()),
            _ => Address::Gid(value.into()),
        }
    }

    /// The kind, and the address right-aligned in 16 bytes.
    fn to_bytes(self) -> [u8; 17] {
        let (kind, value) = self.to_number();
        let mut bytes = [0; 17];
        bytes[0] = kind;
        bytes[1..].copy_from_slice(&value.to_be_bytes());
        bytes
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Address {
        match address {
            IpAddr::V4(address) => Address::Ipv4(address),
            IpAddr::V6(address) => Address::Gid(address),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Lid(lid) => write!(f, "LID {lid}"),
            Address::Ipv4(address) => address.fmt(f),
            Address::Gid(gid) => gid.fmt(f),
        }
    }
}

impl Endpoint {
    fn to_bytes(self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[..17].copy_from_slice(&self.address.to_bytes());
        bytes[17..].copy_from_slice(&self.queue_pair.to_be_bytes()[1..]);
        bytes
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} QP {}", self.address, self.queue_pair)
    }
}

impl Secret {
    /// Takes 16 to 64 bytes.
    ///
    /// # Errors
    /// Another length.
    pub fn new(bytes: impl Into<Zeroizing<Vec<u8>>>) -> Result<Secret, SecretLength> {
        let bytes = bytes.into();
        match bytes.len() {
            16..=64 => Ok(Secret(bytes)),
            given_bytes => Err(SecretLength { given_bytes }),
        }
    }

    pub(super) fn of_key(key: &[u8; 16]) -> Secret {
        Secret(Zeroizing::new(key.to_vec()))
    }

    /// Another secret, for all senders and receivers.
    pub(super) fn for_all(&self, random: SessionRandom, label: &str) -> Secret {
        let mut bytes = Zeroizing::new(vec![0; 32]);
        self.expand_info(random, &[label.as_bytes(), &[0]], &mut bytes);
        Secret(bytes)
    }

    /// A name that reveals nothing of the secret.
    pub(super) fn identity(&self, random: SessionRandom) -> [u8; 32] {
        let mut identity = [0; 32];
        self.expand_info(random, &[label::IDENTITY.as_bytes(), &[0]], &mut identity);
        identity
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn gcm_key(
        &self,
        random: SessionRandom,
        label: &str,
        sender: Endpoint,
        receiver: Endpoint,
    ) -> GcmKey {
        let mut key = Zeroizing::new([0; 28]);
        self.expand(random, label, sender, receiver, &mut key[..]);
        GcmKey(key)
    }

    /// Fills `out` with key bytes for packets from `sender` to `receiver` (RFC 5869).
    fn expand(
        &self,
        random: SessionRandom,
        label: &str,
        sender: Endpoint,
        receiver: Endpoint,
        out: &mut [u8],
    ) {
        let (sender, receiver) = (sender.to_bytes(), receiver.to_bytes());
        let info = [label.as_bytes(), &[0], &sender, &receiver];
        self.expand_info(random, &info, out);
    }

    fn expand_info(&self, random: SessionRandom, info: &[&[u8]], out: &mut [u8]) {
        let hkdf = Hkdf::<Sha256>::new(Some(&random.0), &self.0);
        // HKDF refuses what is longer than 8160 bytes.
        if hkdf.expand_multi_info(info, out).is_err() {
            unreachable!("a key of {} bytes", out.len());
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl SenderKeys {
    /// Derives the keys for packets from `sender` to `receiver`.
    pub fn derive(
        secret: &Secret,
        random: SessionRandom,
        sender: Endpoint,
        receiver: Endpoint,
    ) -> SenderKeys {
        let mut cmac_32 = Zeroizing::new([0; 16]);
        secret.expand(random, label::CMAC_32, sender, receiver, &mut cmac_32[..]);
        let mut identity = [0; 32];
        secret.expand(random, label::IDENTITY, sender, receiver, &mut identity);
        SenderKeys {
            gcm_32: secret.gcm_key(random, label::GCM_32, sender, receiver),
            gcm_128: secret.gcm_key(random, label::GCM_128, sender, receiver),
            cmac_32,
            identity,
        }
    }

    /// A name of these keys for a ledger, which counts their epochs. It reveals nothing of them.
    pub fn identity(&self) -> [u8; 32] {
        self.identity
    }
}

impl fmt::Debug for SenderKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SenderKeys(…)")
    }
}

impl GcmKey {
    fn key(&self) -> &[u8] {
        &self.0[..16]
    }

    fn iv(&self) -> [u8; 12] {
        std::array::from_fn(|at| self.0[16 + at])
    }

    /// The key whose nonces have a role in them, so that it need not be given with each packet.
    pub(super) fn of_role(&self, role: Role) -> GcmKey {
        let mut key = self.clone();
        for (iv, role) in key.0[16..].iter_mut().zip((role as u32).to_be_bytes()) {
            *iv ^= role;
        }
        key
    }

    /// For the batches of `weir-crypto`.
    pub(super) fn material(&self) -> Result<KeyMaterial, KeyError> {
        let suite = Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128));
        KeyMaterial::with_nonces(suite, self.key(), NonceRule::Xor(self.iv()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(address: Address, queue_pair: u32) -> Endpoint {
        Endpoint {
            address,
            queue_pair,
        }
    }

    /// RFC 5869, appendix A.1, through the same calls.
    #[test]
    fn hkdf_is_that_of_the_rfc() {
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        let mut out = [0; 42];
        let hkdf = Hkdf::<Sha256>::new(Some(&salt), &[0x0b; 22]);
        let parts: [&[u8]; 2] = [&info[..3], &info[3..]];
        hkdf.expand_multi_info(&parts, &mut out).expect("short");
        assert_eq!(out[..8], [0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a]);
        assert_eq!(out[38..], [0x87, 0x18, 0x58, 0x65][..]);
    }

    #[test]
    fn every_input_changes_every_key() {
        let secret = |byte| Secret::new(vec![byte; 32]).expect("32 bytes");
        let (a, b) = (
            endpoint(Address::Ipv4([192, 0, 2, 1].into()), 17),
            endpoint(Address::Ipv4([192, 0, 2, 2].into()), 18),
        );
        let mapped = endpoint(Address::Gid(Ipv6Addr::from(0xc000_0201u128)), 17);
        let lid = endpoint(Address::Lid(1), 17);
        let (zero, one) = (SessionRandom([0; 16]), SessionRandom([1; 16]));
        let inputs = [
            (secret(1), zero, a, b),
            (secret(2), zero, a, b),
            (secret(1), one, a, b),
            (secret(1), zero, b, a),
            (secret(1), zero, endpoint(a.address, 19), b),
            (secret(1), zero, a, endpoint(b.address, 19)),
            (secret(1), zero, a, endpoint(a.address, 18)),
            (secret(1), zero, mapped, b),
            (secret(1), zero, lid, b),
        ];
        let mut seen = std::collections::HashSet::new();
        for (secret, random, sender, receiver) in &inputs {
            let keys = SenderKeys::derive(secret, *random, *sender, *receiver);
            for bytes in [&keys.gcm_32.0[..], &keys.gcm_128.0[..], &keys.cmac_32[..]] {
                assert!(seen.insert(bytes[..16].to_vec()), "a key came twice");
            }
        }
        assert_eq!(seen.len(), 3 * inputs.len());
    }

    /// The page's vector, which another implementation made.
    #[test]
    fn unlisted_queue_pairs_have_a_secret_of_their_own() {
        let page = include_str!("../../../../docs/fabric-format.md");
        let secret = Secret::new((0..32).collect::<Vec<u8>>()).expect("32 bytes");
        let random = SessionRandom(std::array::from_fn(|at| 0xf0 + at as u8));
        let unlisted = secret.for_all(random, label::UNLISTED);
        let hex: String = (unlisted.bytes().iter())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert!(page.contains(&format!("nobody lists is `{hex}`")), "{hex}");
        let identity = secret.identity(random);
        assert_ne!(identity[..], *unlisted.bytes());
    }

    #[test]
    fn secrets_have_a_length_and_are_not_shown() {
        for bytes in [0, 15, 65] {
            let error = Secret::new(vec![7; bytes]).expect_err("no secret");
            assert_eq!(error.given_bytes, bytes);
        }
        let secret = Secret::new(vec![7; 16]).expect("16 bytes");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }
}
