//! Every engine finds the same: over all payloads of the captures, all contents
//! of each file of rules, short ones too.

use anyhow::{Result, bail};
use weir_inspect::{Hits, Profile, Text};

use super::engines::{Engines, Found, View};
use super::{Contents, Options, Traffic, read};

/// Packets in which each content is looked for by itself.
const SAMPLE: usize = 100;

/// Prints how many matches there are for each file; fails where two engines
/// differ.
pub fn check(options: &Options) -> Result<()> {
    let traffics = read::traffic(&read::files(&options.captures)?, usize::MAX)?;
    let Some(traffic) = traffics.first() else {
        bail!("there is no traffic: name --captures");
    };
    let view = View::new(traffic);
    for file in &options.rules {
        let contents = Contents {
            name: "every",
            needles: read::every_content(std::slice::from_ref(file))?,
        };
        let engines = Engines::build(&contents, Profile::typical())?;
        let found = engines.found(&view)?;
        let [(_, first), ..] = &found[..] else {
            bail!("there are no engines");
        };
        println!(
            "{}: {} contents, {} packets, {} bytes",
            file.display(),
            contents.needles.len(),
            traffic.packets.len(),
            traffic.total()
        );
        for (name, of_engine) in &found {
            println!("  {name}: {of_engine}");
        }
        if found.iter().any(|(_, of_engine)| of_engine != first) {
            bail!("the engines differ");
        }
        let (one_by_one, of_engine) = by_sample(&contents, &engines, traffic);
        println!("  of {SAMPLE} packets, each content by itself: {one_by_one}");
        if one_by_one != of_engine {
            bail!("Weir finds {of_engine} there");
        }
    }
    Ok(())
}

/// What occurs in some packets, by looking for one content after the other; and
/// what Weir finds there.
fn by_sample(contents: &Contents, engines: &Engines<'_>, traffic: &Traffic) -> (Found, Found) {
    let step = traffic.packets.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<&Vec<u8>> = traffic.packets.iter().step_by(step).collect();
    let mut found = Found::default();
    for (packet, bytes) in (0..).zip(&sample) {
        for (content, needle) in (0..).zip(&contents.needles) {
            if needle.occurs_in(bytes) {
                found.add(packet, content);
            }
        }
    }
    let texts: Vec<Text<'_>> = sample.iter().map(|bytes| Text::whole(bytes)).collect();
    (found, engines.weir.found(&texts, 1, &mut Hits::default()))
}
