//! Arrow arrays of lists of steps, as rows of feature lists.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use super::columns::Column;
use super::field::FeatureValues;
use crate::error::{Error, Result};

/// A column of feature lists: the steps of all rows are the rows of a column of their own.
pub struct StepsColumn<'a> {
    steps: Column<'a>,
    /// Where each row's steps begin and end.
    offsets: Vec<usize>,
    nulls: Option<NullBuffer>,
}

impl<'a> StepsColumn<'a> {
    /// Looks into a column.
    pub fn of(field: &'a Field, array: &'a ArrayRef) -> Result<Self> {
        Self::build(field, array).map_err(|error| error.at_feature(field.name()))
    }

    fn build(field: &'a Field, array: &'a ArrayRef) -> Result<Self> {
        let (item, offsets, steps) = match field.data_type() {
            DataType::List(item) => lists::<i32>(item, array),
            DataType::LargeList(item) => lists::<i64>(item, array),
            DataType::FixedSizeList(item, size) => {
                let size = usize::try_from(*size).unwrap_or(0);
                let offsets = (0..=array.len()).map(|row| row * size).collect();
                (item.as_ref(), offsets, array.as_fixed_size_list().values())
            }
            other => {
                return Err(Error::spec(format!(
                    "a column of {other} has no steps: a feature list is a list of values or of \
                     lists"
                )));
            }
        };
        let steps =
            Column::named(field.name(), item, steps).map_err(|error| in_row(error, &offsets))?;
        Ok(Self {
            steps,
            offsets,
            nulls: array.logical_nulls(),
        })
    }

    /// The feature list's name.
    pub fn name(&self) -> &'a [u8] {
        self.steps.name()
    }

    /// Calls `visit` with each step of row `row`, and says whether there is a list: not for a null. A
    /// null among the steps is one without values.
    pub fn visit_steps(
        &self,
        row: usize,
        strings: &mut Vec<&'a [u8]>,
        mut visit: impl FnMut(FeatureValues<'_>),
    ) -> bool {
        let Some(range) = self.range(row) else {
            return false;
        };
        for step in range {
            visit(self.steps.row(step, strings).unwrap_or(FeatureValues::None));
        }
        true
    }

    fn range(&self, row: usize) -> Option<Range<usize>> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        Some(*self.offsets.get(row)?..*self.offsets.get(row + 1)?)
    }
}

fn lists<'a, O: OffsetSizeTrait>(
    item: &'a Field,
    array: &'a ArrayRef,
) -> (&'a Field, Vec<usize>, &'a ArrayRef) {
    let lists = array.as_list::<O>();
    let offsets = lists.offsets().iter().map(|offset| offset.as_usize());
    (item, offsets.collect(), lists.values())
}

/// An error that counts steps, as one that counts rows.
fn in_row(error: Error, offsets: &[usize]) -> Error {
    let Some(step) = error.record() else {
        return error;
    };
    let row = offsets
        .partition_point(|&offset| offset as u64 <= step)
        .saturating_sub(1);
    Error::new(error.kind().clone()).at_record(row as u64)
}
