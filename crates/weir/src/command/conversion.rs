//! A capture on its way into another.

use std::path::Path;
use std::slice;

use serde::Serialize;
use weir_capture::{CaptureSink, CaptureSource};
use weir_console::{Common, Failure, Outcome, messages, output, table};
use weir_gateway::{Execution, Traffic, Watched};
use weir_packet::file::Writer;
use weir_stream::{Pipeline, Stage, StopFlag};

use crate::execute::execute;
use crate::failure::failure;
use crate::tables;

/// A capture that is read, and one that is written.
pub struct Conversion<'a> {
    source: CaptureSource,
    watched: Watched,
    writer: Writer,
    json: Option<output::Document>,
    common: &'a Common,
}

/// The files of a command that converts a capture.
pub struct Files<'a> {
    pub input: &'a Path,
    pub output: &'a Path,
    /// Others that are read, and must stay as they are.
    pub kept: Vec<&'a Path>,
    /// Another one that is written.
    pub keys: Option<&'a Path>,
}

impl<'a> Conversion<'a> {
    /// Opens all files, before a key is used.
    pub fn open(files: &Files<'a>, common: &'a Common) -> Outcome<Conversion<'a>> {
        let Files {
            input,
            output,
            kept,
            keys,
        } = files;
        let inputs = [&[*input], &kept[..]].concat();
        let outputs: Vec<&Path> = [Some(*output), common.json.as_deref(), *keys]
            .into_iter()
            .flatten()
            .collect();
        output::keep_apart(&inputs, &outputs)?;
        let (source, watched) = weir_gateway::open(slice::from_ref(input)).map_err(failure)?;
        let writer = weir_gateway::create(output).map_err(failure)?;
        let json = output::Document::asked_for(common)?;
        Ok(Conversion {
            source,
            watched,
            writer,
            json,
            common,
        })
    }

    /// Runs it through one chain of stages per shard.
    pub fn run(self, chains: Vec<Vec<Box<dyn Stage>>>) -> Outcome<Converted<'a>> {
        let stop = StopFlag::default();
        let pipeline = Pipeline::new(self.source)
            .shards(chains)
            .sink(CaptureSink::holding(self.writer))
            .stop_flag(stop.clone());
        let execution = execute(vec![pipeline], vec![self.watched], &stop, self.common.quiet)?;
        Ok(Converted {
            execution,
            json: self.json,
            common: self.common,
        })
    }
}

/// A capture that was converted, as far as it was whole. Its output is not in place yet.
pub struct Converted<'a> {
    pub execution: Execution,
    json: Option<output::Document>,
    common: &'a Common,
}

impl Converted<'_> {
    pub fn traffic(&self) -> Traffic {
        Traffic::new(
            &self.execution.statistics,
            self.execution.truncated(),
            self.execution.interrupted(),
        )
    }

    /// Puts the output in place, unless nothing was done: then a file is left as it was.
    pub fn keep(&mut self, done: u64) -> Outcome {
        if done == 0 && !self.execution.interrupted() {
            return Ok(());
        }
        let pipelines = self.execution.pipelines.iter_mut();
        for sink in pipelines.flat_map(|pipeline| pipeline.stages_mut::<CaptureSink>()) {
            sink.put_in_place().map_err(Failure::running)?;
        }
        Ok(())
    }

    /// Writes the document, and a table with counts of packets and what `more` says. Then it fails where the
    /// capture was not whole.
    pub fn tell(
        self,
        document: &impl Serialize,
        command: &'static str,
        counts: &[(&str, u64)],
        more: impl FnOnce() -> String,
    ) -> Outcome {
        let traffic = self.traffic();
        if let Some(json) = self.json {
            json.write(command, document)?;
        }
        if self.common.shows_tables() {
            let counts = counts.iter().map(|(name, packets)| {
                vec![
                    (*name).to_owned(),
                    format!("{} packets", table::count(*packets)),
                ]
            });
            let rows = [
                tables::traffic_rows(&traffic),
                counts.collect(),
                tables::speed_rows(&traffic),
            ]
            .concat();
            // Standard output may carry the capture.
            messages::show(&(table::table("", &[], &[], rows) + &more()));
        }
        self.execution.check_captures().map_err(failure)
    }
}
