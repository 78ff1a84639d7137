//! From the shape of an SA file to its meaning.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use weir_crypto::{KeyMaterial, Suite};
use weir_select::Selector;
use zeroize::Zeroizing;

use super::document::{
    ActionWord, AssociationEntry, CopyOrNumber, DirectionWord, Document, DontFragmentWord,
    ModeWord, NatTEntry, PolicyEntry, QuotaEntry, TunnelEntry, UnmatchedWord,
};
use super::error::Blame;
use super::secret::{Secret, SecretBytes};
use super::{ConfigError, LoadOptions, Secrets};
use crate::lifetime::{Lifetime, Quota};
use crate::nat_t::UdpPorts;
use crate::outer::{DontFragment, Dscp, Ends, FlowLabel, Tunnel};
use crate::policy::{Action, Direction, Policy, Unmatched};
use crate::replay::ReplayWindow;
use crate::sa::{Mode, Parameters};

/// RFC 4303, section 2.1: 0 is for local use, 1 to 255 are reserved.
const LOWEST_SPI: u32 = 256;

/// RFC 791: every link carries packets of 68 bytes.
const LOWEST_MTU_BYTES: u32 = 68;

/// RFC 4303, section 3.4.3, recommends it.
const DEFAULT_WINDOW: u32 = 64;

/// A file whose parts make sense together.
pub(super) struct Resolved {
    pub associations: Vec<Arc<Parameters>>,
    pub secrets: Vec<Secrets>,
    pub policies: Vec<Policy>,
    pub unmatched: Unmatched,
    pub inbound_policy: bool,
    pub warnings: Vec<String>,
}

/// Reads meaning into a document. `files` is `None` where the text stands for
/// itself and may not name files.
pub(super) fn resolve(
    document: Document,
    blame: Blame<'_>,
    files: Option<LoadOptions>,
) -> Result<Resolved, ConfigError> {
    let mut resolver = Resolver {
        blame,
        files,
        allow_legacy: document.allow_legacy,
        allow_private_use: document.allow_private_use,
        associations: Vec::new(),
        secrets: Vec::new(),
        by_name: HashMap::new(),
        by_spi: HashMap::new(),
        warnings: Vec::new(),
    };
    for entry in document.sa {
        resolver.association(entry)?;
    }
    let policies = resolver.policies(document.policy)?;
    Ok(Resolved {
        associations: resolver.associations,
        secrets: resolver.secrets,
        policies,
        unmatched: match document.default {
            UnmatchedWord::Discard => Unmatched::Discard,
            UnmatchedWord::Bypass => Unmatched::Bypass,
        },
        inbound_policy: document.inbound_policy,
        warnings: resolver.warnings,
    })
}

struct Resolver<'a> {
    blame: Blame<'a>,
    files: Option<LoadOptions>,
    allow_legacy: bool,
    allow_private_use: bool,
    associations: Vec<Arc<Parameters>>,
    secrets: Vec<Secrets>,
    by_name: HashMap<String, u32>,
    by_spi: HashMap<u32, Vec<u32>>,
    warnings: Vec<String>,
}

/// A place in the file, and what is wrong there.
type Blamed = (Range<usize>, String);

/// The three ways to give a key.
struct KeySource {
    /// As in `key`, `key_file`, `key_fd`.
    name: &'static str,
    inline: Option<Spanned<Secret>>,
    file: Option<Spanned<std::path::PathBuf>>,
    descriptor: Option<Spanned<u32>>,
}

