//! Options about packets and flows: `flow`, `dsize`, `flags`, `itype`,
//! `icode`, `icmp_id`, `stream_size`.

use super::super::fault::{Fault, Unsupported};
use super::super::word::Word;
use super::super::{FlagsTest, StreamBytes, StreamEnd, TcpFlags, TextScope};
use super::{Draft, MAX_PAYLOAD_BYTES, needed, once};
use crate::direction::Direction;
use crate::range::NumberRange;

impl Draft {
    /// Takes in an option of this family, and says whether it was one.
    pub(super) fn flow_option(
        &mut self,
        name: Word<'_>,
        value: Option<Word<'_>>,
    ) -> Result<bool, Fault> {
        let needed = || needed(name, value);
        let packet = &mut self.packet;
        match name.bytes {
            b"flow" => {
                for word in needed()?.list() {
                    self.flow_word(word)?;
                }
            }
            b"dsize" => once(
                &mut packet.payload_bytes,
                name,
                needed()?.range(MAX_PAYLOAD_BYTES)?,
            )?,
            b"flags" => packet.tcp_flags.push(tcp_flags(needed()?)?),
            b"itype" => once(&mut packet.icmp_type, name, needed()?.range(255)?)?,
            b"icode" => once(&mut packet.icmp_code, name, needed()?.range(255)?)?,
            b"icmp_id" => once(
                &mut packet.icmp_id,
                name,
                needed()?.number(0, 65_535)? as u16,
            )?,
            b"stream_size" => packet.stream_bytes.push(stream_bytes(needed()?)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn flow_word(&mut self, word: Word<'_>) -> Result<(), Fault> {
        let flow = &mut self.flow;
        let consistent = match word.bytes {
            b"to_server" | b"from_client" => agree(&mut flow.direction, Direction::ToServer),
            b"to_client" | b"from_server" => agree(&mut flow.direction, Direction::ToClient),
            b"established" => agree(&mut flow.established, true),
            b"not_established" => agree(&mut flow.established, false),
            b"stateless" => true,
            b"no_stream" => agree(&mut self.packet.scope, TextScope::Packet),
            b"only_stream" => agree(&mut self.packet.scope, TextScope::Stream),
            b"no_frag" | b"only_frag" => {
                let what = Unsupported::Flow(word.text());
                return Err(Fault::unsupported(word.offset, word.bytes, what));
            }
            _ => {
                return Err(word.syntax(
                    "flow is established, not_established, stateless, to_server or to_client",
                ));
            }
        };
        if consistent {
            Ok(())
        } else {
            Err(word.syntax("the word contradicts what flow said before"))
        }
    }
}

/// Sets a value that may be said twice, but not in two ways.
fn agree<T: PartialEq + Copy>(known: &mut Option<T>, said: T) -> bool {
    *known.get_or_insert(said) == said
}

/// `server,<,1000`: the end, a comparison, a number.
fn stream_bytes(value: Word<'_>) -> Result<StreamBytes, Fault> {
    let mut words = value.list();
    let (Some(end), Some(comparison), Some(number), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(value.syntax("stream_size is an end, a comparison and a number"));
    };
    let number = number.number(0, i64::from(u32::MAX) - 1)? as u32;
    let (least, most, negated) = match comparison.bytes {
        b"<" if number > 0 => (0, number - 1, false),
        b"<=" => (0, number, false),
        b"=" => (number, number, false),
        b"!=" => (number, number, true),
        b">" => (number + 1, u32::MAX, false),
        b">=" => (number, u32::MAX, false),
        _ => return Err(comparison.syntax("a comparison is <, <=, =, !=, > or >=")),
    };
    let end = match end.bytes {
        b"server" => StreamEnd::Server,
        b"client" => StreamEnd::Client,
        b"both" => StreamEnd::Both,
        b"either" => StreamEnd::Either,
        _ => return Err(end.syntax("an end is server, client, both or either")),
    };
    Ok(StreamBytes {
        end,
        bytes: NumberRange {
            least,
            most,
            negated,
        },
    })
}

/// `SA`, `S+`, `*SF`, `!R`, `0`; after a comma, flags that do not count.
fn tcp_flags(value: Word<'_>) -> Result<TcpFlags, Fault> {
    let mut words = value.list();
    let (wanted, ignored) = (words.next().unwrap_or(value), words.next());
    let mut flags = TcpFlags {
        flags: 0,
        ignored: 0,
        test: FlagsTest::Exactly,
    };
    let bit = |word: Word<'_>, at: usize| match word.bytes[at].to_ascii_uppercase() {
        b'F' => Ok(0x01),
        b'S' => Ok(0x02),
        b'R' => Ok(0x04),
        b'P' => Ok(0x08),
        b'A' => Ok(0x10),
        b'U' => Ok(0x20),
        b'E' | b'2' => Ok(0x40),
        b'C' | b'1' => Ok(0x80),
        b'0' => Ok(0x00),
        _ => Err(Fault::syntax(
            word.offset + at,
            &word.bytes[at..=at],
            "flags are F, S, R, P, A, U, E, C or 0, with +, * or !",
        )),
    };
    for (at, byte) in wanted.bytes.iter().enumerate() {
        match byte {
            b'+' => flags.test = FlagsTest::All,
            b'*' => flags.test = FlagsTest::Any,
            b'!' => flags.test = FlagsTest::NotAll,
            _ => flags.flags |= bit(wanted, at)?,
        }
    }
    if let Some(ignored) = ignored {
        for at in 0..ignored.bytes.len() {
            flags.ignored |= bit(ignored, at)?;
        }
    }
    if wanted.bytes.is_empty() || words.next().is_some() {
        return Err(value.syntax("flags are one word, and after a comma those that do not count"));
    }
    Ok(flags)
}
