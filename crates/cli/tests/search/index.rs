//! The commands `sordino index`: what they build, change and refuse.

use crate::binary::{command, done, failed, json, run};
use crate::place::{DIM, Place, assert_found, nearest, npy, part};
use sordino_search::{Vectors, synthetic};
use std::fs;

#[test]
fn an_index_is_built_changed_and_verified() {
    let place = Place::new();
    let built = place.build("index", &[]);
    assert_eq!(
        (built["mode"].as_str(), built["n"].as_u64()),
        (Some("masked"), Some(2000))
    );
    let index = place.at("index");
    let exists = failed(
        &place.line("index build @base.npy @index --key @owner.key"),
        1,
    );
    assert!(exists.contains("holds an index already"), "{exists}");

    let info = json(&place.line("index info @index --key @owner.pub"));
    assert_eq!(
        (info["version"].as_u64(), info["dim"].as_u64()),
        (Some(1), Some(32))
    );
    assert_eq!(info["id"], built["id"]);

    // Adds records with ids after the highest, and with given ids.
    let more = part(&place.base, 0..3);
    fs::write(place.path("more.npy"), npy(&more)).unwrap();
    let added = json(&place.line("index add @index @more.npy --key @owner.key"));
    assert_eq!(
        (added["first_id"].as_u64(), added["records"].as_u64()),
        (Some(2000), Some(2003))
    );
    fs::write(place.path("ids.txt"), "7\n9\n100000\n").unwrap();
    let replaced = json(&place.line("index add @index @more.npy --key @owner.key --ids @ids.txt"));
    assert_eq!(
        (replaced["replaced"].as_u64(), replaced["records"].as_u64()),
        (Some(2), Some(2004))
    );

    // Vector 0 is now in the index three times: as 0, 2000 and 7.
    let found = place.query(&["--index", &index]);
    let first: Vec<u64> = found["queries"][0]["hits"].as_array().unwrap()[..3]
        .iter()
        .map(|hit| hit["id"].as_u64().unwrap())
        .collect();
    let mut sorted = first.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 7, 2000], "{first:?}");

    done(&place.line("index delete @index --ids 0,2000 --key @owner.key"));
    assert_eq!(nearest(&place.query(&["--index", &index]))[0], 7);
    let unknown = failed(
        &place.line("index delete @index --ids 0 --key @owner.key"),
        1,
    );
    assert!(unknown.contains("no record 0"), "{unknown}");

    let before = place.verify("index");
    assert_eq!(
        (before["records"].as_u64(), before["versions"].as_u64()),
        (Some(2002), Some(4))
    );
    assert_eq!(before["deleted"], 4);
    let compact = place.line("index compact @index --key @owner.key");
    done(&compact);
    let after = place.verify("index");
    assert_eq!(
        (after["records"].as_u64(), after["deleted"].as_u64()),
        (Some(2002), Some(0))
    );
    assert_eq!(nearest(&place.query(&["--index", &index]))[0], 7);
    // Verifies with the public key, as a server can.
    let public = json(&place.line("index verify @index --key @owner.pub"));
    assert_eq!(
        (public["full"].as_bool(), public["version"].as_u64()),
        (Some(false), Some(5))
    );
    let nothing = done(&compact);
    assert!(nothing.contains("nothing to compact"), "{nothing}");
}

#[test]
fn every_metric_and_format_builds() {
    let place = Place::new();
    // Writes the same vectors as .fvecs.
    let dim = u32::try_from(DIM).unwrap().to_le_bytes();
    let rows = place.base.rows().flat_map(|row| {
        let values = row.iter().flat_map(|x| x.to_le_bytes());
        dim.into_iter().chain(values).collect::<Vec<u8>>()
    });
    fs::write(place.path("base.fvecs"), rows.collect::<Vec<u8>>()).unwrap();
    for metric in ["cosine", "inner-product", "euclidean"] {
        let build = format!("index build @base.fvecs @{metric} --key @owner.key");
        json(&place.line(&format!("{build} --metric {metric} --k 3")));
        let found = place.query(&["--index", &place.at(metric)]);
        assert_eq!(found["queries"][0]["hits"].as_array().unwrap().len(), 3);
        // The vectors have unit length, so all metrics give the same nearest vector.
        assert_found(&found, metric);
    }
}

#[test]
fn every_routing_of_sealed_mode_builds() {
    let place = Place::new();
    for routing in ["downloaded", "encrypted"] {
        let sealed = ["--mode", "sealed", "--recall", "0.9", "--routing", routing];
        let built = place.build(routing, &sealed);
        assert_eq!(built["mode"].as_str(), Some("sealed"), "{routing}");
        let found = place.query(&["--index", &place.at(routing)]);
        assert_found(&found, "sealed");
    }
}

