//! Records ⇄ columns.
//!
//! From the bottom up: [`wire`] reads protobuf's wire format, and [`varints`] its packed integers;
//! [`message`] knows the few messages of `tf.train`, [`usual`] the form in which writers write them, [`strict`] what
//! protobuf refuses; [`spec`] says what is wanted, [`mod@decode`] turns
//! records into Arrow columns: a [`mod@column`] of features or one of feature lists ([`steps`]), over
//! [`values`]; [`encode`] goes the other way, from columns or from single features. [`lists`] splits
//! lists of examples; [`kind`] guesses a record's message; [`scalars`] makes columns of tensorboard's [`mod@event`]s. What lies inside byte
//! strings is read by [`raw`] (numbers) and [`tensor`] (`TensorProto`).
//!
//! Where TensorFlow's fast parser departs from protobuf on odd but legal bytes, this follows
//! protobuf: repeated submessages merge, the last member of a oneof wins, unknown fields are skipped,
//! the last entry of a map key wins as a whole.

pub mod column;
pub mod decode;
mod decoder;
mod directory;
pub mod encode;
pub mod event;
pub mod kind;
pub mod lists;
pub mod message;
pub mod near_names;
pub mod numbers;
pub mod order;
mod places;
pub mod raw;
pub mod rows;
mod runs;
pub mod scalars;
mod short;
pub mod spec;
pub mod steps;
pub mod strict;
pub mod tensor;
pub mod usual;
pub mod values;
pub mod varints;
pub mod wire;

pub use decode::{Decode, ExampleDecoder, SequenceDecoder, decode, decode_sequences};
pub use encode::{
    Envelope, ExampleEncoder, ListEncoder, append_columns, encode_columns, encode_sequence_columns,
};
pub use spec::{DType, Default, FeatureSpec, Kind, Layout, ListSpec};
