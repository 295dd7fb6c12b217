//! `SequenceExample`s → columns, and numbers of other types, beside what the test itself put in.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that fails may panic, its helpers too"
)]

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Int8Type, Int64Type, UInt8Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use proptest::prelude::*;
use tfrecs_core::example::encode::FeatureValues;
use tfrecs_core::example::{
    DType, Default, ExampleEncoder, FeatureSpec, Layout, ListSpec, decode, decode_sequences,
    encode_sequence_columns,
};

/// A record's feature list "a": steps of values, or no such list; then whether it comes twice, the
/// first time with other content.
type Lists = Option<(Vec<Vec<i64>>, bool)>;

fn record(lists: &Lists) -> Vec<u8> {
    let mut encoder = ExampleEncoder::default();
    if let Some((steps, twice)) = lists {
        if *twice {
            encoder.step(FeatureValues::Float32(&[0.5]));
            encoder.step(FeatureValues::Int64(&[1, 2, 3, 4]));
            encoder.feature_list(b"a");
        }
        for values in steps {
            encoder.step(FeatureValues::Int64(values));
        }
        encoder.feature_list(b"a");
    }
    encoder.finish()
}

fn list_spec(layout: Layout, allow_missing: bool) -> ListSpec {
    let step = FeatureSpec {
        name: "a".to_owned(),
        dtype: DType::Int64,
        layout,
    };
    ListSpec {
        step,
        allow_missing,
    }
}

fn ragged() -> Layout {
    Layout::Ragged { shape: vec![] }
}

fn fixed(shape: &[usize]) -> Layout {
    Layout::Fixed {
        shape: shape.to_vec(),
        default: None,
    }
}

/// The rows of a column of lists of lists; `None` where there is no list.
fn rows_of(column: &ArrayRef) -> Vec<Option<Vec<Vec<i64>>>> {
    let lists = column.as_list::<i64>();
    (0..lists.len())
        .map(|row| {
            lists.is_valid(row).then(|| {
                let steps = lists.value(row);
                (0..steps.len()).map(|step| step_of(&steps, step)).collect()
            })
        })
        .collect()
}

fn step_of(steps: &ArrayRef, step: usize) -> Vec<i64> {
    let values = match steps.as_list_opt::<i64>() {
        Some(lists) => lists.value(step),
        None if steps.as_fixed_size_list_opt().is_some() => steps.as_fixed_size_list().value(step),
        None => steps.slice(step, 1),
    };
    match values.as_primitive_opt::<Int64Type>() {
        Some(values) => values.values().to_vec(),
        None => Vec::new(), // no record says of what kind: there are no values
    }
}

fn lists_of(records: &[Vec<u8>], spec: Option<&[ListSpec]>) -> Result<RecordBatch, String> {
    let records = records.iter().map(Vec::as_slice);
    match decode_sequences(records, Some(&[]), spec) {
        Ok((context, lists)) => {
            assert_eq!(context.num_columns(), 0);
            Ok(lists)
        }
        Err(error) => Err(format!("{:?}: {}", error.index, error.error)),
    }
}

fn any_lists() -> impl Strategy<Value = Vec<Lists>> {
    let steps = prop::collection::vec(prop::collection::vec(any::<i64>(), 0..4), 0..5);
    prop::collection::vec(prop::option::of((steps, any::<bool>())), 0..6)
}