#[test]
fn a_second_look_is_built_shown_and_kept() {
    let place = Place::new();
    let built = place.build("index", &["--mode", "masked", "--second-look"]);
    assert_eq!(built["second_look"].as_u64(), Some(32));
    let more = "index add @index @more.npy --key @owner.key";
    done(&place.line(more));
    place.verify("index");
    let info = json(&place.line("index info @index --key @owner.pub"));
    assert_eq!(info["second_look"].as_u64(), Some(32));
    assert_eq!(info["payloads"], false);
    let found = place.query(&["--index", &place.at("index")]);
    // The first three vectors are there twice, and equal scores are ordered by id.
    assert_found(&found, "masked");
    let first = found["queries"][9]["hits"][0]["score"].as_f64().unwrap();
    assert!((first - 1.0).abs() < 1e-6, "{first}");
    for (wrong, why) in [
        ("--second-look=65", "from 1 to 64"),
        ("--second-look=9", "a second look at 9 candidates"),
        ("--second-look --mode local", "for a second look"),
    ] {
        let line = format!("index build @base.npy @other --key @owner.key {wrong}");
        let output = run(&place.line(&line));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{said}");
        assert!(!place.path("other").exists());
    }
}

#[test]
fn a_build_takes_questions_and_says_what_it_finds_of_them() {
    let place = Place::new();
    let fifty = part(&place.base, 0..50);
    fs::write(place.path("questions.npy"), npy(&fifty)).unwrap();
    for mode in ["routed", "sealed"] {
        let file = place.at("questions.npy");
        let options = ["--mode", mode, "--recall", "0.9", "--questions", &file];
        let built = place.build(mode, &options);
        let (of_questions, held_out) = (&built["question_recall"], &built["expected_recall"]);
        assert!(of_questions.as_f64().unwrap() > 0.8, "{built}");
        assert!(held_out.as_f64().unwrap() > 0.8, "{built}");
        assert_found(&place.query(&["--index", &place.at(mode)]), "sealed");
    }
    let plain = place.build("plain", &["--mode", "routed"]);
    assert!(plain["question_recall"].is_null(), "{plain}");
    let line =
        "index build @base.npy @said --key @owner.key --mode routed --questions @questions.npy";
    let said = done(&place.line(line));
    assert!(said.contains("recall@10 of your questions: "), "{said}");
    // Questions that say too little, or that nothing is near to, are named with their file.
    let mut zero = fifty.as_slice().to_vec();
    zero[DIM * 3..DIM * 4].fill(0.0);
    let write = |rows: &Vectors| fs::write(place.path("wrong.npy"), npy(rows)).unwrap();
    let narrow = Vectors::new(DIM / 2, fifty.as_slice().to_vec()).unwrap();
    for (rows, mode, why) in [
        (
            part(&place.base, 0..49),
            "routed",
            "49 different questions: expected at least 50",
        ),
        (Vectors::new(DIM, zero).unwrap(), "sealed", "wrong.npy: "),
        (narrow, "routed", "questions of 16 dimensions: expected 32"),
        (
            fifty.clone(),
            "masked",
            "expected routed or sealed for questions",
        ),
    ] {
        write(&rows);
        let line = format!(
            "index build @base.npy @other --key @owner.key --mode {mode} --questions @wrong.npy"
        );
        let output = run(&place.line(&line));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{said}");
        assert!(!place.path("other").exists());
    }
}

#[test]
fn a_changed_byte_anywhere_is_found_with_its_own_exit_code() {
    let place = Place::new();
    place.build("index", &["--packing", "4"]);
    let mut files = vec![place.path("index").join("CURRENT")];
    for folder in ["manifests", "parts"] {
        let folder = place.path("index").join(folder);
        files.extend(
            fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path()),
        );
    }
    assert!(files.len() >= 4, "{files:?}");
    let verify = place.line("index verify @index --key @owner.key");
    for file in files {
        let bytes = fs::read(&file).unwrap();
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            fs::write(&file, damaged).unwrap();
            let output = run(&verify);
            let code = output.status.code();
            let why = String::from_utf8_lossy(&output.stderr);
            // If CURRENT names a version that does not exist, the error is a missing file.
            let named = file.ends_with("CURRENT") && code == Some(1);
            assert!(
                code == Some(3) || named,
                "{} {at}: {code:?} {why}",
                file.display()
            );
        }
        fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        let truncated = run(&verify);
        let code = truncated.status.code();
        assert!(
            code == Some(3) || file.ends_with("CURRENT"),
            "{} {code:?}",
            file.display()
        );
        fs::write(&file, &bytes).unwrap();
    }
    place.verify("index");
    // Another owner's key is refused like a damaged file.
    done(&place.line("keys new owner @other.key"));
    failed(&place.line("index verify @index --key @other.key"), 3);
}

