//! What columns the records of a fuzz input make, by the plainest reading of the rules.
//!
//! Records are read in order, and of each its entries in order; bytes that are no message are a fault
//! at once. Of entries with one name the last counts. Only when a record's bytes are read, its
//! features are compared with the columns, in the columns' order. A list of another kind than its
//! column's is not read.

use std::collections::HashMap;

use tfrecs_core::example::spec::elements_of;
use tfrecs_core::example::{DType, Default, Layout};

use super::answer::{Column, Fault, Features, Lists, Refusal, Row, Steps, Value};
use super::fields::{self, List};
use super::input::Column as Wanted;
use super::rounding::{range_of, rounded};

type Result<T> = std::result::Result<T, Refusal>;

/// The columns of the features of Examples.
pub fn examples(records: &[Vec<u8>], spec: Option<&[Wanted]>) -> Result<Features> {
    let mut table = Table::new(spec, Place::Example);
    for (index, record) in records.iter().enumerate() {
        table.read(record, index)?;
    }
    Ok(table.finish())
}

/// The columns of the contexts and of the feature lists of `SequenceExample`s.
pub fn sequences(
    records: &[Vec<u8>],
    context: Option<&[Wanted]>,
    lists: Option<&[Wanted]>,
) -> Result<(Features, Lists)> {
    let mut context = Table::<Row>::new(context, Place::Context);
    let mut lists = Table::<Steps>::new(lists, Place::Step);
    for (index, record) in records.iter().enumerate() {
        context.read(record, index)?;
        lists.read(record, index)?;
    }
    Ok((context.finish(), lists.finish()))
}

/// Where features are: one without a list is missing in an Example and has no values in a step; in a
/// context it is missing, but where values are counted it has none.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Example,
    Context,
    Step,
}

/// What is known of a column before a record is read.
struct Rules {
    dtype: Option<DType>,
    layout: Layout,
    place: Place,
    allow_missing: bool,
}

/// The last entry of a name in a record: a row, if there is a list, and the type that it has; or what
/// is wrong with it.
type Outcome<R> = std::result::Result<(R, Option<DType>), Fault>;

/// What a row of a column is made from.
trait FromEntry: Clone + Sized {
    /// The field of a record that holds the map.
    const FIELD: u32;
    const NULL: Self;

    /// What an entry says; bytes that are no message are an error at once.
    fn read(bytes: &[u8], rules: &Rules) -> std::result::Result<Outcome<Self>, Fault>;
    /// What no entry, or one without a list, says.
    fn missing(rules: &Rules) -> Outcome<Self>;
}

impl FromEntry for Row {
    const FIELD: u32 = 1;
    const NULL: Self = None;

    fn read(bytes: &[u8], rules: &Rules) -> std::result::Result<Outcome<Self>, Fault> {
        let Some((kind, list)) = fields::feature(bytes)? else {
            return Ok(if rules.is_fixed() && rules.place != Place::Example {
                let none = || (Some(Vec::new()), rules.dtype);
                rules.allow(0).then(none).ok_or(Fault::WrongCount)
            } else {
                Self::missing(rules)
            });
        };
        let dtype = rules.dtype.unwrap_or(kind.into());
        if dtype.kind() != kind {
            return Ok(Err(Fault::WrongKind));
        }
        let list = fields::list(kind, &list?)?;
        Ok(match converted(list, dtype) {
            None => Err(Fault::Misfit),
            Some(values) if !rules.allow(values.len()) => Err(Fault::WrongCount),
            Some(values) => Ok((Some(values), Some(dtype))),
        })
    }

    fn missing(rules: &Rules) -> Outcome<Self> {
        match (&rules.layout, rules.place) {
            (Layout::Fixed { default: None, .. }, _) => Err(Fault::Missing),
            (Layout::Fixed { default, .. }, _) => Ok((
                default.as_ref().map(|default| defaults(default, rules)),
                rules.dtype,
            )),
            (Layout::Ragged { .. }, Place::Step) => Ok((Some(Vec::new()), rules.dtype)),
            (Layout::Ragged { .. }, _) => Ok((None, rules.dtype)),
        }
    }
}

impl FromEntry for Steps {
    const FIELD: u32 = 2;
    const NULL: Self = None;

    fn read(bytes: &[u8], rules: &Rules) -> std::result::Result<Outcome<Self>, Fault> {
        let mut rules = rules.clone();
        let mut rows = Vec::new();
        let (steps, fault) = fields::steps(bytes);
        let mut misfit = None;
        for step in steps {
            // After a step that does not fit, no other is read.
            match Row::read(&step, &rules)? {
                Ok((values, dtype)) => {
                    rules.dtype = dtype;
                    rows.push(values.unwrap_or_default());
                }
                Err(fault) => {
                    misfit = Some(fault);
                    break;
                }
            }
        }
        match fault {
            Some(fault) => Err(fault),
            None => Ok(misfit.map_or(Ok((Some(rows), rules.dtype)), Err)),
        }
    }

