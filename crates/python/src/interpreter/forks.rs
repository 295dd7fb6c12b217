//! Telling the core of forks, which it cannot see.

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyMapping, PySequence, PyTuple};
use tfrecs_core::runtime::fork;

use crate::arrays::columns;
use crate::examples::example;
use crate::interpreter::turn;

/// Works out now what is worked out once for all: it would never be done in a child that is forked while another
/// thread is at it.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    turn::next_name(py);
    columns::plain_array(py)?;
    example::values::prepare(py)?;
    // PyO3 looks for these when something is first asked whether it is one.
    let none = py.None();
    let (_, _) = (
        none.bind(py).cast::<PyMapping>(),
        none.bind(py).cast::<PySequence>(),
    );
    Ok(())
}

/// Has the core told of each fork that Python makes, before and after it.
pub fn listen(py: Python<'_>) -> PyResult<()> {
    let os = py.import("os")?;
    if !os.hasattr("register_at_fork")? {
        return Ok(()); // a system without forks
    }
    let when: [(&str, fn()); 3] = [
        ("before", fork::before),
        ("after_in_parent", fork::after_in_parent),
        ("after_in_child", fork::after_in_child),
    ];
    let told = PyDict::new(py);
    for (when, tell) in when {
        let tell = move |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| tell();
        told.set_item(when, PyCFunction::new_closure(py, None, None, tell)?)?;
    }
    os.call_method("register_at_fork", (), Some(&told))?;
    Ok(())
}
