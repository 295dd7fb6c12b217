//! The decoder's short way against its long one.
//!
//! A record that is decoded alone goes the long way, because the first row of a batch always does. So a
//! batch must be what its records are one by one, whatever they have in common. And with a field that
//! nobody knows in each message, all goes the longest way there is.

use arrow_array::RecordBatch;
use proptest::prelude::*;
use tfrecs_core::example::{DType, Default, FeatureSpec, Kind, Layout, ListSpec};
use tfrecs_core::example::{decode, decode_sequences};

mod wire_bytes;
use wire_bytes::delimited;

/// Names, two of which are too long, or just not too long, to be compared as words.
const NAMES: [&str; 6] = [
    "a",
    "b",
    "image/encoded",
    "exactly twenty-nine bytes lon",
    "thirty bytes, which is too man",
    "",
];

/// A list: its tag and its bytes. Most are as writers write them.
fn list() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0u64..300, any::<u64>(), Just(u64::MAX), Just(1 << 63)];
    let varint = |value: u64| {
        let mut bytes = Vec::new();
        tfrecs_core::example::wire::push_varint(&mut bytes, value);
        bytes
    };
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..20).prop_map(|it| delimited(0x0a, &delimited(0x0a, &it))),
        1 => prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3), 0..3)
            .prop_map(|it| delimited(0x0a, &it.iter().flat_map(|it| delimited(0x0a, it)).collect::<Vec<_>>())),
        2 => prop::collection::vec(any::<u8>(), 110..140).prop_map(|it| delimited(0x0a, &delimited(0x0a, &it))),
        4 => number.clone().prop_map(move |it| delimited(0x1a, &delimited(0x0a, &varint(it)))),
        1 => prop::collection::vec(number, 0..4)
            .prop_map(move |it| delimited(0x1a, &delimited(0x0a, &it.into_iter().flat_map(varint).collect::<Vec<_>>()))),
        1 => (0u8..200).prop_map(|it| delimited(0x1a, &[0x08, it & 0x7f])),
        1 => prop::collection::vec(any::<u8>(), 0..12).prop_map(|it| delimited(0x1a, &delimited(0x0a, &it))),
        3 => prop::collection::vec(any::<u32>(), 0..4)
            .prop_map(|it| delimited(0x12, &delimited(0x0a, &it.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>()))),
        1 => prop::collection::vec(any::<u8>(), 0..12).prop_map(|it| delimited(0x12, &delimited(0x0a, &it))),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ]
}

fn entry(name: &str, value: &[u8]) -> Vec<u8> {
    let entry = [delimited(0x0a, name.as_bytes()), delimited(0x12, value)].concat();
    delimited(0x0a, &entry)
}

/// A map of these entries, plainly, or with an unknown field after each value and after them all.
fn map(entries: &[(&str, Vec<u8>)], unknown: &[u8]) -> Vec<u8> {
    let one = |(name, value): &(&str, Vec<u8>)| {
        let key = delimited(0x0a, name.as_bytes());
        delimited(0x0a, &[&key, &delimited(0x12, value), unknown].concat())
    };
    [entries.iter().flat_map(one).collect(), unknown.to_vec()].concat()
}

