#![no_main]
//! Queries of sordino-lwe: decoding never panics, and what decodes can be answered or is refused.

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use sordino_lwe::{ByteTable, Params, Query, Seed, Shape, Table};

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let shape = Shape::new(2, 3, 5).expect("a small shape");
        let mut table = Table::zeroed(&Params::module_1536(), shape, &Seed([1; 32]));
        for row in 0..6 {
            table.set(row, &[-7; 5]).expect("a row");
        }
        table
    })
}

fn bytes() -> &'static ByteTable {
    static BYTES: OnceLock<ByteTable> = OnceLock::new();
    BYTES.get_or_init(|| {
        let params = Params::module_1536_bytes();
        let shape = params.shape(2, 3, 5).expect("a small shape");
        ByteTable::from_slice(&params, shape, &Seed([1; 32]), &[121; 15]).expect("15 bytes")
    })
}

fuzz_target!(|data: &[u8]| {
    if let Ok(query) = Query::from_bytes(data) {
        assert_eq!(query.to_bytes(), data);
        if let Ok(answer) = table().answer(&query) {
            assert_eq!(answer.len(), 6);
        }
        if let Ok(answer) = bytes().answer(&query) {
            assert_eq!(answer.len(), 6);
        }
    }
});
