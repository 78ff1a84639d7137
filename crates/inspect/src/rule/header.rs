//! The header of a rule: action, protocol, addresses, ports, direction.

use std::ops::Range;

use weir_packet::wire::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};
use weir_select::{ProtocolSet, Selector, SetError};

use super::fault::{Fault, FaultKind, Unsupported};
use super::text::unfold;
use super::variables::{HeaderSets, Variables};
use super::{Action, RejectTo, RuleProtocol};
use crate::application::AppProtocol;

/// What a header means.
pub(super) struct Header {
    pub(super) action: Action,
    pub(super) protocol: RuleProtocol,
    pub(super) selector: Selector,
    pub(super) both_ways: bool,
    /// Contents are looked for packet by packet.
    pub(super) is_by_packet: bool,
}

/// Reads headers; addresses and ports that were read before are shared.
pub(crate) struct HeaderReader<'v> {
    sets: HeaderSets<'v>,
}

impl<'v> HeaderReader<'v> {
    pub(crate) fn new(variables: &'v Variables) -> HeaderReader<'v> {
        HeaderReader {
            sets: HeaderSets::new(variables),
        }
    }

    /// Reads a header of seven words, or of two as Snort 3 allows:
    /// `alert http (…)` for any addresses and ports.
    /// `options_at` is where the options begin: the place to blame where there
    /// is no word.
    pub(super) fn read(
        &mut self,
        text: &[u8],
        words: &[Range<usize>],
        options_at: usize,
    ) -> Result<Header, Fault> {
        let word = |index: usize| (words[index].start, &text[words[index].clone()]);
        let Some(first) = words.first() else {
            return Err(Fault::syntax(
                options_at,
                b"",
                "a rule starts with its action",
            ));
        };
        let action = action(first.start, &text[first.clone()])?;
        if words.len() != 2 && words.len() != 7 {
            let last = words[words.len().min(8) - 1].clone();
            return Err(Fault::syntax(
                last.start,
                &text[last],
                "a header is `action protocol addresses ports -> addresses ports`",
            ));
        }
        let (offset, name) = word(1);
        let (protocol, ip_protocols) = protocol(offset, name)?;
        let mut selector = Selector {
            protocol: ip_protocols,
            ..Selector::default()
        };
        let mut both_ways = false;
        if words.len() == 7 {
            (selector.source, selector.source_port) = self.end(text, &words[2], &words[3])?;
            (selector.destination, selector.destination_port) =
                self.end(text, &words[5], &words[6])?;
            both_ways = match word(4) {
                (_, b"->") => false,
                (_, b"<>") => true,
                (offset, word) => {
                    return Err(Fault::syntax(offset, word, "a direction is `->` or `<>`"));
                }
            };
        }
        Ok(Header {
            action,
            protocol,
            selector,
            both_ways,
            is_by_packet: name == b"tcp-pkt",
        })
    }

    /// Addresses and ports of one end.
    fn end(
        &mut self,
        text: &[u8],
        addresses: &Range<usize>,
        ports: &Range<usize>,
    ) -> Result<(weir_select::AddressSet, weir_select::PortSet), Fault> {
        let address_set = self
            .sets
            .addresses(&words_of(text, addresses))
            .map_err(|kind| list_fault(text, addresses, kind))?;
        let port_set = self
            .sets
            .ports(&words_of(text, ports))
            .map_err(|kind| list_fault(text, ports, kind))?;
        Ok((address_set, port_set))
    }
}

fn words_of(text: &[u8], range: &Range<usize>) -> String {
    String::from_utf8_lossy(&unfold(&text[range.clone()])).into_owned()
}

/// A fault of a list, at the word at fault where the list itself has it, and
/// at the list where the word comes from a variable.
fn list_fault(text: &[u8], list: &Range<usize>, kind: FaultKind) -> Fault {
    let word = match &kind {
        FaultKind::Set(SetError::Word { word, .. } | SetError::Backwards { word }) => word.clone(),
        FaultKind::UndefinedVariable(name) | FaultKind::CircularVariable(name) => name.clone(),
        _ => String::new(),
    };
    let list_text = &text[list.clone()];
    match place_of_word(list_text, word.as_bytes()) {
        Some(place) => Fault::new(list.start + place, word.as_bytes(), kind),
        None => Fault::new(list.start, list_text, kind),
    }
}

/// Where a word of a list stands, and not as a part of another.
fn place_of_word(list: &[u8], word: &[u8]) -> Option<usize> {
    let separates = |byte: &u8| b",[]!$ \t\r\n\\".contains(byte);
    memchr::memmem::find_iter(list, word).find(|place| {
        let (before, after) = (&list[..*place], &list[place + word.len()..]);
        !word.is_empty()
            && before.last().is_none_or(separates)
            && after.first().is_none_or(separates)
    })
}

fn action(offset: usize, word: &[u8]) -> Result<Action, Fault> {
    match word {
        b"alert" => Ok(Action::Alert),
        b"drop" | b"sdrop" | b"block" => Ok(Action::Drop),
        b"reject" | b"rejectsrc" => Ok(Action::Reject(RejectTo::Source)),
        b"rejectdst" => Ok(Action::Reject(RejectTo::Destination)),
        b"rejectboth" => Ok(Action::Reject(RejectTo::Both)),
        b"pass" => Ok(Action::Pass),
        b"log" | b"activate" | b"dynamic" | b"react" | b"rewrite" => {
            let name = String::from_utf8_lossy(word).into_owned();
            Err(Fault::unsupported(offset, word, Unsupported::Action(name)))
        }
        _ => Err(Fault::syntax(
            offset,
            word,
            "a rule starts with its action, as in alert, drop, reject or pass",
        )),
    }
}

fn protocol(offset: usize, word: &[u8]) -> Result<(RuleProtocol, ProtocolSet), Fault> {
    let tcp = || ProtocolSet::of(&[TCP]);
    let transport = |protocols: &[u8]| (RuleProtocol::Transport, ProtocolSet::of(protocols));
    let application = |app| (RuleProtocol::Application(app), tcp());
    Ok(match word {
        b"ip" => (RuleProtocol::Ip, ProtocolSet::any()),
        b"tcp" | b"tcp-pkt" => transport(&[TCP]),
        b"udp" => transport(&[UDP]),
        b"sctp" => transport(&[SCTP]),
        b"icmp" => transport(&[ICMP, ICMPV6]),
        b"icmpv4" => transport(&[ICMP]),
        b"icmpv6" => transport(&[ICMPV6]),
        b"http" => application(AppProtocol::Http),
        b"tls" | b"ssl" => application(AppProtocol::Tls),
        b"ssh" => application(AppProtocol::Ssh),
        b"smtp" => application(AppProtocol::Smtp),
        b"ftp" => application(AppProtocol::Ftp),
        b"smb" => application(AppProtocol::Smb),
        b"dns" => (
            RuleProtocol::Application(AppProtocol::Dns),
            ProtocolSet::of(&[TCP, UDP]),
        ),
        _ => {
            let name = super::fault::printable(word);
            return Err(Fault::unsupported(
                offset,
                word,
                Unsupported::Protocol(name),
            ));
        }
    })
}
