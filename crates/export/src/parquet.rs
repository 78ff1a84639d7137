//! Reports as a Parquet table.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;
use weir_measure::{IntervalReport, Value};

use crate::row::{AlarmColumns, Row, rows};

/// The table. A change of a column is a new version.
const SCHEMA: &str = "message weir_measure {
    required int64 start (TIMESTAMP(NANOS, true));
    required double seconds;
    required int64 packets;
    required int64 bytes;
    required int64 wire_bytes;
    required int64 distinct;
    required boolean saturated;
    required double f2;
    required double f2_bound;
    optional binary key (UTF8);
    optional binary community_id (UTF8);
    optional int64 estimate;
    optional int64 bound;
    optional int64 exact;
    optional double observed;
    optional double forecast;
    optional double score;
    optional int64 since (TIMESTAMP(NANOS, true));
    optional binary sources (UTF8);
    optional binary sums_sketch;
    optional binary change_sketch;
}";
const VERSION: &str = "3";

/// Limits of a row group, which is held in memory until it is written: rows, and bytes of
/// sketches.
const GROUP_ROWS: usize = 1 << 16;
const GROUP_SKETCH_BYTES: usize = 1 << 26;

/// A table that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file cannot be opened or read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not a complete Parquet file.
    #[error("{path}: not a complete Parquet file (cut short, damaged or something else): {source}")]
    NotWhole {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ParquetError,
    },
    /// A Parquet file with another table.
    #[error("{path}: not a table of measurements of version {VERSION}: {what}")]
    OtherTable {
        /// The file.
        path: PathBuf,
        /// The difference.
        what: String,
    },
    /// The table cannot be written.
    #[error("cannot write the Parquet table: {0}")]
    Write(#[from] ParquetError),
}

/// Writes reports to a Parquet file. Nothing can read the file before
/// [`ParquetWriter::finish`].
pub struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    rows: Vec<Row>,
    sketch_bytes: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A table of sums of `unit` per `key`, which the file's metadata name.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(output: W, key: &str, unit: Value) -> Result<ParquetWriter<W>, ExportError> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let entry = |name: &str, value: &str| KeyValue::new(name.to_owned(), value.to_owned());
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_key_value_metadata(Some(vec![
                entry("weir.version", VERSION),
                entry("weir.key", key),
                entry("weir.unit", unit.name()),
            ]))
            .build();
        let writer = SerializedFileWriter::new(output, schema, Arc::new(properties))?;
        Ok(ParquetWriter {
            writer,
            rows: Vec::new(),
            sketch_bytes: 0,
        })
    }

    /// Writes the rows of an interval.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, report: &IntervalReport) -> Result<(), ExportError> {
        let sketches = report.sketches.as_ref();
        self.sketch_bytes += sketches.map_or(0, |sketches| {
            sketches.sums.len() + sketches.change.as_ref().map_or(0, Vec::len)
        });
        self.rows.extend(rows(report));
        if self.rows.len() >= GROUP_ROWS || self.sketch_bytes >= GROUP_SKETCH_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    /// Writes what is left and the footer; returns the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> Result<W, ExportError> {
        self.write_group()?;
        Ok(self.writer.into_inner()?)
    }

    fn write_group(&mut self) -> Result<(), ExportError> {
        let rows = mem::take(&mut self.rows);
        self.sketch_bytes = 0;
        if rows.is_empty() {
            return Ok(());
        }
        let mut columns = ColumnWriter {
            group: self.writer.next_row_group()?,
            rows: &rows,
        };
        let alarm = |row: &Row, of: fn(&AlarmColumns) -> f64| row.alarm.as_ref().map(of);
        let bytes = |bytes: &Option<Vec<u8>>| bytes.clone().map(ByteArray::from);
        let text = |text: &str| ByteArray::from(text);
        columns.required::<Int64Type>(|row| row.start_ns)?;
        columns.required::<DoubleType>(|row| row.seconds)?;
        columns.required::<Int64Type>(|row| row.packets)?;
        columns.required::<Int64Type>(|row| row.bytes)?;
        columns.required::<Int64Type>(|row| row.wire_bytes)?;
        columns.required::<Int64Type>(|row| row.distinct)?;
        columns.required::<BoolType>(|row| row.saturated)?;
        columns.required::<DoubleType>(|row| row.f2)?;
        columns.required::<DoubleType>(|row| row.f2_bound)?;
        columns.optional::<ByteArrayType>(|row| row.key.as_deref().map(text))?;
        columns.optional::<ByteArrayType>(|row| row.community_id.as_deref().map(text))?;
        columns.optional::<Int64Type>(|row| row.estimate)?;
        columns.optional::<Int64Type>(|row| row.bound)?;
        columns.optional::<Int64Type>(|row| row.exact)?;
        columns.optional::<DoubleType>(|row| alarm(row, |alarm| alarm.observed))?;
        columns.optional::<DoubleType>(|row| alarm(row, |alarm| alarm.forecast))?;
        columns.optional::<DoubleType>(|row| alarm(row, |alarm| alarm.score))?;
        columns.optional::<Int64Type>(|row| Some(row.alarm.as_ref()?.since_ns))?;
        columns.optional::<ByteArrayType>(|row| Some(text(&row.alarm.as_ref()?.sources)))?;
        columns.optional::<ByteArrayType>(|row| bytes(&row.sums_sketch))?;
        columns.optional::<ByteArrayType>(|row| bytes(&row.change_sketch))?;
        columns.group.close()?;
        Ok(())
    }
}