impl Resolver<'_> {
    fn association(&mut self, entry: Spanned<AssociationEntry>) -> Result<(), ConfigError> {
        let whole = entry.span();
        let entry = entry.into_inner();
        let name = entry.name.get_ref().clone();
        let blame = self.blame;
        let blamed = |(span, message): Blamed| blame.at(span, format!("sa {name:?}: {message}"));
        self.check_name(&entry.name).map_err(blamed)?;
        let suite = self.suite(&name, &entry.suite).map_err(blamed)?;
        let parameters = Parameters {
            name: name.clone(),
            spi: spi(&entry.spi).map_err(blamed)?,
            suite,
            mode: mode(&entry.mode, entry.tunnel).map_err(blamed)?,
            esn: entry.esn,
            replay_window: window(entry.window).map_err(blamed)?,
            nat_t: udp_ports(entry.nat_t).map_err(blamed)?,
            decrement_ttl: entry.decrement_ttl,
            mtu_bytes: mtu(entry.mtu).map_err(blamed)?,
            lifetime: lifetime(entry.soft_lifetime, entry.hard_lifetime).map_err(blamed)?,
        };
        self.check_collision(&parameters, &entry.spi)
            .map_err(blamed)?;
        let key = KeySource {
            name: "key",
            inline: entry.key,
            file: entry.key_file,
            descriptor: entry.key_fd,
        };
        let integrity_key = KeySource {
            name: "integrity_key",
            inline: entry.integrity_key,
            file: entry.integrity_key_file,
            descriptor: entry.integrity_key_fd,
        };
        let secrets = self
            .secrets(suite, whole, key, integrity_key)
            .map_err(blamed)?;

        let index = self.associations.len() as u32;
        self.by_spi.entry(parameters.spi).or_default().push(index);
        self.by_name.insert(name, index);
        self.associations.push(Arc::new(parameters));
        self.secrets.push(secrets);
        Ok(())
    }

    fn check_name(&self, name: &Spanned<String>) -> Result<(), Blamed> {
        let message = if name.get_ref().is_empty() {
            "name: must not be empty"
        } else if self.by_name.contains_key(name.get_ref()) {
            "name: another association has it; names must differ"
        } else {
            return Ok(());
        };
        Err((name.span(), message.into()))
    }

    fn suite(&mut self, association: &str, name: &Spanned<String>) -> Result<Suite, Blamed> {
        let suite: Suite = name
            .get_ref()
            .parse()
            .map_err(|error| (name.span(), format!("suite: {error}")))?;
        if !suite.is_esp() {
            let message = format!(
                "suite: no RFC says how ESP uses {suite}; choose another, such as aes-128-gcm-16"
            );
            return Err((name.span(), message));
        }
        if let Some(transform) = suite.private_transform()
            && !self.allow_private_use
        {
            let message = format!(
                "suite: {suite} is transform {transform} of private use, which no RFC describes; \
                 set allow_private_use = true at the top of the file if both ends are Weir's or \
                 follow docs/mac-suites.md"
            );
            return Err((name.span(), message));
        }
        if suite.is_legacy() && !self.allow_legacy {
            let message = format!(
                "suite: {suite} is legacy and no longer secure; set allow_legacy = true at the \
                 top of the file to decrypt old traffic with it"
            );
            return Err((name.span(), message));
        }
        if suite.is_legacy() {
            self.warnings.push(format!(
                "sa {association:?}: {suite} is legacy and no longer secure; use it for old \
                 traffic only"
            ));
        }
        Ok(suite)
    }

    fn check_collision(&self, parameters: &Parameters, spi: &Spanned<u32>) -> Result<(), Blamed> {
        let of_spi = self.by_spi.get(&parameters.spi);
        let other = of_spi
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(|index| self.associations.get(*index as usize))
            .find(|other| other.collides_with(parameters));
        match other {
            None => Ok(()),
            Some(other) => {
                let message = format!(
                    "spi: {:#x} is also that of sa {:?}; a receiver cannot tell the two apart: \
                     choose another",
                    parameters.spi, other.name
                );
                Err((spi.span(), message))
            }
        }
    }

    fn secrets(
        &self,
        suite: Suite,
        whole: Range<usize>,
        key: KeySource,
        integrity_key: KeySource,
    ) -> Result<Secrets, Blamed> {
        let key_bytes = suite.key_bytes() + suite.salt_bytes();
        let (key_span, key) = self.secret(key, key_bytes, &whole)?;
        let (_, integrity_key) = self.secret(integrity_key, suite.integrity_key_bytes(), &whole)?;
        if key.len() != key_bytes {
            let salt = match suite.salt_bytes() {
                0 => String::new(),
                salt_bytes => format!(" ({} of key, then {salt_bytes} of salt)", suite.key_bytes()),
            };
            let message = format!(
                "key: {suite} needs {key_bytes} bytes{salt}, {} are given",
                key.len()
            );
            return Err((key_span, message));
        }
        // Lengths are right by now; what is left is a weak 3DES key.
        KeyMaterial::new(suite, &key, &integrity_key)
            .map_err(|error| (key_span, format!("key: {error}")))?;
        Ok(Secrets { key, integrity_key })
    }

    /// Finds a key of `needed_bytes`, and the place to blame.
    fn secret(
        &self,
        source: KeySource,
        needed_bytes: usize,
        whole: &Range<usize>,
    ) -> Result<(Range<usize>, SecretBytes), Blamed> {
        let name = source.name;
        let given = [
            source.inline.as_ref().map(Spanned::span),
            source.file.as_ref().map(Spanned::span),
            source.descriptor.as_ref().map(Spanned::span),
        ];
        let mut given = given.into_iter().flatten();
        let Some(span) = given.next() else {
            if needed_bytes == 0 {
                return Ok((whole.clone(), Zeroizing::default()));
            }
            let message = format!(
                "{name}: missing; {needed_bytes} bytes are needed: give {name}, {name}_file or \
                 {name}_fd"
            );
            return Err((whole.clone(), message));
        };
        if let Some(second) = given.next() {
            let message = format!("give only one of {name}, {name}_file and {name}_fd");
            return Err((second, message));
        }
        let blamed = |message: String| (span.clone(), format!("{name}: {message}"));
        let secret = match (source.inline, source.file, source.descriptor) {
            (Some(secret), _, _) => secret.into_inner(),
            (None, Some(path), _) => {
                let beside = self.blame.path.parent().unwrap_or(Path::new(""));
                let path = beside.join(path.get_ref());
                self.key_file(&path)
                    .map_err(|message| blamed(format!("{}: {message}", path.display())))?
            }
            (None, None, Some(descriptor)) => {
                let path = format!("/dev/fd/{}", descriptor.get_ref());
                self.key_file(Path::new(&path))
                    .map_err(|message| blamed(format!("descriptor {path}: {message}")))?
            }
            (None, None, None) => return Err(blamed("missing".into())),
        };
        let bytes = secret.bytes().map_err(blamed)?;
        if needed_bytes == 0 && !bytes.is_empty() {
            return Err(blamed("the suite takes none: remove it".into()));
        }
        if name == "integrity_key" && bytes.len() != needed_bytes {
            return Err(blamed(format!(
                "{needed_bytes} bytes are needed, {} are given",
                bytes.len()
            )));
        }
        Ok((span, bytes))
    }

    fn key_file(&self, path: &Path) -> Result<Secret, String> {
        let options = self
            .files
            .ok_or("a text that is not a file may not name files")?;
        Secret::read(path, options.allow_insecure_permissions)
    }

    fn policies(&self, entries: Vec<Spanned<PolicyEntry>>) -> Result<Vec<Policy>, ConfigError> {
        let mut policies = Vec::with_capacity(entries.len());
        let mut shadows = Shadows::default();
        for (number, entry) in (1..).zip(entries) {
            let span = entry.span();
            let policy = self.policy(entry.into_inner(), number)?;
            if let Some(earlier) = shadows.over(&policy) {
                let message = format!(
                    "policy {number}: never reached, since policy {earlier} takes all that it \
                     would match; put it earlier or remove it"
                );
                return Err(self.blame.at(span, message));
            }
            shadows.add(&policy, number);
            policies.push(policy);
        }
        Ok(policies)
    }

    fn policy(&self, entry: PolicyEntry, number: usize) -> Result<Policy, ConfigError> {
        let at = |span: Range<usize>, message: &str| {
            self.blame.at(span, format!("policy {number}: {message}"))
        };
        let action = match (*entry.action.get_ref(), entry.sa) {
            (ActionWord::Protect, None) => {
                let message = "sa: missing; name the association that protects";
                return Err(at(entry.action.span(), message));
            }
            (ActionWord::Protect, Some(names)) => {
                let span = names.span();
                let mut associations = Vec::new();
                let mut named = HashSet::new();
                for name in names.into_inner().0 {
                    let span = if name.span().is_empty() {
                        span.clone()
                    } else {
                        name.span()
                    };
                    let name = name.into_inner();
                    let Some(association) = self.by_name.get(&name) else {
                        let message = format!("sa: there is no [[sa]] with the name {name:?}");
                        return Err(at(span, &message));
                    };
                    if !named.insert(*association) {
                        return Err(at(span, &format!("sa: {name:?} is named twice")));
                    }
                    associations.push(*association);
                }
                if associations.is_empty() {
                    return Err(at(span, "sa: name at least one association"));
                }
                Action::Protect(associations)
            }
            (_, Some(names)) => {
                let message = "sa: only action = \"protect\" has associations; remove it";
                return Err(at(names.span(), message));
            }
            (ActionWord::Bypass, None) => Action::Bypass,
            (ActionWord::Discard, None) => Action::Discard,
        };
        Ok(Policy {
            selector: Selector {
                source: entry.source,
                destination: entry.destination,
                protocol: entry.protocol,
                source_port: entry.source_port,
                destination_port: entry.destination_port,
                interface: None,
            },
            direction: match entry.direction {
                DirectionWord::Outbound => Direction::Outbound,
                DirectionWord::Inbound => Direction::Inbound,
                DirectionWord::Both => Direction::Both,
            },
            action,
        })
    }
}

