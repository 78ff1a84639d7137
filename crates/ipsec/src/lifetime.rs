//! How much an association may protect (RFC 4301, section 4.4.2.1).

use weir_crypto::{Limits, Suite};

/// A number of packets and a number of bytes; reaching either ends it. Bytes
/// are those that the cipher or MAC is applied to: payload, padding and
/// trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    /// Packets; `u64::MAX` for no bound.
    pub packets: u64,
    /// Bytes; `u64::MAX` for no bound.
    pub bytes: u64,
}

impl Quota {
    /// No bound.
    pub const UNLIMITED: Quota = Quota {
        packets: u64::MAX,
        bytes: u64::MAX,
    };
}

/// When an association needs a successor, and when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lifetime {
    /// Passing it is an event, once.
    pub soft: Quota,
    /// Packets beyond it are dropped.
    pub hard: Quota,
}

impl Lifetime {
    /// No bound but the suite's.
    pub const UNLIMITED: Lifetime = Lifetime {
        soft: Quota::UNLIMITED,
        hard: Quota::UNLIMITED,
    };
}

/// The longest text of a packet, rounded up.
pub const LONGEST_TEXT_BYTES: u64 = 1 << 16;

/// What an association has protected or verified, held against its lifetime
/// and the limits of its suite.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    lifetime: Lifetime,
    limits: Option<Limits>,
    /// A text that does not fill its last block uses it all the same.
    has_partial_blocks: bool,
    packets: u64,
    bytes: u64,
    /// Cipher blocks, in which a suite's limit counts.
    blocks: u64,
    is_soft_noted: bool,
    is_expired: bool,
}

/// The hard lifetime, or the limit of the suite, is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired;

impl Usage {
    /// The use of a key that seals, which its suite's limits cap. `packets`
    /// and `bytes` is what it sealed before, at most.
    pub fn of_sealing(lifetime: Lifetime, suite: Suite, packets: u64, bytes: u64) -> Usage {
        let limits = suite.limits();
        let mut usage = Usage {
            limits: Some(limits),
            has_partial_blocks: suite.block_bytes() != limits.block_bytes,
            ..Usage::of_opening(lifetime)
        };
        usage.book(packets, bytes);
        usage
    }

    /// The use of a key that opens; its limits are the sender's business.
    pub fn of_opening(lifetime: Lifetime) -> Usage {
        Usage {
            lifetime,
            limits: None,
            has_partial_blocks: false,
            packets: 0,
            bytes: 0,
            blocks: 0,
            is_soft_noted: false,
            is_expired: false,
        }
    }

    /// Takes one packet of `plaintext_bytes` from the lifetime. `Ok(true)` when
    /// this packet is the first beyond the soft lifetime.
    ///
    /// # Errors
    /// The packet would pass the hard lifetime; from then on every packet
    /// does, whatever its size.
    pub fn charge(&mut self, plaintext_bytes: u64) -> Result<bool, Expired> {
        if self.is_expired {
            return Err(Expired);
        }
        let packets = self.packets.saturating_add(1);
        let bytes = self.bytes.saturating_add(plaintext_bytes);
        let blocks = match self.limits {
            Some(limits) => self
                .blocks
                .saturating_add(limits.blocks_of(plaintext_bytes)),
            None => 0,
        };
        let is_over_suite = self
            .limits
            .is_some_and(|limits| packets > limits.packets.most || blocks > limits.blocks.most);
        if exceeds(packets, bytes, &self.lifetime.hard) || is_over_suite {
            self.is_expired = true;
            return Err(Expired);
        }
        (self.packets, self.bytes, self.blocks) = (packets, bytes, blocks);
        let is_news = !self.is_soft_noted && exceeds(packets, bytes, &self.lifetime.soft);
        self.is_soft_noted |= is_news;
        Ok(is_news)
    }

    /// How many packets may come, of whatever length, before a limit can be
    /// met: they need not be charged one by one, but may be
    /// [`book`](Usage::book)ed together.
    pub fn leeway(&self) -> u64 {
        if self.is_expired {
            return 0;
        }
        let mut leeway = self.leeway_to(&self.lifetime.hard);
        if !self.is_soft_noted {
            leeway = leeway.min(self.leeway_to(&self.lifetime.soft));
        }
        if let Some(limits) = self.limits {
            let packet_blocks = limits.blocks_of(LONGEST_TEXT_BYTES) + 1;
            leeway = leeway
                .min(limits.packets.most.saturating_sub(self.packets))
                .min(limits.blocks.most.saturating_sub(self.blocks) / packet_blocks);
        }
        leeway
    }

    fn leeway_to(&self, quota: &Quota) -> u64 {
        let packets = quota.packets.saturating_sub(self.packets);
        packets.min(quota.bytes.saturating_sub(self.bytes) / LONGEST_TEXT_BYTES)
    }

