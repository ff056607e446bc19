//! `Debug` prints only sizes, because operands have megabytes and some are secret.

use sordino_lattice::Modulus;
use sordino_lattice::aligned::Aligned;
use sordino_lattice::matrix::{Backend, Digits, Panels, Small, Vector, Words, stride};
use sordino_lattice::ntt::Plan;
use sordino_lattice::pages::Pages;
use sordino_lattice::ring::{Coefficient, Poly};
use sordino_lattice::sample::gaussian::Sampler;
use sordino_lattice::sample::stream::Stream;

#[test]
fn operands_and_tables_print_their_sizes_alone() {
    let backend = Backend::detect_with_tiles();
    let bytes = vec![0xa5; 100 * stride(500)];
    let q = vec![0xa5a5_a5a5; 500];
    let modulus = Modulus::new(1_099_511_922_689).unwrap();
    let mut small = Pages::zeroed(1000);
    small.fill(0xa5);
    for printed in [
        format!("{:?}", Digits::new(&bytes, 100, 500)),
        format!("{:?}", Vector::new(backend, &q)),
        format!("{:?}", Panels::from_columns(backend, &[&q[..]; 20])),
        format!(
            "{:?}",
            Words::from_rows(backend, 30, 500, |_, out| out.copy_from_slice(&q))
        ),
        format!("{:?}", Small::zeroed(3, 500)),
        format!("{small:?}"),
        format!("{:?}", Pages::zeroed(1 << 20)),
        format!("{:?}", Aligned::from(&q[..])),
        format!("{:?}", Plan::new(1024, modulus).unwrap()),
        format!("{:?}", Poly::<Coefficient>::zero(1024)),
        format!("{:?}", Sampler::new(32, 1)),
        format!("{:?}", Stream::new(&[0xa5; 32], 0)),
    ] {
        // The output has a type's name and a few numbers, and neither 0xa5 nor 0xa5a5a5a5, which the
        // operands hold.
        assert!(printed.len() < 200, "{printed}");
        assert!(
            !printed.contains("165") && !printed.contains("2779096485"),
            "{printed}"
        );
    }
}
