//! From the file as written to pipelines that can be built.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::document::{File, Input, NamedPipeline, Output, Port, PortKind, Side};
use super::model::{
    Config, InspectConfig, LivePath, LivePortConfig, LivePortKind, PipelineConfig, StageName,
};

pub(super) fn resolve(file: File, path: &Path, frame: toml::Table) -> Result<Config> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let has_table = |stage: StageName| match stage {
        StageName::Filter => file.filter.is_some(),
        StageName::Inspect => file.inspect.is_some(),
        StageName::Measure => file.measure.is_some(),
        StageName::Protect | StageName::Unprotect => file.ipsec.is_some(),
        StageName::FabricFilter => file.fabric_filter.is_some(),
        StageName::FabricProtect | StageName::FabricUnprotect => file.fabric.is_some(),
    };
    let Some(pipeline) = file.pipeline else {
        bail!("no pipeline: add [pipeline] with stages = [\"filter\", …], or [pipeline.NAME]");
    };
    let mut live_ports = Vec::new();
    let mut pipelines = match (pipeline.stages, file.input) {
        (Some(stages), Some(input)) => {
            ensure!(
                pipeline.named.is_empty() && file.port.is_empty(),
                "use either [input], [pipeline] and [output], or [[port]] and [pipeline.NAME]"
            );
            vec![short_form(stages, input, file.output)]
        }
        (Some(_), None) => bail!("[pipeline] needs an [input] with pcap = [\"FILE\"]"),
        (None, Some(_)) => bail!("[input] needs a [pipeline] with stages = [\"filter\", …]"),
        (None, None) => {
            ensure!(file.output.is_none(), "[output] goes with [input]");
            check_ports(&file.port)?;
            pipeline
                .named
                .into_iter()
                .map(|(name, pipeline)| {
                    long_form(&name, pipeline, &file.port, &mut live_ports)
                        .with_context(|| format!("[pipeline.{name}]"))
                })
                .collect::<Result<Vec<_>>>()?
        }
    };
    ensure!(!pipelines.is_empty(), "no [pipeline]");
    for stage in [StageName::Protect, StageName::FabricProtect] {
        let protecting = pipelines.iter();
        let protecting = protecting.filter(|pipeline| pipeline.stages.contains(&stage));
        ensure!(
            protecting.count() <= 1,
            "two pipelines {}: let one do it, for a key counts its packets in one place",
            stage.name()
        );
    }
    let verifying = pipelines.iter();
    let verifying =
        verifying.filter(|pipeline| pipeline.stages.contains(&StageName::FabricUnprotect));
    ensure!(
        verifying.count() <= 1,
        "two pipelines fabric-unprotect: let one do it, for a queue pair has one window"
    );
    let live = pipelines.iter().filter(|pipeline| pipeline.live.is_some());
    ensure!(
        [0, pipelines.len()].contains(&live.count()),
        "some pipelines are live and some are between captures: run them as two gateways"
    );
    for pipeline in &mut pipelines {
        ensure!(
            pipeline.live.is_some() || !pipeline.read.is_empty(),
            "pipeline {}: no file to read",
            pipeline.name
        );
        check_stages(pipeline, &has_table)?;
        for path in pipeline.read.iter_mut().chain(&mut pipeline.write) {
            place(path, folder);
        }
    }

    let mut config = Config {
        path: path.to_owned(),
        pipelines,
        ports: live_ports,
        filter: file.filter,
        inspect: file.inspect,
        measure: file.measure,
        ipsec: file.ipsec,
        fabric: file.fabric,
        fabric_filter: file.fabric_filter,
        report: file.report,
        frame,
        is_from_file: false,
    };
    if let Some(inspect) = &mut config.inspect {
        let InspectConfig {
            rules,
            classification,
            alerts,
            prometheus,
            ..
        } = inspect;
        let paths = rules.iter_mut().chain(classification);
        for path in paths.chain(alerts).chain(prometheus) {
            place(path, folder);
        }
    }
    if let Some(ipsec) = &mut config.ipsec {
        place(&mut ipsec.sa, folder);
        if let Some(path) = &mut ipsec.state {
            place(path, folder);
        }
    }
    if let Some(fabric) = &mut config.fabric {
        place(&mut fabric.file, folder);
        for path in [&mut fabric.state, &mut fabric.alarms]
            .into_iter()
            .flatten()
        {
            place(path, folder);
        }
    }
    if let Some(measure) = &mut config.measure {
        let places = [
            &mut measure.alarms,
            &mut measure.json_lines,
            &mut measure.prometheus,
            &mut measure.parquet,
        ];
        for path in places.into_iter().flatten() {
            place(path, folder);
        }
    }
    if let Some(path) = &mut config.report.json {
        place(path, folder);
    }
    Ok(config)
}

/// Makes a path relative to the configuration's folder; `-` stays.
fn place(path: &mut PathBuf, folder: &Path) {
    if path.as_os_str() != "-" {
        *path = folder.join(&*path);
    }
}

fn short_form(stages: Vec<StageName>, input: Input, output: Option<Output>) -> PipelineConfig {
    PipelineConfig {
        name: "main".to_owned(),
        from: "input".to_owned(),
        to: output.is_some().then(|| "output".to_owned()),
        read: input.pcap,
        write: output.map(|output| output.pcap),
        live: None,
        stages,
    }
}

