//! A new key for every packet: raw keys, which kernels expand in lanes on the
//! way, so that setting a key up costs no more than copying it.

use std::fmt;

use crate::aead::MOST_PACKETS;
use crate::aead::gcm::{self, Form, KeyView, Start};
use crate::engine::{Family, tier_in_use, trusted_tier};
use crate::fault::{JobError, JobFault};
use crate::keys::KeyError;
use crate::lane_use::LaneUse;
use crate::place::{Place, Row};
use crate::simd::wipe;
use crate::suite::AesKeySize;

/// Bytes of salt behind each key.
const SALT_BYTES: usize = 4;

/// Keys of AES-GCM, of one size, each of which seals one packet: with any IV,
/// since no second text will be sealed under it. They need no counters and no
/// memory beyond themselves. Neither `Clone` nor serializable; wiped when
/// [`seal_once`] has spent them, and when dropped; `Debug` shows no secret. Who
/// puts the same bytes in twice gives this up.
///
/// ```
/// use weir_crypto::{AesKeySize, OneTimeKeys, Place, open_once, seal_once};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let raw = [[0x11; 20], [0x22; 20]]; // 16 bytes of key, 4 of salt
/// let mut keys = OneTimeKeys::new(AesKeySize::Aes128)?;
/// raw.iter().try_for_each(|key| keys.push(key))?;
///
/// // Two packets of 64 bytes: a header of 8, an IV of 8, a text of 32, a tag of 16.
/// let mut buffer = [0; 128];
/// let places = [0, 64].map(|offset| Place { offset, prefix_bytes: 8, gap_bytes: 0, text_bytes: 32 });
/// seal_once(&mut keys, &mut buffer, &places)?;
/// assert!(keys.is_empty());
///
/// raw.iter().try_for_each(|key| keys.push(key))?;
/// let mut verified = Vec::new();
/// open_once(&keys, &mut buffer, &places, &mut verified)?;
/// assert_eq!(verified, [true; 2]);
/// assert_eq!(buffer[16..48], [0; 32]);
/// # Ok(())
/// # }
/// ```
pub struct OneTimeKeys {
    size: AesKeySize,
    /// Keys and salts, end to end.
    bytes: Vec<u8>,
}

impl OneTimeKeys {
    /// No keys yet.
    ///
    /// # Errors
    /// [`KeyError::NoEngine`].
    pub fn new(size: AesKeySize) -> Result<OneTimeKeys, KeyError> {
        trusted_tier(Family::Gcm).ok_or(KeyError::NoEngine)?;
        Ok(OneTimeKeys {
            size,
            bytes: Vec::new(),
        })
    }