#[test]
fn bad_vectors_are_refused_and_leave_nothing() {
    let place = Place::new();
    let whole = fs::read(place.path("base.npy")).unwrap();
    let mut nan = whole.clone();
    let at = whole.len() - 4 * (DIM * 3 - 2);
    nan[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let mut zero = whole.clone();
    let at = whole.len() - 4 * DIM;
    zero[at..].fill(0);
    for (name, bytes, why) in [
        ("cut.npy", &whole[..whole.len() - 1], "it was cut short"),
        ("nan.npy", &nan, "row 1997, column 2"),
        ("zero.npy", &zero, "zero vector"),
        ("noise.npy", &whole[3..], "damaged .npy header"),
        ("empty.npy", &[], "it ends early"),
        ("base.txt", &whole, "unknown format .txt"),
        ("noise.parquet", &whole, "Parquet"),
        ("noise.arrow", &whole, "Arrow"),
    ] {
        fs::write(place.path(name), bytes).unwrap();
        let error = failed(
            &place.line(&format!("index build @{name} @i --key @owner.key")),
            1,
        );
        assert!(error.contains(why), "{name}: {error}");
        assert!(!place.path("i").exists(), "{name}");
    }
    // After the failures, a good file can be built at this place.
    place.build("i", &["--mode", "local"]);
    let many = place.line("index build @base.npy @j --key @owner.key --k 5000");
    assert!(failed(&many, 2).contains("from 1 to 1024"));
    fs::write(place.path("ids.txt"), "1\n2\n").unwrap();
    let ids = place.line("index build @base.npy @j --key @owner.key --ids @ids.txt");
    assert!(failed(&ids, 1).contains("2 record ids for"));
    assert!(!place.path("j").join("CURRENT").exists());
}

/// A command of `sordino` whose process may have this number of kB of address space, as in a container. Returns the exit
/// status and the messages.
#[cfg(target_os = "linux")]
fn limited(kilobytes: usize, line: &[String]) -> (Option<i32>, String) {
    let plain = command(line);
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -v \"$1\"; shift; exec \"$@\"",
            "sh",
            &kilobytes.to_string(),
        ])
        .arg(plain.get_program())
        .args(plain.get_args())
        .env("RAYON_NUM_THREADS", "2")
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), errors)
}

/// With the least memory that a build accepts, it ends with an index, and the system does not end it. With less it ends
/// with an error.
#[cfg(target_os = "linux")]
fn ends_with_what_it_asked_for(n: usize, dim: usize, words: &str) {
    let place = Place::new();
    let (base, _) = synthetic::clustered(n, 1, dim, 1);
    fs::write(place.path("large.npy"), npy(&base)).unwrap();
    // The last records come first, so a build must sort them.
    let ids: Vec<String> = (0..n).rev().map(|id| format!("{id}\n")).collect();
    fs::write(place.path("ids.txt"), ids.concat()).unwrap();
    let line = format!("index build @large.npy @large --key @owner.key --ids @ids.txt {words}");
    let line = place.line(&line);
    let (mut refused, mut enough) = (150_000, 1_000_000);
    while enough - refused > 10_000 {
        let limit = (refused + enough) / 2;
        let (status, errors) = limited(limit, &line);
        match status {
            Some(0) => {
                fs::remove_dir_all(place.path("large")).unwrap();
                enough = limit;
            }
            Some(1) => {
                assert!(errors.contains("MB more memory are needed"), "{errors}");
                refused = limit;
            }
            _ => panic!("{limit} kB: {status:?} {errors}"),
        }
    }
    assert!(enough < 1_000_000, "{words}: more than a gigabyte");
}

#[cfg(target_os = "linux")]
#[test]
fn a_routed_build_needs_no_more_memory_than_it_asked_for() {
    ends_with_what_it_asked_for(100_000, 128, "--mode routed");
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "minutes: scripts/check.sh long runs it"]
fn a_build_of_any_form_needs_no_more_memory_than_it_asked_for() {
    for words in [
        "--mode sealed",
        "--mode routed --metric euclidean --second-look=32",
        "--mode routed --metric inner-product",
        "--mode masked --metric euclidean --second-look=32",
        "--mode local",
    ] {
        ends_with_what_it_asked_for(100_000, 128, words);
    }
    // One array of these coordinates is larger than the memory that a build keeps for its threads.
    for words in ["--mode open", "--mode masked", "--mode routed"] {
        ends_with_what_it_asked_for(20_000, 1536, words);
    }
}

/// The test limits memory, as a container does. A build that needs more reports that and leaves no
/// file.
#[cfg(target_os = "linux")]
#[test]
fn a_build_that_does_not_fit_ends_with_an_error() {
    let place = Place::new();
    // These are 82 MB of vectors. A build holds three times this amount.
    let wide = Vectors::new(512, vec![1.0; 40_000 * 512]).unwrap();
    fs::write(place.path("wide.npy"), npy(&wide)).unwrap();
    let line = place.line("index build @wide.npy @wide --key @owner.key");
    let (status, errors) = limited(250_000, &line);
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("MB more memory are needed"), "{errors}");
    assert!(errors.contains("sordino plan"), "{errors}");
    assert!(!place.path("wide").exists());
    let sizes = place.line("plan --n 40000 --dim 512");
    let planned = done(&sizes);
    assert!(
        planned.contains("memory of a build: masked 296 MB"),
        "{planned}"
    );
    let masked = &json(&sizes)["modes"][0];
    assert_eq!(masked["build_bytes"], 295_760_000);
}
