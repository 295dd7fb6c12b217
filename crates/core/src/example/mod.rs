//! Records ⇄ columns.
//!
//! From the bottom up: [`wire`] reads protobuf's wire format, [`varint`] its packed integers; [`message`] knows the
//! messages of `tf.train`; [`spec`] says what is wanted. [`mod@decode`] turns records into Arrow columns, [`encode`]
//! columns into records. [`example_list`] splits lists of examples; [`kind`] guesses a record's message; [`mod@event`]
//! reads what `TensorBoard` shows. [`raw`] and [`mod@tensor`] read numbers inside byte strings;
//! [`sparse`] orders the indices of sparse tensors.
//!
//! Uses `runtime`, never `record`.
//!
//! Where TensorFlow's fast parser departs from protobuf on odd but legal bytes, this follows
//! protobuf: repeated submessages merge, the last member of a oneof wins, unknown fields are skipped,
//! the last entry of a map key wins as a whole.

pub mod canonical;
pub mod decode;
pub mod encode;
pub mod event;
pub mod example_list;
pub mod kind;
pub mod message;
pub mod raw;
pub mod record_error;
pub mod sparse;
pub mod spec;
pub mod tensor;
pub mod varint;
pub mod wire;

pub use decode::{Decode, ExampleDecoder, SequenceDecoder, decode, decode_sequences};
pub use encode::{
    Envelope, ExampleEncoder, ListEncoder, append_columns, encode_columns, encode_sequence_columns,
};
pub use spec::{DType, Default, FeatureSpec, Kind, Layout, ListSpec};