    /// Adds a key that is followed by four bytes of salt, as in
    /// [`crate::KeyMaterial::new`].
    ///
    /// # Errors
    /// A length that is not that of the keys' size.
    #[inline]
    pub fn push(&mut self, key: &[u8]) -> Result<(), KeyError> {
        if self.bytes.capacity() - self.bytes.len() < self.stride() {
            self.grow();
        }
        // Copies of constant lengths are instructions and no calls.
        let is_added = match self.size {
            AesKeySize::Aes128 => self.add::<20>(key),
            AesKeySize::Aes192 => self.add::<28>(key),
            AesKeySize::Aes256 => self.add::<36>(key),
        };
        is_added.ok_or(KeyError::CipherKey {
            needed_bytes: self.stride(),
            given_bytes: key.len(),
        })
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.stride()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Wipes all keys.
    pub fn clear(&mut self) {
        wipe(&mut self.bytes);
        self.bytes.clear();
    }

    /// Bytes of a key and its salt.
    #[inline]
    fn stride(&self) -> usize {
        self.size.key_bytes() + SALT_BYTES
    }

    #[inline(always)]
    fn add<const BYTES: usize>(&mut self, key: &[u8]) -> Option<()> {
        let key: &[u8; BYTES] = key.try_into().ok()?;
        self.bytes.extend_from_slice(key);
        Some(())
    }

    /// Makes room; the memory that is given up is wiped.
    #[cold]
    fn grow(&mut self) {
        let bytes = (2 * self.bytes.len()).max(64 * self.stride());
        let mut more = Vec::with_capacity(bytes);
        more.extend_from_slice(&self.bytes);
        self.clear();
        self.bytes = more;
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = Start<'_>> {
        let keys = self.bytes.chunks_exact(self.stride());
        keys.filter_map(|key| {
            let (key, salt) = key.split_last_chunk()?;
            Some(Start {
                key: KeyView {
                    size: self.size,
                    form: Form::Raw,
                    bytes: key,
                },
                salt: *salt,
                iv: None,
            })
        })
    }

    /// Holds a batch against the keys and its buffer.
    fn check(&self, buffer: &[u8], places: &[Place]) -> Result<(), JobError> {
        let (keys, packets) = (self.len(), places.len());
        if keys != packets {
            return Err(JobError {
                job: keys.min(packets),
                fault: JobFault::KeyCount { keys, packets },
            });
        }
        Row::check_all(buffer, places, gcm::ENDS)
    }
}

impl Drop for OneTimeKeys {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

impl fmt::Debug for OneTimeKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneTimeKeys")
            .field("size", &self.size)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// Encrypts and tags the packets that lie at `places` in a buffer, each under the
/// key of its number; IVs are input, and any values will do. The keys are spent:
/// none are left. Returns how full the lanes were.
///
/// # Errors
/// The first packet that has no key or lies where it may not, found before any
/// byte is written and before any key is spent; so is a key without a packet. Or
/// [`JobFault::Refused`] with the first packet that was not sealed, a defect of this
/// crate: its text and tag are zeros, as are those of all others that were not, the
/// rest are sealed, and the keys are spent.
pub fn seal_once(
    keys: &mut OneTimeKeys,
    buffer: &mut [u8],
    places: &[Place],
) -> Result<LaneUse, JobError> {
    keys.check(buffer, places)?;
    let tier = tier_in_use(Family::Gcm);
    let mut lanes = LaneUse::default();
    let mut first_refused = None;
    let mut of_packets = keys.iter();
    for (first, places) in (0..).step_by(MOST_PACKETS).zip(places.chunks(MOST_PACKETS)) {
        let keys = of_packets.by_ref().take(places.len());
        let sealed = gcm::seal_placed(tier, buffer, places.iter().copied(), keys);
        lanes += sealed.lanes;
        for (number, (place, is_sealed)) in places.iter().zip(sealed.is_sealed).enumerate() {
            if !is_sealed {
                gcm::clear(buffer, *place);
                first_refused.get_or_insert(first + number);
            }
        }
    }
    drop(of_packets);
    keys.clear();
    match first_refused {
        None => Ok(lanes),
        Some(job) => Err(JobError {
            job,
            fault: JobFault::Refused,
        }),
    }
}

/// Verifies the packets that lie at `places` in a buffer, each under the key of
/// its number, and decrypts those that are authentic, as [`crate::open`] does;
/// afterwards `verified` says which these are. The keys stay.
///
/// # Errors
/// As for [`seal_once`]; nothing is verified then.
pub fn open_once(
    keys: &OneTimeKeys,
    buffer: &mut [u8],
    places: &[Place],
    verified: &mut Vec<bool>,
) -> Result<LaneUse, JobError> {
    verified.clear();
    keys.check(buffer, places)?;
    verified.resize(places.len(), false);
    let tier = tier_in_use(Family::Gcm);
    let mut lanes = LaneUse::default();
    let mut of_packets = keys.iter();
    for (places, verified) in places
        .chunks(MOST_PACKETS)
        .zip(verified.chunks_mut(MOST_PACKETS))
    {
        let keys = of_packets.by_ref().take(places.len());
        lanes += gcm::open_placed(tier, buffer, places.iter().copied(), keys, verified);
    }
    Ok(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aead, JobFault, KeyMaterial, OpenAt, OpeningKey, Suite, open_in};

    /// Bytes of a key and its salt, different for each number.
    fn raw(size: AesKeySize, number: usize) -> Vec<u8> {
        let bytes = 0..size.key_bytes() + SALT_BYTES;
        bytes.map(|at| (31 * number + 7 * at) as u8).collect()
    }

    fn keys(size: AesKeySize, count: usize) -> OneTimeKeys {
        let mut keys = OneTimeKeys::new(size).expect("an engine");
        for number in 0..count {
            keys.push(&raw(size, number)).expect("a key");
        }
        keys
    }

    /// Places of so many packets with texts of 0 to 200 bytes, and a buffer.
    fn places(count: usize) -> (Vec<Place>, Vec<u8>) {
        let mut end = 0;
        let place = |number: usize| {
            let place = Place {
                offset: end as u32,
                prefix_bytes: 12,
                gap_bytes: 8,
                text_bytes: (number % 201) as u32,
            };
            end = place.tag(gcm::ENDS).end + number % 5;
            place
        };
        let places = (0..count).map(place).collect();
        (places, (0..end).map(|at| (at % 251) as u8).collect())
    }

    #[test]
    fn keys_seal_once_and_their_packets_open_under_any_key_of_the_same_bytes() {
        for size in AesKeySize::ALL {
            // More than fit the memory that keys begin with, and than are gathered
            // at once.
            let count = 300;
            let (places, mut buffer) = places(count);
            let before = buffer.clone();
            let mut one_time = keys(size, count);
            seal_once(&mut one_time, &mut buffer, &places).expect("a row of packets");
            assert!(one_time.is_empty());
            let refused = seal_once(&mut one_time, &mut buffer, &places);
            let fault = JobFault::KeyCount {
                keys: 0,
                packets: count,
            };
            assert_eq!(refused, Err(JobError { job: 0, fault }));

            let suite = Suite::Aead(Aead::AesGcm16(size));
            let opening = (0..count).map(|number| {
                let material = KeyMaterial::new(suite, &raw(size, number), &[]).expect("a key");
                OpeningKey::new(&material).expect("an engine")
            });
            let opening: Vec<OpeningKey> = opening.collect();
            let mut opened = buffer.clone();
            let mut jobs: Vec<OpenAt> = (0..)
                .zip(&places)
                .map(|(key, place)| OpenAt {
                    key,
                    place: *place,
                    verified: false,
                })
                .collect();
            open_in(&mut opened, &mut jobs, |key| opening.get(key as usize)).expect("a row");
            assert!(jobs.iter().all(|job| job.verified));
            for place in &places {
                let text = place.text(gcm::ENDS);
                assert_eq!(opened[text.clone()], before[text]);
            }

            let damaged = places[260].tag(gcm::ENDS).start;
            buffer[damaged] ^= 1;
            let mut verified = Vec::new();
            open_once(&keys(size, count), &mut buffer, &places, &mut verified).expect("a row");
            for (number, (place, verified)) in places.iter().zip(verified).enumerate() {
                assert_eq!(verified, number != 260);
                let text = place.text(gcm::ENDS);
                match verified {
                    true => assert_eq!(buffer[text.clone()], before[text]),
                    false => assert!(buffer[text].iter().all(|byte| *byte == 0)),
                }
            }
        }
    }

    #[test]
    fn keys_of_wrong_lengths_are_refused() {
        for size in AesKeySize::ALL {
            let mut keys = OneTimeKeys::new(size).expect("an engine");
            let needed_bytes = size.key_bytes() + SALT_BYTES;
            for given_bytes in [0, 3, size.key_bytes(), needed_bytes - 1, needed_bytes + 1] {
                let error = keys.push(&[0; 40][..given_bytes]);
                let expected = KeyError::CipherKey {
                    needed_bytes,
                    given_bytes,
                };
                assert_eq!(error, Err(expected));
            }
            assert!(keys.is_empty());
            assert!(!format!("{keys:?}").contains("bytes"));
        }
    }
}
