//! Parameters: golden values of `scripts/param_check.py`, the failure bound, and the planner.

use sordino_pir::params::AnyParams;
use sordino_pir::plan::{Candidate, Cost, Plan};
use sordino_pir::{Error, Params, Protocol, Security, Set};

/// Layouts, each with its set, its bits and its failure bound. `scripts/param_check.py` writes and
/// checks them; it derives them from the scheme's definition.
const FAILURE: &str = include_str!("../failure.csv");

/// A scheme's parameters, and their failure bound.
fn bound<P: Protocol>(params: Result<Params<P>, Error>) -> (AnyParams, f64) {
    let params = params.unwrap();
    (params.into(), params.log2_failure())
}

#[test]
fn failure_bounds_are_those_derived_from_the_definition() {
    let rows: Vec<Vec<&str>> = FAILURE
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    assert!(rows.len() > 30);
    for row in rows {
        let number = |i: usize| row[i].parse::<usize>().unwrap();
        let (records, record_len, per_column) = (number(2), number(3), number(4));
        let security = match row[1] {
            "classical" => Security::Classical128,
            "core" => Security::CoreSvp128,
            other => panic!("{other}"),
        };
        let (params, log2_failure) = match row[0] {
            "simple" => bound(Params::with_layout(
                records, record_len, per_column, security,
            )),
            "double" => bound(Params::for_double_with(records, record_len, per_column)),
            other => panic!("{other}"),
        };
        assert_eq!(format!("{:?}", params.set), row[5], "{row:?}");
        let bits = [params.hint_bits, params.query_bits].map(|bits| bits as usize);
        assert_eq!(bits, [number(6), number(7)], "{row:?}");
        let expected: f64 = row[8].parse().unwrap();
        assert!((log2_failure - expected).abs() < 1e-3, "{row:?}");
    }
}

#[test]
fn the_most_columns_of_uniform_secrets_depend_on_the_record() {
    // scripts/pir_failure.py has the same values.
    let simple = [
        (1, 733),
        (12, 691),
        (100, 647),
        (272, 628),
        (13_000, 564),
        (65_536, 541),
    ];
    for (record_len, most) in simple {
        let uniform = |columns| {
            let params = Params::for_columns(columns, record_len).unwrap();
            params.set().has_uniform_secrets()
        };
        assert!(uniform(most) && !uniform(most + 1), "{record_len} bytes");
    }
    for (record_len, most) in [(1, 593), (3, 576), (256, 518)] {
        let uniform = |side: usize| {
            let params = Params::for_double_with(side * side, record_len, side).unwrap();
            params.set().has_uniform_secrets()
        };
        assert!(uniform(most) && !uniform(most + 1), "{record_len} bytes");
    }
}

#[test]
fn the_sets_are_those_that_were_estimated() {
    // name, n, sigma, bits under MATZOV, core-SVP: from lattice-estimator 27a581b.
    let uniform = 295.602_8;
    let golden = [
        (Set::N64U, 64, uniform, 128.0, 128.0),
        (Set::N128U, 128, uniform, 128.0, 128.0),
        (Set::N256U, 256, uniform, 128.0, 128.0),
        (Set::N384U, 384, uniform, 128.0, 128.0),
        (Set::N512U, 512, uniform, 128.0, 128.0),
        (Set::N1024S32, 1024, 32.0, 143.99, 118.84),
        (Set::N1024S16, 1024, 16.0, 133.57, 107.75),
        (Set::N1280S16, 1280, 16.0, 169.36, 145.42),
        (Set::Published121, 1024, 6.4, 121.53, 95.19),
    ];
    assert_eq!(golden.len(), Set::ALL.len());
    for (set, n, sigma, matzov, core_svp) in golden {
        assert_eq!(set.n(), n);
        assert!((set.sigma() - sigma).abs() < 1e-3, "{set:?}");
        assert_eq!(set.bits(), (matzov, core_svp));
        assert_eq!(matzov >= 128.0, set != Set::Published121);
    }
}

