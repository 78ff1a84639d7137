//! The shape of an SA file. Every field that a later check may refuse keeps
//! its place in the text.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use toml::Spanned;
use weir_secret::Secret;
use weir_select::{AddressSet, PortSet, ProtocolSet};

#[cfg(test)]
use super::{resolve::limits, schema};

/// Associations and policies of IPsec: what is protected, how, and with which keys.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// What happens to IP packets that match no policy.
    #[serde(default)]
    pub default: UnmatchedWord,
    /// Whether policies also apply to packets that arrive without protection: those that a policy
    /// would protect are dropped (`unprotected_inbound`).
    #[serde(default = "yes")]
    pub inbound_policy: bool,
    /// [Protocols other than IP](#packets-that-are-not-plain-ip) that may pass, by name or EtherType.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<ProtocolWord>"))]
    pub allow: Vec<Spanned<ProtocolWord>>,
    /// Declares the keys public: others may read the file, and `protect` starts with sequence
    /// number 1 each time, without a ledger.
    #[serde(default)]
    pub insecure_example: bool,
    /// Whether 3DES may be used, for decryption.
    #[serde(default)]
    pub allow_legacy: bool,
    /// Whether 3DES may encrypt too.
    #[serde(default)]
    pub legacy_encrypt: bool,
    /// Whether suites that no RFC specifies may be used: [docs/mac-suites.md](mac-suites.md).
    #[serde(default)]
    pub allow_private_use: bool,
    /// Associations: each protects one direction of traffic.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<AssociationEntry>"))]
    pub sa: Vec<Spanned<AssociationEntry>>,
    /// Policies: the first one that matches a packet decides.
    #[serde(default)]
    #[cfg_attr(test, schemars(with = "Vec<PolicyEntry>"))]
    pub policy: Vec<Spanned<PolicyEntry>>,
}

/// What is added to an SA file: associations, and policies that name them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fragment {
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
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum UnmatchedWord {
    #[default]
    Discard,
    Bypass,
}

/// An association.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct AssociationEntry {
    /// Its name in policies and reports.
    #[cfg_attr(test, schemars(with = "String", length(min = 1)))]
    pub name: Spanned<String>,
    /// Security parameters index. It must be unique per destination.
    #[cfg_attr(test, schemars(with = "u32", range(min = limits::LOWEST_SPI)))]
    pub spi: Spanned<u32>,
    /// `outbound`: this device seals with it; `inbound`: this device opens with it. Default: set by
    /// the command; `weir run` requires it.
    pub direction: Option<SaDirectionWord>,
    /// [Cipher and integrity](#suites).
    #[cfg_attr(test, schemars(schema_with = "schema::suites"))]
    pub suite: Spanned<String>,
    /// The cipher's key in hex, followed by the salt where the suite has one. Required as the suite
    /// needs.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub key: Option<Spanned<Secret>>,
    /// A file that contains `key`, relative to the SA file.
    #[cfg_attr(test, schemars(with = "Option<PathBuf>"))]
    pub key_file: Option<Spanned<PathBuf>>,
    /// An open file descriptor to read `key` from.
    #[cfg_attr(test, schemars(with = "Option<u32>"))]
    pub key_fd: Option<Spanned<u32>>,
    /// The MAC's key in hex. Required as the suite needs.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub integrity_key: Option<Spanned<Secret>>,
    /// A file that contains `integrity_key`, relative to the SA file.
    #[cfg_attr(test, schemars(with = "Option<PathBuf>"))]
    pub integrity_key_file: Option<Spanned<PathBuf>>,
    /// An open file descriptor to read `integrity_key` from.
    #[cfg_attr(test, schemars(with = "Option<u32>"))]
    pub integrity_key_fd: Option<Spanned<u32>>,
    /// Whether whole packets are encapsulated, or their IP headers stay.
    #[cfg_attr(test, schemars(with = "ModeWord"))]
    pub mode: Spanned<ModeWord>,
    /// [The outer header](#tunnel). Required in tunnel mode.
    #[cfg_attr(test, schemars(with = "Option<TunnelEntry>"))]
    pub tunnel: Option<Spanned<TunnelEntry>>,
    /// [Extended (64-bit) sequence numbers](#extended-sequence-numbers).
    #[serde(default)]
    pub esn: bool,
    /// Anti-replay window of the receiver, in packets.
    #[cfg_attr(test, schemars(
        with = "Option<u32>",
        range(min = *crate::replay::ReplayWindow::SIZES.start(), max = *crate::replay::ReplayWindow::SIZES.end()),
        extend("default" = limits::DEFAULT_WINDOW),
    ))]
    pub window: Option<Spanned<u32>>,
    /// The next sequence number. A sender may raise the number in the ledger with it; a lower one
    /// is refused. A receiver drops lower numbers (`replay`), and with `esn` starts with the right
    /// high half. Default: 1, or what the ledger has.
    #[cfg_attr(test, schemars(with = "Option<u64>", range(min = 1)))]
    pub expected_sequence: Option<Spanned<u64>>,
    /// `keep`: the window survives a restart; `forget`: each run starts with an empty window.
    /// Receivers only. Default: `keep` for live ports, `forget` for capture files.
    pub replay_state: Option<ReplayStateWord>,
    /// `true` for ESP in UDP port 4500 (RFC 3948), or a table with other ports.
    #[cfg_attr(test, schemars(with = "Option<NatTEntry>", extend("default" = false)))]
    pub nat_t: Option<Spanned<NatTEntry>>,
    /// Whether both ends of a tunnel decrement the inner TTL, as routers do.
    #[serde(default)]
    pub decrement_ttl: bool,
    /// Longest protected packet in bytes; longer ones are dropped (`too_long`, `fragmentation_needed`).
    #[cfg_attr(test, schemars(with = "Option<u32>", range(min = limits::LOWEST_MTU_BYTES)))]
    pub mtu: Option<Spanned<u32>>,
    /// A lifetime, by bytes, packets or both; exceeding it is reported once.
    #[cfg_attr(test, schemars(with = "Option<QuotaEntry>"))]
    pub soft_lifetime: Option<Spanned<QuotaEntry>>,
    /// A lifetime; packets beyond it are dropped (`lifetime_expired`), at either end. Default: the suite's limit.
    #[cfg_attr(test, schemars(with = "Option<QuotaEntry>"))]
    pub hard_lifetime: Option<Spanned<QuotaEntry>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum SaDirectionWord {
    Outbound,
    Inbound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum ModeWord {
    Tunnel,
    Transport,
}

/// What becomes of a window when a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReplayStateWord {
    Keep,
    Forget,
}

