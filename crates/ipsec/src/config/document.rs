//! The shape of an SA file. Every field that a later check may refuse keeps
//! its place in the text.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use toml::Spanned;
use weir_select::{AddressSet, PortSet, ProtocolSet};

use super::secret::Secret;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    #[serde(default)]
    pub default: UnmatchedWord,
    #[serde(default = "yes")]
    pub inbound_policy: bool,
    #[serde(default)]
    pub allow: Vec<Spanned<ProtocolWord>>,
    #[serde(default)]
    pub insecure_example: bool,
    #[serde(default)]
    pub allow_legacy: bool,
    #[serde(default)]
    pub legacy_encrypt: bool,
    #[serde(default)]
    pub allow_private_use: bool,
    #[serde(default)]
    pub sa: Vec<Spanned<AssociationEntry>>,
    #[serde(default)]
    pub policy: Vec<Spanned<PolicyEntry>>,
}

impl Document {
    /// The key files that it names; relative paths start beside the file at
    /// `path`.
    pub fn key_files(&self, path: &Path) -> Vec<PathBuf> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let entries = self.sa.iter().map(Spanned::get_ref);
        entries
            .flat_map(|entry| [&entry.key_file, &entry.integrity_key_file])
            .flatten()
            .map(|file| folder.join(file.get_ref()))
            .collect()
    }
}

fn yes() -> bool {
    true
}

/// The name of a protocol, or its number.
#[derive(Debug)]
pub(super) enum ProtocolWord {
    Name(String),
    Number(u64),
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum UnmatchedWord {
    #[default]
    Discard,
    Bypass,
}

/// `[[sa]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AssociationEntry {
    pub name: Spanned<String>,
    pub spi: Spanned<u32>,
    pub direction: Option<SaDirectionWord>,
    pub suite: Spanned<String>,
    pub key: Option<Spanned<Secret>>,
    pub key_file: Option<Spanned<PathBuf>>,
    pub key_fd: Option<Spanned<u32>>,
    pub integrity_key: Option<Spanned<Secret>>,
    pub integrity_key_file: Option<Spanned<PathBuf>>,
    pub integrity_key_fd: Option<Spanned<u32>>,
    pub mode: Spanned<ModeWord>,
    pub tunnel: Option<Spanned<TunnelEntry>>,
    #[serde(default)]
    pub esn: bool,
    pub window: Option<Spanned<u32>>,
    pub expected_sequence: Option<Spanned<u64>>,
    pub replay_state: Option<ReplayStateWord>,
    pub nat_t: Option<Spanned<NatTEntry>>,
    #[serde(default)]
    pub decrement_ttl: bool,
    pub mtu: Option<Spanned<u32>>,
    pub soft_lifetime: Option<Spanned<QuotaEntry>>,
    pub hard_lifetime: Option<Spanned<QuotaEntry>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SaDirectionWord {
    Outbound,
    Inbound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ModeWord {
    Tunnel,
    Transport,
}

/// What becomes of a window when a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReplayStateWord {
    Keep,
    Forget,
}

/// `tunnel = { … }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TunnelEntry {
    pub source: IpAddr,
    pub destination: Spanned<IpAddr>,
    pub ttl: Option<Spanned<u8>>,
    pub dscp: Option<Spanned<CopyOrNumber>>,
    #[serde(default)]
    pub df: DontFragmentWord,
    pub flow_label: Option<Spanned<CopyOrNumber>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DontFragmentWord {
    #[default]
    Copy,
    Set,
    Clear,
}

/// `"copy"` or a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum CopyOrNumber {
    Copy,
    Number(u32),
}

/// `true`, `false` or `{ source_port = …, destination_port = … }`.
#[derive(Clone, Copy, Debug)]
pub(super) enum NatTEntry {
    Off,
    On(NatTPorts),
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NatTPorts {
    pub source_port: Option<u16>,
    pub destination_port: Option<u16>,
}

/// `{ bytes = …, packets = … }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuotaEntry {
    pub bytes: Option<u64>,
    pub packets: Option<u64>,
}

/// `[[policy]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyEntry {
    #[serde(default)]
    pub source: AddressSet,
    #[serde(default)]
    pub destination: AddressSet,
    #[serde(default)]
    pub protocol: ProtocolSet,
    #[serde(default)]
    pub source_port: PortSet,
    #[serde(default)]
    pub destination_port: PortSet,
    pub direction: Option<Spanned<DirectionWord>>,
    pub action: Spanned<ActionWord>,
    pub sa: Option<Spanned<Names>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DirectionWord {
    Outbound,
    Inbound,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ActionWord {
    Protect,
    Bypass,
    Discard,
}

/// One name or a list of them.
#[derive(Debug)]
pub(super) struct Names(pub Vec<Spanned<String>>);

impl<'de> Deserialize<'de> for ProtocolWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ProtocolWord, D::Error> {
        struct Word;
        impl Visitor<'_> for Word {
            type Value = ProtocolWord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a protocol or an EtherType")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<ProtocolWord, E> {
                Ok(ProtocolWord::Name(word.to_owned()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ProtocolWord, E> {
                Ok(ProtocolWord::Number(number))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ProtocolWord, E> {
                u64::try_from(number)
                    .map(ProtocolWord::Number)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
        }
        deserializer.deserialize_any(Word)
    }
}

impl<'de> Deserialize<'de> for CopyOrNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CopyOrNumber, D::Error> {
        struct Word;
        impl Visitor<'_> for Word {
            type Value = CopyOrNumber;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"copy\" or a number")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<CopyOrNumber, E> {
                match word {
                    "copy" => Ok(CopyOrNumber::Copy),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<CopyOrNumber, E> {
                u32::try_from(number)
                    .map(CopyOrNumber::Number)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<CopyOrNumber, E> {
                u32::try_from(number)
                    .map(CopyOrNumber::Number)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
        }
        deserializer.deserialize_any(Word)
    }
}

impl<'de> Deserialize<'de> for NatTEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NatTEntry, D::Error> {
        struct Word;
        impl<'de> Visitor<'de> for Word {
            type Value = NatTEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or { source_port = …, destination_port = … }")
            }

            fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<NatTEntry, E> {
                Ok(if is_on {
                    NatTEntry::On(NatTPorts::default())
                } else {
                    NatTEntry::Off
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NatTEntry, A::Error> {
                NatTPorts::deserialize(MapAccessDeserializer::new(map)).map(NatTEntry::On)
            }
        }
        deserializer.deserialize_any(Word)
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        struct Word;
        impl<'de> Visitor<'de> for Word {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of an association, or a list of names")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Names, E> {
                // Its place is that of the whole value.
                Ok(Names(vec![Spanned::new(0..0, name.to_owned())]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_any(Word)
    }
}
