//! The shape of the file.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;
use weir_secret::Secret;

/// Partitions and queue pairs of InfiniBand and RoCEv2, and their secrets.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Queue pairs whose packets may be plain in every partition, as 0 and 1 for management.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "queue_pairs"))]
    pub plain_queue_pairs: Vec<Spanned<u32>>,
    /// Failed tags under a key of a 32-bit mode until the mode is refused. Default: 16.
    #[cfg_attr(test, schemars(with = "Option<u32>", range(min = 1)))]
    pub failed_tags: Option<Spanned<u32>>,
    /// Failed tags of a queue pair in a row that raise an alarm. Default: 4.
    #[cfg_attr(test, schemars(with = "Option<u32>", range(min = 1)))]
    pub consecutive_failures: Option<Spanned<u32>>,
    /// What becomes of packets that are neither InfiniBand nor RoCEv2. `allow` lets ARP and whatever else
    /// pass. Default: `drop`.
    #[serde(default)]
    pub other_packets: OtherWord,
    /// Partitions.
    #[serde(default)]
    pub partition: Vec<PartitionEntry>,
    /// Queue pairs.
    #[serde(default)]
    pub queue_pair: Vec<QueuePairEntry>,
}

/// A partition.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PartitionEntry {
    /// Its name in reports.
    #[cfg_attr(test, schemars(with = "String"))]
    pub name: Spanned<String>,
    /// Its P_Key; the membership bit (0x8000) does not count.
    #[cfg_attr(test, schemars(with = "u16"))]
    pub partition_key: Spanned<u16>,
    /// Whether packets must be protected (`require`), or may be plain (`allow`). Default: `require`.
    #[serde(default)]
    pub mode: ModeWord,
    /// Secret of 16 to 64 bytes in hex, for queue pairs without one of their own.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub secret: Option<Spanned<Secret>>,
    /// A file that contains `secret`, relative to this one.
    #[cfg_attr(test, schemars(with = "Option<PathBuf>"))]
    pub secret_file: Option<Spanned<PathBuf>>,
    /// An open file descriptor to read `secret` from.
    #[cfg_attr(test, schemars(with = "Option<u32>"))]
    pub secret_fd: Option<Spanned<u32>>,
    /// Keys for queue pairs that are not listed.
    #[cfg_attr(test, schemars(with = "Option<UnlistedEntry>"))]
    pub unlisted: Option<Spanned<UnlistedEntry>>,
}

/// Queue pairs of a partition that are not listed. Each gets keys of its own from the secret of the
/// partition when its first packet appears.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UnlistedEntry {
    /// 16 bytes in hex that all nodes of the partition have. Never used twice under a secret.
    #[cfg_attr(test, schemars(with = "String"))]
    pub session_random: Spanned<String>,
    /// The most of them, over all partitions; one more makes another give way. Default: 4096.
    #[cfg_attr(
        test,
        schemars(with = "Option<usize>", range(min = 512, max = 0x10_0000))
    )]
    pub flows: Option<Spanned<usize>>,
    /// As for a queue pair. Default: `fallback`.
    #[serde(default)]
    pub extended: ExtendedWord,
    /// As for a queue pair. Default: 256.
    #[cfg_attr(test, schemars(with = "Option<usize>", range(min = 1, max = 0x1_0000)))]
    pub window: Option<Spanned<usize>>,
}

/// The time in packets with a GRH, against replays.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TimestampsEntry {
    /// How many bits of the seconds since 1970 a packet carries.
    #[cfg_attr(test, schemars(range(min = 8, max = 38)))]
    pub bits: u32,
    /// How far a timestamp may be from the receiver's clock, in seconds; less than a quarter of what
    /// the bits count.
    pub tolerance_s: u32,
}