type Entries = Vec<(&'static str, Vec<u8>)>;
type Lists = Vec<(&'static str, Vec<Vec<u8>>)>;

fn entries() -> impl Strategy<Value = Entries> {
    let large = prop::collection::vec(any::<u8>(), 0..300)
        .prop_map(|it| delimited(0x0a, &delimited(0x0a, &it)));
    let value = prop_oneof![3 => list(), 1 => large];
    prop::collection::vec((prop::sample::select(&NAMES[..]), value), 0..9)
}

fn lists() -> impl Strategy<Value = Lists> {
    let steps = prop::collection::vec(list(), 0..4);
    prop::collection::vec((prop::sample::select(&NAMES[..]), steps), 0..5)
}

/// An Example's bytes: mostly the same names in the same order, sometimes in another, or twice, or cut.
fn record() -> impl Strategy<Value = Vec<u8>> {
    let usual = prop::collection::vec(list(), NAMES.len())
        .prop_map(|lists| NAMES.into_iter().zip(lists).collect::<Vec<_>>());
    let unusual = prop::collection::vec((prop::sample::select(&NAMES[..]), list()), 0..9);
    let entries = prop_oneof![4 => usual, 1 => unusual];
    (entries, 0usize..40, any::<prop::sample::Index>()).prop_map(|(entries, damage, at)| {
        let map: Vec<u8> = entries
            .iter()
            .flat_map(|(name, list)| entry(name, list))
            .collect();
        let mut record = delimited(0x0a, &map);
        if damage == 0 {
            let at = at.index(record.len());
            if let Some(byte) = record.get_mut(at) {
                *byte ^= 1 << (at % 8);
            }
        } else if damage == 1 {
            record.truncate(at.index(record.len()));
        }
        record
    })
}

fn layout() -> impl Strategy<Value = Layout> {
    let ragged = |shape: Vec<usize>| Layout::Ragged { shape };
    let fixed = |shape: Vec<usize>| Layout::Fixed {
        shape,
        default: None,
    };
    prop_oneof![
        3 => Just(fixed(vec![])),
        1 => Just(fixed(vec![2])),
        1 => Just(fixed(vec![0])),
        3 => Just(ragged(vec![])),
        1 => Just(ragged(vec![2])),
        1 => Just(ragged(vec![0])),
    ]
}

fn spec() -> impl Strategy<Value = Vec<FeatureSpec>> {
    use DType::{Bytes, Float32, Int64, UInt8};
    let dtype = prop::sample::select(vec![Bytes, Float32, Int64, UInt8]);
    let one = (dtype, layout(), any::<bool>());
    prop::collection::vec(prop::option::weighted(0.9, one), NAMES.len()).prop_map(|wanted| {
        NAMES
            .iter()
            .zip(wanted)
            .filter_map(|(name, wanted)| {
                let (dtype, mut layout, with_default) = wanted?;
                if let Layout::Fixed { shape, default } = &mut layout {
                    let count = shape.iter().product();
                    *default = with_default.then(|| default_of(dtype.kind(), count));
                }
                Some(FeatureSpec {
                    name: (*name).to_owned(),
                    dtype,
                    layout,
                })
            })
            .collect()
    })
}

fn default_of(kind: Kind, count: usize) -> Default {
    match kind {
        Kind::Bytes => Default::Bytes(vec![b"default".to_vec(); count]),
        Kind::Float32 => Default::Float32(vec![-0.0; count]),
        Kind::Int64 => Default::Int64(vec![7; count]),
    }
}

/// Each row by itself, up to the first that is refused, and why it is.
fn one_by_one(
    records: &[Vec<u8>],
    decode_one: impl Fn(&[u8]) -> Result<RecordBatch, String>,
) -> (Vec<RecordBatch>, Option<String>) {
    let mut rows = Vec::new();
    for record in records {
        match decode_one(record) {
            Ok(row) => rows.push(row),
            Err(error) => return (rows, Some(error)),
        }
    }
    (rows, None)
}

/// All of a batch; there are never that many values that Arrow leaves some out.
fn shown(batch: &RecordBatch) -> String {
    format!("{batch:?}")
}

fn compare(
    whole: Result<RecordBatch, (Option<usize>, String)>,
    rows: &[RecordBatch],
    error: Option<String>,
) -> Result<(), TestCaseError> {
    match (whole, error) {
        (Err((index, found)), Some(expected)) => {
            prop_assert_eq!((index, found), (Some(rows.len()), expected));
        }
        (Ok(batch), None) => {
            prop_assert_eq!(batch.num_rows(), rows.len());
            for (index, row) in rows.iter().enumerate() {
                prop_assert_eq!(shown(&batch.slice(index, 1)), shown(row));
            }
        }
        (whole, error) => prop_assert!(false, "{whole:?}, but one by one {error:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(700))]

    #[test]
    fn a_batch_is_its_records_one_by_one(
        records in prop_oneof![3 => prop::collection::vec(record(), 1..8), 1 => prop::collection::vec(record(), 8..150)],
        spec in spec(),
    ) {
        let (rows, error) = one_by_one(&records, |record| {
            decode([record].into_iter(), Some(&spec)).map_err(|error| error.error.to_string())
        });
        let whole = decode(records.iter().map(Vec::as_slice), Some(&spec))
            .map_err(|error| (error.index, error.error.to_string()));
        compare(whole, &rows, error)?;
    }

    #[test]
    fn the_steps_of_a_list_are_the_same_in_a_list_of_their_own(
        steps in prop::collection::vec(list(), 1..8),
        spec in spec(),
    ) {
        let lists: Vec<ListSpec> = spec.iter().take(1).map(|step| {
            let mut step = step.clone();
            if let Layout::Fixed { default, .. } = &mut step.layout {
                *default = None;
            }
            ListSpec { step, allow_missing: true }
        }).collect();
        prop_assume!(!lists.is_empty());
        let name = &lists[0].step.name;
        let of = |steps: &[Vec<u8>]| {
            let list: Vec<u8> = steps.iter().flat_map(|step| delimited(0x0a, step)).collect();
            delimited(0x12, &entry(name, &list))
        };
        let decoded = |record: &[u8]| {
            decode_sequences([record].into_iter(), Some(&[]), Some(&lists))
                .map(|(_, lists)| lists)
                .map_err(|error| error.error.to_string())
        };
        let whole = decoded(&of(&steps));
        let singly: Vec<_> = steps.iter().map(|step| decoded(&of(std::slice::from_ref(step)))).collect();
        prop_assert_eq!(whole.is_ok(), singly.iter().all(Result::is_ok));
        if let Ok(whole) = whole {
            let flat = |batch: &RecordBatch| {
                use arrow_array::cast::AsArray;
                batch.column(0).as_list::<i64>().values().clone()
            };
            let whole = flat(&whole);
            prop_assert_eq!(whole.len(), steps.len());
            for (index, one) in singly.iter().enumerate() {
                let one = flat(one.as_ref().unwrap());
                prop_assert_eq!(format!("{:?}", whole.slice(index, 1)), format!("{one:?}"));
            }
        }
    }

    #[test]
    fn unknown_fields_change_nothing(
        records in prop::collection::vec((entries(), lists()), 1..6),
        spec in prop::option::weighted(0.9, spec()),
    ) {
        let steps = |steps: &Vec<Vec<u8>>| steps.iter().flat_map(|step| delimited(0x0a, step)).collect();
        let sequence = |(context, lists): &(Entries, Lists), unknown: &[u8]| {
            let lists: Vec<_> = lists.iter().map(|(name, list)| (*name, steps(list))).collect();
            [delimited(0x0a, &map(context, unknown)), delimited(0x12, &map(&lists, unknown)), unknown.to_vec()].concat()
        };
        let wanted: Option<Vec<ListSpec>> = spec.as_ref().map(|spec| spec.iter().map(|step| {
            let mut step = step.clone();
            if let Layout::Fixed { default, .. } = &mut step.layout {
                *default = None;
            }
            ListSpec { step, allow_missing: true }
        }).collect());
        let decoded = |unknown: &[u8]| {
            let records: Vec<_> = records.iter().map(|record| sequence(record, unknown)).collect();
            let slices = || records.iter().map(Vec::as_slice);
            let told = |error: tfrecs_core::example::record_error::RecordError| (error.index, error.error.to_string());
            let examples = decode(slices(), spec.as_deref());
            let sequences = decode_sequences(slices(), spec.as_deref(), wanted.as_deref());
            let lists = decode_sequences(slices(), Some(&[]), wanted.as_deref());
            (
                examples.map(|batch| shown(&batch)).map_err(told),
                sequences.map(|(context, lists)| (shown(&context), shown(&lists))).map_err(told),
                lists.map(|(_, lists)| shown(&lists)).map_err(told),
            )
        };
        prop_assert_eq!(decoded(b""), decoded(b"\x18\x00"));
    }
}
