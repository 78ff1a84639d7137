//! Session keys of queue pairs and their way to the other side (III.E.1.e).
//!
//! Two connected queue pairs share one session key, drawn by the side that sends REQ. Of two datagram
//! queue pairs each has a key of its own, which its senders use: REQ (or SIDR_REQ) brings that of one
//! side, REP (or SIDR_REP) that of the other. A key travels in the private data, sealed under the
//! secret of the pair of channel adapters, which the subnet manager distributed before.

use std::fmt;

use weir_crypto::{
    Descriptor, KeyError, KeyId, KeyMaterial, Layout, Opener, OpeningKey, Sealer, SealingKey,
};
use zeroize::Zeroizing;

use super::derive::{Endpoint, Secret, SessionRandom, label};

/// A session key of 128 bits, wiped when dropped.
#[derive(Clone)]
pub struct SessionKey(Zeroizing<[u8; 16]>);

/// Which message brings a session key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUp {
    /// REQ, or SIDR_REQ of unreliable datagrams.
    Request,
    /// REP, or SIDR_REP of unreliable datagrams.
    Reply,
}

/// What a side of a session sends and receives with.
#[derive(Clone, Debug)]
pub struct SessionSecrets {
    /// Of what it sends.
    pub sending: Secret,
    /// Of what it receives.
    pub receiving: Secret,
}

/// Why a session key was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionKeyError {
    /// Its tag is not that of the two sides, of the message and of the random bits.
    #[error("the session key was not sealed for this set-up, or was changed")]
    NotAuthentic,
    /// The cipher cannot be used.
    #[error("the session key cannot be sealed: {0}")]
    Cipher(#[from] KeyError),
}

/// A session key as it travels, with its tag.
pub type SealedSessionKey = [u8; 32];

impl SessionKey {
    /// Takes 128 bits that the caller has drawn.
    pub fn new(random_bits: [u8; 16]) -> SessionKey {
        SessionKey(Zeroizing::new(random_bits))
    }

    fn secret(&self) -> Secret {
        Secret::of_key(&self.0)
    }

    /// Seals the key for the way from `sender` to `receiver` under the secret of their channel
    /// adapters. The random bits are those of this set-up, and were never used before.
    ///
    /// # Errors
    /// The cipher cannot be used.
    pub fn seal(
        &self,
        pair: &Secret,
        set_up: SetUp,
        random: SessionRandom,
        [sender, receiver]: [Endpoint; 2],
    ) -> Result<SealedSessionKey, SessionKeyError> {
        let material = material(pair, set_up, random, [sender, receiver])?;
        let mut sealer = Sealer::new();
        let key = sealer.add(SealingKey::new(material, 0..1)?);
        let mut sealed = [0; 32];
        sealed[..16].copy_from_slice(&self.0[..]);
        let is_sealed = {
            let mut batch = sealer.batch(&mut sealed);
            batch.push(descriptor(key)).is_ok() && batch.run().all_good()
        };
        match is_sealed {
            true => Ok(sealed),
            false => Err(KeyError::Refused.into()),
        }
    }

    /// Opens what the other side has sealed.
    ///
    /// # Errors
    /// It was sealed for something else, or changed.
    pub fn open(
        sealed: SealedSessionKey,
        pair: &Secret,
        set_up: SetUp,
        random: SessionRandom,
        [sender, receiver]: [Endpoint; 2],
    ) -> Result<SessionKey, SessionKeyError> {
        let material = material(pair, set_up, random, [sender, receiver])?;
        let mut opener = Opener::new();
        let key = opener.add(OpeningKey::new(&material)?);
        let mut opened = Zeroizing::new(sealed);
        let is_opened = {
            let mut batch = opener.batch(&mut opened[..]);
            batch.push_numbered(descriptor(key), 0).is_ok() && batch.run().all_good()
        };
        if !is_opened {
            return Err(SessionKeyError::NotAuthentic);
        }
        let mut key = SessionKey::new([0; 16]);
        key.0.copy_from_slice(&opened[..16]);
        Ok(key)
    }
}

impl SessionSecrets {
    /// Of connected queue pairs: both directions have the one key.
    pub fn connected(key: &SessionKey) -> SessionSecrets {
        SessionSecrets {
            sending: key.secret(),
            receiving: key.secret(),
        }
    }

    /// Of datagram queue pairs: a sender uses the key of the receiver.
    pub fn datagram(own: &SessionKey, other: &SessionKey) -> SessionSecrets {
        SessionSecrets {
            sending: other.secret(),
            receiving: own.secret(),
        }
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

/// A key for one message, whose only number is 0.
fn material(
    pair: &Secret,
    set_up: SetUp,
    random: SessionRandom,
    [sender, receiver]: [Endpoint; 2],
) -> Result<KeyMaterial, KeyError> {
    let label = match set_up {
        SetUp::Request => label::REQUEST,
        SetUp::Reply => label::REPLY,
    };
    pair.gcm_key(random, label, sender, receiver).material()
}

fn descriptor(key: KeyId) -> Descriptor {
    let layout = Layout {
        payload_bytes: 16,
        ..Layout::default()
    };
    Descriptor {
        key,
        layout,
        ..Descriptor::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secure::Address;

    #[test]
    fn a_session_key_arrives_at_the_other_side_of_this_set_up_alone() {
        let pair = Secret::new(vec![1; 16]).expect("16 bytes");
        let other_pair = Secret::new(vec![2; 16]).expect("16 bytes");
        let [a, b] = [1, 2].map(|lid| Endpoint {
            address: Address::Lid(lid),
            queue_pair: 1,
        });
        let random = SessionRandom([3; 16]);
        let key = SessionKey::new([4; 16]);
        let sealed = (key.seal(&pair, SetUp::Request, random, [a, b])).expect("sealed");
        let opened = SessionKey::open(sealed, &pair, SetUp::Request, random, [a, b]);
        assert_eq!(*opened.expect("the other side").0, [4; 16]);

        let refused = |sealed, pair: &Secret, set_up, random, ends| {
            let opened = SessionKey::open(sealed, pair, set_up, random, ends);
            assert!(matches!(opened, Err(SessionKeyError::NotAuthentic)));
        };
        refused(sealed, &other_pair, SetUp::Request, random, [a, b]);
        refused(sealed, &pair, SetUp::Reply, random, [a, b]);
        refused(
            sealed,
            &pair,
            SetUp::Request,
            SessionRandom([0; 16]),
            [a, b],
        );
        refused(sealed, &pair, SetUp::Request, random, [b, a]);
        for bit in 0..256 {
            let mut changed = sealed;
            changed[bit / 8] ^= 1 << (bit % 8);
            refused(changed, &pair, SetUp::Request, random, [a, b]);
        }
    }

    #[test]
    fn datagrams_are_sealed_with_the_key_of_their_receiver() {
        let [one, two] = [1, 2].map(|byte| SessionKey::new([byte; 16]));
        let [at_one, at_two] = [
            SessionSecrets::datagram(&one, &two),
            SessionSecrets::datagram(&two, &one),
        ];
        assert_eq!(at_one.sending.bytes(), [2; 16]);
        assert_eq!(at_one.receiving.bytes(), [1; 16]);
        assert_eq!(at_one.sending.bytes(), at_two.receiving.bytes());
        let connected = SessionSecrets::connected(&one);
        assert_eq!(connected.sending.bytes(), connected.receiving.bytes());
    }
}