    /// Takes packets that a [`leeway`](Usage::leeway) covered, or that were
    /// sealed before, from the lifetime.
    pub fn book(&mut self, packets: u64, bytes: u64) {
        self.packets = self.packets.saturating_add(packets);
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(limits) = self.limits {
            let partial_blocks = if self.has_partial_blocks { packets } else { 0 };
            let blocks = limits.blocks_of(bytes).saturating_add(partial_blocks);
            self.blocks = self.blocks.saturating_add(blocks);
        }
    }

    /// Whether the hard lifetime was reached.
    pub fn is_expired(&self) -> bool {
        self.is_expired
    }

    /// Bytes charged so far, over all runs.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn exceeds(packets: u64, bytes: u64, quota: &Quota) -> bool {
    packets > quota.packets || bytes > quota.bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn suite(name: &str) -> Suite {
        Suite::parse(name).expect("a suite")
    }

    fn lifetime(soft: (u64, u64), hard: (u64, u64)) -> Lifetime {
        let quota = |(packets, bytes)| Quota { packets, bytes };
        Lifetime {
            soft: quota(soft),
            hard: quota(hard),
        }
    }

    #[test]
    fn soft_lifetime_is_told_once_and_hard_lifetime_ends_it() {
        let mut usage = Usage::of_opening(lifetime((2, u64::MAX), (4, u64::MAX)));
        let told: Vec<_> = (0..6).map(|_| usage.charge(100)).collect();
        assert_eq!(
            told,
            [
                Ok(false),
                Ok(false),
                Ok(true),
                Ok(false),
                Err(Expired),
                Err(Expired)
            ]
        );
        assert_eq!(usage.bytes(), 400);
    }

    #[test]
    fn bytes_count_to_the_last_one() {
        let mut usage = Usage::of_opening(lifetime((u64::MAX, 100), (u64::MAX, 200)));
        assert_eq!(usage.charge(100), Ok(false));
        assert_eq!(usage.charge(100), Ok(true));
        assert_eq!(usage.charge(1), Err(Expired));
        // Once over, a packet of no bytes is over too.
        assert_eq!(usage.charge(0), Err(Expired));
    }

    #[test]
    fn triple_des_ends_at_2_20_blocks_over_all_runs() {
        let suite = suite("3des-cbc+hmac-sha1-96");
        let mut usage = Usage::of_sealing(Lifetime::UNLIMITED, suite, 0, 0);
        for _ in 0..1024 {
            assert_eq!(usage.charge(8 * 1024), Ok(false));
        }
        assert_eq!(usage.charge(8), Err(Expired));

        let mut next_run = Usage::of_sealing(Lifetime::UNLIMITED, suite, 10, 8 * ((1 << 20) - 1));
        assert_eq!(next_run.charge(8), Ok(false));
        assert_eq!(next_run.charge(8), Err(Expired));
    }

    proptest! {
        /// Packets within the leeway meet no limit, whatever their lengths, and
        /// booked together they count no less than one by one.
        #[test]
        fn leeway_promises_no_more_than_there_is(
            packets in 1u64..100,
            bytes in 1u64..20_000_000,
            soft in 1u64..40,
            is_legacy: bool,
            texts in prop::collection::vec(1u64..LONGEST_TEXT_BYTES / 8, 1..60),
        ) {
            let suite = suite(if is_legacy { "3des-cbc+hmac-sha1-96" } else { "aes-128-gcm-16" });
            let lifetime = lifetime((soft, u64::MAX), (packets, bytes));
            let mut usage = Usage::of_sealing(lifetime, suite, 0, 0);
            let mut booked = usage;
            let leeway = usage.leeway();
            let (mut together, mut sum) = (0, 0);
            for plaintext_bytes in texts.iter().map(|text| text * 8) {
                if together < leeway {
                    prop_assert_eq!(usage.charge(plaintext_bytes), Ok(false));
                    together += 1;
                    sum += plaintext_bytes;
                }
            }
            booked.book(together, sum);
            prop_assert_eq!((booked.packets, booked.bytes), (usage.packets, usage.bytes));
            prop_assert!(booked.blocks >= usage.blocks);
        }
    }

    #[test]
    fn partial_blocks_of_earlier_packets_count_whole() {
        // 2^48 blocks of 16 bytes; all but two packets' worth were used.
        let bytes = ((1u64 << 48) - 12) * 16;
        let gcm = suite("aes-128-gcm-16");
        let mut usage = Usage::of_sealing(Lifetime::UNLIMITED, gcm, 10, bytes);
        assert_eq!(usage.charge(17), Ok(false));
        assert_eq!(usage.charge(1), Err(Expired));
    }
}
