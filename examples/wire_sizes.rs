//! Prints how many bytes each kind of message has, one JSON object a line, for the sizes of the
//! report: `{"group", "function", "parameter", "bytes"}`.
//!
//! `cargo run --example wire_sizes`

use serde_json::json;
use sordino_ckks::{column, dot};
use sordino_pir::{Params, Protocol, hintless};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for records in [1000, 10_000, 100_000] {
        print_pir("simple", records, &Params::for_database(records, 3)?);
        print_pir("double", records, &Params::for_double(records, 3)?);
    }
    print_pir("simple", "1GiB", &Params::for_columns(1 << 15, 1 << 15)?);
    for (records, len, batch) in [(1 << 20, 1024, 10), (1 << 15, 1 << 15, 1)] {
        let params = hintless::Params::new(records, len, batch)?;
        let shape = format!("{records}x{len}/{batch}");
        print("pir/query_bytes", "hintless", &shape, params.query_len());
        print("pir/answer_bytes", "hintless", &shape, params.answer_len());
        print("pir/key_bytes", "hintless", &shape, hintless::Keys::LEN);
    }

    let params = dot::Params::rlwe_2048_50();
    for (count, dim) in [(1, 32), (1, 128), (1, 256), (64, 128)] {
        let shape = format!("{count}x{dim}");
        print(
            "ckks/query_bytes",
            "row",
            &shape,
            dot::Query::encoded_len(dim),
        );
        let reply = dot::Reply::encoded_len(&params, dim, count)?;
        print("ckks/reply_bytes", "row", &shape, reply);
    }
    let (params, dim) = (column::Params::real_t4(), 128);
    for count in [10_000, 100_000] {
        let shape = format!("{count}x{dim}");
        let query = column::Query::encoded_len(&params, dim)?;
        print("ckks/query_bytes", "column", &shape, query);
        let reply = column::Reply::encoded_len(&params, dim, count)?;
        print("ckks/reply_bytes", "column", &shape, reply);
        let hint = column::Hint::encoded_len(&params, dim, count)?;
        print("ckks/hint_bytes", "column", &shape, hint);
    }
    Ok(())
}

fn print_pir<P: Protocol>(scheme: &str, size: impl ToString, params: &Params<P>) {
    let size = size.to_string();
    print("pir/database_bytes", scheme, &size, params.database_bytes());
    print("pir/hint_bytes", scheme, &size, params.hint_len());
    print("pir/query_bytes", scheme, &size, params.query_len());
    print("pir/answer_bytes", scheme, &size, params.answer_len());
}

fn print(group: &str, function: &str, parameter: impl ToString, bytes: usize) {
    let parameter = parameter.to_string();
    println!(
        "{}",
        json!({"group": group, "function": function, "parameter": parameter, "bytes": bytes})
    );
}
