//! What comes of decoding, in a form in which two decoders can be compared.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_schema::{DataType, Field};
use tfrecs_core::ErrorKind;
use tfrecs_core::example::record_error::RecordError;
use tfrecs_core::example::wire::WireError;
use tfrecs_core::example::{DType, Layout};

use super::input::Column as Wanted;

/// Why a record is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// It is no protobuf message.
    Wire,
    /// It has groups in groups, more than prost follows.
    TooDeep,
    WrongKind,
    WrongCount,
    Misfit,
    Missing,
}

/// Where a record is refused, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub record: usize,
    pub feature: Option<String>,
    pub fault: Fault,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bytes(Vec<u8>),
    Integer(i128),
    /// A float32 as it is in a list, bit for bit.
    Float32(u32),
    /// Any other float, bit for bit; all NaNs are one.
    Float(u64),
}

impl Value {
    pub fn float(value: f64) -> Self {
        let value = if value.is_nan() { f64::NAN } else { value };
        Self::Float(value.to_bits())
    }
}

/// The values of a record, or of a step; `None` is a null.
pub type Row = Option<Vec<Value>>;
/// The steps of a record.
pub type Steps = Option<Vec<Vec<Value>>>;

#[derive(Clone, Debug, PartialEq)]
pub struct Column<R> {
    pub name: String,
    /// `None`: no record says.
    pub dtype: Option<DType>,
    pub rows: Vec<R>,
}

pub type Features = Vec<Column<Row>>;
pub type Lists = Vec<Column<Steps>>;

/// The core's refusal.
pub fn refusal(error: &RecordError) -> Refusal {
    let text = error.error.to_string();
    let fault = match error.error.kind() {
        ErrorKind::Wire(WireError::TooDeep) => Fault::TooDeep,
        ErrorKind::Wire(_) => Fault::Wire,
        ErrorKind::Content(_) => content_fault(&text),
        _ => panic!("not an error of the data: {text}"),
    };
    Refusal {
        record: error.index.expect("the record is known"),
        feature: error.error.feature().map(str::to_owned),
        fault,
    }
}

fn content_fault(text: &str) -> Fault {
    let words = [
        ("Data types don't match.", Fault::WrongKind),
        (" values != expected.", Fault::WrongCount),
        (" is not a multiple of stride length.", Fault::WrongCount),
        (" does not fit ", Fault::Misfit),
        ("is required but could not be found", Fault::Missing),
    ];
    let found = words.iter().find(|(words, _)| text.contains(words));
    found
        .unwrap_or_else(|| panic!("an unknown fault: {text}"))
        .1
}

/// The columns of a batch of features; without a spec, all are lists.
pub fn features(batch: &RecordBatch, spec: Option<&[Wanted]>) -> Features {
    columns(batch, spec)
        .map(|(field, array, layout)| column(field, array, layout))
        .collect()
}

/// The columns of a batch of feature lists.
pub fn lists(batch: &RecordBatch, spec: Option<&[Wanted]>) -> Lists {
    columns(batch, spec)
        .map(|(field, array, layout)| list_column(field, array, layout))
        .collect()
}

static LIST: Layout = Layout::Ragged { shape: Vec::new() };

fn columns<'a>(
    batch: &'a RecordBatch,
    spec: Option<&'a [Wanted]>,
) -> impl Iterator<Item = (&'a Field, &'a ArrayRef, &'a Layout)> {
    if let Some(spec) = spec {
        assert_eq!(spec.len(), batch.num_columns());
    }
    batch
        .columns()
        .iter()
        .enumerate()
        .map(move |(index, array)| {
            let layout = spec.map_or(&LIST, |spec| &spec[index].layout);
            (batch.schema_ref().field(index), array, layout)
        })
}

fn list_column(field: &Field, array: &ArrayRef, layout: &Layout) -> Column<Steps> {
    let DataType::LargeList(item) = field.data_type() else {
        panic!("{field:?}")
    };
    let steps = column(item, array.as_list::<i64>().values(), layout);
    // A step without values is no null: only where it is unknown of which type they would be.
    let values = steps.rows.into_iter().map(|row| match (row, steps.dtype) {
        (Some(row), _) => row,
        (None, None) => Vec::new(),
        (None, Some(_)) => panic!("a step is null"),
    });
    Column {
        name: field.name().clone(),
        dtype: steps.dtype,
        rows: split(array, &values.collect::<Vec<_>>()),
    }
}

fn column(field: &Field, array: &ArrayRef, layout: &Layout) -> Column<Row> {
    let (dtype, rows) = match (field.data_type(), layout) {
        (DataType::Null, _) => (None, vec![None; array.len()]),
        (_, Layout::Fixed { shape, .. }) => {
            let (dtype, rows) = elements(field, array, shape);
            (Some(dtype), rows.into_iter().map(Some).collect())
        }
        (DataType::LargeList(item), Layout::Ragged { shape }) => {
            let (dtype, all) = elements(item, array.as_list::<i64>().values(), shape);
            let rows: Vec<Option<Vec<Vec<Value>>>> = split(array, &all);
            (
                Some(dtype),
                rows.into_iter()
                    .map(|row| row.map(|row| row.concat()))
                    .collect(),
            )
        }
        _ => panic!("{field:?}"),
    };
    let name = field.name().clone();
    Column { name, dtype, rows }
}

