//! Any table as a Parquet file: named columns of numbers, strings or flags, all of which
//! may be missing.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::ExportError;

/// The values of a column, row by row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Strings.
    Words(Vec<Option<String>>),
    /// Flags.
    Flags(Vec<Option<bool>>),
}

impl Values {
    /// Rows of the column.
    pub fn len(&self) -> usize {
        match self {
            Values::Numbers(values) => values.len(),
            Values::Words(values) => values.len(),
            Values::Flags(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn of_schema(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, logical) = match self {
            Values::Numbers(_) => (PhysicalType::DOUBLE, None),
            Values::Words(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Flags(_) => (PhysicalType::BOOLEAN, None),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name; it should differ from those of the others.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// Writes columns of the same length as one table; `about` goes into the file's
/// metadata, under `weir.table`. Returns the output.
///
/// # Errors
/// Columns of different lengths, or an output that cannot be written.
pub fn write_table<W: Write + Send>(
    output: W,
    about: &str,
    columns: &[Column],
) -> Result<W, ExportError> {
    let fields: Vec<Arc<Type>> = columns
        .iter()
        .map(|column| column.values.of_schema(&column.name).map(Arc::new))
        .collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("weir_table")
        .with_fields(fields)
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "weir.table".to_owned(),
            about.to_owned(),
        )]))
        .build();
    let mut writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        match &column.values {
            Values::Numbers(values) => write_column::<DoubleType, _, _>(&mut group, values, |v| *v),
            Values::Words(values) => write_column::<ByteArrayType, _, _>(&mut group, values, |v| {
                ByteArray::from(v.as_str())
            }),
            Values::Flags(values) => write_column::<BoolType, _, _>(&mut group, values, |v| *v),
        }?;
    }
    group.close()?;
    Ok(writer.into_inner()?)
}

fn write_column<T: DataType, V, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[Option<V>],
    of: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
    let present: Vec<T::T> = values.iter().flatten().map(of).collect();
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General(
            "the schema has no such column".to_owned(),
        ));
    };
    column
        .typed::<T>()
        .write_batch(&present, Some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    fn columns() -> Vec<Column> {
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values,
        };
        vec![
            column("cycles", Values::Numbers(vec![Some(1.5), None, Some(-3.0)])),
            column(
                "name",
                Values::Words(vec![Some("µ".to_owned()), Some(String::new()), None]),
            ),
            column("fits", Values::Flags(vec![None, Some(true), Some(false)])),
        ]
    }

    #[test]
    fn a_table_is_read_back() {
        let file = tempfile::tempfile().expect("a file");
        let file = write_table(file, "test", &columns()).expect("a table");
        let reader = SerializedFileReader::new(file).expect("a Parquet file");
        let rows: Vec<_> = reader
            .get_row_iter(None)
            .expect("rows")
            .map(|row| row.expect("a row"))
            .collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0].get_double(0).expect("a number"), 1.5);
        assert_eq!(rows[0].get_string(1).expect("words"), "µ");
        let is_missing = |row: usize, column| rows[row].is_null(column).expect("a column");
        assert!(is_missing(0, 2) && is_missing(1, 0) && is_missing(2, 1));
        assert!(rows[1].get_bool(2).expect("a flag") && !rows[2].get_bool(2).expect("a flag"));
        let names: Vec<_> = rows[0]
            .get_column_iter()
            .map(|(name, _)| name.clone())
            .collect();
        assert_eq!(names, ["cycles", "name", "fits"]);
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        let mut columns = columns();
        columns[1].values = Values::Words(vec![None]);
        assert!(write_table(Vec::new(), "test", &columns).is_err());
    }
}
