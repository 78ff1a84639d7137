//! What a batch must take, and why it must refuse the rest: lists, searched from the front.

use std::ops::Range;

use weir_crypto::{BATCH_PACKETS, Descriptor, Layout, NonceRule, Refusal, Suite};

/// A held key.
pub struct Held {
    suite: Suite,
    rule: NonceRule,
    numbers: Numbers,
    contexts: Vec<(u32, Numbers)>,
}

#[derive(Clone)]
struct Numbers {
    next: u64,
    reserved: u64,
}

impl Held {
    pub fn new(suite: Suite, rule: NonceRule, numbers: Range<u64>) -> Held {
        Held {
            suite,
            rule,
            numbers: Numbers::of(numbers),
            contexts: Vec::new(),
        }
    }
}

impl Numbers {
    fn of(range: Range<u64>) -> Numbers {
        Numbers {
            next: range.start,
            reserved: range.end,
        }
    }
}

/// What a push must give.
pub struct Expected {
    pub result: Result<u64, Refusal>,
    /// Of the key, if there is one.
    pub suite: Option<Suite>,
    pub iv_bytes: usize,
}

/// Keys as they were added, and the batch.
pub struct Model {
    /// `None` for those that were removed; the first is none.
    keys: Vec<Option<Held>>,
    /// Of the batch's one-time keys, and whether each has its packet.
    one_time: Vec<(Suite, bool)>,
    buffer_bytes: usize,
    /// Where the packets of the batch lie.
    places: Vec<Range<u64>>,
}

impl Model {
    pub fn new() -> Model {
        Model {
            keys: vec![None],
            one_time: Vec::new(),
            buffer_bytes: 0,
            places: Vec::new(),
        }
    }

    pub fn add(&mut self, key: Held) {
        self.keys.push(Some(key));
    }

    /// Whether there was a key.
    pub fn remove(&mut self, at: usize) -> bool {
        self.keys[at].take().is_some()
    }

    /// Whether the context is added; `None` where there is no key.
    pub fn add_context(&mut self, at: usize, context: u32, numbers: Range<u64>) -> Option<bool> {
        let key = self.keys[at].as_mut()?;
        let is_added = matches!(key.rule, NonceRule::Xor(_) | NonceRule::Srtp(_))
            && key.contexts.iter().all(|(known, _)| *known != context);
        if is_added {
            key.contexts.push((context, Numbers::of(numbers)));
        }
        Some(is_added)
    }

    /// Begins a batch.
    pub fn begin(&mut self, buffer_bytes: usize) {
        self.buffer_bytes = buffer_bytes;
        self.one_time.clear();
        self.places.clear();
    }

    /// Whether the batch takes one more one-time key.
    pub fn add_one_time(&mut self, suite: Suite) -> bool {
        if self.one_time.len() == BATCH_PACKETS {
            return false;
        }
        self.one_time.push((suite, false));
        true
    }

    pub fn push_one_time(
        &mut self,
        at: usize,
        packet: &Descriptor,
        given: Option<u64>,
    ) -> Expected {
        let (suite, is_spent) = self.one_time[at];
        let iv_bytes = suite.iv_bytes();
        let result = match is_spent {
            true => Err(Refusal::KeySpent),
            false => self.place(suite, true, packet).and_then(|place| {
                if packet.context != 0 {
                    let context = packet.context;
                    return Err(Refusal::NoContext { context });
                }
                self.places.push(place);
                self.one_time[at].1 = true;
                Ok(given.unwrap_or(0))
            }),
        };
        Expected {
            result,
            suite: Some(suite),
            iv_bytes,
        }
    }

    pub fn push(&mut self, at: usize, packet: &Descriptor, given: Option<u64>) -> Expected {
        let Some(key) = &self.keys[at] else {
            return Expected {
                result: Err(Refusal::NoKey),
                suite: None,
                iv_bytes: 0,
            };
        };
        let (suite, is_explicit) = (key.suite, key.rule == NonceRule::Explicit);
        let result = self.place(suite, is_explicit, packet).and_then(|place| {
            let number = self.take_number(at, packet.context, given)?;
            self.places.push(place);
            Ok(number)
        });
        Expected {
            result,
            suite: Some(suite),
            iv_bytes: if is_explicit { suite.iv_bytes() } else { 0 },
        }
    }

    /// Where the packet lies, if its layout, its place and the batch allow it.
    fn place(
        &self,
        suite: Suite,
        is_explicit: bool,
        packet: &Descriptor,
    ) -> Result<Range<u64>, Refusal> {
        let Layout {
            payload_bytes,
            aad_bytes,
            gap_bytes,
            esn,
        } = packet.layout;
        let block_bytes = suite.block_bytes();
        if !(payload_bytes as usize).is_multiple_of(block_bytes) {
            return Err(Refusal::PartialBlock {
                block_bytes,
                payload_bytes: payload_bytes.into(),
            });
        }
        if usize::from(aad_bytes) > suite.max_aad_bytes() {
            return Err(Refusal::AadTooLong {
                max_bytes: suite.max_aad_bytes(),
                aad_bytes: aad_bytes.into(),
            });
        }
        if esn && (aad_bytes != 8 || !is_explicit || matches!(suite, Suite::Mac(_))) {
            return Err(Refusal::NotEsp);
        }
        if self.places.len() == BATCH_PACKETS {
            return Err(Refusal::BatchFull);
        }
        let iv_bytes = if is_explicit { suite.iv_bytes() } else { 0 };
        let bytes = usize::from(aad_bytes) + usize::from(gap_bytes) + iv_bytes + suite.tag_bytes();
        let start = u64::from(packet.offset);
        let end = start + bytes as u64 + u64::from(payload_bytes);
        if end > self.buffer_bytes as u64 {
            return Err(Refusal::OutOfBuffer {
                end,
                buffer_bytes: self.buffer_bytes as u64,
            });
        }
        let overlaps = |other: &Range<u64>| start < other.end && other.start < end;
        if self.places.iter().any(overlaps) {
            let offset = packet.offset;
            return Err(Refusal::Overlap { offset });
        }
        Ok(start..end)
    }

    /// The number that the packet gets. No program counts as far as a key's limit.
    fn take_number(&mut self, at: usize, context: u32, given: Option<u64>) -> Result<u64, Refusal> {
        let no_context = Refusal::NoContext { context };
        let key = self.keys[at].as_mut().ok_or(Refusal::NoKey)?;
        let numbers = match &mut key.contexts[..] {
            [] if context == 0 => &mut key.numbers,
            contexts => {
                let known = contexts.iter_mut().find(|(known, _)| *known == context);
                &mut known.ok_or(no_context)?.1
            }
        };
        let number = given.unwrap_or(numbers.next);
        if number < numbers.next {
            let next = numbers.next;
            return Err(Refusal::NumberUsed { number, next });
        }
        if number >= numbers.reserved {
            let end = numbers.reserved;
            return Err(Refusal::NotReserved { end });
        }
        numbers.next = number + 1;
        Ok(number)
    }
}
