//! Prints the SIMD levels that Sordino's kernels will use on this machine.

fn main() {
    println!("{}", sordino_cpu::levels().join(" "));
}
