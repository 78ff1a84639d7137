//! How long packets are.

use std::fmt;
use std::str::FromStr;

use super::random::scale;

/// Sizes of packets in bytes of the whole IP packet, header included, unless
/// the model says otherwise. A packet is never smaller than its headers: 28
/// and 40 bytes with UDP and TCP over IPv4, 48 and 60 over IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SizeModel {
    /// `fixed:N`: all IP packets have N bytes, 28 to
    /// [`SizeModel::MAX_IP_BYTES`].
    Fixed(u16),
    /// `frame:N`: all Ethernet frames have N bytes, counted with header and
    /// the 4 bytes of the frame check sequence that a capture does not hold
    /// (the frame sizes of RFC 2544, section 9.1), 64 and more.
    Frame(u16),
    /// `imix`: the simple IMIX, 7 packets of 40 bytes to 4 of 576 and 1 of
    /// 1500 (RFC 6985 gives the idea a grammar).
    Imix,
    /// `internet`: the bimodal mix of an Internet exchange, after the trace
    /// AIX-1054837521-1 as Lai describes it ("Packet Processing on Stream
    /// Architecture", North Carolina State University, section 2.6.2.1):
    /// almost 50 % of the packets are below 128 bytes and carry less than 6 %
    /// of the bytes, almost 22 % have 1500 bytes and carry more than 75 %. Of
    /// the small ones most are below 64 bytes (44.6 % of all packets, section
    /// 8.1.1 says of a part of the trace). Sizes in between are not published;
    /// here they thin out, with a peak at the 576 bytes of hosts that do not
    /// know their path.
    Internet,
}

/// Parts in a thousand, smallest and largest size of each class.
type Classes = [(u32, u16, u16)];

const IMIX: &Classes = &[(7, 40, 40), (4, 576, 576), (1, 1500, 1500)];

const INTERNET: &Classes = &[
    (300, 40, 40),
    (146, 41, 63),
    (50, 64, 127),
    (180, 128, 255),
    (55, 256, 500),
    (50, 576, 576),
    (219, 1500, 1500),
];

/// Ethernet header and frame check sequence.
const FRAME_OVERHEAD_BYTES: u16 = 18;

impl SizeModel {
    /// Largest IP packet: with its Ethernet header it fills 65,535 bytes.
    pub const MAX_IP_BYTES: u16 = 65_535 - 14;
    const MIN_IP_BYTES: u16 = 28;
    const MIN_FRAME_BYTES: u16 = 64;

    /// Whether packets of a fixed size are possible.
    pub(super) fn check(self) -> Result<(), SizeModelError> {
        let (bytes, min_bytes, max_bytes) = match self {
            SizeModel::Fixed(bytes) => (bytes, Self::MIN_IP_BYTES, Self::MAX_IP_BYTES),
            SizeModel::Frame(bytes) => (bytes, Self::MIN_FRAME_BYTES, u16::MAX),
            SizeModel::Imix | SizeModel::Internet => return Ok(()),
        };
        if (min_bytes..=max_bytes).contains(&bytes) {
            Ok(())
        } else {
            Err(SizeModelError::Range {
                model: self.to_string(),
                min_bytes,
                max_bytes,
            })
        }
    }

    /// The size of an IP packet that 64 random bits choose.
    pub(super) fn ip_bytes(self, random: u64) -> u16 {
        let classes = match self {
            SizeModel::Fixed(bytes) => return bytes,
            SizeModel::Frame(bytes) => return bytes.saturating_sub(FRAME_OVERHEAD_BYTES),
            SizeModel::Imix => IMIX,
            SizeModel::Internet => INTERNET,
        };
        let total: u32 = classes.iter().map(|(parts, _, _)| parts).sum();
        let mut place = scale(random, total.into()) as u32;
        // The low half of the product is as random as it was.
        let inside = random.wrapping_mul(total.into());
        for (parts, smallest, largest) in classes {
            if place < *parts {
                return smallest + scale(inside, u64::from(largest - smallest) + 1) as u16;
            }
            place -= parts;
        }
        Self::MIN_IP_BYTES
    }
}

