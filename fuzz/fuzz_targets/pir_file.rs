#![no_main]
//! Database files: reading never panics and never takes more memory than the file is long.

use libfuzzer_sys::fuzz_target;
use sordino_pir::{double, simple};

fuzz_target!(|data: &[u8]| {
    let path = std::env::temp_dir().join(format!("sordino-fuzz-pir-{}", std::process::id()));
    if std::fs::write(&path, data).is_ok() {
        let _ = simple::Database::read_file(&path).map(|database| *database.params());
        let _ = double::Database::read_file(&path).map(|database| *database.params());
    }
});
