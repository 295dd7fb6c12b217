//! The messages of tensorboard's event files, as far as scalars are concerned.
//!
//! ```text
//! Event   { double wall_time = 1; int64 step = 2;
//!           oneof what { string file_version = 3; bytes graph_def = 4; Summary summary = 5; LogMessage log_message = 6;
//!                        SessionLog session_log = 7; TaggedRunMetadata tagged_run_metadata = 8; bytes meta_graph_def = 9; }
//!           SourceMetadata source_metadata = 10; }
//! Summary { repeated Value value = 1; }
//! Value   { string tag = 1; SummaryMetadata metadata = 9;
//!           oneof value { float simple_value = 2; bytes obsolete_old_style_histogram = 3; Image image = 4;
//!                         HistogramProto histo = 5; Audio audio = 6; TensorProto tensor = 8; } }
//! SummaryMetadata { PluginData plugin_data = 1; }
//! PluginData      { string plugin_name = 1; }
//! TensorProto     { DataType dtype = 1; TensorShapeProto tensor_shape = 2; bytes tensor_content = 4; /* typed lists */ }
//! TensorShapeProto { repeated Dim dim = 2; }
//! Dim             { int64 size = 1; }
//! ```
//!
//! Messages that come in several pieces are joined, as in [`super::message`].

pub mod scalars;

use std::borrow::Cow;

use half::{bf16, f16};

use super::message::{join, merge};
use super::wire::{Wire, WireError, WireResult as Result, WireType};

type Bytes<'a> = Cow<'a, [u8]>;

/// An event: when, and what was summarised.
#[derive(Debug, Default)]
pub struct Event<'a> {
    /// Seconds since 1970.
    pub wall_time: f64,
    /// The step.
    pub step: i64,
    /// The Summary, if the event has one.
    pub summary: Option<Bytes<'a>>,
    /// Whether there is any field of an Event at all.
    pub has_fields: bool,
}

impl<'a> Event<'a> {
    /// Reads an Event.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut wire = Wire(bytes);
        let mut event = Self::default();
        while !wire.is_empty() {
            match wire.tag()? {
                (1, WireType::Fixed64) => event.wall_time = f64::from_le_bytes(wire.fixed64()?),
                (2, WireType::Varint) => event.step = wire.varint()?.cast_signed(),
                (5, WireType::Bytes) => merge(&mut event.summary, wire.bytes()?)?,
                // Another member of the oneof takes the place of the summary.
                (3 | 4 | 6..=9, WireType::Bytes) => {
                    wire.bytes()?;
                    event.summary = None;
                }
                (10, WireType::Bytes) => drop(wire.bytes()?),
                (number, wire_type) => {
                    wire.skip(number, wire_type)?;
                    continue;
                }
            }
            event.has_fields = true;
        }
        Ok(event)
    }
}

/// What a summary holds.
#[derive(Debug)]
pub enum Content<'a> {
    /// A number.
    Simple(f32),
    /// A histogram of the oldest kind, an image, a histogram, or audio: the number of the field.
    Other(u32, Bytes<'a>),
    /// A tensor; what it means, the plugin says.
    Tensor(Bytes<'a>),
}

/// A value of a Summary.
#[derive(Debug, Default)]
pub struct Value<'a> {
    /// Its name.
    pub tag: &'a [u8],
    /// Its metadata.
    metadata: Option<Bytes<'a>>,
    /// What it holds, if anything.
    pub content: Option<Content<'a>>,
}

