#![no_main]
//! Conditions on attributes. Each is read, or refused with a position in the text.

use libfuzzer_sys::fuzz_target;
use sordino_search::{Error, Filter, FilterFault};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match Filter::parse(text) {
        Ok(filter) => assert_eq!(filter.to_string(), text),
        Err(Error::Filter(FilterFault::Text { at, .. })) => {
            assert!((1..=text.chars().count() + 1).contains(&at))
        }
        Err(other) => panic!("{other}"),
    }
});
