//! Every keyword that a rule may have, and what becomes of it.

use crate::buffer::Buffer;

/// What a keyword changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeywordEffect {
    /// Whether the rule matches, or whether a match is an alert.
    Decides,
    /// The options behind it are about this buffer.
    Selects(Buffer),
    /// The content in front of it is about this buffer.
    Sends(Buffer),
    /// What an alert says.
    Describes,
    /// Neither.
    Nothing,
}

/// A keyword that rules may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// As rules write it.
    pub name: &'static str,
    /// What it changes.
    pub effect: KeywordEffect,
    /// In a few words; empty for those of buffers.
    pub meaning: &'static str,
}

use KeywordEffect::{Decides, Describes, Nothing};

const fn keyword(name: &'static str, effect: KeywordEffect, meaning: &'static str) -> Keyword {
    Keyword {
        name,
        effect,
        meaning,
    }
}

/// Every keyword but those of buffers. No other one is read.
const KEYWORDS: [Keyword; 40] = [
    keyword(
        "flow",
        Decides,
        "direction (`to_server`, `from_client`, `to_client`, `from_server`), state (`established`, \
         `not_established`), packets or streams (`no_stream`, `only_stream`); `stateless` requires nothing",
    ),
    keyword(
        "stream_size",
        Decides,
        "bytes of a TCP stream so far, of `client`, `server`, `both` or `either`",
    ),
    keyword("dsize", Decides, "bytes of the packet's payload"),
    keyword(
        "flags",
        Decides,
        "flags of a TCP header: these alone, with others (`+`), any (`*`), not all (`!`)",
    ),
    keyword("itype", Decides, "type of an ICMP message"),
    keyword("icode", Decides, "code of an ICMP message"),
    keyword("icmp_id", Decides, "identifier of an ICMP echo"),
    keyword("content", Decides, "bytes; with `!` none such"),
    keyword("uricontent", Decides, "`content` for the buffer `http.uri`"),
    keyword("nocase", Decides, "the content in either case"),
    keyword("offset", Decides, "where the content may begin"),
    keyword(
        "depth",
        Decides,
        "in how many bytes from there the content lies",
    ),
    keyword(
        "distance",
        Decides,
        "where the content may begin, behind the last match",
    ),
    keyword(
        "within",
        Decides,
        "in how many bytes from there the content lies",
    ),
    keyword(
        "startswith",
        Decides,
        "the content is at the start of the buffer",
    ),
    keyword("endswith", Decides, "the content is at its end"),
    keyword(
        "pcre",
        Decides,
        "a regular expression, with the flags `i s m x A E G R` and those of buffers; `B` and `O` change nothing",
    ),
    keyword("bsize", Decides, "bytes of the buffer"),
    keyword(
        "urilen",
        Decides,
        "bytes of the URI, with `,raw` as it was sent",
    ),
    keyword("dotprefix", Decides, "puts a dot in front of the buffer"),
    keyword(
        "isdataat",
        Decides,
        "there is a byte so far from the start or behind the last match; `rawbytes` changes nothing",
    ),
    keyword("byte_test", Decides, "compares a number in the buffer"),
    keyword(
        "byte_jump",
        Decides,
        "goes on behind as many bytes as a number in the buffer says",
    ),
    keyword(
        "byte_extract",
        Decides,
        "names a number in the buffer, for the values of later options",
    ),
    keyword("flowbits", Decides, "sets and tests bits of the flow"),
    keyword(
        "xbits",
        Decides,
        "sets and tests bits of a host or of a pair of hosts",
    ),
    keyword("noalert", Decides, "a match is no alert"),
    keyword("threshold", Decides, "which of many matches are alerts"),
    keyword(
        "detection_filter",
        Decides,
        "matches are alerts from a number of them on",
    ),
    keyword("msg", Describes, "text of the alert"),
    keyword("sid", Describes, "number of the rule, which it must have"),
    keyword("gid", Describes, "group of the number"),
    keyword("rev", Describes, "revision"),
    keyword("classtype", Describes, "class, and with it the priority"),
    keyword("priority", Describes, "priority"),
    keyword("reference", Describes, "where more is said of it"),
    keyword("metadata", Describes, "keys and values"),
    keyword("target", Describes, "which end is the victim"),
    keyword(
        "fast_pattern",
        Nothing,
        "which content is searched for first; with `only` or a part alike. That changes the speed",
    ),
    keyword(
        "rawbytes",
        Nothing,
        "no payload is decoded before it is searched",
    ),
];

/// Every keyword that rules may have: options first, then those of buffers.
pub fn keywords() -> impl Iterator<Item = Keyword> {
    KEYWORDS.into_iter().chain(Buffer::keywords())
}

/// Whether it is a keyword.
pub(super) fn is_keyword(name: &[u8]) -> bool {
    let mut known = KEYWORDS.iter();
    known.any(|keyword| keyword.name.as_bytes() == name)
        || Buffer::sticky(name).is_some()
        || Buffer::modifier(name).is_some()
}
