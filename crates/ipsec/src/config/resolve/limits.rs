//! Numbers of an association, each within its limits.

use toml::Spanned;

use super::Blamed;
use crate::config::document::QuotaEntry;
use crate::lifetime::{Lifetime, Quota};
use crate::replay::ReplayWindow;
use crate::sequence;

/// RFC 4303, section 2.1: 0 is for local use, 1 to 255 are reserved.
pub(in crate::config) const LOWEST_SPI: u32 = 256;

/// RFC 791: every link carries packets of 68 bytes.
pub(in crate::config) const LOWEST_MTU_BYTES: u32 = 68;

/// RFC 4303, section 3.4.3, recommends it.
pub(in crate::config) const DEFAULT_WINDOW: u32 = 64;

pub(super) fn spi(spi: &Spanned<u32>) -> Result<u32, Blamed> {
    let number = *spi.get_ref();
    if number < LOWEST_SPI {
        let message = format!("spi: {number} is reserved; use {LOWEST_SPI} (0x100) or higher");
        return Err((spi.span(), message));
    }
    Ok(number)
}

pub(super) fn window(window: Option<Spanned<u32>>) -> Result<u32, Blamed> {
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

pub(super) fn sequence(sequence: Option<Spanned<u64>>, esn: bool) -> Result<Option<u64>, Blamed> {
    let last = sequence::last(esn);
    match sequence {
        Some(number) if !(1..=last).contains(number.get_ref()) => {
            let message = format!(
                "expected_sequence: must be 1 to {last}{}",
                if esn {
                    ""
                } else {
                    "; larger ones need esn = true"
                }
            );
            Err((number.span(), message))
        }
        other => Ok(other.map(Spanned::into_inner)),
    }
}

pub(super) fn mtu(mtu: Option<Spanned<u32>>) -> Result<u32, Blamed> {
    match mtu {
        None => Ok(u32::MAX),
        Some(mtu) if *mtu.get_ref() >= LOWEST_MTU_BYTES => Ok(mtu.into_inner()),
        Some(mtu) => {
            let message = format!("mtu: must be at least {LOWEST_MTU_BYTES} bytes");
            Err((mtu.span(), message))
        }
    }
}

pub(super) fn lifetime(
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
