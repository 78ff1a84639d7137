//! What the parts of the file mean together.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use toml::Spanned;
use weir_secret::bytes_of_hex;

use super::shape::{
    AddressEntry, Document, EndEntry, ExtendedWord, ModeWord, OtherWord, PartitionEntry,
    QueuePairEntry, RoleWord, TimestampsEntry, TransportWord, UnlistedEntry,
};
use super::{Direction, FabricFile, OtherPackets, Partition, QueuePair, ReadSecret};
use crate::config_error::{Blame, ConfigError};
use crate::secure::derive::{Address, Endpoint, Secret, SessionRandom};
use crate::secure::flow::{ExtendedMode, Flow, Mode, PlainPolicy, Timestamps};
use crate::secure::receiver::TagLimits;
use crate::secure::unlisted::Unlisted;
use crate::wire::Transport;

/// A secret that the file may give in three ways.
struct Given<'a> {
    key: &'static str,
    text: &'a Option<Spanned<weir_secret::Secret>>,
    file: &'a Option<Spanned<PathBuf>>,
    descriptor: &'a Option<Spanned<u32>>,
}

impl ExtendedWord {
    fn mode(self) -> ExtendedMode {
        match self {
            ExtendedWord::Never => ExtendedMode::Never,
            ExtendedWord::Fallback => ExtendedMode::Fallback,
            ExtendedWord::Always => ExtendedMode::Always,
        }
    }
}

/// What is needed to say where something is wrong, and to read what the file names.
struct Reader<'a, 'r> {
    blame: Blame<'a>,
    read_secret: &'a mut ReadSecret<'r>,
}

pub(super) fn parse(
    path: &Path,
    text: &str,
    read_secret: &mut ReadSecret<'_>,
) -> Result<FabricFile, ConfigError> {
    let blame = Blame { path, text };
    let document: Document = toml::from_str(text).map_err(|error| blame.toml(&error))?;
    let mut reader = Reader { blame, read_secret };
    let mut policy = PlainPolicy::default();
    for queue_pair in &document.plain_queue_pairs {
        policy.exempt(reader.number_of_24_bits("plain_queue_pairs", queue_pair)?);
    }
    let (partitions, secrets) = reader.partitions(&document.partition, &mut policy)?;
    let queue_pairs = reader.queue_pairs(&document.queue_pair, &partitions, &secrets)?;
    Ok(FabricFile {
        secret_files: Vec::new(),
        partitions,
        queue_pairs,
        policy,
        limits: reader.limits(&document)?,
        other_packets: match document.other_packets {
            OtherWord::Drop => OtherPackets::Drop,
            OtherWord::Allow => OtherPackets::Allow,
        },
    })
}

impl Reader<'_, '_> {
    fn limits(&self, document: &Document) -> Result<TagLimits, ConfigError> {
        let TagLimits {
            failed,
            consecutive,
        } = TagLimits::default();
        let limit = |key: &str, given: &Option<Spanned<u32>>, default| match given {
            None => Ok(default),
            Some(given) if *given.get_ref() > 0 => Ok(*given.get_ref()),
            Some(given) => Err(self
                .blame
                .at(given.span(), format!("{key}: must be at least 1"))),
        };
        Ok(TagLimits {
            failed: limit("failed_tags", &document.failed_tags, failed)?,
            consecutive: limit(
                "consecutive_failures",
                &document.consecutive_failures,
                consecutive,
            )?,
        })
    }

    fn partitions(
        &mut self,
        entries: &[PartitionEntry],
        policy: &mut PlainPolicy,
    ) -> Result<(Vec<Partition>, HashMap<String, Secret>), ConfigError> {
        let mut partitions: Vec<Partition> = Vec::new();
        let mut secrets = HashMap::new();
        for entry in entries {
            let name = self.name(&entry.name, partitions.iter().map(|one| &*one.name))?;
            let partition_key = *entry.partition_key.get_ref();
            let is_like = |other: &&Partition| (other.partition_key ^ partition_key) & 0x7fff == 0;
            if let Some(other) = partitions.iter().find(is_like) {
                let message = format!("partition_key: partition {:?} has it", other.name);
                return Err(self.blame.at(entry.partition_key.span(), message));
            }
            if partition_key & 0x7fff == 0 {
                let message = "partition_key: 0 is no partition";
                return Err(self.blame.at(entry.partition_key.span(), message));
            }
            let mode = match entry.mode {
                ModeWord::Require => Mode::Require,
                ModeWord::Allow => Mode::Allow,
            };
            policy.set_mode(partition_key, mode);
            let given = Given {
                key: "secret",
                text: &entry.secret,
                file: &entry.secret_file,
                descriptor: &entry.secret_fd,
            };
            let secret = self.secret(&given)?;
            let unlisted = match &entry.unlisted {
                None => None,
                Some(unlisted) => Some(self.unlisted(unlisted, partition_key, secret.as_ref())?),
            };
            if let Some(secret) = secret {
                secrets.insert(name.clone(), secret);
            }
            partitions.push(Partition {
                name,
                partition_key,
                mode,
                unlisted,
            });
        }
        Ok((partitions, secrets))
    }