/// Two queue pairs that exchange packets, one of them here.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QueuePairEntry {
    /// Its name in reports.
    #[cfg_attr(test, schemars(with = "String"))]
    pub name: Spanned<String>,
    /// Name of its partition.
    #[cfg_attr(test, schemars(with = "String"))]
    pub partition: Spanned<String>,
    /// Transport service: reliable or unreliable connection (`rc`, `uc`), reliable or unreliable datagram
    /// (`rd`, `ud`).
    pub transport: TransportWord,
    /// The one here.
    pub local: EndEntry,
    /// The other one.
    pub remote: EndEntry,
    /// 16 bytes in hex that both sides drew for this set-up. Never used twice under a secret.
    #[cfg_attr(test, schemars(with = "String"))]
    pub session_random: Spanned<String>,
    /// Secret of 16 to 64 bytes in hex. Default: that of the partition.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub secret: Option<Spanned<Secret>>,
    /// A file that contains `secret`, relative to this one.
    #[cfg_attr(test, schemars(with = "Option<PathBuf>"))]
    pub secret_file: Option<Spanned<PathBuf>>,
    /// An open file descriptor to read `secret` from.
    #[cfg_attr(test, schemars(with = "Option<u32>"))]
    pub secret_fd: Option<Spanned<u32>>,
    /// Secret of what is sent alone; `receive_secret` is needed too.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub send_secret: Option<Spanned<Secret>>,
    /// A file that contains `send_secret`, relative to this one.
    #[cfg_attr(test, schemars(with = "Option<PathBuf>"))]
    pub send_secret_file: Option<Spanned<PathBuf>>,
    /// An open file descriptor to read `send_secret` from.
    #[cfg_attr(test, schemars(with = "Option<u32>"))]
    pub send_secret_fd: Option<Spanned<u32>>,
    /// Secret of what is received alone; `send_secret` is needed too.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub receive_secret: Option<Spanned<Secret>>,
    /// A file that contains `receive_secret`, relative to this one.
    #[cfg_attr(test, schemars(with = "Option<PathBuf>"))]
    pub receive_secret_file: Option<Spanned<PathBuf>>,
    /// An open file descriptor to read `receive_secret` from.
    #[cfg_attr(test, schemars(with = "Option<u32>"))]
    pub receive_secret_fd: Option<Spanned<u32>>,
    /// Which directions are protected and verified here. Default: `both`.
    #[serde(default)]
    pub role: RoleWord,
    /// When packets are 20 bytes longer, with a number and a tag of their own: not at all, where their packet
    /// number was used for another packet, or always. Default: `fallback`.
    #[serde(default)]
    pub extended: ExtendedWord,
    /// How many of the latest packet numbers are remembered. Default: 1024.
    #[cfg_attr(test, schemars(with = "Option<usize>", range(min = 1, max = 0x1_0000)))]
    pub window: Option<Spanned<usize>>,
    /// Whether packets carry the time. Default: they do not.
    #[cfg_attr(test, schemars(with = "Option<TimestampsEntry>"))]
    pub timestamps: Option<Spanned<TimestampsEntry>>,
}

/// A queue pair at a port.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EndEntry {
    /// An IPv4 address or GID in quotes, or a LID as a number.
    #[cfg_attr(test, schemars(with = "AddressEntry"))]
    pub address: Spanned<AddressEntry>,
    /// Its number, of 24 bits.
    #[cfg_attr(test, schemars(schema_with = "queue_pair"))]
    pub queue_pair: Spanned<u32>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "must be an IPv4 address or a GID in quotes, or a LID as a number"
)]
pub enum AddressEntry {
    Lid(#[cfg_attr(test, schemars(range(min = 1, max = 0xffff)))] u64),
    Ip(IpAddr),
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OtherWord {
    #[default]
    Drop,
    Allow,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ModeWord {
    #[default]
    Require,
    Allow,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TransportWord {
    Rc,
    Uc,
    Rd,
    Ud,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RoleWord {
    #[default]
    Both,
    Send,
    Receive,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExtendedWord {
    Never,
    #[default]
    Fallback,
    Always,
}

/// A number of 24 bits.
#[cfg(test)]
fn queue_pair(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "integer", "minimum": 0, "maximum": 0xff_ffff })
}

#[cfg(test)]
fn queue_pairs(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "array", "items": queue_pair(generator) })
}

#[cfg(test)]
mod tests {
    use weir_reference::Reference;

    use super::*;

    #[test]
    fn references_describe_the_fabric_file() {
        Reference::of::<Document>("Fabric file of Weir")
            .with::<PartitionEntry>()
            .with::<UnlistedEntry>()
            .with::<QueuePairEntry>()
            .with::<EndEntry>()
            .with::<TimestampsEntry>()
            .assert_documented("fabric-file");
    }
}
