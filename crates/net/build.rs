//! Compiles the schema, without the `protoc` program.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = "proto/sordino.proto";
    println!("cargo::rerun-if-changed={schema}");
    let descriptors = protox::compile([schema], ["proto"])?;
    tonic_prost_build::configure()
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
