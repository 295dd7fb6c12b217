//! Where in each of some records the value of each column lies: what is known once a record's map has been
//! walked through, before any value is read.
//!
//! Columns are then filled one after the other, each for all of these records, in a loop that knows what it
//! fills.

/// The most records at a time.
const MAX_ROWS: usize = 64;

/// The most places: they stay in the processor's nearest cache.
const MAX_PLACES: usize = 1 << 12;

/// A value's place in a record: where it begins, and in the higher half how many bytes it has.
type Offset = u64;

/// Beyond any record.
const NONE: Offset = Offset::MAX;

/// The places of the values of each column, in some records.
#[derive(Default)]
pub struct ValueOffsets {
    /// Those of a column after those of the one before.
    places: Vec<Offset>,
    /// How many records there is room for, as a power of two.
    rows: u32,
}

impl ValueOffsets {
    /// How many records there is room for, with that many columns.
    pub fn room(columns: usize) -> usize {
        1 << (MAX_PLACES / columns.max(1)).clamp(1, MAX_ROWS).ilog2()
    }

    /// Forgets all, and makes room for the places in `rows` records.
    pub fn clear(&mut self, columns: usize, rows: usize) {
        self.rows = rows.next_power_of_two().ilog2();
        self.places.clear();
        self.places.resize(columns << self.rows, NONE);
    }

    /// Whether places in a record of that many bytes can be noted.
    pub fn can_be_in(record: &[u8]) -> bool {
        u32::try_from(record.len()).is_ok_and(|len| len < u32::MAX)
    }

    /// Notes the place of the value of `column` in record `row`, unless there is one already.
    #[inline]
    #[must_use]
    pub fn note(&mut self, column: usize, row: usize, start: usize, len: usize) -> Option<()> {
        let place = self.places.get_mut((column << self.rows) + row)?;
        let is_new = *place == NONE;
        *place = start as u64 | (len as u64) << 32;
        is_new.then_some(())
    }

    /// The values of `column` in `records`.
    pub fn of<'a>(&'a self, column: usize, records: &'a [&'a [u8]]) -> ColumnSlices<'a> {
        ColumnSlices {
            places: self.places.get(column << self.rows..).unwrap_or_default(),
            records,
        }
    }
}

/// The values of a column in some records.
#[derive(Clone, Copy)]
pub struct ColumnSlices<'a> {
    /// One for each record, and others after.
    places: &'a [Offset],
    records: &'a [&'a [u8]],
}

/// A value, and how it lies.
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    /// How many bytes it has.
    pub len: usize,
    /// They, and all that follows them in the record.
    pub bytes: &'a [u8],
}

impl<'a> ColumnSlices<'a> {
    /// One after the other; none where it is not there.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "each is half of it")]
    pub fn iter(self) -> impl Iterator<Item = Option<Cell<'a>>> {
        self.records.iter().zip(self.places).map(|(record, place)| {
            let start = (place & u64::from(u32::MAX)) as usize;
            Some(Cell {
                len: (place >> 32) as usize,
                bytes: record.get(start..)?,
            })
        })
    }

    /// All but the first `count`.
    #[must_use]
    pub fn skip(self, count: usize) -> Self {
        Self {
            places: self.places.get(count..).unwrap_or_default(),
            records: self.records.get(count..).unwrap_or_default(),
        }
    }
}

impl<'a> Cell<'a> {
    /// The value's bytes.
    #[must_use]
    pub fn value(self) -> &'a [u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}