proptest! {
    #[test]
    fn lists_come_back(all in any_lists()) {
        let records: Vec<_> = all.iter().map(record).collect();
        let expected: Vec<_> = all.iter().map(|l| l.clone().map(|(steps, _)| steps)).collect();
        let asked = lists_of(&records, Some(&[list_spec(ragged(), true)])).unwrap();
        prop_assert_eq!(rows_of(asked.column(0)), expected.clone());
        let found = lists_of(&records, None).unwrap();
        if found.num_columns() > 0 && *found.column(0).data_type() != arrow_schema::DataType::Null {
            prop_assert_eq!(rows_of(found.column(0)), expected);
        }
    }

    #[test]
    fn encoding_and_decoding_again_gives_the_same_columns(all in any_lists()) {
        let records: Vec<_> = all.iter().map(record).collect();
        for spec in [None, Some(&[list_spec(ragged(), true)][..])] {
            let lists = lists_of(&records, spec).unwrap();
            let (context, _) =
                decode_sequences(records.iter().map(Vec::as_slice), Some(&[]), Some(&[])).unwrap();
            let (bytes, ends) = encode_sequence_columns(&context, &lists).unwrap();
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let again: Vec<_> = starts.zip(&ends).map(|(a, &b)| bytes[a..b].to_vec()).collect();
            prop_assert_eq!(lists_of(&again, spec).unwrap(), lists);
        }
    }

    #[test]
    fn steps_of_one_size_come_back(all in any_lists(), size in 1usize..4) {
        let records: Vec<_> = all.iter().map(record).collect();
        let expected: Vec<_> = all.iter().map(|l| l.clone().map(|(steps, _)| steps)).collect();
        let misfit = expected.iter().position(|row| {
            row.iter().flatten().any(|step| step.len() != size)
        });
        let answer = lists_of(&records, Some(&[list_spec(fixed(&[size]), true)]));
        match (misfit, answer) {
            (None, Ok(batch)) => prop_assert_eq!(rows_of(batch.column(0)), expected),
            (Some(row), Err(text)) => {
                prop_assert!(text.starts_with(&format!("Some({row})")), "{text}");
                prop_assert!(text.contains("values != expected"), "{text}");
            }
            (misfit, answer) => prop_assert!(false, "{misfit:?} {answer:?}"),
        }
    }

    #[test]
    fn integers_fit_or_are_refused(values in prop::collection::vec(prop_oneof![any::<i64>(), -2..300i64], 0..9)) {
        check_type::<Int8Type>(DType::Int8, &values)?;
        check_type::<UInt8Type>(DType::UInt8, &values)?;
        check_type::<UInt64Type>(DType::UInt64, &values)?;
    }
}

fn check_type<T>(dtype: DType, values: &[i64]) -> Result<(), TestCaseError>
where
    T: arrow_array::ArrowPrimitiveType<Native: TryFrom<i64>>,
{
    let mut encoder = ExampleEncoder::default();
    encoder.feature(b"a", FeatureValues::Int64(values));
    let record = encoder.finish();
    let layout = ragged();
    let name = "a".to_owned();
    let spec = [FeatureSpec {
        name,
        dtype,
        layout,
    }];
    let converted: Option<Vec<T::Native>> = values
        .iter()
        .map(|&value| T::Native::try_from(value).ok())
        .collect();
    match (
        converted,
        decode([record.as_slice()].into_iter(), Some(&spec)),
    ) {
        (Some(expected), Ok(batch)) => {
            let row = batch.column(0).as_list::<i64>().value(0);
            prop_assert_eq!(row.as_primitive::<T>().values().to_vec(), expected);
        }
        (None, Err(error)) => {
            prop_assert_eq!(error.index, Some(0));
            let text = error.error.to_string();
            prop_assert!(
                text.contains(&format!("does not fit {}", dtype.name())),
                "{}",
                text
            );
        }
        (expected, answer) => prop_assert!(false, "{expected:?} {answer:?}"),
    }
    Ok(())
}

#[test]
fn a_missing_list_is_an_error_or_no_steps() {
    let records = [record(&Some((vec![vec![1]], false))), record(&None)];
    let text = lists_of(&records, Some(&[list_spec(fixed(&[]), false)])).unwrap_err();
    assert!(
        text.contains("Some(1)") && text.contains("required but could not be found"),
        "{text}"
    );
    let batch = lists_of(&records, Some(&[list_spec(fixed(&[]), true)])).unwrap();
    assert_eq!(rows_of(batch.column(0)), [Some(vec![vec![1]]), None]);
}

