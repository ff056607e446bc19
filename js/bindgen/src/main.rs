//! Writes the JavaScript by which a WebAssembly module is called.
//!
//!   sordino-bindgen MODULE.wasm FOLDER

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(module), Some(folder), None) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: sordino-bindgen MODULE.wasm FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    let written = bindgen
        .input_path(module)
        .out_name("sordino")
        .typescript(false)
        .remove_name_section(true)
        .remove_producers_section(true)
        .web(true)
        .and_then(|bindgen| bindgen.generate(folder));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sordino-bindgen: {error:#}");
            ExitCode::FAILURE
        }
    }
}