/// What lies in each row of an array of lists; nothing in a null.
fn split<T: Clone>(array: &ArrayRef, items: &[T]) -> Vec<Option<Vec<T>>> {
    let lists = array.as_list::<i64>();
    assert_eq!(lists.value_offsets()[0], 0);
    assert_eq!(
        lists.value_offsets().last(),
        Some(&i64::try_from(items.len()).unwrap())
    );
    let rows = lists.value_offsets().windows(2).enumerate();
    rows.map(|(row, ends)| {
        let [start, end] = [ends[0], ends[1]].map(|end| usize::try_from(end).unwrap());
        let row_items = &items[start..end];
        assert!(
            lists.is_valid(row) || row_items.is_empty(),
            "a null with values"
        );
        lists.is_valid(row).then(|| row_items.to_vec())
    })
    .collect()
}

/// The values of each element of `shape`.
fn elements(field: &Field, array: &ArrayRef, shape: &[usize]) -> (DType, Vec<Vec<Value>>) {
    let Some((&size, inner)) = shape.split_first() else {
        let (dtype, values) = leaf(field, array);
        return (dtype, values.into_iter().map(|value| vec![value]).collect());
    };
    let lists = array.as_fixed_size_list();
    assert_eq!(usize::try_from(lists.value_length()).unwrap(), size);
    assert_eq!(lists.null_count(), 0);
    let DataType::FixedSizeList(item, _) = field.data_type() else {
        panic!("{field:?}")
    };
    let (dtype, values) = elements(item, lists.values(), inner);
    assert_eq!(values.len(), size * lists.len());
    let rows = (0..lists.len()).map(|row| values[row * size..][..size].concat());
    (dtype, rows.collect())
}

fn leaf(field: &Field, array: &ArrayRef) -> (DType, Vec<Value>) {
    assert_eq!(
        (field.data_type(), array.null_count()),
        (array.data_type(), 0)
    );
    let extension = field
        .metadata()
        .get("ARROW:extension:name")
        .map(String::as_str);
    match (array.data_type(), extension) {
        (DataType::Int8, Some("arrow.bool8")) => (DType::Bool, integers::<Int8Type>(array)),
        (DataType::Int8, None) => (DType::Int8, integers::<Int8Type>(array)),
        (DataType::Int16, None) => (DType::Int16, integers::<Int16Type>(array)),
        (DataType::Int32, None) => (DType::Int32, integers::<Int32Type>(array)),
        (DataType::Int64, None) => (DType::Int64, integers::<Int64Type>(array)),
        (DataType::UInt8, None) => (DType::UInt8, integers::<UInt8Type>(array)),
        (DataType::UInt16, None) => (DType::UInt16, integers::<UInt16Type>(array)),
        (DataType::UInt32, None) => (DType::UInt32, integers::<UInt32Type>(array)),
        (DataType::UInt64, None) => (DType::UInt64, integers::<UInt64Type>(array)),
        (DataType::Float32, None) => (DType::Float32, float32s(array)),
        (DataType::Float64, None) => (DType::Float64, floats::<Float64Type>(array)),
        (DataType::Float16, None) => (DType::Float16, floats::<Float16Type>(array)),
        (DataType::FixedSizeBinary(2), Some("tfrecs.bfloat16")) => {
            (DType::BFloat16, bfloats(array))
        }
        (DataType::LargeBinary, None) => (DType::Bytes, strings(array)),
        other => panic!("no column has {other:?}"),
    }
}

fn integers<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &ArrayRef) -> Vec<Value> {
    let values = array.as_primitive::<T>().values();
    values
        .iter()
        .map(|&value| Value::Integer(value.into()))
        .collect()
}

fn float32s(array: &ArrayRef) -> Vec<Value> {
    let values = array.as_primitive::<Float32Type>().values();
    values
        .iter()
        .map(|value| Value::Float32(value.to_bits()))
        .collect()
}

fn floats<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &ArrayRef) -> Vec<Value> {
    let values = array.as_primitive::<T>().values();
    values
        .iter()
        .map(|&value| Value::float(value.into()))
        .collect()
}

/// A bfloat16 is the upper half of a float32.
fn bfloats(array: &ArrayRef) -> Vec<Value> {
    let words = array.as_fixed_size_binary();
    let words = words.iter().flatten().map(|word| [0, 0, word[0], word[1]]);
    words
        .map(|bytes| Value::float(f32::from_le_bytes(bytes).into()))
        .collect()
}

fn strings(array: &ArrayRef) -> Vec<Value> {
    let values = array.as_binary::<i64>().iter().flatten();
    values.map(|value| Value::Bytes(value.to_vec())).collect()
}
