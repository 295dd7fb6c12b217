//! How the bytes of a fuzz input say what to decode: a request, and then records, with [`BOUNDARY`]
//! between them.
//!
//! The request is a byte that says how many columns are asked for (0: none in particular, so that the
//! decoder finds them; n: n - 1), and a byte for each that says its type and layout. The names are
//! always the same.

use tfrecs_core::example::spec::{Kind, elements_of};
use tfrecs_core::example::{DType, Default, FeatureSpec, Layout, ListSpec};

/// What ends a record, if another one follows.
pub const BOUNDARY: &[u8] = b"~rec~";

const NAMES: [&str; 8] = ["a", "b", "", "\u{e9}", "c", "d", "e", "f"];

const DTYPES: [DType; 14] = [
    DType::Int64,
    DType::Float32,
    DType::Bytes,
    DType::Bool,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
    DType::Float16,
    DType::BFloat16,
    DType::Float64,
];

const FIXED_SHAPES: [&[usize]; 5] = [&[], &[2], &[2, 2], &[0], &[3, 1]];
const RAGGED_SHAPES: [&[usize]; 5] = [&[], &[2], &[1, 3], &[0], &[1]];

/// A column that is asked for.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: &'static str,
    pub dtype: DType,
    pub layout: Layout,
    /// Of a feature list.
    pub allow_missing: bool,
}

impl Column {
    /// The feature with a layout of every kind.
    fn of_feature(name: &'static str, byte: u8) -> Self {
        let (layout, dtype) = split(byte);
        let shapes = FIXED_SHAPES.iter().map(|shape| (shape, false));
        let defaulted = FIXED_SHAPES.iter().map(|shape| (shape, true));
        let fixed = shapes
            .chain(defaulted)
            .map(|(shape, defaulted)| Layout::Fixed {
                shape: shape.to_vec(),
                default: defaulted.then(|| default_of(dtype.kind(), elements_of(shape))),
            });
        let mut layouts = ragged().chain(fixed);
        Self {
            name,
            dtype,
            layout: layouts.nth(layout).unwrap_or(LIST),
            allow_missing: false,
        }
    }

    fn of_list(name: &'static str, byte: u8) -> Self {
        let (layout, dtype) = split(byte);
        let fixed = FIXED_SHAPES.iter().map(|shape| Layout::Fixed {
            shape: shape.to_vec(),
            default: None,
        });
        let layouts: Vec<_> = std::iter::once(LIST).chain(fixed).collect();
        Self {
            name,
            dtype,
            layout: layouts[layout % layouts.len()].clone(),
            allow_missing: layout < layouts.len(),
        }
    }

    pub fn feature(&self) -> FeatureSpec {
        FeatureSpec {
            name: self.name.to_owned(),
            dtype: self.dtype,
            layout: self.layout.clone(),
        }
    }

    pub fn list(&self) -> ListSpec {
        ListSpec {
            step: self.feature(),
            allow_missing: self.allow_missing,
        }
    }
}

const LIST: Layout = Layout::Ragged { shape: Vec::new() };

fn ragged() -> impl Iterator<Item = Layout> {
    RAGGED_SHAPES.iter().map(|shape| Layout::Ragged {
        shape: shape.to_vec(),
    })
}

fn split(byte: u8) -> (usize, DType) {
    let byte = usize::from(byte);
    (byte / DTYPES.len(), DTYPES[byte % DTYPES.len()])
}

/// 1, 0, 1, …, which every type holds.
fn default_of(kind: Kind, count: usize) -> Default {
    let digits = [1u8, 0].into_iter().cycle().take(count);
    match kind {
        Kind::Bytes => Default::Bytes(digits.map(|digit| vec![digit; digit.into()]).collect()),
        Kind::Float32 => Default::Float32(digits.map(f32::from).collect()),
        Kind::Int64 => Default::Int64(digits.map(i64::from).collect()),
    }
}

/// The columns that `data` begins with, and what follows.
fn request(data: &[u8], column: fn(&'static str, u8) -> Column) -> (Option<Vec<Column>>, &[u8]) {
    let Some((&count, rest)) = data.split_first() else {
        return (None, data);
    };
    let Some(count) = count.checked_sub(1) else {
        return (None, rest);
    };
    let count = usize::from(count).min(NAMES.len()).min(rest.len());
    let (bytes, rest) = rest.split_at(count);
    let columns = NAMES
        .iter()
        .zip(bytes)
        .map(|(name, &byte)| column(name, byte));
    (Some(columns.collect()), rest)
}

/// What is asked for of features, and the rest.
pub fn features(data: &[u8]) -> (Option<Vec<Column>>, &[u8]) {
    request(data, Column::of_feature)
}

/// What is asked for of feature lists, and the rest.
pub fn lists(data: &[u8]) -> (Option<Vec<Column>>, &[u8]) {
    request(data, Column::of_list)
}

/// The records: what lies between boundaries, and no record if there is nothing at all.
pub fn records(mut data: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while let Some(end) = data
        .windows(BOUNDARY.len())
        .position(|part| part == BOUNDARY)
    {
        records.push(data[..end].to_vec());
        data = &data[end + BOUNDARY.len()..];
    }
    if !(data.is_empty() && records.is_empty()) {
        records.push(data.to_vec());
    }
    records
}

/// `record` without the bits of ten-byte varints that lie beyond the 64th, and whether there were any.
///
/// Protobuf drops them, and so does the decoder; prost refuses the varint.
pub fn without_excess_bits(record: &[u8]) -> (Vec<u8>, bool) {
    let mut narrow = record.to_vec();
    let (mut run, mut any) = (0, false);
    for byte in &mut narrow {
        if *byte >= 0x80 {
            run += 1;
            continue;
        }
        if run >= 9 && *byte > 1 {
            *byte &= 1;
            any = true;
        }
        run = 0;
    }
    (narrow, any)
}
