//! Packets sealed and opened as ESP does it: IV, text in place, tag, over a
//! prefix that is authenticated too.
//!
//! Weir takes the packets by the batch, as does ipsec-mb where it can; the other
//! peers take them one by one, since that is what they offer. Every packet says
//! which key it needs, in an order that nothing can guess. Keys are held ready
//! (`few`, `64`, `4096`), or each packet brings its own, which is expanded for
//! it alone (`new`).
//!
//! Before a contest, every subject works on the same packets, and what comes
//! out must be the same to the last bit; who opens packets must refuse one
//! whose tag is forged.
//!
//! ```text
//!  works      which suites, sizes and numbers of keys, and who takes part
//!  contest    a contest of them
//!  packets, first_blocks
//!             what they work on
//!  weir, ipsec_mb, openssl, aws_lc, ring, rust_crypto
//!             the subjects
//! ```

mod aws_lc;
mod contest;
#[cfg(any(ipsec_mb, openssl))]
mod first_blocks;
mod ipsec_mb;
mod openssl;
mod packets;
mod ring;
mod rust_crypto;
mod slices;
mod weir;
mod works;

use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use weir_crypto::Suite;
use weir_packet::generate::{Generator, Plan, SizeModel};

use crate::harness::{Contest, Scoreboard};
use contest::Setting;
use packets::{Order, Packets, Secrets};
use works::{Keys, Sizes, WORKS, Work};

#[cfg(ipsec_mb)]
pub use ipsec_mb::version as ipsec_mb_version;
#[cfg(openssl)]
pub use openssl::version as openssl_version;

/// Packets of a pass: as many as the most keys there are.
const PACKETS: usize = 4096;

/// All works.
pub fn measure(scoreboard: &mut Scoreboard) -> Result<()> {
    for work in WORKS {
        let suite = Suite::parse(work.suite)?;
        for (keys, sizes) in work.runs {
            let setting = Setting {
                suite,
                direction: work.direction,
                secrets: Rc::new(Secrets::make(suite, keys.count(PACKETS))),
                new_keys: matches!(keys, Keys::New),
            };
            for sizes in *sizes {
                contest(scoreboard, work, &setting, *keys, *sizes)
                    .with_context(|| format!("{}, {sizes:?}, {keys:?}", work.name))?;
            }
        }
    }
    Ok(())
}

fn contest(
    scoreboard: &mut Scoreboard,
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
    if !scoreboard.wants(&name, mean_bytes, keys.name()) {
        return Ok(());
    }
    let order = match keys {
        Keys::Held(_, count) => Order::Random(count),
        Keys::New => Order::Own,
    };
    let packets = Packets::new(setting.suite, &text_bytes, order);
    let mut contest = Contest::new(&name, mean_bytes, keys.name());
    contest::enter(&mut contest, setting, packets, (work.peers)(setting)?)?;
    if let Some(note) = work.note {
        contest.note_first(note);
    }
    scoreboard.run(contest)
}

/// Sizes of generated IP packets: what a tunnel encrypts.
fn mix(sizes: SizeModel) -> Result<Vec<usize>> {
    /// Where the total length stands, behind an Ethernet header.
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
