//! The messages of `tf.train` as prost's own derived code reads them: what keeps the reading of
//! `fields.rs` honest.
//!
//! Maps are lists of entries, which on the wire they are by definition: prost takes an entry of any
//! wire type for a length-delimited one.

use prost::{Message, Oneof};
use tfrecs_core::example::spec::Kind;

use super::fields::{self, Entry, List};

#[derive(Clone, PartialEq, Message)]
struct Example {
    #[prost(message, optional, tag = "1")]
    features: Option<Features>,
}

#[derive(Clone, PartialEq, Message)]
struct SequenceExample {
    #[prost(message, optional, tag = "1")]
    context: Option<Features>,
    #[prost(message, optional, tag = "2")]
    feature_lists: Option<FeatureLists>,
}

#[derive(Clone, PartialEq, Message)]
struct Features {
    #[prost(message, repeated, tag = "1")]
    feature: Vec<FeatureEntry>,
}

#[derive(Clone, PartialEq, Message)]
struct FeatureEntry {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Feature>,
}

#[derive(Clone, PartialEq, Message)]
struct FeatureLists {
    #[prost(message, repeated, tag = "1")]
    feature_list: Vec<FeatureListEntry>,
}

#[derive(Clone, PartialEq, Message)]
struct FeatureListEntry {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<FeatureList>,
}

#[derive(Clone, PartialEq, Message)]
struct FeatureList {
    #[prost(message, repeated, tag = "1")]
    feature: Vec<Feature>,
}

#[derive(Clone, PartialEq, Message)]
struct Feature {
    #[prost(oneof = "Held", tags = "1, 2, 3")]
    kind: Option<Held>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Held {
    #[prost(message, tag = "1")]
    Bytes(BytesList),
    #[prost(message, tag = "2")]
    Float(FloatList),
    #[prost(message, tag = "3")]
    Int64(Int64List),
}

#[derive(Clone, PartialEq, Message)]
struct BytesList {
    #[prost(bytes = "vec", repeated, tag = "1")]
    value: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct FloatList {
    #[prost(float, repeated, tag = "1")]
    value: Vec<f32>,
}

#[derive(Clone, PartialEq, Message)]
struct Int64List {
    #[prost(int64, repeated, tag = "1")]
    value: Vec<i64>,
}

/// Checks that the reading of `fields.rs` is prost's, where prost's derived code takes the record.
pub fn check_example(record: &[u8]) {
    if let Ok(example) = Example::decode(record) {
        check_features(example.features, record);
    }
}

/// As [`check_example`], of a `SequenceExample`.
pub fn check_sequence(record: &[u8]) {
    let Ok(sequence) = SequenceExample::decode(record) else {
        return;
    };
    check_features(sequence.context, record);
    let lists = sequence.feature_lists.unwrap_or_default().feature_list;
    let found = entries(record, 2, lists.len());
    for ((key, list), expected) in found.iter().zip(lists) {
        let features = expected.value.unwrap_or_default().feature;
        let (steps, fault) = fields::steps(list.as_ref().unwrap());
        assert_eq!(*key, expected.key.as_bytes(), "{record:02x?}");
        assert_eq!(
            (steps.len(), fault),
            (features.len(), None),
            "{record:02x?}"
        );
        for (step, feature) in steps.iter().zip(features) {
            check_feature(step, feature, record);
        }
    }
}

fn check_features(features: Option<Features>, record: &[u8]) {
    let features = features.unwrap_or_default().feature;
    let found = entries(record, 1, features.len());
    for ((key, feature), expected) in found.iter().zip(features) {
        assert_eq!(*key, expected.key.as_bytes(), "{record:02x?}");
        let feature = feature.as_ref().unwrap();
        check_feature(feature, expected.value.unwrap_or_default(), record);
    }
}

fn entries(record: &[u8], number: u32, count: usize) -> Vec<Entry> {
    let entries = fields::entries(record, number).into_iter();
    let entries: Vec<_> = entries.map(|entry| entry.unwrap()).collect();
    assert_eq!(entries.len(), count, "{record:02x?}");
    entries
}

fn check_feature(bytes: &[u8], feature: Feature, record: &[u8]) {
    let expected = feature.kind.map(|held| match held {
        Held::Bytes(list) => List::Bytes(list.value),
        Held::Float(list) => List::Floats(list.value),
        Held::Int64(list) => List::Integers(list.value),
    });
    let held = fields::feature(bytes).unwrap();
    let found = held.map(|(kind, list)| read(kind, &list.unwrap()));
    // As text, for which one NaN is as good as another.
    assert_eq!(
        format!("{found:?}"),
        format!("{expected:?}"),
        "{record:02x?}"
    );
}

fn read(kind: Kind, list: &[u8]) -> List {
    fields::list(kind, list).unwrap()
}
