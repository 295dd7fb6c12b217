//! Records → columns.

pub mod column;
pub mod fast_path;
pub mod feature_list_column;
pub(crate) mod key_predictor;
pub(crate) mod map_decoder;
pub mod near_names;
pub mod numbers;
pub mod strict;
pub mod values;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::spec::{FeatureSpec, ListSpec};
use crate::error::Result;
use crate::example::decode::column::{ColumnBuilder, Place};
use crate::example::decode::feature_list_column::StepsBuilder;
use crate::example::decode::map_decoder::Decoder;
use crate::example::decode::near_names::with_near_names;
use crate::example::decode::strict::Record;
use crate::example::decode::values::Outlook;
use crate::example::record_error::RecordError;
use crate::example::record_error::for_each_group;

/// Decodes Examples into columns: those of `spec`, in its order; without a spec one for every name
/// that turns up, in the order of their first appearance, as lists.
///
/// # Errors
/// Bytes that are no Example, features that do not fit the spec, or, without one, that have
/// different kinds in different records.
pub fn decode<'a>(
    records: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    spec: Option<&[FeatureSpec]>,
) -> Result<RecordBatch, RecordError> {
    decode_all(records, ExampleDecoder::new(spec))
}

/// Decodes `SequenceExample`s into the columns of their contexts and those of their feature lists:
/// as [`decode`], but that a feature list is a list of steps.
///
/// # Errors
/// Those of [`decode`].
pub fn decode_sequences<'a>(
    records: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    context: Option<&[FeatureSpec]>,
    lists: Option<&[ListSpec]>,
) -> Result<(RecordBatch, RecordBatch), RecordError> {
    decode_all(records, SequenceDecoder::new(context, lists))
}

fn decode_all<'a, D: Decode>(
    records: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    mut decoder: D,
) -> Result<D::Batch, RecordError> {
    decoder.begin(Outlook::of(records.clone()));
    for_each_group(records, |rows, first| decoder.push(rows, first))?;
    Ok(decoder.finish()?)
}

/// What makes records into columns, batch after batch. It remembers the shape of the last record, and
/// uses the memory of earlier batches again.
pub trait Decode {
    /// The columns of a batch.
    type Batch;

    /// Begins a batch.
    fn begin(&mut self, size: Outlook);

    /// Takes the next records, the first of which is number `row` of the batch.
    ///
    /// # Errors
    /// Those of [`decode`], with the place among these records. The batch is lost.
    fn push(&mut self, records: &[&[u8]], row: usize) -> Result<(), RecordError>;

    /// Ends the batch.
    ///
    /// # Errors
    /// A shape beyond the limits of Arrow.
    fn finish(&mut self) -> Result<Self::Batch, ArrowError>;
}

/// Makes columns of Examples, as [`decode`] does.
pub struct ExampleDecoder(Decoder<ColumnBuilder>);

impl ExampleDecoder {
    /// For the features of `spec`; `None`: for all that turn up.
    #[must_use]
    pub fn new(spec: Option<&[FeatureSpec]>) -> Self {
        let judged_as = spec.is_none().then_some(Record::Example);
        Self(features(spec, Place::Example, judged_as))
    }
}

impl Decode for ExampleDecoder {
    type Batch = RecordBatch;

    fn begin(&mut self, size: Outlook) {
        self.0.begin(size);
    }

    fn push(&mut self, records: &[&[u8]], row: usize) -> Result<(), RecordError> {
        let decoded = self.0.decode_rows(records, row);
        decoded.map_err(|error| with_near_names(error, records))
    }

    fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        self.0.finish()
    }
}

/// Makes columns of `SequenceExample`s, as [`decode_sequences`] does.
pub struct SequenceDecoder {
    context: Decoder<ColumnBuilder>,
    lists: Decoder<StepsBuilder>,
}

impl SequenceDecoder {
    /// For these features of the context and these feature lists; `None`: for all that turn up.
    #[must_use]
    pub fn new(context: Option<&[FeatureSpec]>, lists: Option<&[ListSpec]>) -> Self {
        let is_all_wanted = context.is_none() && lists.is_none();
        let judged_as = is_all_wanted.then_some(Record::SequenceExample);
        let column = |list: &ListSpec| (list.step.name.clone(), StepsBuilder::new(list));
        Self {
            context: features(context, Place::Context, judged_as),
            lists: Decoder::new(lists.map(|lists| lists.iter().map(column)), judged_as),
        }
    }
}

impl Decode for SequenceDecoder {
    type Batch = (RecordBatch, RecordBatch);

    fn begin(&mut self, size: Outlook) {
        self.context.begin(size);
        self.lists.begin(size);
    }

    fn push(&mut self, records: &[&[u8]], row: usize) -> Result<(), RecordError> {
        let context = self.context.decode_rows(records, row);
        // What is wrong with the lists of an earlier record comes first.
        let failed = context.as_ref().err().and_then(|error| error.index);
        let sound = records.get(..failed.unwrap_or(records.len()));
        let lists = self.lists.decode_rows(sound.unwrap_or_default(), row);
        lists
            .and(context)
            .map_err(|error| with_near_names(error, records))
    }

    fn finish(&mut self) -> Result<Self::Batch, ArrowError> {
        Ok((self.context.finish()?, self.lists.finish()?))
    }
}

fn features(
    spec: Option<&[FeatureSpec]>,
    place: Place,
    judged_as: Option<Record>,
) -> Decoder<ColumnBuilder> {
    let column = |feature: &FeatureSpec| (feature.name.clone(), ColumnBuilder::new(feature, place));
    Decoder::new(spec.map(|spec| spec.iter().map(column)), judged_as)
}