/// Finds policies that an earlier one with the same selector, or with one for
/// everything, leaves nothing.
#[derive(Default)]
struct Shadows {
    /// The first policy that has a selector, by direction.
    outbound: HashMap<Selector, usize>,
    inbound: HashMap<Selector, usize>,
}

impl Shadows {
    /// The number of the earlier policy, where every direction of this one has
    /// such.
    fn over(&self, policy: &Policy) -> Option<usize> {
        let first = |seen: &HashMap<Selector, usize>| {
            seen.get(&Selector::default())
                .or_else(|| seen.get(&policy.selector))
                .copied()
        };
        match policy.direction {
            Direction::Outbound => first(&self.outbound),
            Direction::Inbound => first(&self.inbound),
            Direction::Both => first(&self.inbound).and(first(&self.outbound)),
        }
    }

    fn add(&mut self, policy: &Policy, number: usize) {
        let sides = [
            (policy.direction.is_outbound(), &mut self.outbound),
            (policy.direction.is_inbound(), &mut self.inbound),
        ];
        for (is_concerned, seen) in sides {
            if is_concerned {
                seen.entry(policy.selector.clone()).or_insert(number);
            }
        }
    }
}

fn spi(spi: &Spanned<u32>) -> Result<u32, Blamed> {
    let number = *spi.get_ref();
    if number < LOWEST_SPI {
        let message = format!("spi: {number} is reserved; use {LOWEST_SPI} (0x100) or higher");
        return Err((spi.span(), message));
    }
    Ok(number)
}

