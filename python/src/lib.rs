//! The extension module `sordino._sordino`: keys, indexes, clients and servers for Python.
//!
//! It takes C-contiguous arrays of `float32` only. The Python package around it converts what users have
//! to such arrays, and has the documentation. Computations run without Python's lock, and a panic becomes
//! the exception `sordino.InternalError`.

// The extension has no Rust tests, and linking an empty test program would take a minute.
#![cfg(not(test))]

use pyo3::prelude::*;

mod access; // readers of an index
mod assembly; // an index whose segments several processes make
mod attributes; // columns for filters
mod build; // building an index from arrays or a file
mod client; // searches, in this process or over a network
mod clustering; // an index whose records several processes assign to clusters
mod compute; // computing without Python's lock
mod errors; // Rust's errors as exceptions
mod ids; // record ids
mod index; // an index in a directory
mod keys; // keys and their files
mod plan; // costs, before anything is built
mod primitives; // the primitives behind search
mod reader; // files of vectors
mod server; // servers
mod transport; // counted messages
mod vectors; // arrays as matrices

/// The native module of the package `sordino`.
#[pymodule]
fn _sordino(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<keys::OwnerKey>()?;
    module.add_class::<keys::ReaderKey>()?;
    module.add_class::<keys::PublicKey>()?;
    module.add_class::<keys::ReaderPublicKey>()?;
    module.add_class::<keys::WriterKey>()?;
    module.add_class::<keys::WriterPublicKey>()?;
    module.add_class::<keys::ClientKey>()?;
    module.add_class::<keys::ClientPublicKey>()?;
    module.add_class::<keys::IssuerPublicKey>()?;
    module.add_class::<index::Index>()?;
    module.add_class::<client::Client>()?;
    module.add_class::<reader::Reader>()?;
    module.add_class::<server::Server>()?;
    module.add_function(wrap_pyfunction!(keys::keygen, module)?)?;
    module.add_function(wrap_pyfunction!(keys::client_keygen, module)?)?;
    module.add_function(wrap_pyfunction!(keys::reader_keygen, module)?)?;
    module.add_function(wrap_pyfunction!(keys::writer_keygen, module)?)?;
    module.add_function(wrap_pyfunction!(index::pull, module)?)?;
    module.add_class::<assembly::Assembly>()?;
    module.add_function(wrap_pyfunction!(assembly::make_segment, module)?)?;
    module.add_class::<clustering::Clustering>()?;
    module.add_function(wrap_pyfunction!(clustering::nearest, module)?)?;
    module.add_function(wrap_pyfunction!(build::build, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    primitives::add(module)
}
