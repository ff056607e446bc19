#![no_main]
//! The readers of vector files: what they accept is a whole, finite matrix.

use libfuzzer_sys::fuzz_target;
use sordino_search::Vectors;
use sordino_search::vectors::{npy, texmex};

fuzz_target!(|data: &[u8]| {
    for vectors in [npy::vectors(data), texmex::fvecs(data), texmex::bvecs(data)].into_iter().flatten() {
        let Vectors { .. } = &vectors;
        assert_eq!(vectors.as_slice().len(), vectors.len() * vectors.dim());
        assert!(vectors.as_slice().iter().all(|x| x.is_finite()));
        assert!(vectors.as_slice().len() <= data.len());
    }
    let _ = npy::neighbours(data);
    let _ = texmex::ivecs(data);
});
