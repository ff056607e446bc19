//! Compiles the schema, without the `protoc` program.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = "proto/sordino.proto";
    println!("cargo::rerun-if-changed={schema}");
    let descriptors = protox::compile([schema], ["proto"])?;
    // Without the feature `sockets`, the code has the calls and no channel.
    let sockets = std::env::var_os("CARGO_FEATURE_SOCKETS").is_some();
    tonic_prost_build::configure()
        .build_transport(sockets)
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