/// Why a size model could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeModelError {
    /// An unknown name.
    #[error(
        "unknown sizes {0:?}: use imix, internet, fixed:N (bytes of the IP packet) or frame:N \
         (bytes of the Ethernet frame with its check sequence)"
    )]
    Unknown(String),
    /// A size that no packet can have.
    #[error("sizes {model} are not between {min_bytes} and {max_bytes} bytes")]
    Range {
        /// The model at fault.
        model: String,
        /// Smallest possible size.
        min_bytes: u16,
        /// Largest possible size.
        max_bytes: u16,
    },
}

impl FromStr for SizeModel {
    type Err = SizeModelError;

    fn from_str(text: &str) -> Result<SizeModel, SizeModelError> {
        let unknown = || SizeModelError::Unknown(text.to_owned());
        let model = match text.split_once(':') {
            None if text == "imix" => SizeModel::Imix,
            None if text == "internet" => SizeModel::Internet,
            Some(("fixed", bytes)) => SizeModel::Fixed(bytes.parse().map_err(|_| unknown())?),
            Some(("frame", bytes)) => SizeModel::Frame(bytes.parse().map_err(|_| unknown())?),
            _ => return Err(unknown()),
        };
        model.check()?;
        Ok(model)
    }
}

impl fmt::Display for SizeModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SizeModel::Fixed(bytes) => write!(f, "fixed:{bytes}"),
            SizeModel::Frame(bytes) => write!(f, "frame:{bytes}"),
            SizeModel::Imix => f.write_str("imix"),
            SizeModel::Internet => f.write_str("internet"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What section 2.6.2.1 states, of the table itself.
    #[test]
    fn internet_mix_has_the_published_shares() {
        let share = |of: &dyn Fn(u16) -> bool, weight: &dyn Fn(u16) -> f64| {
            let sum = |keep: &dyn Fn(u16) -> bool| -> f64 {
                INTERNET
                    .iter()
                    .flat_map(|&(parts, smallest, largest)| {
                        let each = f64::from(parts) / f64::from(largest - smallest + 1);
                        (smallest..=largest).map(move |bytes| (bytes, each))
                    })
                    .filter(|(bytes, _)| keep(*bytes))
                    .map(|(bytes, each)| each * weight(bytes))
                    .sum()
            };
            sum(of) / sum(&|_| true)
        };
        let packets = |of: &dyn Fn(u16) -> bool| share(of, &|_| 1.0);
        let bytes = |of: &dyn Fn(u16) -> bool| share(of, &f64::from);
        assert!((0.49..0.50).contains(&packets(&|size| size < 128)));
        assert!((packets(&|size| size < 64) - 0.446).abs() < 1e-9);
        assert!((0.215..0.22).contains(&packets(&|size| size == 1500)));
        assert!(bytes(&|size| size < 128) < 0.06);
        assert!(bytes(&|size| size == 1500) > 0.75);
    }

    #[test]
    fn models_read_as_they_are_written() {
        for text in [
            "fixed:28",
            "fixed:65521",
            "frame:64",
            "frame:65535",
            "imix",
            "internet",
        ] {
            let model: SizeModel = text.parse().expect(text);
            assert_eq!(model.to_string(), text);
        }
        for text in ["fixed:27", "fixed:65522", "frame:63"] {
            let error = text.parse::<SizeModel>().expect_err(text);
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("sizes {text} are not between"))
            );
        }
        for text in [
            "",
            "fixed",
            "fixed:",
            "fixed:-1",
            "fixed:65536",
            "imix:2",
            "tiny",
        ] {
            let error = text.parse::<SizeModel>().expect_err(text);
            assert_eq!(error, SizeModelError::Unknown(text.to_owned()));
        }
    }
}
