#![no_main]
//! Bodies of searches that programs post to the proxy.

use libfuzzer_sys::fuzz_target;
use sordino_proxy::{SearchRequest, Shape};

fuzz_target!(|bytes: &[u8]| {
    let shape = Shape { dim: 3, k: 10 };
    if let Ok(request) = SearchRequest::read(bytes, shape) {
        assert!((1..=10).contains(&request.k) && !request.vectors.is_empty());
        for vector in &request.vectors {
            assert!(vector.len() == 3 && vector.iter().all(|x| x.is_finite()));
        }
    }
});
