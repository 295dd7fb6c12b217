//! The memory of earlier batches, used again once nobody holds it any more: the system clears new memory
//! page by page, which costs as much as writing to it.

use arrow_array::ArrayRef;
use arrow_buffer::{ArrowNativeType, Buffer};

/// How many batches are kept an eye on: those that are being made, waiting, or with the consumer.
const MAX_LENT: usize = 4;

/// The buffers that a column gave away with its batches.
#[derive(Default)]
pub struct Spare {
    lent: Vec<Vec<Buffer>>,
}

impl Spare {
    /// Remembers the buffers that `values` and its children hold, and `more` behind them.
    pub fn lend(&mut self, values: &ArrayRef, more: Option<Buffer>) {
        if self.lent.len() == MAX_LENT {
            self.lent.remove(0);
        }
        let mut buffers = values.to_data().buffers().to_vec();
        buffers.extend(more);
        self.lent.push(buffers);
    }

    /// The buffers of a batch that nobody holds any more, in the same order; none if there is no such.
    pub fn take(&mut self) -> Vec<Buffer> {
        let is_free = |buffers: &Vec<Buffer>| buffers.iter().all(|it| it.strong_count() == 1);
        let found = self.lent.iter().position(is_free);
        found.map_or_else(Vec::new, |place| self.lent.swap_remove(place))
    }
}

/// No values, in the memory of `buffer` if it held such.
#[must_use]
pub fn emptied<T: ArrowNativeType>(buffer: Option<Buffer>) -> Vec<T> {
    let values = buffer.and_then(|buffer| buffer.into_vec::<T>().ok());
    let mut values = values.unwrap_or_default();
    values.clear();
    values
}