fn window(window: Option<Spanned<u32>>) -> Result<u32, Blamed> {
    match window {
        None => Ok(DEFAULT_WINDOW),
        Some(window) if ReplayWindow::SIZES.contains(window.get_ref()) => Ok(window.into_inner()),
        Some(window) => {
            let (least, most) = (ReplayWindow::SIZES.start(), ReplayWindow::SIZES.end());
            let message = format!("window: must be {least} to {most} packets");
            Err((window.span(), message))
        }
    }
}

fn mtu(mtu: Option<Spanned<u32>>) -> Result<u32, Blamed> {
    match mtu {
        None => Ok(u32::MAX),
        Some(mtu) if *mtu.get_ref() >= LOWEST_MTU_BYTES => Ok(mtu.into_inner()),
        Some(mtu) => {
            let message = format!("mtu: must be at least {LOWEST_MTU_BYTES} bytes");
            Err((mtu.span(), message))
        }
    }
}

fn mode(mode: &Spanned<ModeWord>, tunnel: Option<Spanned<TunnelEntry>>) -> Result<Mode, Blamed> {
    let entry = match (mode.get_ref(), tunnel) {
        (ModeWord::Transport, None) => return Ok(Mode::Transport),
        (ModeWord::Transport, Some(tunnel)) => {
            let message = "tunnel: transport mode has none; remove it, or set mode = \"tunnel\"";
            return Err((tunnel.span(), message.into()));
        }
        (ModeWord::Tunnel, None) => {
            let message = "tunnel: missing; write tunnel = { source = \"…\", destination = \"…\" }";
            return Err((mode.span(), message.into()));
        }
        (ModeWord::Tunnel, Some(tunnel)) => tunnel.into_inner(),
    };
    let destination = entry.destination.get_ref();
    let ends = Ends::new(entry.source, *destination).ok_or_else(|| {
        let message = "tunnel: source and destination must be of one IP version";
        (entry.destination.span(), message.to_owned())
    })?;
    if entry.source == *destination {
        let message = "tunnel: source and destination must differ";
        return Err((entry.destination.span(), message.into()));
    }
    let mut tunnel = Tunnel::between(ends);
    if let Some(ttl) = entry.ttl {
        tunnel.ttl = *ttl.get_ref();
        if tunnel.ttl == 0 {
            return Err((ttl.span(), "tunnel.ttl: must be 1 to 255".into()));
        }
    }
    if let Some(dscp) = entry.dscp {
        tunnel.dscp = match dscp.get_ref() {
            CopyOrNumber::Copy => Dscp::Copy,
            CopyOrNumber::Number(number @ 0..=63) => Dscp::Fixed(*number as u8),
            CopyOrNumber::Number(_) => {
                let message = "tunnel.dscp: must be \"copy\" or 0 to 63";
                return Err((dscp.span(), message.into()));
            }
        };
    }
    if let Some(label) = entry.flow_label {
        tunnel.flow_label = match label.get_ref() {
            CopyOrNumber::Copy => FlowLabel::Copy,
            CopyOrNumber::Number(number @ 0..=0xf_ffff) => FlowLabel::Fixed(*number),
            CopyOrNumber::Number(_) => {
                let message = "tunnel.flow_label: must be \"copy\" or 0 to 0xfffff";
                return Err((label.span(), message.into()));
            }
        };
    }
    tunnel.dont_fragment = match entry.df {
        DontFragmentWord::Copy => DontFragment::Copy,
        DontFragmentWord::Set => DontFragment::Set,
        DontFragmentWord::Clear => DontFragment::Clear,
    };
    Ok(Mode::Tunnel(tunnel))
}