impl<'a> Value<'a> {
    /// Reads a Value.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut wire = Wire(bytes);
        let mut value = Self::default();
        while !wire.is_empty() {
            match wire.tag()? {
                (1, WireType::Bytes) => value.tag = wire.bytes()?,
                (2, WireType::Fixed32) => {
                    let number = f32::from_le_bytes(wire.fixed32()?);
                    value.content = Some(Content::Simple(number));
                }
                (number @ (3..=6 | 8), WireType::Bytes) => value.join(number, wire.bytes()?)?,
                (9, WireType::Bytes) => merge(&mut value.metadata, wire.bytes()?)?,
                (number, wire_type) => wire.skip(number, wire_type)?,
            }
        }
        Ok(value)
    }

    fn join(&mut self, number: u32, more: &'a [u8]) -> Result<()> {
        match &mut self.content {
            Some(Content::Tensor(bytes)) if number == 8 => join(bytes, more)?,
            // Bytes are replaced, messages merged.
            Some(Content::Other(same, bytes)) if *same == number && number != 3 => {
                join(bytes, more)?;
            }
            content if number == 8 => *content = Some(Content::Tensor(Cow::Borrowed(more))),
            content => *content = Some(Content::Other(number, Cow::Borrowed(more))),
        }
        Ok(())
    }

    /// The plugin that its metadata names, if it has metadata that name one.
    ///
    /// # Errors
    /// What is wrong with the metadata's bytes.
    pub fn plugin(&self) -> Result<Option<Vec<u8>>> {
        let Some(metadata) = &self.metadata else {
            return Ok(None);
        };
        let Some(plugin_data) = message_field(metadata, 1)? else {
            return Ok(None);
        };
        let name = last_bytes(&plugin_data, 1)?;
        Ok(name.filter(|name| !name.is_empty()).map(<[u8]>::to_vec))
    }
}

/// Calls `visit` with the bytes of every Value of a Summary, in order.
///
/// # Errors
/// Those of the bytes, and those of `visit`.
pub fn for_each_value<'a, E: From<WireError>>(
    summary: &'a [u8],
    mut visit: impl FnMut(&'a [u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for_each_bytes_field(summary, 1, &mut visit)
}

fn for_each_bytes_field<'a, E: From<WireError>>(
    message: &'a [u8],
    field: u32,
    visit: &mut impl FnMut(&'a [u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut wire = Wire(message);
    while !wire.is_empty() {
        match wire.tag()? {
            (number, WireType::Bytes) if number == field => visit(wire.bytes()?)?,
            (number, wire_type) => wire.skip(number, wire_type)?,
        }
    }
    Ok(())
}

/// The message in field `field`, its pieces joined.
fn message_field(message: &[u8], field: u32) -> Result<Option<Bytes<'_>>> {
    let mut found = None;
    for_each_bytes_field::<WireError>(message, field, &mut |bytes| merge(&mut found, bytes))?;
    Ok(found)
}

/// The bytes in field `field`; of several, the last.
fn last_bytes(message: &[u8], field: u32) -> Result<Option<&[u8]>> {
    let mut found = None;
    for_each_bytes_field::<WireError>(message, field, &mut |bytes| {
        found = Some(bytes);
        Ok(())
    })?;
    Ok(found)
}

/// The number that a `TensorProto` holds, if it holds exactly one.
///
/// # Errors
/// What is wrong with the bytes.
pub fn scalar_of(tensor: &[u8]) -> Result<Option<f64>> {
    let mut wire = Wire(tensor);
    let (mut dtype, mut shape, mut content) = (0, None, None);
    while !wire.is_empty() {
        match wire.tag()? {
            (1, WireType::Varint) => dtype = wire.varint()?,
            (2, WireType::Bytes) => merge(&mut shape, wire.bytes()?)?,
            (4, WireType::Bytes) => content = Some(wire.bytes()?),
            (number, wire_type) => wire.skip(number, wire_type)?,
        }
    }
    let Some(number) = Number::of_dtype(dtype) else {
        return Ok(None);
    };
    if !holds_one(&shape.unwrap_or_default())? {
        return Ok(None);
    }
    match content.filter(|content| !content.is_empty()) {
        Some(content) => Ok(number.in_content(content)),
        None => number.in_list(tensor).map(Some),
    }
}

