//! `sordino plan`.

use crate::binary::{done, json};
use crate::place::Place;
use serde_json::Value;

#[test]
fn the_plan_weighs_all_modes() {
    let place = Place::new();
    let sizes = "plan --n 100000 --dim 128";
    let plan = json(&place.line(&format!("{sizes} --queries 10")));
    assert_eq!(plan["recommended"].as_str(), Some("masked"));
    assert_eq!(plan["modes"].as_array().unwrap().len(), 5);
    let of_file = json(&place.line("plan --data @base.npy"));
    assert_eq!(
        (of_file["n"].as_u64(), of_file["dim"].as_u64()),
        (Some(2000), Some(32))
    );
    assert!(plan["payloads"].is_null());
    let with = json(&place.line(&format!("{sizes} --queries 10 --payload-bytes 900")));
    let (fetched, masked) = (&with["payloads"], |plan: &Value| plan["modes"][0].clone());
    for bytes in ["bytes_once", "bytes_up", "bytes_down"] {
        let more = fetched[bytes].as_u64().unwrap();
        let without = masked(&plan)[bytes].as_u64().unwrap();
        assert!(more > 0);
        assert_eq!(masked(&with)[bytes].as_u64(), Some(without + more));
    }
    assert!(fetched["server_ms"].as_f64().unwrap() > 0.0);
    assert!(done(&place.line(sizes)).contains("masked"));
    let beside = format!("{sizes} --queries 10 --id-bytes 16 --attribute-bytes 9");
    let (beside, all) = (json(&place.line(&beside)), |plan: &Value| {
        let modes = plan["modes"].as_array().unwrap().clone();
        let once = modes
            .iter()
            .map(|mode| mode["bytes_once"].as_u64().unwrap());
        once.collect::<Vec<_>>()
    });
    for (beside, plan) in all(&beside).iter().zip(all(&plan)) {
        assert!((2_500_000..5_000_000).contains(&(beside - plan)));
    }
    let look = json(&place.line(&format!("{sizes} --queries 10 --second-look")));
    let (fetched, masked) = (&look["second_look"], |plan: &Value| {
        plan["modes"][0].clone()
    });
    assert_eq!(fetched["fetched"].as_u64(), Some(32));
    for bytes in ["bytes_once", "bytes_up", "bytes_down"] {
        let more = fetched[bytes].as_u64().unwrap();
        let without = masked(&plan)[bytes].as_u64().unwrap();
        assert_eq!(masked(&look)[bytes].as_u64(), Some(without + more));
    }
    // A fast line makes computing what counts, a slow one bytes.
    let line = |rate: &str| json(&place.line(&format!("{sizes} --line {rate}")));
    for plan in [line("1Mbit/s"), line("100Gbit/s")] {
        let modes = plan["modes"].as_array().unwrap();
        let allowed = modes.iter().filter(|mode| mode["ruled_out"].is_null());
        let seconds = |mode: &&Value| mode["line_seconds"]["in_all"].as_f64().unwrap();
        let least = allowed.min_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        assert_eq!(least.unwrap()["mode"], plan["recommended"]);
    }
    assert!(
        done(&place.line(&format!("{sizes} --line 20Mbit/s"))).contains("the least time in all")
    );
}