fn check_ports(ports: &[Port]) -> Result<()> {
    for (index, port) in ports.iter().enumerate() {
        ensure!(
            !ports[..index].iter().any(|other| other.name == port.name),
            "two ports are named {:?}",
            port.name
        );
        let has_files = !port.read.is_empty() || port.write.is_some();
        let (has_interface, has_address) = (port.interface.is_some(), port.address.is_some());
        match port.kind {
            PortKind::Pcap => ensure!(
                !has_interface && !has_address,
                "port {:?}: a port of kind \"pcap\" has read and write, and no interface or address",
                port.name
            ),
            PortKind::Interface | PortKind::Xdp | PortKind::Tun => ensure!(
                has_interface && !has_address && !has_files,
                "port {:?}: a port of this kind has interface = \"NAME\", and neither read nor write",
                port.name
            ),
            PortKind::Udp => ensure!(
                has_address && !has_interface && !has_files,
                "port {:?}: a port of kind \"udp\" has address = \"ADDRESS:PORT\" alone",
                port.name
            ),
        }
    }
    Ok(())
}

fn long_form(
    name: &str,
    pipeline: NamedPipeline,
    ports: &[Port],
    live_ports: &mut Vec<LivePortConfig>,
) -> Result<PipelineConfig> {
    let find = |wanted: &str| {
        ports
            .iter()
            .find(|port| port.name == wanted)
            .with_context(|| format!("there is no [[port]] named {wanted:?}"))
    };
    let from = find(&pipeline.from)?;
    let to = pipeline.to.as_deref().map(find).transpose()?;
    let has = |stage| pipeline.stages.contains(&stage);
    let protects = has(StageName::Protect) || has(StageName::FabricProtect);
    let unprotects = has(StageName::Unprotect) || has(StageName::FabricUnprotect);
    let expected = |stage: &str, port: &Port, side: Side, word: &str| {
        ensure!(
            port.side == side,
            "{stage} needs side = \"{word}\" at port {:?}",
            port.name
        );
        Ok(())
    };
    if protects && !unprotects {
        expected("protect", from, Side::Plain, "plain")?;
        to.map_or(Ok(()), |to| expected("protect", to, Side::Cipher, "cipher"))?;
    }
    if unprotects && !protects {
        expected("unprotect", from, Side::Cipher, "cipher")?;
        to.map_or(Ok(()), |to| expected("unprotect", to, Side::Plain, "plain"))?;
    }
    let is_live = |port: &Port| !matches!(port.kind, PortKind::Pcap);
    if let Some(to) = to {
        ensure!(
            is_live(from) == is_live(to),
            "one of its ports is live, the other one is not: record or replay separately"
        );
        ensure!(
            is_live(to) || to.write.is_some(),
            "port {:?} has no file to write",
            to.name
        );
    }
    if let Some(to) = to.filter(|_| is_live(from)) {
        let begins_with_ip = |port: &Port| matches!(port.kind, PortKind::Tun | PortKind::Udp);
        ensure!(
            begins_with_ip(from) == begins_with_ip(to),
            "packets of tun and udp ports begin with an IP header, those of interface and xdp \
             ports with an Ethernet header: connect ports of one sort"
        );
    }
    let mut number_of = |port: &Port| live_port(port, live_ports);
    let live = match is_live(from) {
        true => Some(LivePath {
            from: number_of(from),
            to: to.map(number_of),
        }),
        false => None,
    };
    Ok(PipelineConfig {
        name: name.to_owned(),
        from: pipeline.from,
        to: pipeline.to,
        live,
        read: from.read.clone(),
        write: to.and_then(|to| to.write.clone()),
        stages: pipeline.stages,
    })
}

/// The place of a port among the live ones that pipelines use.
fn live_port(port: &Port, live_ports: &mut Vec<LivePortConfig>) -> usize {
    let known = live_ports.iter().position(|known| known.name == port.name);
    known.unwrap_or_else(|| {
        live_ports.push(LivePortConfig {
            name: port.name.clone(),
            kind: match port.kind {
                PortKind::Xdp => LivePortKind::Xdp,
                PortKind::Tun => LivePortKind::Tun,
                PortKind::Udp => LivePortKind::Udp,
                PortKind::Pcap | PortKind::Interface => LivePortKind::Interface,
            },
            address: port.address,
            interface: port.interface.clone().unwrap_or_default(),
            promiscuous: port.promiscuous,
        });
        live_ports.len() - 1
    })
}

fn check_stages(pipeline: &PipelineConfig, has_table: &impl Fn(StageName) -> bool) -> Result<()> {
    for (index, stage) in pipeline.stages.iter().enumerate() {
        ensure!(
            has_table(*stage),
            "pipeline {}: the stage {} needs a table [{}]",
            pipeline.name,
            stage.name(),
            stage.table()
        );
        ensure!(
            !pipeline.stages[..index].contains(stage),
            "pipeline {}: the stage {} is named twice",
            pipeline.name,
            stage.name()
        );
    }
    Ok(())
}
