//! Groups of rules: those that look at the same kind of text.
//!
//! Every text meets the contents of its own group alone: the payloads of UDP
//! packets, the streams that go to servers, the names of DNS queries. Of
//! what occurs, only the rules are looked at that the [`ports`] can concern.

mod ports;

use hashbrown::HashMap;
use weir_match::{BuildError, Engine, EngineChoice, Haystack, Pattern};
use weir_packet::wire::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use weir_select::{PortSet, Tuple};

use crate::buffer::{BUFFERS, Buffer};
use crate::direction::Direction;
use crate::rule::{Rule, RuleProtocol};
pub(crate) use ports::PortClass;
use ports::PortClasses;

/// Which texts a group of rules looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKey {
    /// Payloads of UDP datagrams.
    UdpPacket,
    /// What all other IP packets carry.
    OtherPacket,
    /// TCP: what a stream brings, for rules about streams and for those about
    /// packets alike.
    Tcp(Direction),
    /// A part of messages.
    Part(Buffer, Direction),
}

const DIRECTIONS: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

/// Number of groups.
pub(crate) const GROUPS: usize = 2 + 2 + 2 * BUFFERS;

impl GroupKey {
    /// Every group.
    pub(crate) fn all() -> impl Iterator<Item = GroupKey> {
        let packets = [GroupKey::UdpPacket, GroupKey::OtherPacket];
        let both = |key: fn(Direction) -> GroupKey| DIRECTIONS.map(key);
        let parts = Buffer::all()
            .flat_map(|buffer| DIRECTIONS.map(|direction| GroupKey::Part(buffer, direction)));
        packets.into_iter().chain(both(GroupKey::Tcp)).chain(parts)
    }

    /// Its place among all.
    pub(crate) fn index(self) -> usize {
        let side = |direction| usize::from(direction == Direction::ToClient);
        match self {
            GroupKey::UdpPacket => 0,
            GroupKey::OtherPacket => 1,
            GroupKey::Tcp(direction) => 2 + side(direction),
            GroupKey::Part(buffer, direction) => 4 + 2 * buffer as usize + side(direction),
        }
    }

    /// Whether the texts are what servers send.
    fn is_from_server(self) -> bool {
        match self {
            GroupKey::Tcp(direction) | GroupKey::Part(_, direction) => {
                direction == Direction::ToClient
            }
            GroupKey::UdpPacket | GroupKey::OtherPacket => false,
        }
    }

    /// Name for reports, as in `http.uri to_server`.
    pub(crate) fn name(self) -> String {
        match self {
            GroupKey::UdpPacket => "udp packets".to_owned(),
            GroupKey::OtherPacket => "other packets".to_owned(),
            GroupKey::Tcp(direction) => format!("tcp {}", direction.name()),
            GroupKey::Part(buffer, direction) => format!("{} {}", buffer.name(), direction.name()),
        }
    }
}

/// Where a rule is found.
pub(crate) enum SearchPlace {
    /// In these groups, by a content or for every text.
    Groups(Vec<GroupKey>, Option<Pattern>),
    /// By its header alone.
    Header,
}

impl Rule {
    /// The ports by which a group tells its rules apart; two sets, where the
    /// rule is about both ways.
    fn ports(&self, key: GroupKey) -> [Option<&PortSet>; 2] {
        let (source, destination) = (&self.selector.source_port, &self.selector.destination_port);
        let (own, other) = if key.is_from_server() {
            (source, destination)
        } else {
            (destination, source)
        };
        [Some(own), self.both_ways.then_some(other)]
    }

    /// Where the rule is found: by the content that it names, or its longest;
    /// in a part of a message if it asks for one.
    pub(crate) fn place(&self) -> SearchPlace {
        let directions = || {
            let meant = |direction: &Direction| {
                self.flow
                    .direction
                    .is_none_or(|wanted| wanted == *direction)
            };
            DIRECTIONS.into_iter().filter(meant)
        };
        if let Some(first) = self.buffers.first() {
            let best = (self.buffers.iter())
                .filter_map(|test| Some((test, test.payload.search_content()?)))
                .max_by_key(|(_, (content, is_fast))| (*is_fast, content.bytes().len()));
            let (buffer, content) = match best {
                Some((test, (content, _))) => (test.buffer, Some(content)),
                None => (first.buffer, None),
            };
            let keys = directions().map(|direction| GroupKey::Part(buffer, direction));
            return SearchPlace::Groups(keys.collect(), content);
        }
        let Some((content, _)) = self.payload.search_content() else {
            return SearchPlace::Header;
        };
        let protocol = &self.selector.protocol;
        let mut keys = Vec::new();
        if protocol.contains(TCP) {
            keys.extend(directions().map(GroupKey::Tcp));
        }
        if protocol.contains(UDP) {
            keys.push(GroupKey::UdpPacket);
        }
        if self.protocol == RuleProtocol::Ip
            || [ICMP, ICMPV6, SCTP]
                .iter()
                .any(|other| protocol.contains(*other))
        {
            keys.push(GroupKey::OtherPacket);
        }
        SearchPlace::Groups(keys, Some(content))
    }
}

