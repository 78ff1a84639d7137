//! What stages notice about records and about the stream, kept beside the batch.

use std::ops::Deref;

use serde::Serialize;
use weir_packet::wire::{FlowKey, KeyKind};

use crate::word::Word;

/// Something noticed about a record, or about the stream as a whole. A record may
/// raise any number of events and still be forwarded.
///
/// An event keeps what the record was when it was noticed: by the time that a
/// sink writes it, the record may be rewritten or dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Arrival number of the record, if it is about one.
    pub arrival: Option<u64>,
    /// Time of the record, or end of the interval that it is about, nanoseconds
    /// since 1970.
    pub timestamp_ns: u64,
    /// Flow of the record; all zero where it has none.
    pub flow: FlowKey,
    /// The part of the flow that it is about; the rest of the flow is zero.
    pub key: KeyKind,
    /// Identifier of the connection, in both directions, where the stage follows connections: another
    /// connection between the same ports has another one.
    pub flow_id: Option<u64>,
    /// First ICMP or ICMPv6 type and code, where the flow is one.
    pub icmp: Option<(u8, u8)>,
    /// Outermost VLAN tag, where there is one.
    pub vlan_tci: Option<u16>,
    /// Interface on which the record arrived.
    pub interface: Option<u16>,
    /// What was noticed.
    pub kind: EventKind,
    /// Generation of the rules, the policy or the association under which it was noticed, where
    /// the stage takes such while it runs ([`Mailbox::generation`](crate::Mailbox::generation)).
    pub generation: Option<u64>,
    /// What else the stage says of it, for sinks that write JSON.
    pub members: Option<Members>,
}

/// Members of a JSON object, written when an event is noticed: what they are about may be gone
/// when a sink writes the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members(Box<str>);

impl Members {
    /// The members of a value that serialises as an object; none where it does not.
    pub fn of(value: &impl Serialize) -> Members {
        let object = serde_json::to_string(value).unwrap_or_default();
        let members = object.strip_prefix('{').and_then(|o| o.strip_suffix('}'));
        Members(members.unwrap_or_default().into())
    }
}

/// Their text, as in `"a":1,"b":{}`.
impl Deref for Members {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// What was noticed: a word that the stage has entered into the vocabulary of its pipeline
/// ([`Vocabulary::event_kind`](crate::Vocabulary::event_kind)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventKind(&'static Word);

impl EventKind {
    pub(crate) fn of(word: &'static Word) -> EventKind {
        EventKind(word)
    }

    /// What it is called, and by whom.
    pub fn word(self) -> &'static Word {
        self.0
    }

    /// Whether it is the kind that a crate declares as `word`.
    pub fn is(self, word: &Word) -> bool {
        self.0 == word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_those_of_an_object() {
        #[derive(Serialize)]
        struct Said {
            a: u8,
            b: &'static str,
        }
        let said = Said { a: 1, b: "{\"}" };
        assert_eq!(*Members::of(&said), *r#""a":1,"b":"{\"}""#);
        assert!(Members::of(&[1, 2]).is_empty());
        assert!(Members::of(&"{}").is_empty());
    }
}
