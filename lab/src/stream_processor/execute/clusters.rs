//! The clusters and what they share: what each operation does.

use super::{Arguments, ExecuteError, Scratchpads};
use crate::stream_processor::kernel::{Addressing, InputId, Kernel, Op, Opcode, Place, ScalarId};

/// The largest number of clusters.
pub(crate) const MOST_CLUSTERS: usize = 32;

/// One word for each cluster.
pub(crate) type Lanes = [u32; MOST_CLUSTERS];

/// The clusters while a kernel runs on them.
pub(crate) struct Clusters<'a> {
    kernel: &'a Kernel,
    count: usize,
    arguments: &'a mut Arguments,
    /// Words that each cluster has taken from each input stream.
    taken: Vec<usize>,
    outputs: Vec<Vec<u32>>,
    /// Words that each cluster has given to each output stream.
    given: Vec<usize>,
    scratchpads: &'a mut Scratchpads,
}

impl<'a> Clusters<'a> {
    pub(crate) fn new(
        kernel: &'a Kernel,
        count: usize,
        arguments: &'a mut Arguments,
        scratchpads: &'a mut Scratchpads,
    ) -> Result<Clusters<'a>, ExecuteError> {
        if !count.is_power_of_two() || count > MOST_CLUSTERS {
            return Err(ExecuteError::Clusters(count));
        }
        for (what, expected, found) in [
            (
                "input streams",
                kernel.inputs().len(),
                arguments.inputs.len(),
            ),
            (
                "indexed streams",
                kernel.indexed().len(),
                arguments.indexed.len(),
            ),
            ("scalars", kernel.scalars().len(), arguments.scalars.len()),
        ] {
            if expected != found {
                return Err(ExecuteError::Arguments {
                    kernel: kernel.name().to_owned(),
                    what,
                    expected,
                    found,
                });
            }
        }
        for (port, words) in kernel.inputs().iter().zip(&arguments.inputs) {
            let record_words = port.record_words as usize;
            if !words.len().is_multiple_of(record_words * count) {
                return Err(ExecuteError::Uneven {
                    kernel: kernel.name().to_owned(),
                    stream: port.name.clone(),
                    words: words.len(),
                    record_words,
                    clusters: count,
                });
            }
        }
        for array in kernel.arrays() {
            let words = array.words as usize * count;
            let held = scratchpads.entry(array.name.clone()).or_default();
            if held.len() != words {
                held.clear();
                held.resize(words, 0);
            }
        }
        Ok(Clusters {
            kernel,
            count,
            taken: vec![0; arguments.inputs.len()],
            arguments,
            outputs: vec![Vec::new(); kernel.outputs().len()],
            given: vec![0; kernel.outputs().len()],
            scratchpads,
        })
    }

    /// How many clusters there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn scalar(&self, scalar: ScalarId) -> u32 {
        self.arguments.scalars[scalar.index()]
    }

    /// Records of the stream that each cluster has not begun to read.
    pub(crate) fn records_left(&self, stream: InputId) -> usize {
        let record_words = self.kernel.inputs()[stream.index()].record_words as usize;
        let records = self.arguments.inputs[stream.index()].len() / record_words / self.count;
        records - self.taken[stream.index()].div_ceil(record_words)
    }

    pub(crate) fn into_outputs(self) -> Vec<Vec<u32>> {
        self.outputs
    }

    pub(crate) fn failure(
        &self,
        place: Place,
        operation: &'static str,
        reason: String,
    ) -> ExecuteError {
        ExecuteError::Operation {
            kernel: self.kernel.name().to_owned(),
            place,
            operation,
            reason,
        }
    }

    /// Does an operation in all clusters; `arg(i, c)` is operand `i` in
    /// cluster `c`. Returns the results.
    pub(crate) fn perform(
        &mut self,
        op: &Op,
        arg: impl Fn(usize, usize) -> u32,
    ) -> Result<[Lanes; 2], ExecuteError> {
        let mut results = [[0; MOST_CLUSTERS]; 2];
        let fail = |reason: Result<(), String>, machine: &Clusters<'_>| {
            reason.map_err(|reason| machine.failure(op.place, op.code.name(), reason))
        };
        for cluster in 0..self.count {
            let outcome = self.perform_in(op, cluster, &arg, &mut results);
            fail(outcome, self)?;
        }
        match op.code {
            Opcode::Input { stream, .. } => self.taken[stream.index()] += 1,
            Opcode::Output { stream, .. } => self.given[stream.index()] += 1,
            _ => {}
        }
        Ok(results)
    }

    fn perform_in(
        &mut self,
        op: &Op,
        cluster: usize,
        arg: &impl Fn(usize, usize) -> u32,
        results: &mut [Lanes; 2],
    ) -> Result<(), String> {
        let operand = |index| arg(index, cluster);
        results[0][cluster] = match op.code {
            Opcode::Constant(word) => word,
            Opcode::Scalar(scalar) => self.scalar(scalar),
            Opcode::ClusterId => cluster as u32,
            Opcode::ClusterCount => self.count as u32,
            Opcode::Select => operand(if operand(0) != 0 { 1 } else { 2 }),
            Opcode::MultiplyWide => {
                let product = u64::from(operand(0)) * u64::from(operand(1));
                results[1][cluster] = (product >> 32) as u32;
                product as u32
            }
            Opcode::Add64 => {
                let wide = |low, high| u64::from(operand(low)) | u64::from(operand(high)) << 32;
                let sum = wide(0, 1).wrapping_add(wide(2, 3));
                results[1][cluster] = (sum >> 32) as u32;
                sum as u32
            }
            Opcode::ScratchRead { array, offset } => {
                *self.scratch_word(array.index(), cluster, operand(0), offset)?
            }
            Opcode::ScratchBit { array } => {
                let number = operand(0);
                let words = self.kernel.arrays()[array.index()].words;
                let index = number / u32::BITS % words;
                let word = *self.scratch_word(array.index(), cluster, index, 0)?;
                word >> (number % u32::BITS) & 1
            }
            Opcode::ScratchWrite { array, offset } => {
                *self.scratch_word(array.index(), cluster, operand(0), offset)? = operand(1);
                0
            }
            Opcode::IndexedRead { stream, addressing } => {
                *self.lane_word(stream.index(), addressing, cluster, operand(0))?
            }
            Opcode::IndexedWrite { stream, addressing } => {
                *self.lane_word(stream.index(), addressing, cluster, operand(0))? = operand(1);
                0
            }
            Opcode::Communicate => arg(0, operand(1) as usize % self.count),
            Opcode::Input { stream, .. } => {
                let record_words = self.kernel.inputs()[stream.index()].record_words as usize;
                let taken = self.taken[stream.index()];
                let at = self.position(cluster, taken, record_words);
                let words = &self.arguments.inputs[stream.index()];
                *words.get(at).ok_or_else(|| {
                    format!("the stream of {} words is read past its end", words.len())
                })?
            }
            Opcode::Output { stream, .. } => {
                let record_words = self.kernel.outputs()[stream.index()].record_words as usize;
                let given = self.given[stream.index()];
                let at = self.position(cluster, given, record_words);
                let words = &mut self.outputs[stream.index()];
                if words.len() <= at {
                    words.resize(at + 1, 0);
                }
                words[at] = operand(0);
                0
            }
            code => code
                .on_words(operand(0), operand(1))
                .ok_or("no meaning is known for this operation")?,
        };
        Ok(())
    }

    /// Where the cluster's `n`-th word is in a stream.
    fn position(&self, cluster: usize, n: usize, record_words: usize) -> usize {
        (n / record_words * self.count + cluster) * record_words + n % record_words
    }

    fn scratch_word(
        &mut self,
        array: usize,
        cluster: usize,
        index: u32,
        offset: u32,
    ) -> Result<&mut u32, String> {
        let array = &self.kernel.arrays()[array];
        let at = u64::from(index) + u64::from(offset);
        if at >= u64::from(array.words) {
            return Err(format!(
                "index {at} is outside array {} of {} words",
                array.name, array.words
            ));
        }
        let at = cluster * array.words as usize + at as usize;
        self.scratchpads
            .get_mut(&array.name)
            .and_then(|words| words.get_mut(at))
            .ok_or_else(|| format!("array {} is not there", array.name))
    }

    fn lane_word(
        &mut self,
        stream: usize,
        addressing: Addressing,
        cluster: usize,
        index: u32,
    ) -> Result<&mut u32, String> {
        let at = match addressing {
            Addressing::Row => index as usize * self.count + cluster,
            Addressing::Stream if index as usize % self.count == cluster => index as usize,
            Addressing::Stream => {
                return Err(format!(
                    "index {index} is not in the lane of cluster {cluster} of {}",
                    self.count
                ));
            }
        };
        let name = &self.kernel.indexed()[stream];
        let words = &mut self.arguments.indexed[stream];
        let length = words.len();
        words
            .get_mut(at)
            .ok_or_else(|| format!("index {at} is outside stream {name} of {length} words"))
    }
}
