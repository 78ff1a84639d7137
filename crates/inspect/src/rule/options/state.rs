//! Options that remember: `flowbits`, `xbits`, `threshold`,
//! `detection_filter`, `noalert`.

use super::super::fault::{Fault, Unsupported, printable};
use super::super::names::Names;
use super::super::word::Word;
use super::super::{BitAction, HostBit, Rate, RateKind, Track};
use super::{Draft, needed, once};

/// Longest time of a rate or a bit: 30 days.
const MAX_SECONDS: i64 = 30 * 86_400;
/// Time after which a bit of a host is forgotten, where the rule names none.
const DEFAULT_EXPIRE_SECONDS: u32 = 30;

impl Draft {
    /// Takes in an option of this family, and says whether it was one.
    pub(super) fn state_option(
        &mut self,
        name: Word<'_>,
        value: Option<Word<'_>>,
        names: &mut Names,
    ) -> Result<bool, Fault> {
        match name.bytes {
            b"flowbits" => self.flowbits(needed(name, value)?, names)?,
            b"xbits" => self.xbits(needed(name, value)?, names)?,
            b"noalert" => self.state.is_silent = true,
            b"threshold" | b"detection_filter" => {
                let is_filter = name.bytes == b"detection_filter";
                let rate = rate(needed(name, value)?, is_filter)?;
                once(&mut self.state.rate, name, rate)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What both kinds of bits begin with: what is done, and with which bit;
    /// or the word `noalert` alone, which asks for silence.
    fn named_bit<'w>(
        &mut self,
        words: &mut impl Iterator<Item = Word<'w>>,
        value: Word<'w>,
        form: &'static str,
    ) -> Result<Option<(BitAction, Word<'w>)>, Fault> {
        let action = words.next().unwrap_or(value);
        if action.bytes == b"noalert" {
            self.state.is_silent = true;
            return Ok(None);
        }
        let action = bit_action(action)?;
        match words.next() {
            Some(bit) => Ok(Some((action, bit))),
            None => Err(value.syntax(form)),
        }
    }

    /// `set,name`, `isset,a|b`, `noalert`.
    fn flowbits(&mut self, value: Word<'_>, names: &mut Names) -> Result<(), Fault> {
        let mut words = value.list();
        let named = self.named_bit(&mut words, value, "flowbits names a bit, as in set,name")?;
        let Some((action, list)) = named else {
            return Ok(());
        };
        let mut number = |bit: &[u8]| names.bit(bit.trim_ascii());
        if action.is_query() && list.bytes.contains(&b'&') {
            // All of them: one condition for each.
            for bit in list.bytes.split(|byte| *byte == b'&') {
                self.state.flow_bits.push((action, vec![number(bit)]));
            }
            return Ok(());
        }
        let bits = list.bytes.split(|byte| matches!(byte, b'|' | b'&'));
        let bits = bits.map(number).collect();
        self.state.flow_bits.push((action, bits));
        Ok(())
    }

    /// `set,name,track ip_src,expire 60`.
    fn xbits(&mut self, value: Word<'_>, names: &mut Names) -> Result<(), Fault> {
        let mut words = value.list();
        let form = "xbits names a bit, as in set,name,track ip_src";
        let Some((action, bit)) = self.named_bit(&mut words, value, form)? else {
            return Ok(());
        };
        let mut bit = HostBit {
            action,
            bit: names.bit(bit.bytes),
            track: Track::Source,
            seconds: DEFAULT_EXPIRE_SECONDS,
        };
        for word in words {
            let (name, value) = word.name_and_value();
            let value = needed(name, value)?;
            match name.bytes {
                b"track" => bit.track = track(value)?,
                b"expire" => bit.seconds = value.number(1, MAX_SECONDS)? as u32,
                _ => return Err(name.syntax("xbits has a track and an expire")),
            }
        }
        self.state.host_bits.push(bit);
        Ok(())
    }
}

fn bit_action(word: Word<'_>) -> Result<BitAction, Fault> {
    Ok(match word.bytes {
        b"set" => BitAction::Set,
        b"unset" => BitAction::Unset,
        b"toggle" => BitAction::Toggle,
        b"isset" => BitAction::IsSet,
        b"isnotset" => BitAction::IsNotSet,
        _ => return Err(word.syntax("bits are set, unset, toggle, isset or isnotset")),
    })
}

fn track(word: Word<'_>) -> Result<Track, Fault> {
    Ok(match word.bytes {
        b"by_src" | b"ip_src" => Track::Source,
        b"by_dst" | b"ip_dst" => Track::Destination,
        b"by_both" | b"ip_pair" => Track::Pair,
        b"by_rule" => Track::Rule,
        _ => {
            let what = Unsupported::Keyword(format!("track {}", printable(word.bytes)));
            return Err(Fault::unsupported(word.offset, word.bytes, what));
        }
    })
}

/// `type limit, track by_src, count 1, seconds 60`; a detection filter has no
/// type.
fn rate(value: Word<'_>, is_filter: bool) -> Result<Rate, Fault> {
    let mut kind = is_filter.then_some(RateKind::Filter);
    let (mut tracked, mut count, mut seconds) = (None, None, None);
    for word in value.list() {
        let (name, value) = word.name_and_value();
        let value = needed(name, value)?;
        match name.bytes {
            b"type" => {
                kind = Some(match value.bytes {
                    b"limit" => RateKind::Limit,
                    b"threshold" => RateKind::Threshold,
                    b"both" => RateKind::Both,
                    _ => return Err(value.syntax("a type is limit, threshold or both")),
                });
            }
            b"track" => tracked = Some(track(value)?),
            b"count" => count = Some(value.number(1, i64::from(u32::MAX))? as u32),
            b"seconds" => seconds = Some(value.number(1, MAX_SECONDS)? as u32),
            _ => return Err(name.syntax("a rate has type, track, count and seconds")),
        }
    }
    match (kind, tracked, count, seconds) {
        (Some(kind), Some(track), Some(count), Some(seconds)) => Ok(Rate {
            kind,
            track,
            count,
            seconds,
        }),
        _ => Err(value.syntax("a rate has type, track, count and seconds")),
    }
}
