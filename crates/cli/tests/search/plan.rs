//! `sordino plan`.

use crate::binary::{done, json, run};
use crate::place::Place;
use serde_json::Value;

/// An index may have fewer vectors than a search returns.
#[test]
fn a_few_vectors_are_planned_for() {
    let place = Place::new();
    for rows in [1, 5] {
        std::fs::write(
            place.path("few.csv"),
            format!("vector\n{}", "[1 2]\n".repeat(rows)),
        )
        .unwrap();
        for line in [
            "plan --data @few.csv".to_owned(),
            format!("plan --n {rows} --dim 2"),
        ] {
            let planned = json(&place.line(&line));
            assert_eq!((&planned["n"], &planned["k"]), (&rows.into(), &rows.into()));
            let output = run(&place.line(&line));
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(
                said.contains(&format!(
                    "planned for {rows} results of a search, the number of vectors"
                )),
                "{said}"
            );
        }
    }
}

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
    assert!(plan["ways"].as_array().unwrap().is_empty());
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
    // On a fast connection the plan with the least computing wins, on a slow one the plan with the
    // fewest bytes.
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

/// The ways of a plan by their names. Checks what holds for all plans with payloads.
fn ways(plan: &Value) -> Vec<(&str, &Value)> {
    let ways = plan["ways"].as_array().unwrap();
    let names = ways.iter().map(|way| (way["fetch"].as_str().unwrap(), way));
    let names: Vec<_> = names.collect();
    assert_eq!(
        names.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["download", "pir", "scan", "hintless"]
    );
    for way in ways {
        assert_eq!(
            way["cost"].is_null(),
            way["not_possible"].is_string(),
            "{way}"
        );
    }
    let chosen = ways.iter().filter(|way| way["chosen"] == true);
    assert_eq!(chosen.count(), 1, "{plan}");
    names
}

#[test]
fn the_plan_shows_all_ways_to_payloads() {
    let place = Place::new();
    let sizes = "plan --n 100000 --dim 128 --payload-bytes 900";
    let plan = json(&place.line(sizes));
    for (name, way) in ways(&plan) {
        let cost = &way["cost"];
        let number = |name: &str| cost[name].as_f64().unwrap();
        // The time of a way: computing on two cores, and bytes on a connection of 100 Mbit/s.
        let bytes = (number("bytes_up") + number("bytes_down")) * 8.0 / 1e5;
        let wait = bytes + number("server_ms") / 2.0 + number("client_ms");
        assert!(
            (number("wait_ms") - wait).abs() < 1e-3 + wait * 1e-6,
            "{way}"
        );
        assert_eq!(number("server_bytes") > 0.0, name != "download", "{way}");
        if way["chosen"] == true {
            for name in [
                "bytes_once",
                "bytes_up",
                "bytes_down",
                "server_bytes",
                "pages",
            ] {
                assert_eq!(cost[name], plan["payloads"][name], "{name}");
            }
        }
    }
    // Every way except the download needs more memory than this. The download needs no memory.
    let small = json(&place.line(&format!("{sizes} --max-memory 1MB")));
    for (name, way) in ways(&small) {
        assert_eq!(way["not_possible"].is_null(), name == "download", "{way}");
        if name != "download" {
            assert!(way["needs_bytes"].as_u64().unwrap() > 1_000_000, "{way}");
        }
    }
    let text = done(&place.line(&format!("{sizes} --max-memory 1MB --line 20Mbit/s")));
    assert!(text.contains("on a line of 20 Mbit/s"), "{text}");
    assert!(
        text.contains("> download") && text.contains("--max-memory is 1.00 MB"),
        "{text}"
    );
    assert!(text.lines().count() <= 26, "{text}");
    // A build with the printed command line uses the planned way.
    let given = "--k 5 --queries 7 --line 20Mbit/s --max-memory 1MB";
    let text = done(&place.line(&format!("{sizes} {given}")));
    let used = text.lines().find(|line| line.starts_with("use: "));
    assert!(used.unwrap().ends_with(given), "{text}");
    let runs = "use: sordino index build base.npy base.index --key owner.key --mode ";
    assert!(used.unwrap().starts_with(runs), "{text}");
    std::fs::write(place.path("a b.txt"), "id;vector\n7;[1,2]\n").unwrap();
    let mut options = place.line("plan --recall 0.9 --format csv --delimiter semicolon --data");
    options.push(place.at("a b.txt"));
    let text = done(&options);
    assert!(
        text.contains("a b.txt' 'a b.index' --format csv --delimiter ';' --key"),
        "{text}"
    );
    assert!(text.contains(" --recall 0.9"), "{text}");
    let usual = done(&place.line(sizes));
    assert!(
        !usual.contains("--queries") && !usual.contains("--line"),
        "{usual}"
    );
    let look = json(&place.line(&format!("{sizes} --second-look")));
    let chosen = ways(&look)
        .into_iter()
        .find(|(_, way)| way["chosen"] == true);
    let (_, chosen) = chosen.unwrap();
    assert_eq!(
        chosen["cost"]["bytes_down"],
        look["second_look"]["bytes_down"]
    );
}
