#![no_main]
//! Every DoublePIR message: decoding never panics, and what decodes is written back as it was.

use libfuzzer_sys::fuzz_target;
use sordino_pir::double::{Answer, Hint, Params, Query, Update};

fuzz_target!(|data: &[u8]| {
    if let Ok(params) = Params::from_bytes(data) {
        assert_eq!(params.to_bytes(), data);
        assert!(params.log2_failure() <= -40.0);
    }
    let params = Params::for_double(30, 1).expect("served");
    if let Ok(query) = Query::from_bytes(&params, data) {
        assert_eq!(query.to_bytes(), data);
    }
    let _ = Answer::from_bytes(&params, data).map(|answer| answer.to_bytes());
    let _ = Hint::from_bytes(&params, data).map(|hint| hint.version());
    if let Ok(update) = Update::from_bytes(&params, data) {
        assert_eq!(update.to_bytes(), data);
    }
});