/// Writes a row group, column by column in the order of the schema.
struct ColumnWriter<'a, W: Write + Send> {
    group: SerializedRowGroupWriter<'a, W>,
    rows: &'a [Row],
}

impl<W: Write + Send> ColumnWriter<'_, W> {
    fn required<T: DataType>(&mut self, value: impl Fn(&Row) -> T::T) -> Result<(), ParquetError> {
        let values: Vec<T::T> = self.rows.iter().map(value).collect();
        self.column::<T>(&values, None)
    }

    fn optional<T: DataType>(
        &mut self,
        value: impl Fn(&Row) -> Option<T::T>,
    ) -> Result<(), ParquetError> {
        let values: Vec<Option<T::T>> = self.rows.iter().map(value).collect();
        let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
        let present: Vec<T::T> = values.into_iter().flatten().collect();
        self.column::<T>(&present, Some(&levels))
    }

    fn column<T: DataType>(
        &mut self,
        values: &[T::T],
        levels: Option<&[i16]>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = self.group.next_column()? else {
            return Err(ParquetError::General(
                "the schema has no such column".to_owned(),
            ));
        };
        column.typed::<T>().write_batch(values, levels, None)?;
        column.close()
    }
}

/// Reads a table that [`ParquetWriter`] wrote, rows in their order.
///
/// # Errors
/// No file, a file that was cut short or damaged, or one with another table.
pub fn read_parquet(path: &Path) -> Result<Vec<Row>, ExportError> {
    let file = File::open(path).map_err(|source| ExportError::Io {
        path: path.to_owned(),
        source,
    })?;
    // The decoder asserts what a damaged page may break. Nothing of it is used
    // after a panic.
    let read = catch_unwind(AssertUnwindSafe(|| read_file(path, file)));
    read.unwrap_or_else(|_| {
        Err(ExportError::NotWhole {
            path: path.to_owned(),
            source: ParquetError::General("its pages are damaged".to_owned()),
        })
    })
}

fn read_file(path: &Path, file: File) -> Result<Vec<Row>, ExportError> {
    let not_whole = |source| ExportError::NotWhole {
        path: path.to_owned(),
        source,
    };
    let other = |what: String| ExportError::OtherTable {
        path: path.to_owned(),
        what,
    };
    let reader = SerializedFileReader::new(file).map_err(not_whole)?;
    let metadata = reader.metadata().file_metadata();
    check_schema(metadata.schema()).map_err(other)?;
    let version = metadata.key_value_metadata().and_then(|entries| {
        let version = entries.iter().find(|entry| entry.key == "weir.version");
        version?.value.clone()
    });
    if version.as_deref() != Some(VERSION) {
        let version = version.unwrap_or_else(|| "none".to_owned());
        return Err(other(format!("its version is {version}")));
    }
    let mut rows = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(not_whole)?;
        rows.extend(read_group(&*group).map_err(not_whole)?);
    }
    Ok(rows)
}

/// The columns must be those of the schema, name by name and type by type.
fn check_schema(found: &Type) -> Result<(), String> {
    let expected = parse_message_type(SCHEMA).map_err(|error| error.to_string())?;
    let names = |schema: &Type| -> Vec<String> {
        let columns = schema.get_fields().iter();
        columns
            .map(|column| match column.is_primitive() {
                true => format!("{} {:?}", column.name(), column.get_physical_type()),
                false => column.name().to_owned(),
            })
            .collect()
    };
    if names(found) == names(&expected) {
        Ok(())
    } else {
        Err("its columns are others".to_owned())
    }
}

