//! The named sets, compared with `scripts/param_check.py`, which derives the same numbers
//! independently.

use sordino_ckks::{column, dot, slot};

#[test]
fn statistical_errors_equal_the_script() {
    let (row, fine) = (
        dot::Params::rlwe_2048_50(),
        dot::Params::rlwe_2048_50_fine(),
    );
    let golden = [
        (row.statistical_error(128), 6.5591e-7),
        (fine.statistical_error(1536), 1.5969e-7),
        (column::Params::real_t4().statistical_error(128), 4.8815e-5),
        (column::Params::real_t8().statistical_error(128), 4.8006e-5),
        (
            column::Params::modular_26_t4().statistical_error(128),
            1430.4,
        ),
        (
            column::Params::modular_26_t8().statistical_error(128),
            1232.2,
        ),
        (
            column::Params::modular_26_t64().statistical_error(1536),
            2013.5,
        ),
        (
            column::Params::modular_26_t128().statistical_error(1536),
            1732.9,
        ),
        (
            column::Params::modular_26_t16().statistical_error(1536),
            3259.5,
        ),
        (
            column::Params::modular_26_t32().statistical_error(1536),
            2533.6,
        ),
        (
            column::Params::real_t16().statistical_error(1536),
            4.8806e-5,
        ),
        (
            column::Params::real_t32().statistical_error(1536),
            4.8001e-5,
        ),
        (
            column::Params::real_t64().statistical_error(1536),
            4.7594e-5,
        ),
        (
            column::Params::modular_18_exact().statistical_error(128),
            0.029706,
        ),
        (
            column::Params::modular_18_exact().statistical_error(512),
            0.035373,
        ),
    ];
    for (found, expected) in golden {
        assert!(
            (found / expected - 1.0).abs() < 1e-4,
            "{found:e} {expected:e}"
        );
    }
    // An exact score is wrong with probability below 2^-128, because half a unit is 13.37 standard
    // deviations.
    assert!(0.5 / column::Params::modular_18_exact().statistical_error(512) > 13.37);
}

#[test]
fn the_moduli_are_those_of_the_estimates() {
    let columns = [
        (column::Params::real_t4(), 40),
        (column::Params::real_t8(), 40),
        (column::Params::modular_26_t4(), 50),
        (column::Params::modular_26_t8(), 50),
        (column::Params::real_t16(), 40),
        (column::Params::real_t32(), 40),
        (column::Params::real_t64(), 40),
        (column::Params::modular_26_t16(), 50),
        (column::Params::modular_26_t32(), 50),
        (column::Params::modular_26_t64(), 50),
        (column::Params::modular_26_t128(), 50),
        (column::Params::modular_18_exact(), 50),
    ];
    for (params, bits) in columns {
        assert_eq!(params.degree(), 2048);
        assert_eq!(
            u64::BITS - params.modulus().leading_zeros(),
            bits,
            "{}",
            params.name()
        );
        assert_eq!(params.modulus() % 4096, 1);
    }
    for params in [
        dot::Params::rlwe_2048_50(),
        dot::Params::rlwe_2048_50_fine(),
    ] {
        assert_eq!(
            (params.degree(), params.modulus()),
            (2048, 1_125_899_906_826_241)
        );
    }
    let slots = [
        (slot::Params::slots_2048(), 4096, 100.0),
        (slot::Params::slots_4096(), 8192, 141.0),
        (slot::Params::slots_8192(), 16384, 221.0),
    ];
    for (params, degree, most) in slots {
        assert_eq!(params.degree(), degree);
        assert!(params.log_qp() < most, "{}", params.log_qp());
    }
}
