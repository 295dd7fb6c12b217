//! One column of feature lists while it is being filled: of each record that many steps, and of each
//! step its values.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeListArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field};

use super::column::{ColumnBuilder, Place, nulls_of};
use super::values::{Outlook, as_offset};
use crate::error::{Error, Result};
use crate::example::canonical::{self, Form};
use crate::example::decode::fast_path::value_offsets::ColumnSlices;
use crate::example::message;
use crate::example::spec::ListSpec;
use crate::example::wire::Wire;

/// A column of feature lists: the steps of all records are the rows of a column of their own.
pub struct StepsBuilder {
    steps: ColumnBuilder,
    /// Where each record's steps end (with a leading 0).
    row_splits: Vec<i64>,
    /// Which records have the list.
    present: Vec<bool>,
    /// What is wrong with the current record's list, if a later one of the same name does not mend
    /// it.
    fault: Option<String>,
    allow_missing: bool,
}

impl StepsBuilder {
    /// A column for a feature list that was asked for.
    #[must_use]
    pub fn new(spec: &ListSpec) -> Self {
        Self::with(
            ColumnBuilder::new(&spec.step, Place::Step),
            spec.allow_missing,
        )
    }

    /// Begins a batch of `rows` records.
    pub fn begin(&mut self, rows: usize) {
        self.steps.begin(Outlook::default());
        self.row_splits.clear();
        self.row_splits.push(0);
        self.row_splits.reserve(rows);
        self.present.clear();
        self.present.reserve(rows);
        self.fault = None;
    }

    /// A column for a feature list that turned up in record `row`.
    #[must_use]
    pub fn found(name: &str, row: usize) -> Self {
        let mut column = Self::with(ColumnBuilder::found(name, Place::Step, 0), true);
        column.row_splits.resize(row + 1, 0);
        column.present.resize(row, false);
        column
    }

    fn with(steps: ColumnBuilder, allow_missing: bool) -> Self {
        Self {
            steps,
            row_splits: vec![0],
            present: Vec::new(),
            fault: None,
            allow_missing,
        }
    }

    /// Whether the list of record `row` is written.
    #[must_use]
    #[inline]
    pub fn has_row(&self, row: usize) -> bool {
        self.present.len() > row
    }

