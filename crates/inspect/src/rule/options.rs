//! The options of a rule: what stands between its parentheses.
//!
//! [`Draft`] collects them one after the other. Each family of keywords has a
//! file of its own; what none of them knows is refused by name.

mod contents;
mod flow;
mod numbers;
mod state;
mod texts;

use super::classification::Classification;
use super::fault::{Fault, Unsupported, printable};
use super::header::{Header, HeaderReader};
use super::keyword::is_keyword;
use super::names::Names;
use super::pcre::Patterns;
use super::text::{RuleText, unfold};
use super::word::Word;
use super::{
    Description, FlowCondition, PacketConditions, Rule, RuleProtocol, StateConditions, Target,
    TextScope, string,
};
use crate::buffer::Buffer;
use texts::DraftTexts;

/// Largest `offset`, `depth` and length.
const MAX_PAYLOAD_BYTES: i64 = 65_535;

/// Reads a rule whose words lie in `text`.
pub(crate) fn read_rule(
    text: &[u8],
    rule: &RuleText,
    headers: &mut HeaderReader<'_>,
    classification: &Classification,
    patterns: &mut Patterns,
    names: &mut Names,
) -> Result<Rule, Fault> {
    let options_at = rule
        .options
        .first()
        .map_or(rule.end, |option| option.name.start);
    let header = headers.read(text, &rule.header, options_at)?;
    let mut draft = Draft::default();
    for option in &rule.options {
        let name = Word {
            offset: option.name.start,
            bytes: &text[option.name.clone()],
        };
        let value = option
            .value
            .as_ref()
            .map(|range| (range.start, unfold(&text[range.clone()])));
        let value = value.as_ref().map(|(offset, bytes)| Word {
            offset: *offset,
            bytes,
        });
        draft.option(name, value, names)?;
    }
    let place = Word {
        offset: rule.end,
        bytes: &text[rule.end..=rule.end],
    };
    draft.finish(header, place, classification, patterns)
}

/// A rule's options as far as they were read.
#[derive(Default)]
struct Draft {
    message: String,
    gid: Option<u32>,
    sid: Option<u32>,
    rev: u32,
    priority: Option<u8>,
    classtypes: Vec<String>,
    references: Vec<(String, String)>,
    metadata: Vec<(String, String)>,
    target: Option<Target>,
    flow: FlowCondition,
    packet: PacketConditions,
    state: StateConditions,
    texts: DraftTexts,
}

impl Draft {
    fn option(
        &mut self,
        name: Word<'_>,
        value: Option<Word<'_>>,
        names: &mut Names,
    ) -> Result<(), Fault> {
        let known = is_keyword(name.bytes)
            && (self.describe(name, value)?
                || self.flow_option(name, value)?
                || self.state_option(name, value, names)?
                || self.texts.option(name, value)?);
        if known {
            return Ok(());
        }
        let what = Unsupported::Keyword(printable(name.bytes));
        Err(Fault::unsupported(name.offset, name.bytes, what))
    }

    /// The options by which a rule describes itself. Says whether it was one.
    fn describe(&mut self, name: Word<'_>, value: Option<Word<'_>>) -> Result<bool, Fault> {
        let needed = || needed(name, value);
        match name.bytes {
            b"msg" => self.message = needed()?.string()?,
            b"sid" => self.sid = Some(needed()?.number(1, i64::from(u32::MAX))? as u32),
            b"gid" => self.gid = Some(needed()?.number(1, i64::from(u32::MAX))? as u32),
            b"rev" => self.rev = needed()?.number(0, i64::from(u32::MAX))? as u32,
            b"priority" => self.priority = Some(needed()?.number(1, 255)? as u8),
            b"classtype" => self.classtypes.push(needed()?.text()),
            b"reference" => {
                let value = needed()?;
                let mut words = value.bytes.splitn(2, |byte| *byte == b',');
                let mut next = || string::plain_text(words.next().unwrap_or_default().trim_ascii());
                self.references.push((next(), next()));
            }
            b"metadata" => {
                for item in needed()?.list().filter(|item| !item.bytes.is_empty()) {
                    let text = item.text();
                    let (key, value) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
                    self.metadata
                        .push((key.to_owned(), value.trim().to_owned()));
                }
            }
            b"target" => {
                let value = needed()?;
                self.target = Some(match value.bytes {
                    b"src_ip" => Target::Source,
                    b"dest_ip" => Target::Destination,
                    _ => return Err(value.syntax("a target is src_ip or dest_ip")),
                });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn finish(
        self,
        header: Header,
        place: Word<'_>,
        classification: &Classification,
        patterns: &mut Patterns,
    ) -> Result<Rule, Fault> {
        let Some(sid) = self.sid else {
            return Err(place.syntax("a rule has a number of its own, as in sid:1000001;"));
        };
        let (mut texts, shares_variables) = self.texts.finish(place, patterns)?;
        let mut flow = self.flow;
        for text in &texts {
            let Some(side) = text.buffer.direction() else {
                continue;
            };
            let other = match header.protocol {
                RuleProtocol::Application(app) if app != text.buffer.protocol() => Some("protocol"),
                _ if *flow.direction.get_or_insert(side) != side => Some("direction"),
                _ => None,
            };
            if let Some(other) = other {
                let name = text.buffer.name();
                let what = Unsupported::Keyword(format!("{name} of another {other}"));
                return Err(Fault::unsupported(place.offset, place.bytes, what));
            }
        }
        let payload_at = (texts.iter()).position(|text| text.buffer == Buffer::Payload);
        let payload = match payload_at {
            Some(index) => texts.remove(index).payload,
            None => Default::default(),
        };
        // Of several the most urgent counts, as in Suricata.
        let classtypes = self.classtypes.into_iter();
        let classtype = classtypes.min_by_key(|name| classification.of_rule(Some(name)).1);
        let (category, class_priority) = classification.of_rule(classtype.as_deref());
        let mut packet = self.packet;
        if header.is_by_packet {
            packet.scope = Some(TextScope::Packet);
        }
        Ok(Rule {
            action: header.action,
            protocol: header.protocol,
            selector: header.selector,
            both_ways: header.both_ways,
            flow,
            packet,
            state: self.state,
            payload,
            payload_at: payload_at.unwrap_or(texts.len()),
            buffers: texts,
            shares_variables,
            description: Description {
                gid: self.gid.unwrap_or(1),
                sid,
                rev: self.rev,
                message: self.message,
                classtype,
                category,
                priority: self.priority.unwrap_or(class_priority),
                references: self.references,
                metadata: self.metadata,
                target: self.target,
            },
        })
    }
}

/// The value of an option that has none.
fn needed<'a>(name: Word<'_>, value: Option<Word<'a>>) -> Result<Word<'a>, Fault> {
    value.ok_or_else(|| name.syntax("the option needs a value"))
}

/// Takes in an option of which only one could act.
fn once<T>(place: &mut Option<T>, name: Word<'_>, value: T) -> Result<(), Fault> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(name.syntax("the option is there twice, and only one could act")),
    }
}
