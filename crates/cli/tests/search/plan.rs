//! `sordino plan`.

use crate::binary::{done, json};
use crate::place::Place;

#[test]
fn the_plan_weighs_all_modes() {
    let place = Place::new();
    let plan = json(&["plan", "--n", "100000", "--dim", "128", "--queries", "10"]);
    assert_eq!(plan["recommended"].as_str(), Some("masked"));
    assert_eq!(plan["modes"].as_array().unwrap().len(), 4);
    let of_file = json(&["plan", "--data", &place.at("base.npy")]);
    assert_eq!(
        (of_file["n"].as_u64(), of_file["dim"].as_u64()),
        (Some(2000), Some(32))
    );
    assert!(done(&["plan", "--n", "100000", "--dim", "128"]).contains("masked"));
}
