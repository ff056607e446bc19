//! Parameters: golden values of `scripts/param_check.py`, the failure bound, and the planner.

use sordino_pir::plan::{Candidate, Plan};
use sordino_pir::{Error, Params, Security, Set};

#[test]
fn the_sets_are_those_that_were_estimated() {
    // name, n, sigma, bits under MATZOV, core-SVP: lattice-estimator 27a581b.
    let golden = [
        (Set::N1024S32, 1024, 32.0, 143.99, 118.84),
        (Set::N1024S16, 1024, 16.0, 133.57, 107.75),
        (Set::N1280S16, 1280, 16.0, 169.36, 145.42),
        (Set::Published121, 1024, 6.4, 121.53, 95.19),
    ];
    assert_eq!(golden.len(), Set::ALL.len());
    for (set, n, sigma, matzov, core_svp) in golden {
        assert_eq!((set.n(), set.sigma()), (n, sigma));
        assert_eq!(set.bits(), (matzov, core_svp));
        assert_eq!(matzov >= 128.0, set != Set::Published121);
    }
}

#[test]
fn security_decides_the_set_and_size_decides_sigma() {
    let params = Params::for_columns(2048, 10_000).unwrap();
    assert_eq!((params.set(), params.hint_bits()), (Set::N1024S32, 21));
    let wide = Params::for_columns(70_000, 10_000).unwrap();
    assert_eq!((wide.set(), wide.hint_bits()), (Set::N1024S16, 20));
    assert_eq!(
        params.at(Security::CoreSvp128).unwrap().set(),
        Set::N1280S16
    );
    assert_eq!(
        params.at(Security::Published121).unwrap().set(),
        Set::Published121
    );
    assert!(matches!(
        Params::for_columns(300_000, 256),
        Err(Error::TooLarge {
            rows: 256,
            columns: 300_000
        })
    ));
}

#[test]
fn queries_are_rounded_as_far_as_costs_the_hint_nothing() {
    let bits = |columns| {
        let params = Params::for_columns(columns, 10_000).unwrap();
        (params.hint_bits(), params.query_bits())
    };
    assert_eq!(bits(100), (21, 24));
    assert_eq!(bits(3000), (21, 24));
    assert_eq!(bits(10_000), (21, 26));
    assert_eq!(bits(32_768), (22, 27));
    assert_eq!(bits(100_000), (21, 27));
    let double = Params::for_double(100_000, 3).unwrap();
    assert_eq!(double.query_bits(), 32);
    // Two words of 24 bits behind the header.
    let two = Params::for_columns(2, 1).unwrap();
    assert_eq!(two.query_len(), two.to_bytes().len() + 6);
}

#[test]
fn every_layout_keeps_the_bound_and_rounding_answers_costs_an_eighth_of_the_columns() {
    for columns in [1, 100, 2048, 30_000, 60_000, 100_000, 150_000] {
        for record_len in [1, 3, 256, 10_000] {
            let params = Params::for_columns(columns, record_len).unwrap();
            assert!(params.log2_failure() <= -40.0, "{params:?}");
        }
    }
    for records in [1000, 100_000, 100_000_000] {
        assert!(Params::for_double(records, 3).unwrap().log2_failure() <= -40.0);
    }
    // With whole hints the bound would be the golden one of 61,745 columns for 256 bytes; rounding
    // the answer to 12 bits costs an eighth of that.
    assert_eq!(
        Params::for_columns(53_000, 256).unwrap().set(),
        Set::N1024S32
    );
    assert_eq!(
        Params::for_columns(61_745, 256).unwrap().set(),
        Set::N1024S16
    );
}

#[test]
fn the_planner_counts_the_bytes_that_messages_have_and_puts_download_first_when_it_is_smaller() {
    for (records, record_len, queries) in [(1000, 3, 10), (1 << 20, 32, 1), (1 << 26, 8, 1000)] {
        let plan = Plan::new(records, record_len, queries).unwrap();
        assert_eq!(plan.costs().len(), 3);
        assert_eq!(plan.costs()[0].total, (records * record_len) as u64);
        for cost in plan.costs() {
            assert!(plan.choice().total <= cost.total);
            if let Candidate::Simple(params) | Candidate::Double(params) = cost.candidate {
                assert_eq!(cost.once, params.hint_len() as u64);
                assert_eq!(cost.query, params.query_len() as u64);
                assert_eq!(cost.answer, params.answer_len() as u64);
                assert!(cost.log2_failure <= -40.0);
            }
        }
    }
    let small = Plan::new(1000, 3, 1).unwrap();
    assert_eq!(small.choice().candidate, Candidate::Download);
    let table = Plan::new(1 << 30, 4, 100).unwrap().to_string();
    assert_eq!(
        table.lines().filter(|line| line.starts_with('>')).count(),
        1
    );
    assert!(matches!(Plan::new(0, 3, 1), Err(Error::Empty { .. })));
}

#[test]
fn the_readme_names_the_right_limits() {
    let set = |columns| Params::for_columns(columns, 10_000).unwrap().set();
    assert_eq!(set(45_000), Set::N1024S32);
    assert_eq!(set(50_000), Set::N1024S16);
    assert_eq!(set(190_000), Set::N1024S16);
    assert!(Params::for_columns(200_000, 10_000).is_err());
    // One byte a column entry: the hint is n * 21 / 8 bytes a row.
    let smaller = |m: usize| Params::for_columns(m, 1000).unwrap().hint_len() < 1000 * m;
    assert!(smaller(2_700) && !smaller(2_650));
}