/// Whether the product of the dimensions is 1.
fn holds_one(shape: &[u8]) -> Result<bool> {
    let mut is_one = true;
    for_each_bytes_field::<WireError>(shape, 2, &mut |dim| {
        let (mut wire, mut size) = (Wire(dim), 0);
        while !wire.is_empty() {
            match wire.tag()? {
                (1, WireType::Varint) => size = wire.varint()?,
                (number, wire_type) => wire.skip(number, wire_type)?,
            }
        }
        is_one &= size == 1;
        Ok(())
    })?;
    Ok(is_one)
}

/// How a number is stored: the typed list that holds it, and its bytes in `tensor_content`.
#[derive(Clone, Copy)]
struct Number {
    /// The field of the typed list.
    list: u32,
    /// How many bytes it takes in `tensor_content`.
    width: usize,
    /// Its value, from the low bytes of a little-endian word.
    read: fn(u64) -> f64,
    /// The wire type of an element of the list.
    element: WireType,
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    reason = "a word holds a number of fewer bytes, and float64 is what scalars are read as"
)]
impl Number {
    /// By the number of TensorFlow's `DataType`.
    fn of_dtype(dtype: u64) -> Option<Self> {
        let (list, width, element, read): (_, _, _, fn(u64) -> f64) = match dtype {
            1 => (5, 4, WireType::Fixed32, |word| {
                f64::from(f32::from_bits(word as u32))
            }),
            2 => (6, 8, WireType::Fixed64, f64::from_bits),
            3 => (7, 4, WireType::Varint, |word| f64::from(word as i32)),
            4 => (7, 1, WireType::Varint, |word| f64::from(word as u8)),
            5 => (7, 2, WireType::Varint, |word| f64::from(word as i16)),
            6 => (7, 1, WireType::Varint, |word| f64::from(word as i8)),
            9 => (10, 8, WireType::Varint, |word| word as i64 as f64),
            10 => (11, 1, WireType::Varint, |word| {
                f64::from(u8::from(word != 0))
            }),
            14 => (13, 2, WireType::Varint, |word| {
                bf16::from_bits(word as u16).to_f64()
            }),
            17 => (7, 2, WireType::Varint, |word| f64::from(word as u16)),
            19 => (13, 2, WireType::Varint, |word| {
                f16::from_bits(word as u16).to_f64()
            }),
            22 => (16, 4, WireType::Varint, |word| f64::from(word as u32)),
            23 => (17, 8, WireType::Varint, |word| word as f64),
            _ => return None,
        };
        Some(Self {
            list,
            width,
            read,
            element,
        })
    }

    /// The number that `content` is; `None` if it is not just one.
    fn in_content(self, content: &[u8]) -> Option<f64> {
        (content.len() == self.width).then(|| (self.read)(word_of(content)))
    }

    /// The first number of the typed list in `tensor`; 0 if there is none, as in TensorFlow.
    fn in_list(self, tensor: &[u8]) -> Result<f64> {
        let mut wire = Wire(tensor);
        while !wire.is_empty() {
            let (number, wire_type) = wire.tag()?;
            if number == self.list && wire_type == self.element {
                return self.element(&mut wire);
            }
            if number == self.list && wire_type == WireType::Bytes {
                let mut packed = Wire(wire.bytes()?);
                if !packed.is_empty() {
                    return self.element(&mut packed);
                }
                continue;
            }
            wire.skip(number, wire_type)?;
        }
        Ok((self.read)(0))
    }

    fn element(self, wire: &mut Wire<'_>) -> Result<f64> {
        let word = match self.element {
            WireType::Fixed32 => word_of(&wire.fixed32()?),
            WireType::Fixed64 => word_of(&wire.fixed64()?),
            _ => wire.varint()?,
        };
        Ok((self.read)(word))
    }
}

/// Up to eight little-endian bytes.
fn word_of(bytes: &[u8]) -> u64 {
    let low_to_high = bytes.iter().take(8).rev();
    low_to_high.fold(0, |word, &byte| word << 8 | u64::from(byte))
}
