//! The extension module `sordino._sordino`: keys, indexes, clients and servers for Python.
//!
//! It takes arrays of one kind, C-contiguous and of `float32`; the Python package around it turns what
//! users have into these, and has the documentation. Whatever computes does so without Python's lock, and
//! a panic comes out as the exception `sordino.InternalError`.

// The extension has no tests of its own, and a harness of none takes a minute to link.
#![cfg(not(test))]

use pyo3::prelude::*;

mod access; // readers of their own
mod assembly; // an index whose segments several processes make
mod attributes; // columns to filter by
mod build; // an index of an iterator of arrays, or of a file
mod client; // searches, in this process or over a network
mod clustering; // an index whose records several processes assign to clusters
mod compute; // work without Python's lock
mod errors; // Rust's errors as exceptions
mod ids; // record ids
mod index; // an index in a directory
mod keys; // keys and their files
mod plan; // costs, before anything is built
mod primitives; // what search is built from, for its own sake
mod reader; // files of vectors
mod server; // an index on a port
mod transport; // messages, counted
mod vectors; // arrays as matrices

/// The native half of the package `sordino`.
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