#[test]
fn few_columns_are_hidden_whatever_is_computed() {
    // The largest number of columns, which scripts/param_check.py computes in exact integers.
    let golden = [
        (Set::N64U, 81),
        (Set::N128U, 174),
        (Set::N256U, 360),
        (Set::N384U, 547),
        (Set::N512U, 733),
    ];
    for (set, most) in golden {
        assert_eq!(set.max_columns(), Some(most));
        for columns in [1, most / 2, most] {
            assert!(set.log2_distance(columns).unwrap() <= -127.99, "{set:?}");
        }
        assert!(set.log2_distance(most + 1).unwrap() > -128.0);
        assert!(set.has_uniform_secrets());
        let params = Params::for_columns(most.min(690), 3).unwrap();
        assert_eq!((params.set(), params.hint_bits()), (set, 32));
    }
    assert_eq!(Set::N1024S32.max_columns(), None);
    assert_eq!(Set::N1024S32.log2_distance(10), None);
    let set = |columns, security| {
        let params = Params::with_layout(columns, 3, 1, security);
        params.map(|params| params.set())
    };
    assert_eq!(set(548, Security::Statistical128).unwrap(), Set::N512U);
    assert_eq!(set(548, Security::CoreSvp128).unwrap(), Set::N512U);
    // In DoublePIR, the queries of both levels must hide their columns.
    let double = |slots| {
        let params = Params::for_double_with(100_000, 3, slots).unwrap();
        params.set()
    };
    assert_eq!(
        [double(100), double(183), double(316)],
        [Set::N1024S32, Set::N384U, Set::N256U]
    );
    assert_eq!([double(500), double(1000)], [Set::N384U, Set::N1024S32]);
    assert_eq!(set(10, Security::Published121).unwrap(), Set::Published121);
    assert_eq!(set(800, Security::Classical128).unwrap(), Set::N1024S32);
    assert!(matches!(
        set(800, Security::Statistical128),
        Err(Error::TooLarge { .. })
    ));
}

#[test]
fn long_records_of_double_are_refused_only_where_the_wide_layout_is_too_large() {
    // 1,024 slots of 4 MiB would take 2^32 rows.
    let params = Params::for_double(1 << 20, 1 << 22).unwrap();
    assert_eq!((params.per_column(), params.set()), (64, Set::N1024S32));
    assert!(matches!(
        Params::for_double(0, 3),
        Err(Error::Empty { records: 0, .. })
    ));
}

#[test]
fn a_database_that_will_grow_takes_the_set_of_its_later_size() {
    let params = Params::for_columns(100, 3).unwrap();
    assert_eq!(params.set(), Set::N128U);
    let room = |records| params.with_room(records, Security::default()).unwrap();
    assert_eq!(room(0), params);
    assert_eq!(room(500).set(), Set::N384U);
    assert_eq!(room(2000).set(), Set::N1024S32);
    assert_eq!(room(2000).records(), 100);
    assert!(params.with_room(300_000, Security::default()).is_err());
    assert!(params.with_room(2000, Security::Statistical128).is_err());
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
    assert_eq!(bits(100), (32, 24));
    assert_eq!(bits(1000), (21, 24));
    assert_eq!(bits(3000), (21, 24));
    assert_eq!(bits(10_000), (21, 26));
    assert_eq!(bits(32_768), (22, 27));
    assert_eq!(bits(100_000), (21, 27));
    let double = |records| Params::for_double(records, 3).unwrap().query_bits();
    assert_eq!(
        [double(100_000), double(1 << 20), double(1 << 30)],
        [24, 25, 28]
    );
    // The query has two words of 24 bits after the header.
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
    // With full hints, 256 bytes would allow the golden bound of 61,745 columns. Rounding the
    // answer to 12 bits reduces this by an eighth.
    assert_eq!(
        Params::for_columns(53_000, 256).unwrap().set(),
        Set::N1024S32
    );
    assert_eq!(
        Params::for_columns(61_745, 256).unwrap().set(),
        Set::N1024S16
    );
}

fn assert_counts<P: Protocol>(cost: &Cost, params: &Params<P>) {
    assert_eq!(cost.once, params.hint_len() as u64);
    assert_eq!(cost.query, params.query_len() as u64);
    assert_eq!(cost.answer, params.answer_len() as u64);
    assert!(cost.log2_failure <= -40.0);
}

#[test]
fn the_planner_counts_the_bytes_that_messages_have_and_puts_download_first_when_it_is_smaller() {
    for (records, record_len, queries) in [(1000, 3, 10), (1 << 20, 32, 1), (1 << 26, 8, 1000)] {
        let plan = Plan::new(records, record_len, queries).unwrap();
        assert_eq!(plan.costs().len(), 3);
        assert_eq!(plan.costs()[0].total, (records * record_len) as u64);
        for cost in plan.costs() {
            assert!(plan.choice().total <= cost.total);
            match cost.candidate {
                Candidate::Simple(params) => assert_counts(cost, &params),
                Candidate::Double(params) => assert_counts(cost, &params),
                _ => (),
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
    // With one byte per column entry, the hint takes n * 21 / 8 bytes per row.
    let smaller = |m: usize| Params::for_columns(m, 1000).unwrap().hint_len() < 1000 * m;
    assert!(smaller(2_700) && !smaller(2_650));
}
