//! The thread beside the packet path: it writes events, and logs what happens to workers and ports.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tracing::{error, info, warn};
use weir_inspect::EveWriter;
use weir_packet::file::Interface;
use weir_stream::{Event, LiveReport, Received, RingReceiver};

use crate::error::{Error, Result};

/// The thread, until it is joined.
pub struct Beside(JoinHandle<()>);

impl Beside {
    /// Starts the thread. It ends when all workers have.
    pub fn start(
        events: Option<RingReceiver<Vec<Event>>>,
        reports: Option<RingReceiver<LiveReport>>,
        writers: Vec<EveWriter>,
        interfaces: Vec<Interface>,
        lost: Arc<AtomicU64>,
    ) -> Result<Beside> {
        let (Some(events), Some(reports)) = (events, reports) else {
            return Err(Error::running("the events of a pipeline are taken already"));
        };
        let writing = Writing {
            writers,
            interfaces,
            lost,
            unwritten: 0,
        };
        let thread = thread::Builder::new().name("events".to_owned());
        let thread = thread.spawn(move || writing.run(&events, &reports));
        Ok(Beside(thread.map_err(Error::running)?))
    }

    /// Waits until everything is written.
    pub fn join(self) {
        if self.0.join().is_err() {
            error!("the thread that writes events has failed");
        }
    }
}

struct Writing {
    writers: Vec<EveWriter>,
    interfaces: Vec<Interface>,
    /// Batches' events that were lost, for others to read.
    lost: Arc<AtomicU64>,
    /// Events that could not be written.
    unwritten: u64,
}

impl Writing {
    fn run(mut self, events: &RingReceiver<Vec<Event>>, reports: &RingReceiver<LiveReport>) {
        loop {
            let received = events.receive(PAUSE);
            while let Some(report) = reports.try_receive() {
                log(&report);
            }
            match received {
                Received::Value(of_batch) => self.write(&of_batch),
                // Lines that wait are written, and files opened again where that was requested.
                Received::Nothing => self.write(&[]),
                Received::Ended => break,
            }
            self.lost
                .store(self.unwritten + events.lost(), Ordering::Relaxed);
        }
        self.lost
            .store(self.unwritten + events.lost(), Ordering::Relaxed);
        for writer in &mut self.writers {
            if let Err(error) = writer.flush() {
                warn!("{error}");
            }
        }
    }

    /// A disk that is full stops no packets: the events are lost, and counted.
    fn write(&mut self, events: &[Event]) {
        for writer in &mut self.writers {
            if let Err(error) = writer.write_events(events, &self.interfaces) {
                self.unwritten += events.len() as u64;
                warn!("{error}: events are lost, {} so far", self.unwritten);
            }
        }
    }
}

fn log(report: &LiveReport) {
    match report {
        LiveReport::StageFailed {
            worker,
            path,
            message,
            pause,
        } => error!(
            "worker {worker}, pipeline {path}: a stage failed: {message}; packets are dropped for \
             {pause:?}, then its stages are made again"
        ),
        LiveReport::PortChanged { reading } => info!("{} is {}", reading.port, reading.state),
    }
}

/// How long the thread waits for events before it looks after files.
const PAUSE: Duration = Duration::from_millis(100);
