//! The primitives behind search, for direct use.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;

mod fpe; // FF1 and formats
mod hash; // BLAKE3 over many messages
mod mldsa; // signatures in batches
mod pir; // SimplePIR

/// Adds all primitives to the extension module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<fpe::Ff1>()?;
    module.add_class::<fpe::Ff1Range>()?;
    module.add_class::<fpe::Format>()?;
    module.add_class::<pir::PirServer>()?;
    module.add_class::<pir::PirClient>()?;
    module.add_class::<pir::PirSecret>()?;
    module.add_function(wrap_pyfunction!(hash::hash_each, module)?)?;
    module.add_function(wrap_pyfunction!(mldsa::verify_batch, module)?)
}

/// The exception for an input that cannot be used.
fn wrong(py: Python<'_>, error: &impl ToString) -> PyErr {
    errors::raise(py, "InputError", error.to_string())
}

/// Borrows the bytes of each object, which never change.
fn borrowed<'a>(objects: &'a [Bound<'_, PyBytes>]) -> Vec<&'a [u8]> {
    objects.iter().map(|object| object.as_bytes()).collect()
}
