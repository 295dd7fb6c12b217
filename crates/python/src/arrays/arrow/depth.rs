//! A limit on how deeply a column of another library is nested.
//!
//! Arrow's own conversion of a schema, its comparison and its printing all recurse once a level, so a
//! type of a few thousand levels overflows the stack. The depth is checked before any of them run.

use arrow_array::ffi::FFI_ArrowSchema;
use tfrecs_core::Error;

/// No column of examples needs more than a few levels; Arrow itself promises readers 64 of them.
const MAX_DEPTH: usize = 64;

/// Refuse columns that are nested too deeply.
///
/// # Errors
/// A column is nested more than [`MAX_DEPTH`] deep.
pub fn check(schema: &FFI_ArrowSchema) -> Result<(), Error> {
    for column in schema.children() {
        if is_deeper(column, MAX_DEPTH) {
            let name = column.name().unwrap_or_default();
            return Err(Error::spec(format!(
                "feature \"{name}\": an Arrow column nested more than {MAX_DEPTH} levels deep"
            )));
        }
    }
    Ok(())
}

/// Whether `schema` has more than `levels` levels below it. Recurses at most `levels` times.
fn is_deeper(schema: &FFI_ArrowSchema, levels: usize) -> bool {
    let inner = schema.children().chain(schema.dictionary());
    let mut inner = inner.peekable();
    if levels == 0 {
        return inner.peek().is_some();
    }
    inner.any(|inner| is_deeper(inner, levels - 1))
}