    fn unlisted(
        &self,
        entry: &Spanned<UnlistedEntry>,
        partition_key: u16,
        secret: Option<&Secret>,
    ) -> Result<Unlisted, ConfigError> {
        let wrong = |message: String| self.blame.at(entry.span(), format!("unlisted: {message}"));
        let secret = secret.ok_or_else(|| wrong("the partition has no secret".to_owned()))?;
        let UnlistedEntry {
            session_random,
            flows,
            extended,
            window,
        } = entry.get_ref();
        let mut unlisted = Unlisted::new(partition_key, secret, self.random(session_random)?);
        unlisted.extended = extended.mode();
        if let Some(flows) = flows {
            unlisted.flows_max = *flows.get_ref();
        }
        if let Some(window) = window {
            unlisted.window_packets = *window.get_ref();
        }
        unlisted.check().map_err(|error| wrong(error.to_string()))?;
        Ok(unlisted)
    }

    fn queue_pairs(
        &mut self,
        entries: &[QueuePairEntry],
        partitions: &[Partition],
        secrets: &HashMap<String, Secret>,
    ) -> Result<Vec<QueuePair>, ConfigError> {
        let mut queue_pairs: Vec<QueuePair> = Vec::new();
        // A queue pair of a datagram service has several others.
        let mut seen = HashSet::new();
        let mut ends = HashSet::new();
        for entry in entries {
            let name = self.name(&entry.name, queue_pairs.iter().map(|one| &*one.name))?;
            let partition = partitions
                .iter()
                .find(|one| one.name == *entry.partition.get_ref());
            let Some(partition) = partition else {
                let message = format!("partition: there is no {:?}", entry.partition.get_ref());
                return Err(self.blame.at(entry.partition.span(), message));
            };
            let local = self.end("local", &entry.local)?;
            let remote = self.end("remote", &entry.remote)?;
            let kind = |end: Endpoint| std::mem::discriminant(&end.address);
            if kind(local) != kind(remote) {
                let message = "remote: another kind of address than that of `local`";
                return Err(self.blame.at(entry.remote.address.span(), message));
            }
            if local == remote {
                let message = "remote: the same as `local`";
                return Err(self.blame.at(entry.remote.queue_pair.span(), message));
            }
            let named = match entry.transport {
                TransportWord::Ud => Some(remote.queue_pair),
                _ => None,
            };
            let is_taken = !seen.insert((local, remote.address, named));
            if is_taken || !ends.insert((local, remote)) {
                let message = "local: another queue_pair has this one and the address of `remote`";
                return Err(self.blame.at(entry.local.queue_pair.span(), message));
            }
            let [sending, receiving] = self.secrets(entry, secrets.get(&partition.name))?;
            let random = self.random(&entry.session_random)?;
            let outbound = self.flow(entry, partition, local, remote)?;
            let inbound = Flow {
                sender: remote,
                receiver: local,
                ..outbound
            };
            let direction = |role, flow, secret| {
                (entry.role != role).then(|| Direction::new(flow, secret, random))
            };
            queue_pairs.push(QueuePair {
                name,
                outbound: direction(RoleWord::Receive, outbound, sending),
                inbound: direction(RoleWord::Send, inbound, receiving),
            });
        }
        Ok(queue_pairs)
    }

    fn flow(
        &self,
        entry: &QueuePairEntry,
        partition: &Partition,
        sender: Endpoint,
        receiver: Endpoint,
    ) -> Result<Flow, ConfigError> {
        let transport = match entry.transport {
            TransportWord::Rc => Transport::Rc,
            TransportWord::Uc => Transport::Uc,
            TransportWord::Rd => Transport::Rd,
            TransportWord::Ud => Transport::Ud,
        };
        let mut flow = Flow {
            extended: entry.extended.mode(),
            ..Flow::new(sender, receiver, transport, partition.partition_key)
        };
        if let Some(window) = &entry.window {
            flow.window_packets = *window.get_ref();
            let checked = flow.check();
            checked.map_err(|error| self.blame.at(window.span(), format!("window: {error}")))?;
        }
        if let Some(timestamps) = &entry.timestamps {
            let &TimestampsEntry { bits, tolerance_s } = timestamps.get_ref();
            flow.timestamps = Some(Timestamps {
                bits,
                tolerance_seconds: tolerance_s,
            });
            let wrong = |error| {
                let message = format!("timestamps: {error}");
                self.blame.at(timestamps.span(), message)
            };
            for (sender, receiver) in [(sender, receiver), (receiver, sender)] {
                let flow = Flow {
                    sender,
                    receiver,
                    ..flow
                };
                flow.check().map_err(wrong)?;
            }
        }
        Ok(flow)
    }

