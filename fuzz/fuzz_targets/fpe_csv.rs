//! Bytes as CSV and as lines. The target must not panic.
#![no_main]

use sordino_fpe::{AesKey, Format};
use sordino_fpe_files::{Column, OnError, Table, Transform, transform_csv, transform_lines};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&first, data)) = data.split_first() else {
        return;
    };
    let Ok(cipher) = Format::phone(0).cipher(&AesKey::new_128(&[7; 16])) else {
        return;
    };
    let transform = Transform {
        cipher,
        encrypt: first & 1 == 0,
        tweak: Vec::new(),
        keep_empty: first & 2 == 0,
        on_error: if first & 1 == 0 {
            OnError::Keep
        } else {
            OnError::Stop
        },
    };
    let table = Table {
        column: Column::Number(usize::from(first >> 4)),
        tweak_column: (first & 4 == 0).then_some(Column::Number(0)),
        header: first & 8 == 0,
        delimiter: b',',
    };
    let _ = transform_csv(
        &transform,
        &table,
        &mut &*data,
        &mut Vec::new(),
        &mut |_| (),
    );
    let _ = transform_lines(&transform, &mut &*data, &mut Vec::new(), &mut |_| ());
});