fn read_group(group: &dyn RowGroupReader) -> Result<Vec<Row>, ParquetError> {
    let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut columns = ColumnReader {
        group,
        next: 0,
        count,
    };
    let mut rows = vec![Row::default(); count];
    columns.required::<Int64Type>(&mut rows, |row, value| row.start_ns = value)?;
    columns.required::<DoubleType>(&mut rows, |row, value| row.seconds = value)?;
    columns.required::<Int64Type>(&mut rows, |row, value| row.packets = value)?;
    columns.required::<Int64Type>(&mut rows, |row, value| row.bytes = value)?;
    columns.required::<Int64Type>(&mut rows, |row, value| row.wire_bytes = value)?;
    columns.required::<Int64Type>(&mut rows, |row, value| row.distinct = value)?;
    columns.required::<BoolType>(&mut rows, |row, value| row.saturated = value)?;
    columns.required::<DoubleType>(&mut rows, |row, value| row.f2 = value)?;
    columns.required::<DoubleType>(&mut rows, |row, value| row.f2_bound = value)?;
    columns.optional::<ByteArrayType>(&mut rows, |row, value| row.key = Some(text(&value)))?;
    columns.optional::<ByteArrayType>(&mut rows, |row, value| {
        row.community_id = Some(text(&value))
    })?;
    columns.optional::<Int64Type>(&mut rows, |row, value| row.estimate = Some(value))?;
    columns.optional::<Int64Type>(&mut rows, |row, value| row.bound = Some(value))?;
    columns.optional::<Int64Type>(&mut rows, |row, value| row.exact = Some(value))?;
    let alarm = |row: &mut Row, set: &dyn Fn(&mut AlarmColumns)| {
        set(row.alarm.get_or_insert_with(AlarmColumns::default));
    };
    columns.optional::<DoubleType>(&mut rows, |row, v| alarm(row, &|a| a.observed = v))?;
    columns.optional::<DoubleType>(&mut rows, |row, v| alarm(row, &|a| a.forecast = v))?;
    columns.optional::<DoubleType>(&mut rows, |row, v| alarm(row, &|a| a.score = v))?;
    columns.optional::<Int64Type>(&mut rows, |row, v| alarm(row, &|a| a.since_ns = v))?;
    columns.optional::<ByteArrayType>(&mut rows, |row, v| alarm(row, &|a| a.sources = text(&v)))?;
    let bytes = |value: ByteArray| Some(value.data().to_vec());
    columns.optional::<ByteArrayType>(&mut rows, |row, value| row.sums_sketch = bytes(value))?;
    columns.optional::<ByteArrayType>(&mut rows, |row, value| row.change_sketch = bytes(value))?;
    Ok(rows)
}

fn text(bytes: &ByteArray) -> String {
    String::from_utf8_lossy(bytes.data()).into_owned()
}

/// Reads a row group, column by column in the order of the schema.
struct ColumnReader<'a> {
    group: &'a dyn RowGroupReader,
    next: usize,
    count: usize,
}

impl ColumnReader<'_> {
    fn required<T: DataType>(
        &mut self,
        rows: &mut [Row],
        set: impl Fn(&mut Row, T::T),
    ) -> Result<(), ParquetError> {
        let (values, _) = self.column::<T>(false)?;
        for (row, value) in rows.iter_mut().zip(values) {
            set(row, value);
        }
        Ok(())
    }

    fn optional<T: DataType>(
        &mut self,
        rows: &mut [Row],
        set: impl Fn(&mut Row, T::T),
    ) -> Result<(), ParquetError> {
        let (values, levels) = self.column::<T>(true)?;
        let present = rows.iter_mut().zip(levels).filter(|(_, level)| *level > 0);
        for ((row, _), value) in present.zip(values) {
            set(row, value);
        }
        Ok(())
    }

    /// The values of the next column, and which rows have one.
    fn column<T: DataType>(
        &mut self,
        is_optional: bool,
    ) -> Result<(Vec<T::T>, Vec<i16>), ParquetError> {
        let reader = self.group.get_column_reader(self.next)?;
        self.next += 1;
        let mut reader = get_typed_column_reader::<T>(reader);
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let mut read = 0;
        while read < self.count {
            let levels = is_optional.then_some(&mut levels);
            let (records, ..) =
                reader.read_records(self.count - read, levels, None, &mut values)?;
            if records == 0 {
                return Err(ParquetError::EOF(format!(
                    "column {} has {read} of {} rows",
                    self.next, self.count
                )));
            }
            read += records;
        }
        Ok((values, levels))
    }
}