    fn missing(rules: &Rules) -> Outcome<Self> {
        if rules.allow_missing {
            Ok((None, rules.dtype))
        } else {
            Err(Fault::Missing)
        }
    }
}

impl Clone for Rules {
    fn clone(&self) -> Self {
        Self {
            layout: self.layout.clone(),
            ..*self
        }
    }
}

impl Rules {
    fn is_fixed(&self) -> bool {
        matches!(self.layout, Layout::Fixed { .. })
    }

    fn allow(&self, count: usize) -> bool {
        match &self.layout {
            Layout::Fixed { shape, .. } => count == elements_of(shape),
            // Of elements without values, nobody can say how many there are.
            Layout::Ragged { shape } => count.checked_rem(elements_of(shape)) == Some(0),
        }
    }
}

struct Table<R> {
    columns: Vec<(Rules, Column<R>)>,
    /// Whether features that nobody asked for make columns.
    finding: bool,
    place: Place,
}

impl<R: FromEntry> Table<R> {
    fn new(spec: Option<&[Wanted]>, place: Place) -> Self {
        let mut table = Self {
            columns: Vec::new(),
            finding: spec.is_none(),
            place,
        };
        for wanted in spec.unwrap_or_default() {
            let (dtype, layout) = (Some(wanted.dtype), wanted.layout.clone());
            table.add(wanted.name, 0, dtype, layout, wanted.allow_missing);
        }
        table
    }

    fn add(&mut self, name: &str, row: usize, dtype: Option<DType>, layout: Layout, allow: bool) {
        let rules = Rules {
            dtype,
            layout,
            place: self.place,
            allow_missing: allow,
        };
        let column = Column {
            name: name.to_owned(),
            dtype: None,
            rows: vec![R::NULL; row],
        };
        self.columns.push((rules, column));
    }

    fn find(&mut self, key: &[u8], row: usize) -> std::result::Result<Option<usize>, Fault> {
        let mut names = self
            .columns
            .iter()
            .map(|(_, column)| column.name.as_bytes());
        if let Some(index) = names.position(|name| name == key) {
            return Ok(Some(index));
        }
        if !self.finding {
            return Ok(None);
        }
        let name = str::from_utf8(key).map_err(|_| Fault::Wire)?;
        self.add(name, row, None, Layout::Ragged { shape: vec![] }, true);
        Ok(Some(self.columns.len() - 1))
    }

    fn read(&mut self, record: &[u8], row: usize) -> Result<()> {
        let mut last: HashMap<usize, Outcome<R>> = HashMap::new();
        let refusal = |feature: Option<&str>, fault| Refusal {
            record: row,
            feature: feature.map(str::to_owned),
            fault,
        };
        for entry in fields::entries(record, R::FIELD) {
            let (key, value) = entry.map_err(|fault| refusal(None, fault))?;
            let Some(index) = self.find(&key, row).map_err(|fault| refusal(None, fault))? else {
                continue;
            };
            let (rules, column) = &self.columns[index];
            let outcome = value.and_then(|value| R::read(&value, rules));
            last.insert(
                index,
                outcome.map_err(|fault| refusal(Some(&column.name), fault))?,
            );
        }
        for (index, (rules, column)) in self.columns.iter_mut().enumerate() {
            let outcome = last.remove(&index).unwrap_or_else(|| R::missing(rules));
            let (value, dtype) = outcome.map_err(|fault| refusal(Some(&column.name), fault))?;
            column.rows.push(value);
            rules.dtype = dtype;
        }
        Ok(())
    }

    fn finish(self) -> Vec<Column<R>> {
        let columns = self.columns.into_iter();
        columns
            .map(|(rules, column)| Column {
                dtype: rules.dtype,
                ..column
            })
            .collect()
    }
}

fn converted(list: List, dtype: DType) -> Option<Vec<Value>> {
    match list {
        List::Bytes(values) => Some(values.into_iter().map(Value::Bytes).collect()),
        List::Integers(values) => values
            .into_iter()
            .map(|value| integer(value, dtype))
            .collect(),
        List::Floats(values) => values
            .into_iter()
            .map(|value| float(value, dtype))
            .collect(),
    }
}

fn integer(value: i64, dtype: DType) -> Option<Value> {
    let (least, most) = range_of(dtype);
    let value = i128::from(value);
    (least..=most)
        .contains(&value)
        .then_some(Value::Integer(value))
}

fn float(value: f32, dtype: DType) -> Option<Value> {
    if dtype == DType::Float32 {
        return Some(Value::Float32(value.to_bits()));
    }
    rounded(value, dtype).map(Value::float)
}

fn defaults(default: &Default, rules: &Rules) -> Vec<Value> {
    let list = match default {
        Default::Bytes(values) => List::Bytes(values.clone()),
        Default::Float32(values) => List::Floats(values.clone()),
        Default::Int64(values) => List::Integers(values.clone()),
    };
    let dtype = rules.dtype.expect("a column with a default has a type");
    converted(list, dtype).expect("a default that fits")
}