#[test]
fn a_step_without_values_is_one_in_a_ragged_list_and_a_fault_in_a_fixed_one() {
    let mut encoder = ExampleEncoder::default();
    encoder.step(FeatureValues::None);
    encoder.step(FeatureValues::Int64(&[7]));
    encoder.feature_list(b"a");
    let records = [encoder.finish()];
    let batch = lists_of(&records, Some(&[list_spec(ragged(), true)])).unwrap();
    assert_eq!(rows_of(batch.column(0)), [Some(vec![vec![], vec![7]])]);
    let text = lists_of(&records, Some(&[list_spec(fixed(&[]), true)])).unwrap_err();
    assert!(
        text.contains("step 0: Number of int64 values != expected"),
        "{text}"
    );
}

#[test]
fn a_step_of_another_kind_is_named() {
    let mut encoder = ExampleEncoder::default();
    encoder.step(FeatureValues::Int64(&[7]));
    encoder.step(FeatureValues::Float32(&[7.0]));
    encoder.feature_list(b"a");
    let text = lists_of(&[encoder.finish()], Some(&[list_spec(ragged(), true)])).unwrap_err();
    assert!(text.contains("step 1: Data types don't match"), "{text}");
}

#[test]
fn a_context_without_values_is_a_fault_where_an_example_has_its_default() {
    let mut encoder = ExampleEncoder::default();
    encoder.feature(b"a", FeatureValues::None);
    let record = encoder.finish();
    let layout = Layout::Fixed {
        shape: vec![],
        default: Some(Default::Int64(vec![7])),
    };
    let spec = [FeatureSpec {
        name: "a".to_owned(),
        dtype: DType::Int64,
        layout,
    }];
    let records = [record.as_slice()].into_iter();
    let batch = decode(records.clone(), Some(&spec)).unwrap();
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[7]);
    assert!(decode_sequences(records.clone(), Some(&spec), Some(&[])).is_err());
    let spec = [FeatureSpec {
        layout: fixed(&[2, 0]),
        ..spec[0].clone()
    }];
    assert!(decode_sequences(records.clone(), Some(&spec), Some(&[])).is_ok());
    assert!(decode(records, Some(&spec)).is_err());
}

#[test]
fn floats_are_rounded_and_overflow_is_an_error() {
    let half = |values: &[f32]| {
        let mut encoder = ExampleEncoder::default();
        encoder.feature(b"a", FeatureValues::Float32(values));
        let spec = [FeatureSpec {
            name: "a".to_owned(),
            dtype: DType::Float16,
            layout: ragged(),
        }];
        let record = encoder.finish();
        decode([record.as_slice()].into_iter(), Some(&spec))
            .map_err(|error| error.error.to_string())
    };
    let batch = half(&[1.0, 65504.0, f32::INFINITY, 1e-9]).unwrap();
    let row = batch.column(0).as_list::<i64>().value(0);
    let found: Vec<f32> = row
        .as_primitive::<Float16Type>()
        .values()
        .iter()
        .map(|v| v.to_f32())
        .collect();
    assert_eq!(found, [1.0, 65504.0, f32::INFINITY, 0.0]);
    let text = half(&[1.0, 70_000.0]).unwrap_err();
    assert!(text.contains("7e4 does not fit float16"), "{text}");
}

/// A name that turns up, and in the same record again without any list: the last one counts, and
/// the rows that follow stay where they are.
#[test]
fn a_found_name_that_comes_again_without_a_kind_is_missing() {
    let mut encoder = ExampleEncoder::default();
    encoder.feature(b"a", FeatureValues::Int64(&[5]));
    encoder.feature(b"b", FeatureValues::Int64(&[6]));
    encoder.feature(b"a", FeatureValues::None);
    let first = encoder.finish();
    encoder.feature(b"a", FeatureValues::Int64(&[7]));
    let second = encoder.finish();
    let batch = decode([first.as_slice(), &second].into_iter(), None).unwrap();
    let a = batch.column(0).as_list::<i64>();
    assert!(a.is_null(0));
    assert_eq!(a.value(1).as_primitive::<Int64Type>().values(), &[7]);
    let b = batch.column(1).as_list::<i64>();
    assert_eq!(b.value(0).as_primitive::<Int64Type>().values(), &[6]);
    assert!(b.is_null(1));
}
