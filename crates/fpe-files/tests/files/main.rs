//! Tests of the encryption of lines, of columns of CSV and Parquet, and of members of JSON lines.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on is to fail")]

mod columns;
mod json_lines;
mod parquet_columns;

use sordino_fpe_files::{Column, Error, OnError, Table, Transform, transform_csv, transform_lines};

pub(crate) fn transform(format: &str, encrypt: bool) -> Transform {
    let format: sordino_fpe::Format = format.parse().unwrap();
    Transform {
        cipher: format
            .cipher(&sordino_fpe::AesKey::new_256(&[7; 32]))
            .unwrap(),
        encrypt,
        tweak: b"tweak".to_vec(),
        keep_empty: false,
        on_error: OnError::Stop,
    }
}

pub(crate) fn table(column: Column) -> Table {
    let header = matches!(column, Column::Name(_));
    Table {
        column,
        tweak_column: None,
        header,
        delimiter: b',',
    }
}

pub(crate) fn lines(transform: &Transform, input: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    transform_lines(transform, &mut &*input, &mut out, &mut |_| ())?;
    Ok(out)
}

pub(crate) fn csv(transform: &Transform, table: &Table, input: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    transform_csv(transform, table, &mut &*input, &mut out, &mut |_| ())?;
    Ok(out)
}
