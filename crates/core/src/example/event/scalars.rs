//! The scalars of tensorboard's event files as columns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, LargeBinaryArray, RecordBatch};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

use crate::error::{Error, Result};
use crate::example::decode::values::as_offset;
use crate::example::event::{Content, Event, Value, for_each_value, scalar_of};
use crate::example::record_error::RecordError;
use crate::example::record_error::for_each_row;

/// The plugin of scalars, in tensorboard's words.
const SCALARS: &[u8] = b"scalars";

/// Which summaries are wanted; `None` is all.
#[derive(Debug, Default)]
pub struct Wanted {
    /// Those with one of these tags.
    pub tags: Option<HashSet<Vec<u8>>>,
    /// Those of one of these plugins.
    pub plugins: Option<HashSet<Vec<u8>>>,
}

impl Wanted {
    fn has(names: Option<&HashSet<Vec<u8>>>, name: &[u8]) -> bool {
        names.is_none_or(|names| names.contains(name))
    }
}

/// Collects the summaries of events, a row each.
///
/// It remembers which plugin the first summary of a tag named, because writers may leave that out
/// afterwards.
#[derive(Debug, Default)]
pub struct EventDecoder {
    wanted: Wanted,
    plugins: HashMap<Vec<u8>, Vec<u8>>,
    rows: Rows,
    /// Bytes of the events that `rows` came from.
    bytes: usize,
}

impl EventDecoder {
    /// Nothing yet; of what is to come, what is wanted.
    #[must_use]
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            ..Self::default()
        }
    }

    /// Takes the summaries of some serialized Events; those of the ones before a broken one, too.
    ///
    /// # Errors
    /// Bytes that are no Event; a scalar that is none.
    pub fn push<'a>(
        &mut self,
        records: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> Result<(), RecordError> {
        for_each_row(records, |record, _| self.push_event(record))
    }

    fn push_event(&mut self, record: &[u8]) -> Result<()> {
        self.bytes += record.len();
        let event = Event::parse(record)?;
        // Protobuf would read any message as an Event of unknown fields, and a file of Examples as one
        // without scalars.
        if !event.has_fields && !record.is_empty() {
            return Err(Error::content("no event: it has none of the fields of one"));
        }
        let Some(summary) = &event.summary else {
            return Ok(());
        };
        for_each_value(summary, |bytes| {
            let value = Value::parse(bytes)?;
            self.push_value(&event, &value)
                .map_err(|error: Error| error.at_feature(&String::from_utf8_lossy(value.tag)))
        })
    }

    fn push_value(&mut self, event: &Event<'_>, value: &Value<'_>) -> Result<()> {
        let Self {
            wanted,
            plugins,
            rows,
            bytes,
        } = self;
        let Some(content) = &value.content else {
            return Ok(());
        };
        if !Wanted::has(wanted.tags.as_ref(), value.tag) {
            return Ok(());
        }
        let (plugin, number) = meaning(content, value, plugins)?;
        if !Wanted::has(wanted.plugins.as_ref(), plugin) {
            return Ok(());
        }
        rows.plugin.push(plugin);
        if rows.plugin.data.len() > bytes.saturating_mul(8).saturating_add(1 << 16) {
            return Err(Error::content(
                "the name of its plugin is too long to be repeated for every summary",
            ));
        }
        rows.wall_time.push(event.wall_time);
        rows.step.push(event.step);
        rows.tag.push(value.tag);
        rows.value.push(number.unwrap_or(f64::NAN));
        Ok(())
    }

    /// The rows since the last call: columns `wall_time`, `step`, `tag`, `plugin`, `value`.
    ///
    /// # Errors
    /// None that these columns allow; Arrow checks them once more.
    pub fn take(&mut self) -> Result<RecordBatch, ArrowError> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        let columns: [(&str, ArrayRef); 5] = [
            ("wall_time", Arc::new(Float64Array::from(rows.wall_time))),
            ("step", Arc::new(Int64Array::from(rows.step))),
            ("tag", rows.tag.into_array()?),
            ("plugin", rows.plugin.into_array()?),
            ("value", Arc::new(Float64Array::from(rows.value))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
    }
}

/// The plugin that a summary belongs to (empty if none is known), and its number, if it is a scalar.
fn meaning<'a>(
    content: &Content<'_>,
    value: &Value<'_>,
    plugins: &'a mut HashMap<Vec<u8>, Vec<u8>>,
) -> Result<(&'a [u8], Option<f64>)> {
    let tensor = match content {
        Content::Simple(number) => return Ok((SCALARS, Some(f64::from(*number)))),
        Content::Other(4, _) => return Ok((b"images", None)),
        Content::Other(5, _) => return Ok((b"histograms", None)),
        Content::Other(6, _) => return Ok((b"audio", None)),
        Content::Other(..) => return Ok((b"", None)),
        Content::Tensor(tensor) => tensor,
    };
    if !plugins.contains_key(value.tag)
        && let Some(plugin) = value.plugin()?
    {
        plugins.insert(value.tag.to_vec(), plugin);
    }
    match plugins.get(value.tag) {
        Some(plugin) if plugin == SCALARS => match scalar_of(tensor)? {
            None => Err(Error::content(
                "a scalar summary whose tensor is no single number",
            )),
            number => Ok((SCALARS, number)),
        },
        Some(plugin) => Ok((plugin, None)),
        None => match scalar_of(tensor)? {
            None => Ok((b"", None)),
            number => Ok((SCALARS, number)),
        },
    }
}

#[derive(Debug, Default)]
struct Rows {
    wall_time: Vec<f64>,
    step: Vec<i64>,
    tag: TagNames,
    plugin: TagNames,
    value: Vec<f64>,
}

/// Byte strings, one after the other.
#[derive(Debug)]
struct TagNames {
    data: Vec<u8>,
    /// Where each ends, with a leading 0.
    ends: Vec<i64>,
}

impl Default for TagNames {
    fn default() -> Self {
        Self {
            data: Vec::new(),
            ends: vec![0],
        }
    }
}

impl TagNames {
    fn push(&mut self, name: &[u8]) {
        self.data.extend_from_slice(name);
        self.ends.push(as_offset(self.data.len()));
    }

    fn into_array(self) -> Result<ArrayRef, ArrowError> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        Ok(Arc::new(LargeBinaryArray::try_new(
            offsets,
            self.data.into(),
            None,
        )?))
    }
}