fn udp_ports(entry: Option<Spanned<NatTEntry>>) -> Result<Option<UdpPorts>, Blamed> {
    let Some(entry) = entry else {
        return Ok(None);
    };
    let NatTEntry::On(given) = *entry.get_ref() else {
        return Ok(None);
    };
    let default = UdpPorts::default();
    let ports = UdpPorts {
        source: given.source_port.unwrap_or(default.source),
        destination: given.destination_port.unwrap_or(default.destination),
    };
    if ports.source == 0 || ports.destination == 0 {
        return Err((entry.span(), "nat_t: ports must be 1 to 65535".into()));
    }
    Ok(Some(ports))
}

fn lifetime(
    soft: Option<Spanned<QuotaEntry>>,
    hard: Option<Spanned<QuotaEntry>>,
) -> Result<Lifetime, Blamed> {
    let quota = |entry: Option<&Spanned<QuotaEntry>>| match entry.map(Spanned::get_ref) {
        None => Quota::UNLIMITED,
        Some(entry) => Quota {
            packets: entry.packets.unwrap_or(u64::MAX),
            bytes: entry.bytes.unwrap_or(u64::MAX),
        },
    };
    let lifetime = Lifetime {
        soft: quota(soft.as_ref()),
        hard: quota(hard.as_ref()),
    };
    let entries = [
        ("soft_lifetime", &soft, lifetime.soft),
        ("hard_lifetime", &hard, lifetime.hard),
    ];
    for (name, entry, quota) in entries {
        if let Some(entry) = entry
            && (quota.packets == 0 || quota.bytes == 0 || quota == Quota::UNLIMITED)
        {
            let message = format!("{name}: give bytes, packets or both, above 0");
            return Err((entry.span(), message));
        }
    }
    let is_late = |soft: u64, hard: u64| soft != u64::MAX && soft > hard;
    if let Some(entry) = soft
        && (is_late(lifetime.soft.packets, lifetime.hard.packets)
            || is_late(lifetime.soft.bytes, lifetime.hard.bytes))
    {
        let message = "soft_lifetime: ends after hard_lifetime; it must come first";
        return Err((entry.span(), message.into()));
    }
    Ok(lifetime)
}
