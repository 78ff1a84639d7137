//! The ports of a configuration, opened.

use weir_port::{
    FrameLayout, FramePool, InterfaceRx, InterfaceTx, Rx, RxOptions, SegmentedRx, TunOptions, Tx,
    TxOptions, UdpOptions, XdpOptions, open_tun, open_xdp, udp_port,
};
use weir_stream::LivePort;

use crate::config::{Config, LivePortConfig, LivePortKind};
use crate::error::{Error, Result};

/// Opens the ports, in the order of the configuration, with a queue for each worker.
pub fn open(config: &Config, workers: usize) -> Result<Vec<LivePort>> {
    let of_kind = |kind| config.ports.iter().filter(move |port| port.kind == kind);
    let xdp_ports = of_kind(LivePortKind::Xdp).count();
    let small = match xdp_ports + of_kind(LivePortKind::Tun).count() {
        0 => Vec::new(),
        _ => pools(workers, small_frames(xdp_ports as u32))?,
    };
    let large = match config.ports.len() - xdp_ports {
        0 => Vec::new(),
        _ => pools(workers, LARGE_FRAMES)?,
    };
    let paths = || {
        let pipelines = config.pipelines.iter();
        pipelines.filter_map(|pipeline| pipeline.live.as_ref())
    };
    let open = |(number, port): (usize, &LivePortConfig)| {
        let opening = Opening {
            number,
            port,
            pools: match port.kind {
                LivePortKind::Xdp => &small,
                _ => &large,
            },
            receives: paths().any(|path| path.from == number),
            sends: paths().any(|path| path.to == Some(number)),
        };
        match port.kind {
            LivePortKind::Interface => opening.packet_sockets(),
            LivePortKind::Xdp => opening.xdp(),
            LivePortKind::Tun => opening.tun(&small),
            LivePortKind::Udp => opening.udp(),
        }
    };
    config.ports.iter().enumerate().map(open).collect()
}

fn pools(workers: usize, layout: FrameLayout) -> Result<Vec<FramePool>> {
    let pools = (0..workers).map(|_| FramePool::new(layout.clone()));
    pools
        .collect::<std::io::Result<_>>()
        .map_err(Error::running)
}

/// Frames of a worker for packets of an Ethernet, and for AF_XDP as many as its rings hold.
fn small_frames(xdp_ports: u32) -> FrameLayout {
    FrameLayout {
        frames: 4096 + xdp_ports * 2 * XdpOptions::default().ring_packets,
        ..FrameLayout::default()
    }
}

/// Frames of a worker for other ports, which may get packets of 64 KiB.
const LARGE_FRAMES: FrameLayout = FrameLayout {
    frames: 1024,
    frame_bytes: 64 * 1024 + 4096,
    headroom_bytes: 128,
};

struct Opening<'a> {
    number: usize,
    port: &'a LivePortConfig,
    pools: &'a [FramePool],
    receives: bool,
    sends: bool,
}

impl Opening<'_> {
    fn packet_sockets(&self) -> Result<LivePort> {
        let workers = self.pools.len();
        let options = RxOptions {
            promiscuous: self.port.promiscuous,
            // What this gateway or the host sends is not to come in again.
            ignore_outgoing: self.sends,
            // Processes differ in their number, the ports of one in theirs.
            fanout_group: (workers > 1).then(|| std::process::id() as u16 ^ self.number as u16),
            ..RxOptions::default()
        };
        let mut port = LivePort {
            name: self.port.name.clone(),
            rx: Vec::new(),
            tx: Vec::new(),
            // The kernel hashes both directions of a flow alike.
            keeps_flows: true,
        };
        for pool in self.pools {
            let name = &self.port.interface;
            if self.receives {
                let rx = InterfaceRx::open(name, pool, options.clone());
                port.rx
                    .push(Box::new(rx.map_err(Error::configuration)?) as Box<dyn Rx>);
            }
            if self.sends {
                let tx = InterfaceTx::open(name, TxOptions::default());
                port.tx
                    .push(Box::new(tx.map_err(Error::configuration)?) as Box<dyn Tx>);
            }
        }
        Ok(port)
    }

    fn xdp(&self) -> Result<LivePort> {
        let options = XdpOptions {
            promiscuous: self.port.promiscuous,
            ..XdpOptions::default()
        };
        let queues = open_xdp(&self.port.interface, self.pools, options);
        let queues = queues.map_err(Error::configuration)?;
        Ok(self.of_queues(queues))
    }

    /// What the kernel leaves to the device is done before stages see the packets: it cannot be
    /// done behind those that encrypt.
    fn tun(&self, small: &[FramePool]) -> Result<LivePort> {
        let queues = open_tun(&self.port.interface, self.pools, TunOptions::default());
        let queues = queues.map_err(Error::configuration)?.into_iter();
        let segmented = queues.zip(small).map(|((rx, tx), pool)| {
            let rx = SegmentedRx::new(Box::new(rx), pool);
            (rx, tx)
        });
        Ok(self.of_queues(segmented.collect()))
    }

    fn udp(&self) -> Result<LivePort> {
        let address = self.port.address.ok_or_else(|| {
            Error::configuration(format!("port {:?} has no address", self.port.name))
        })?;
        let options = UdpOptions {
            share_address: self.pools.len() > 1,
            ..UdpOptions::default()
        };
        let queues = self
            .pools
            .iter()
            .map(|pool| udp_port(address, pool, options));
        let queues = queues.collect::<std::result::Result<Vec<_>, _>>();
        Ok(self.of_queues(queues.map_err(Error::configuration)?))
    }

    /// A port of pairs of queues, as far as pipelines use it.
    fn of_queues<R: Rx + 'static, T: Tx + 'static>(&self, queues: Vec<(R, T)>) -> LivePort {
        let (rx, tx): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
        let boxed_rx = |rx| Box::new(rx) as Box<dyn Rx>;
        let boxed_tx = |tx| Box::new(tx) as Box<dyn Tx>;
        LivePort {
            name: self.port.name.clone(),
            rx: rx
                .into_iter()
                .filter(|_| self.receives)
                .map(boxed_rx)
                .collect(),
            tx: tx
                .into_iter()
                .filter(|_| self.sends)
                .map(boxed_tx)
                .collect(),
            // The two directions of a flow may come by different queues.
            keeps_flows: self.pools.len() == 1,
        }
    }
}