/// `tunnel = { … }`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct TunnelEntry {
    /// Outer source, of the same IP version as `destination`; the inner packet may have the other.
    pub source: IpAddr,
    /// Outer destination.
    #[cfg_attr(test, schemars(with = "IpAddr"))]
    pub destination: Spanned<IpAddr>,
    /// Outer TTL or hop limit.
    #[cfg_attr(test, schemars(
        with = "Option<u8>",
        range(min = 1),
        extend("default" = crate::outer::Tunnel::DEFAULT_TTL),
    ))]
    pub ttl: Option<Spanned<u8>>,
    /// DSCP of the outer header: `copy` from the inner packet, or a number.
    #[cfg_attr(test, schemars(with = "Option<schema::CopyOr<63>>", extend("default" = "copy")))]
    pub dscp: Option<Spanned<CopyOrNumber>>,
    /// DF of an outer IPv4 header. IPv6 inside counts as set.
    #[serde(default)]
    pub df: DontFragmentWord,
    /// Flow label of an outer IPv6 header: `copy` (0 for IPv4 inside) or a number.
    #[cfg_attr(test, schemars(with = "Option<schema::CopyOr<0xf_ffff>>", extend("default" = "copy")))]
    pub flow_label: Option<Spanned<CopyOrNumber>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize, schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct NatTPorts {
    /// UDP port of the sender.
    #[cfg_attr(test, schemars(range(min = 1), extend("default" = crate::nat_t::UdpPorts::default().source)))]
    pub source_port: Option<u16>,
    /// UDP port of the receiver.
    #[cfg_attr(test, schemars(range(min = 1), extend("default" = crate::nat_t::UdpPorts::default().destination)))]
    pub destination_port: Option<u16>,
}

/// `{ bytes = …, packets = … }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minProperties" = 1)))]
#[serde(deny_unknown_fields)]
pub(super) struct QuotaEntry {
    /// Bytes that the cipher or MAC is applied to.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub bytes: Option<u64>,
    /// Packets.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub packets: Option<u64>,
}

/// A policy.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyEntry {
    /// Source addresses: addresses, prefixes and ranges, also in lists with exclusions:
    /// `["10.0.0.0/8", "!10.1.0.0/16", "fd00::/8"]`. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "weir_reference::shapes::addresses"))]
    pub source: AddressSet,
    /// Destination addresses, written like `source`. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "weir_reference::shapes::addresses"))]
    pub destination: AddressSet,
    /// Names or numbers of protocols. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "weir_reference::shapes::protocols"))]
    pub protocol: ProtocolSet,
    /// Source ports and ranges. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "weir_reference::shapes::ports"))]
    pub source_port: PortSet,
    /// Destination ports and ranges. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "weir_reference::shapes::ports"))]
    pub destination_port: PortSet,
    /// `outbound`: packets before they are protected; `inbound`: packets that came in; or `both`.
    /// Default: the direction of its associations; `both` where they have none.
    #[cfg_attr(test, schemars(with = "Option<DirectionWord>"))]
    pub direction: Option<Spanned<DirectionWord>>,
    /// What happens to packets that match.
    #[cfg_attr(test, schemars(with = "ActionWord"))]
    pub action: Spanned<ActionWord>,
    /// Name of the association that protects, or a list of several, between which flows are
    /// distributed (RFC 9611). Required with `protect`.
    #[cfg_attr(test, schemars(with = "Option<Names>"))]
    pub sa: Option<Spanned<Names>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(super) enum DirectionWord {
    Outbound,
    Inbound,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
