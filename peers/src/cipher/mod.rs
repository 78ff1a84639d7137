//! Packets sealed and opened as in ESP: associated data, IV, text in place, tag.
//!
//! Weir takes the packets in batches, as does ipsec-mb where it can; the other peers
//! take them one by one, which is their interface. Every packet names its key, in
//! random order. Keys are expanded beforehand (`few`, `4096`), or each packet brings
//! its own, which is expanded for it alone (`new`).
//!
//! Before a comparison, every candidate works on the same packets, and the results
//! must be equal to the last bit; candidates that open packets must refuse a packet
//! with a forged tag.
//!
//! ```text
//!  works       suites, sizes, numbers of keys, and the peers of each
//!  comparison  a comparison of one of them
//!  packets, first_blocks
//!              the packets and the start of their ciphers
//!  weir, slices, prototype, ipsec_mb, openssl, aws_lc, ring, rust_crypto
//!              the candidates
//! ```

mod aws_lc;
mod comparison;
#[cfg(any(ipsec_mb, openssl))]
mod first_blocks;
mod ipsec_mb;
mod openssl;
mod packets;
mod prototype;
mod ring;
mod rust_crypto;
mod weir;
mod works;

use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use weir_crypto::Suite;
use weir_packet::generate::{Generator, Plan, SizeModel};

use crate::harness::{Comparison, Recorder};
use comparison::Setting;
use packets::{Order, Packets, Secrets};
use works::{Keys, Sizes, WORKS, Work};

#[cfg(ipsec_mb)]
pub use ipsec_mb::version as ipsec_mb_version;
#[cfg(openssl)]
pub use openssl::version as openssl_version;

/// Packets of a pass: as many as the largest number of keys.
const PACKETS: usize = 4096;

/// All works.
pub fn measure(recorder: &mut Recorder) -> Result<()> {
    for work in WORKS {
        let suite = Suite::parse(work.suite)?;
        for (keys, sizes) in work.runs {
            let setting = Setting {
                suite,
                direction: work.direction,
                secrets: Rc::new(Secrets::make(suite, keys.count(PACKETS))),
                new_keys: matches!(keys, Keys::New),
                text_bytes: None,
            };
            for sizes in *sizes {
                comparison(recorder, work, &setting, *keys, *sizes)
                    .with_context(|| format!("{}, {sizes:?}, {keys:?}", work.name))?;
            }
        }
    }
    Ok(())
}

fn comparison(
    recorder: &mut Recorder,
    work: &Work,
    setting: &Setting,
    keys: Keys,
    sizes: Sizes,
) -> Result<()> {
    let (name, text_bytes) = match sizes {
        Sizes::All(bytes) => (work.name.to_owned(), vec![bytes; PACKETS]),
        Sizes::Mix(model) => (format!("{}-{model}", work.name), mix(model)?),
    };
    let mean_bytes = text_bytes.iter().sum::<usize>() / PACKETS;
    if !recorder.wants(&name, mean_bytes, keys.name()) {
        return Ok(());
    }
    let order = match keys {
        Keys::Held(_, count) => Order::Random(count),
        Keys::New => Order::Own,
    };
    let packets = Packets::new(setting.suite, &text_bytes, order);
    let mut comparison = Comparison::new(&name, mean_bytes, keys.name());
    let setting = &Setting {
        text_bytes: match sizes {
            Sizes::All(bytes) => Some(bytes.next_multiple_of(setting.suite.block_bytes())),
            Sizes::Mix(_) => None,
        },
        ..setting.clone()
    };
    comparison::add(&mut comparison, setting, packets, (work.peers)(setting)?)?;
    if let Some(note) = work.note {
        comparison.note_first(note);
    }
    recorder.run(comparison)
}

/// Sizes of generated IP packets, which a tunnel encrypts.
fn mix(sizes: SizeModel) -> Result<Vec<usize>> {
    /// Position of the total length, behind an Ethernet header.
    const LENGTH: std::ops::Range<usize> = 16..18;
    let plan = Plan {
        packets: PACKETS as u64,
        sizes,
        ipv6_share: 0.0,
        ..Plan::default()
    };
    let mut generator = Generator::new(&plan)?;
    let (mut text_bytes, mut frame) = (Vec::with_capacity(PACKETS), Vec::new());
    while generator.fill(&mut frame).is_some() {
        let length = frame.get(LENGTH).and_then(<[u8]>::first_chunk).copied();
        text_bytes.push(u16::from_be_bytes(length.unwrap_or_default()).into());
    }
    ensure!(text_bytes.len() == PACKETS, "{} packets", text_bytes.len());
    Ok(text_bytes)
}