    /// The secrets of what is sent and of what is received.
    fn secrets(
        &mut self,
        entry: &QueuePairEntry,
        of_partition: Option<&Secret>,
    ) -> Result<[Secret; 2], ConfigError> {
        let both = self.secret(&Given {
            key: "secret",
            text: &entry.secret,
            file: &entry.secret_file,
            descriptor: &entry.secret_fd,
        })?;
        let own = [
            Given {
                key: "send_secret",
                text: &entry.send_secret,
                file: &entry.send_secret_file,
                descriptor: &entry.send_secret_fd,
            },
            Given {
                key: "receive_secret",
                text: &entry.receive_secret,
                file: &entry.receive_secret_file,
                descriptor: &entry.receive_secret_fd,
            },
        ];
        let [sending, receiving] = own.map(|given| self.secret(&given));
        let name = entry.name.span();
        match (both, sending?, receiving?) {
            (None, Some(sending), Some(receiving)) => Ok([sending, receiving]),
            (Some(both), None, None) => Ok([both.clone(), both]),
            (None, None, None) => {
                let secret = of_partition.ok_or_else(|| {
                    let message = "secret: missing, and the partition has none";
                    self.blame.at(name, message)
                })?;
                Ok([secret.clone(), secret.clone()])
            }
            (Some(_), _, _) => {
                let message = "secret: give it, or send_secret and receive_secret";
                Err(self.blame.at(name, message))
            }
            (None, _, _) => {
                let message = "send_secret, receive_secret: give both";
                Err(self.blame.at(name, message))
            }
        }
    }

    fn secret(&mut self, given: &Given<'_>) -> Result<Option<Secret>, ConfigError> {
        let key = given.key;
        let spans = [
            given.text.as_ref().map(Spanned::span),
            given.file.as_ref().map(Spanned::span),
            given.descriptor.as_ref().map(Spanned::span),
        ];
        let mut spans = spans.into_iter().flatten();
        let Some(span) = spans.next() else {
            return Ok(None);
        };
        if let Some(second) = spans.next() {
            let message = format!("give only one of {key}, {key}_file and {key}_fd");
            return Err(self.blame.at(second, message));
        }
        let (suffix, named) = match (given.file, given.descriptor) {
            (Some(file), _) => ("_file", Some(file.get_ref().clone())),
            (None, Some(number)) => {
                let path = format!("/dev/fd/{}", number.get_ref());
                ("_fd", Some(PathBuf::from(path)))
            }
            (None, None) => ("", None),
        };
        let read = match (given.text, named) {
            (Some(text), _) => text.get_ref().bytes(),
            (None, named) => {
                let read = (self.read_secret)(&named.unwrap_or_default());
                let secret = read.map_err(|error| {
                    self.blame
                        .at(span.clone(), format!("{key}{suffix}: {error}"))
                })?;
                secret.bytes()
            }
        };
        let secret = read
            .map_err(str::to_owned)
            .and_then(|bytes| Secret::new(bytes).map_err(|error| error.to_string()));
        match secret {
            Ok(secret) => Ok(Some(secret)),
            Err(error) => Err(self.blame.at(span, format!("{key}: {error}"))),
        }
    }

    fn random(&self, given: &Spanned<String>) -> Result<SessionRandom, ConfigError> {
        let wrong = |error: String| {
            let message = format!("session_random: {error}");
            self.blame.at(given.span(), message)
        };
        let bytes = bytes_of_hex(given.get_ref()).map_err(|error| wrong(error.to_owned()))?;
        match <[u8; 16]>::try_from(&bytes[..]) {
            Ok(bytes) => Ok(SessionRandom(bytes)),
            Err(_) => Err(wrong(format!("has {} bytes, 16 are needed", bytes.len()))),
        }
    }

    fn end(&self, key: &str, entry: &EndEntry) -> Result<Endpoint, ConfigError> {
        let address = match entry.address.get_ref() {
            AddressEntry::Ip(address) => Address::from(*address),
            AddressEntry::Lid(lid) => match u16::try_from(*lid) {
                Ok(lid) if lid > 0 => Address::Lid(lid),
                _ => {
                    let message = format!("{key}.address: a LID is 1 to 65535");
                    return Err(self.blame.at(entry.address.span(), message));
                }
            },
        };
        Ok(Endpoint {
            address,
            queue_pair: self.number_of_24_bits(key, &entry.queue_pair)?,
        })
    }

    fn number_of_24_bits(&self, key: &str, given: &Spanned<u32>) -> Result<u32, ConfigError> {
        match *given.get_ref() {
            number if number >> 24 == 0 => Ok(number),
            number => {
                let message = format!("{key}: queue pair {number} has more than 24 bits");
                Err(self.blame.at(given.span(), message))
            }
        }
    }

    fn name<'n>(
        &self,
        given: &Spanned<String>,
        mut others: impl Iterator<Item = &'n str>,
    ) -> Result<String, ConfigError> {
        let name = given.get_ref();
        match () {
            () if name.is_empty() => Err(self.blame.at(given.span(), "name: is empty")),
            () if others.any(|other| other == name) => Err(self
                .blame
                .at(given.span(), format!("name: {name:?} is given twice"))),
            () => Ok(name.clone()),
        }
    }
}