    /// Takes the feature list of record `row`; of several, the last one counts.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn set(&mut self, row: usize, feature_list: &[u8], form: Form) -> Result<()> {
        if self.fault.is_some() || self.has_row(row) {
            self.truncate(row);
        }
        let first = self.steps.rows();
        self.take_steps(feature_list, first, form)
            .map_err(|error| error.at_feature(self.steps.name()))?;
        if self.fault.is_some() {
            self.steps.truncate(first);
        } else {
            self.end_row(true);
        }
        Ok(())
    }

    fn take_steps(&mut self, feature_list: &[u8], first: usize, form: Form) -> Result<()> {
        let mut rest = Wire(feature_list);
        while self.fault.is_none() {
            self.steps.take_run(&mut rest);
            let next = match form {
                Form::Usual => canonical::next_first(&mut rest)?,
                Form::Any => message::next_step(&mut rest)?,
            };
            let Some(feature) = next else {
                return Ok(());
            };
            self.take_step(feature, first, form)?;
        }
        // Nobody wants the rest, but it must be sound.
        while message::next_step(&mut rest)?.is_some() {}
        Ok(())
    }

    fn take_step(&mut self, feature: &[u8], first: usize, form: Form) -> Result<()> {
        let step = self.steps.rows();
        self.steps.set(step, feature, form)?;
        if !self.steps.has_row(step) {
            let fault = self.steps.fault();
            self.fault = fault.map(|what| format!("step {}: {what}", step - first));
        }
        if self.fault.is_none() {
            self.steps.fill_row(step)?;
        }
        Ok(())
    }

    fn end_row(&mut self, present: bool) {
        self.row_splits.push(as_offset(self.steps.rows()));
        self.present.push(present);
    }

    /// Writes the rows from `row` on, which is the next one, from lists of this form.
    ///
    /// # Errors
    /// What is wrong with the bytes, or does not fit the column; [`Unusual`](crate::example::wire::WireError::Unusual).
    pub fn set_rows(&mut self, row: usize, cells: ColumnSlices<'_>, form: Form) -> Result<()> {
        for (place, cell) in cells.iter().enumerate() {
            if let Some(cell) = cell {
                self.set(row + place, cell.value(), form)?;
            }
            self.fill_row(row + place)?;
        }
        Ok(())
    }

    /// Takes rows back: there are only the first `rows` again.
    pub fn truncate(&mut self, rows: usize) {
        self.fault = None;
        self.row_splits.truncate(rows + 1);
        self.present.truncate(rows);
        let steps = self.row_splits.last().copied().unwrap_or(0);
        self.steps.truncate(usize::try_from(steps).unwrap_or(0));
    }

    /// Writes row `row`, if its record has not: no steps.
    ///
    /// # Errors
    /// The list does not fit the column, or is missing and required.
    pub fn fill_row(&mut self, row: usize) -> Result<()> {
        if self.has_row(row) {
            return Ok(());
        }
        let missing = "the feature list is required but could not be found (allow_missing=True takes \
                       its absence for a list of no steps)";
        match self.fault.take() {
            Some(fault) => Err(Error::content(fault).at_feature(self.steps.name())),
            None if !self.allow_missing => {
                Err(Error::content(missing).at_feature(self.steps.name()))
            }
            None => {
                self.end_row(false);
                Ok(())
            }
        }
    }

    /// The finished column.
    ///
    /// # Errors
    /// None that the builder's own rules allow; Arrow checks them once more.
    pub fn finish(&mut self) -> Result<(Field, ArrayRef), ArrowError> {
        let (item, values) = self.steps.finish(self.steps.rows())?;
        let splits = OffsetBuffer::new(ScalarBuffer::from(std::mem::take(&mut self.row_splits)));
        let (name, item) = (item.name().clone(), Arc::new(item.with_name("item")));
        let lists = LargeListArray::try_new(item, splits, values, nulls_of(&self.present))?;
        Ok((
            Field::new(name, lists.data_type().clone(), true),
            Arc::new(lists),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::spec::{DType, FeatureSpec, Layout};
    use crate::example::wire::push_varint;
    use arrow_data::ArrayData;
    use proptest::prelude::*;

    impl StepsBuilder {
        /// As [`StepsBuilder::set`], but every step goes the long way.
        fn set_plainly(&mut self, row: usize, feature_list: &[u8]) -> Result<()> {
            self.truncate(row);
            let first = self.steps.rows();
            let mut rest = Wire(feature_list);
            let mut take = || {
                while let Some(feature) = message::next_step(&mut rest)? {
                    if self.fault.is_none() {
                        self.take_step(feature, first, Form::Any)?;
                    }
                }
                Ok(())
            };
            take().map_err(|error: Error| error.at_feature(self.steps.name()))?;
            if self.fault.is_some() {
                self.steps.truncate(first);
            } else {
                self.end_row(true);
            }
            Ok(())
        }
    }

    fn delimited(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        push_varint(&mut bytes, content.len() as u64);
        bytes.extend(content);
        bytes
    }

    /// A step of a list with this tag, and these values after one tag.
    fn step(tag: u8, values: &[u8]) -> Vec<u8> {
        delimited(0x0a, &delimited(tag, &delimited(0x0a, values)))
    }

    fn varints(values: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &value in values {
            push_varint(&mut bytes, value);
        }
        bytes
    }

    /// Steps as writers write them, those at the limits of what is short among them, and a few that are
    /// not.
    fn any_step() -> impl Strategy<Value = Vec<u8>> {
        let number = || {
            prop_oneof![
                any::<u64>().prop_flat_map(|value| (0u32..64).prop_map(move |by| value >> by)),
                Just(1 << 56),
                Just((1 << 56) - 1),
            ]
        };
        let floats = prop::sample::select(vec![0usize, 1, 2, 3, 16, 17, 30, 31, 32]);
        prop_oneof![
            4 => number().prop_map(|it| step(0x1a, &varints(&[it]))),
            2 => prop::collection::vec(number(), 0..4).prop_map(|it| step(0x1a, &varints(&it))),
            1 => prop::collection::vec(number(), 10..20).prop_map(|it| step(0x1a, &varints(&it))),
            1 => prop::collection::vec(any::<u8>(), 0..12).prop_map(|it| step(0x1a, &it)),
            1 => any::<u8>().prop_map(|it| delimited(0x0a, &delimited(0x1a, &[0x08, it & 0x7f]))),
            4 => floats.prop_flat_map(|count| prop::collection::vec(any::<u8>(), 4 * count))
                .prop_map(|it| step(0x12, &it)),
            1 => prop::collection::vec(any::<u8>(), 0..12).prop_map(|it| step(0x12, &it)),
            4 => prop::collection::vec(any::<u8>(), 0..40).prop_map(|it| step(0x0a, &it)),
            1 => prop::collection::vec(any::<u8>(), 115..135).prop_map(|it| step(0x0a, &it)),
            1 => Just(delimited(0x0a, &delimited(0x0a, b"\x0a\x01a\x0a\x01b"))),
            1 => prop::collection::vec(0x80u8.., 1..12).prop_map(|it| step(0x1a, &it)),
            1 => (prop::sample::select(vec![0x0a, 0x12, 0x1a]), 120u8..140).prop_map(|(tag, len)| forged(tag, len)),
            1 => prop::collection::vec(any::<u8>(), 0..9),
        ]
    }

    /// What looks like a step with all lengths in single bytes, if one forgets that these have seven bits.
    fn forged(tag: u8, len: u8) -> Vec<u8> {
        let mut bytes = vec![
            0x0a,
            len.wrapping_add(4),
            tag,
            len.wrapping_add(2),
            0x0a,
            len,
        ];
        bytes.resize(bytes.len() + usize::from(len), 1);
        bytes
    }

    /// The bytes of a list: the same few steps by turns, a step many times, any steps; some damaged.
    fn list() -> impl Strategy<Value = Vec<u8>> {
        let turns = (prop::collection::vec(any_step(), 1..4), 0usize..12)
            .prop_map(|(steps, count)| steps.into_iter().cycle().take(count).collect::<Vec<_>>());
        let others = prop::collection::vec(any_step(), 0..8);
        let damage = (0usize..12, any::<prop::sample::Index>());
        (prop_oneof![3 => turns, 1 => others], damage).prop_map(|(steps, (damage, at))| {
            let mut bytes = steps.concat();
            let at = at.index(bytes.len().max(1));
            match (damage, bytes.get_mut(at)) {
                (0, Some(byte)) => *byte ^= 1 << (at % 8),
                (1, Some(byte)) => *byte = byte.wrapping_add(1),
                (2, _) => bytes.truncate(at),
                _ => {}
            }
            bytes
        })
    }

    fn spec() -> impl Strategy<Value = ListSpec> {
        use DType::{Bytes, Float32, Int64, UInt8};
        let fixed = |shape: Vec<usize>| Layout::Fixed {
            shape,
            default: None,
        };
        let layout = prop_oneof![
            3 => Just(fixed(vec![])),
            2 => prop::sample::select(vec![0usize, 1, 2, 3, 16, 17, 30, 31, 32]).prop_map(move |each| fixed(vec![each])),
            3 => Just(Layout::Ragged { shape: vec![] }),
        ];
        let dtype = prop::sample::select(vec![Bytes, Float32, Float32, Int64, Int64, UInt8]);
        (dtype, layout, any::<bool>()).prop_map(|(dtype, layout, allow_missing)| ListSpec {
            step: FeatureSpec {
                name: "steps".into(),
                dtype,
                layout,
            },
            allow_missing,
        })
    }

    /// What becomes of rows of which each has some entries: the column, or where it fails and why.
    fn decoded(
        mut column: StepsBuilder,
        rows: &[Vec<Vec<u8>>],
        set: impl Fn(&mut StepsBuilder, usize, &[u8]) -> Result<()>,
    ) -> std::result::Result<(Field, ArrayData), (usize, String)> {
        for (row, entries) in rows.iter().enumerate() {
            let outcome = entries
                .iter()
                .try_for_each(|entry| set(&mut column, row, entry))
                .and_then(|()| column.fill_row(row));
            outcome.map_err(|error| (row, error.to_string()))?;
        }
        let (field, array) = column.finish().unwrap();
        Ok((field, array.to_data()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn runs_are_what_their_steps_are_one_by_one(
            rows in prop::collection::vec(
                prop_oneof![8 => prop::collection::vec(list(), 1), 1 => prop::collection::vec(list(), 0..3)],
                0..6,
            ),
            spec in prop::option::weighted(0.9, spec()),
        ) {
            let column = || spec.as_ref().map_or_else(|| StepsBuilder::found("steps", 0), StepsBuilder::new);
            let found = decoded(column(), &rows, |column, row, list| column.set(row, list, Form::Any));
            let expected = decoded(column(), &rows, StepsBuilder::set_plainly);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn steps_as_writers_write_them_are_one_run(
            values in prop::collection::vec(0u64..1 << 56, 1..9),
            each in 1usize..31,
        ) {
            use super::super::column::Place;
            let strings: Vec<Vec<u8>> = values.iter().map(|value| value.to_le_bytes().to_vec()).collect();
            let of = |tag: u8, contents: Vec<Vec<u8>>| contents.iter().flat_map(|it| step(tag, it)).collect::<Vec<u8>>();
            let lists = [
                (DType::Int64, 1, of(0x1a, values.iter().map(|&value| varints(&[value])).collect())),
                (DType::Float32, each, of(0x12, strings.iter().map(|it| it[..4].repeat(each)).collect())),
                (DType::Bytes, 1, of(0x0a, strings.clone())),
            ];
            for (dtype, each, list) in lists {
                for layout in [
                    Layout::Fixed { shape: vec![each], default: None },
                    Layout::Ragged { shape: vec![] },
                ] {
                    let spec = FeatureSpec { name: "steps".into(), dtype, layout };
                    let mut column = ColumnBuilder::new(&spec, Place::Step);
                    let mut rest = Wire(&list);
                    column.take_run(&mut rest);
                    prop_assert!(rest.is_empty(), "{:?}", rest.0);
                    prop_assert_eq!(column.rows(), values.len());
                }
            }
        }
    }
}