/// What is gathered of a group before it is built.
#[derive(Default)]
pub(crate) struct GroupDraft {
    contents: Vec<Pattern>,
    numbers: HashMap<Pattern, u32>,
    owned: Vec<(u32, u32)>,
    always: Vec<u32>,
}

impl GroupDraft {
    /// Adds a rule that is tried where its content occurs.
    pub(crate) fn add(&mut self, content: &Pattern, rule: u32) {
        let contents = &mut self.contents;
        let number = *self.numbers.entry(content.clone()).or_insert_with(|| {
            contents.push(content.clone());
            (contents.len() - 1) as u32
        });
        self.owned.push((number, rule));
    }

    /// Adds a rule that is tried for every text.
    pub(crate) fn add_always(&mut self, rule: u32) {
        self.always.push(rule);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.owned.is_empty() && self.always.is_empty()
    }

    pub(crate) fn build(
        mut self,
        key: GroupKey,
        rules: &[Rule],
        engine: &EngineChoice,
    ) -> Result<Group, BuildError> {
        self.owned.sort_unstable();
        self.owned.dedup();
        let mut owner_starts = vec![0u32; self.contents.len() + 1];
        for (content, _) in &self.owned {
            owner_starts[*content as usize + 1] += 1;
        }
        for content in 0..self.contents.len() {
            owner_starts[content + 1] += owner_starts[content];
        }
        let owners: Vec<u32> = self.owned.into_iter().map(|(_, rule)| rule).collect();
        let ports = PortClasses::new(owners.iter().map(|rule| rules[*rule as usize].ports(key)));
        Ok(Group {
            key,
            ports,
            engine: engine.build(&self.contents)?,
            content_count: self.contents.len(),
            owner_starts,
            owners,
            always: self.always,
        })
    }
}

/// Rules that look at one kind of text, and what finds their contents.
pub(crate) struct Group {
    pub(crate) key: GroupKey,
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) content_count: usize,
    /// Rules by content: those of content `c` are
    /// `owners[owner_starts[c]..owner_starts[c + 1]]`.
    owner_starts: Vec<u32>,
    owners: Vec<u32>,
    /// The ports that each owner is about.
    ports: PortClasses,
    /// Rules that are tried for every text.
    pub(crate) always: Vec<u32>,
}

impl Group {
    /// A text that goes on, from `new_from` on, as far as it has to be looked
    /// at.
    pub(crate) fn continued<'t>(&self, bytes: &'t [u8], new_from: usize) -> Haystack<'t> {
        let carried = self.engine.longest_pattern_bytes().saturating_sub(1);
        let carried = carried.min(new_from);
        Haystack::continued(&bytes[new_from - carried..], carried)
    }

    /// What the port means that the group's rules are told apart by: the
    /// server's, or where it is not known which end that is, the receiver's.
    pub(crate) fn port_class(&self, tuple: &Tuple) -> PortClass {
        let port = if self.key.is_from_server() {
            tuple.key.source_port
        } else {
            tuple.key.destination_port
        };
        self.ports.class(tuple.ports_known.then_some(port))
    }

    /// Adds the rules to be tried where a content occurs, but for those that
    /// are about other ports, which it counts.
    pub(crate) fn add_owners(&self, content: u32, class: PortClass, rules: &mut Vec<u32>) -> u64 {
        let content = content as usize;
        let Some([start, end]) = self.owner_starts.get(content..content + 2) else {
            return 0;
        };
        let (before, range) = (rules.len(), *start as usize..*end as usize);
        let owners = self.owners[range.clone()].iter().zip(range);
        rules.extend(
            owners.filter_map(|(rule, place)| self.ports.concerns(place, class).then_some(*rule)),
        );
        u64::from(end - start) - (rules.len() - before) as u64
    }
}
