//! Users' mistakes, and the messages that explain them.

use crate::binary::{command, done, failed};
use crate::place::{DIM, Place, npy, part};
use sordino_search::Vectors;
use std::fs;

#[test]
fn mistakes_are_told_with_what_to_do() {
    let place = Place::new();
    place.build_mode("local");
    for (line, code, says) in [
        ("index info @nowhere --key @owner.pub", 1, "no index in"),
        (
            "query --index @nowhere --key @reader.key --file @queries.npy",
            1,
            "no index in",
        ),
        ("keys new owner @owner.key", 1, "never overwritten"),
        (
            "index add @nowhere @base.npy --key @owner.key",
            1,
            "no index in",
        ),
        // The two names are in the wrong order.
        (
            "index add @base.npy @nowhere --key @owner.key",
            1,
            "expected the folder that `sordino index build` made",
        ),
    ] {
        let error = failed(&place.line(line), code);
        assert!(error.contains(says), "{line}: {error}");
    }
    // Asks for the deletion of all records, and of an id that does not exist.
    let all: Vec<String> = (0..2000).map(|id| id.to_string()).collect();
    fs::write(place.path("all.txt"), all.join("\n")).unwrap();
    let error = failed(
        &place.line("index delete @local --ids-file @all.txt --key @owner.key"),
        1,
    );
    assert!(error.contains("at least one"), "{error}");
    fs::write(place.path("last.txt"), "18446744073709551615\n").unwrap();
    let one = npy(&part(&place.base, 0..1));
    fs::write(place.path("one.npy"), one).unwrap();
    done(&place.line("index add @local @one.npy --ids @last.txt --key @owner.key"));
    let error = failed(&place.line("index add @local @one.npy --key @owner.key"), 1);
    assert!(error.contains("--ids"), "{error}");
}

/// Mistakes with copies, tokens, logs, pushes and the proxy. Each message says what to do.
#[test]
fn mistakes_around_an_index_are_told_with_what_to_do() {
    let place = Place::new();
    place.build_mode("local");
    for line in [
        "keys new client @alice.key",
        "keys new client-public @alice.pub --from @alice.key",
        "keys new issuer @issuer.key",
    ] {
        done(&place.line(line));
    }
    fs::write(place.path("here.token"), "mine").unwrap();
    let issue = format!(
        "token issue @here.token --key @issuer.key --holder @alice.pub --audience x --lifetime 1d --index {}",
        "7".repeat(32)
    );
    let proxy = "proxy --connect http://localhost:1 --key @reader.key --token-file";
    for (line, code, says) in [
        (
            &*issue,
            1,
            "here.token: the file exists already, and is not overwritten",
        ),
        (
            "serve @local --key @owner.pub --plaintext --client @alice.key",
            1,
            "a client's key (secret); expected a client's public key, since a server must have no secret",
        ),
        (
            "serve @local --key @owner.pub --shard 3/2 --plaintext --anyone",
            2,
            "as in 2/8, the second of eight",
        ),
        (
            "index backup @local @local --key @owner.pub",
            1,
            "it is, or lies in, the folder that is copied",
        ),
        (
            "index backup @local @local/day/one --key @owner.pub",
            1,
            "it is, or lies in, the folder that is copied",
        ),
        (
            "index push @nowhere http://localhost:1 --key @owner.key",
            1,
            "no index in",
        ),
        (
            "index export @local --key @reader.key --output @all.csv",
            1,
            "all.csv: expected .parquet, or .jsonl",
        ),
        (
            "index export @local --key @reader.key --output @all.jsonl.gz",
            1,
            "all.jsonl.gz: the command does not pack files",
        ),
        (
            "log fingerprint @none.pin",
            1,
            "none.pin: the pin file does not exist: a search with --pin writes it",
        ),
        (
            &format!("{proxy} @local"),
            1,
            "local: not a file: expected one with a token",
        ),
    ] {
        let error = failed(&place.line(line), code);
        assert!(error.contains(says), "{line}: {error}");
    }
    assert_eq!(fs::read(place.path("here.token")).unwrap(), b"mine");
    assert!(!place.path("all.csv").exists());
}

/// The error of a table that cannot be read gives the line, what was found and what is expected.
#[test]
fn tables_are_refused_with_the_line_and_what_was_expected() {
    let place = Place::new();
    let lines =
        |id: &str| format!("{{\"id\": \"a\", \"v\": [1, 2]}}\n{{\"id\": {id}, \"v\": [3, 4]}}\n");
    for (name, text, says) in [
        (
            "one.jsonl",
            "[{\"id\": 1}]".to_owned(),
            "one.jsonl: line 1: invalid type: sequence",
        ),
        (
            "cut.jsonl",
            lines("\"b\"")[..30].to_owned(),
            "cut.jsonl: line 2: it ends within a value, so it was cut short",
        ),
        (
            "kind.jsonl",
            lines("7"),
            "kind.jsonl: line 2: the number \"7\" is not an id: expected a text, as the first record has",
        ),
        (
            "semicolons.csv",
            "id;v\r\n1;[1, 2]\r\n".to_owned(),
            "semicolons.csv: line 1: one column: if there is a semicolon between fields, name it",
        ),
        (
            "short.jsonl",
            format!(
                "\n{}\n{{\"id\": \"c\", \"v\": [1]}}\n",
                lines("\"b\"").trim_end()
            ),
            "short.jsonl: line 4: a vector of dimension 1: expected 2, like the first",
        ),
        (
            "zero.csv",
            "id,v\na,\"[1, 2]\"\n\"b\nb\",\"[1, 2]\"\nc,\"[0, 0]\"\n".to_owned(),
            "zero.csv: line 5: the zero vector",
        ),
        (
            "twice.csv",
            "id,v\na,\"[1, 2]\"\nb,\"[1, 2]\"\na,\"[1, 2]\"\n".to_owned(),
            "twice.csv: record a is given twice, in lines 2 and 4",
        ),
    ] {
        fs::write(place.path(name), text).unwrap();
        let line = format!("index build @{name} @index --key @owner.key --id-column id");
        let error = failed(&place.line(&line), 1);
        assert!(error.contains(says), "{name}: {error}");
        assert!(!place.path("index").exists(), "{name}");
    }
    let long = format!("{{\"v\": [1, 2], \"t\": \"{}\"}}\n", "x".repeat(1_048_573));
    fs::write(
        place.path("long.jsonl"),
        format!("{{\"v\": [1, 2]}}\n{long}"),
    )
    .unwrap();
    let line = "index build @long.jsonl @index --key @owner.key --payload-column t";
    let error = failed(&place.line(line), 1);
    assert!(
        error.contains("long.jsonl: line 2: column t: expected a payload of at most 1048572 bytes"),
        "{error}"
    );
    // A text that is too long for an attribute is one record's fault.
    let line = "index build @long.jsonl @index --key @owner.key --attribute t";
    let error = failed(&place.line(line), 1);
    assert!(
        error.contains("long.jsonl: line 2: column t: expected a text of at most 4,096 bytes"),
        "{error}"
    );
    let left_out = done(&place.line(&format!("{line} --on-error skip --json")));
    assert!(left_out.contains("\"n\":1,\"left_out\":1"), "{left_out}");
    fs::remove_dir_all(place.path("index")).unwrap();
    // In all modes but one, an index may have fewer records than a search returns.
    let two = Vectors::new(2, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    fs::write(place.path("two.npy"), npy(&two)).unwrap();
    for mode in ["masked", "routed", "open", "local"] {
        let line = format!("index build @two.npy @{mode} --mode {mode} --key @owner.key");
        done(&place.line(&line));
    }
    let sealed = "index build @two.npy @sealed --mode sealed --key @owner.key";
    assert!(failed(&place.line(sealed), 1).contains("k = 10: expected 1 to 2"));
    // If a file does not state its number of vectors, the command reads all of it first.
    fs::write(
        place.path("two.csv"),
        "id,vector\n1,\"[1,2]\"\n2,\"[2,1]\"\n",
    )
    .unwrap();
    let line = "index build @two.csv @unsaid --id-column id --mode sealed --key @owner.key";
    let error = failed(&place.line(line), 1);
    assert!(
        error.contains("expected 1 to 2") && error.contains("--k is at most"),
        "{error}"
    );
    done(&place.line(&format!("{line} --k 2")));
    // A carriage return ends a line, except in quotation marks.
    fs::write(
        place.path("return.csv"),
        "id,vector,text\n1,\"[1,2]\",a\rb\n",
    )
    .unwrap();
    let line =
        "index build @return.csv @return --id-column id --payload-column text --key @owner.key";
    assert!(failed(&place.line(line), 1).contains("a carriage return in quotation marks"));
    // A byte order mark at the beginning is accepted. The options `--ids` and `--id` are the same.
    fs::write(
        place.path("mark.jsonl"),
        format!("\u{feff}{}", lines("\"b\"")),
    )
    .unwrap();
    let build = "index build @mark.jsonl @index --key @owner.key --id-column id --k 1";
    done(&place.line(build));
    for option in ["--ids", "--id"] {
        let line = format!("index get @index {option} a,b --key @reader.key");
        assert_eq!(done(&place.line(&line)).lines().count(), 2);
    }
    done(&place.line("index delete @index --id b --key @owner.key"));
    let error = failed(
        &place.line("query --index @index --key @reader.key --vector 1,2 --min-score nan"),
        2,
    );
    assert!(error.contains("expected a finite number"), "{error}");
    fs::write(place.path("there.jsonl"), "mine").unwrap();
    let error = failed(
        &place.line("index export @index --key @reader.key --output @there.jsonl"),
        1,
    );
    assert!(error.contains("choose another name"), "{error}");
    assert_eq!(fs::read(place.path("there.jsonl")).unwrap(), b"mine");
}

/// Every message about a file names it, and the line or row if there is one.
#[test]
fn messages_name_the_file_and_the_place() {
    let place = Place::new();
    place.build_mode("masked");
    let ids: String = (0..2000)
        .map(|id| format!("{}\n", if id == 70 { 9 } else { id }))
        .collect();
    fs::write(place.path("twice.txt"), ids).unwrap();
    fs::write(place.path("few.txt"), "1\n2\n").unwrap();
    fs::write(place.path("none.txt"), "").unwrap();
    let mut rows = place.base.as_slice().to_vec();
    rows[300 * DIM..301 * DIM].fill(0.0);
    let zero = Vectors::new(DIM, rows).unwrap();
    fs::write(place.path("zero.npy"), npy(&zero)).unwrap();
    let backwards: String = (0..2000).rev().map(|id| format!("{id}\n")).collect();
    fs::write(place.path("backwards.txt"), backwards).unwrap();
    let narrow = Vectors::new(DIM - 1, vec![0.5; 3 * (DIM - 1)]).unwrap();
    fs::write(place.path("narrow.npy"), npy(&narrow)).unwrap();
    done(&place.line("keys new owner @other.key"));
    done(&place.line("index build @base.npy @damaged --key @owner.key"));
    fs::write(place.path("damaged/CURRENT"), "2").unwrap();
    let build = "index build @base.npy @new --key @owner.key";
    for (line, code, says) in [
        (format!("{build} --ids @twice.txt"), 1, "twice.txt: record 9 is given twice, in lines 10 and 71"),
        (format!("{build} --ids @few.txt"), 1, "few.txt: 2 record ids for the 2000 vectors of"),
        ("index build @zero.npy @new --key @owner.key --ids @backwards.txt".to_owned(), 1, "zero.npy: row 300 is the zero vector"),
        ("index add @masked @zero.npy --key @owner.key --ids @backwards.txt".to_owned(), 1, "zero.npy: row 300 is the zero vector"),
        ("index add @masked @base.npy --key @owner.key --ids @twice.txt".to_owned(), 1, "twice.txt: record 9"),
        ("index add @masked @narrow.npy --key @owner.key".to_owned(), 1, "narrow.npy: a vector of 31 dimensions"),
        ("index delete @masked --ids-file @twice.txt --key @owner.key".to_owned(), 1, "twice.txt: record 9 is given twice"),
        ("index delete @masked --ids-file @none.txt --key @owner.key".to_owned(), 1, "no record ids are given"),
        ("query --index @masked --key @reader.key --file @zero.npy --jsonl".to_owned(), 1, "zero.npy, row 300: the zero vector"),
        ("query --index @masked --key @reader.key --file @narrow.npy".to_owned(), 1, "narrow.npy, row 0: a vector of 31 dimensions"),
        ("query --index @masked --key @reader.key --vector 1,inf".to_owned(), 1, "--vector: number 2 is not a finite number"),
        ("query --index @masked --key @other.key --file @queries.npy".to_owned(), 3, "masked: the manifest is not signed"),
        ("query --index @masked --key @reader.key --file @queries.npy --pin @no/pin".to_owned(), 1, "no/pin: No such file or directory (os error 2)\n"),
        ("index info @damaged --key @owner.pub".to_owned(), 3, "damaged: malformed CURRENT"),
        ("index compact @damaged --key @owner.key".to_owned(), 3, "damaged: malformed CURRENT"),
        ("serve @damaged --key @owner.pub --plaintext --anyone".to_owned(), 3, "damaged: malformed CURRENT"),
        ("serve @masked --key @owner.pub --anyone --cert @base.npy --cert-key @owner.key".to_owned(), 1, "base.npy and "),
        ("query --connect https://localhost:1 --roots @base.npy --key @reader.key --file @queries.npy".to_owned(), 1, "base.npy: "),
        ("query --connect http://localhost:77000 --key @reader.key --file @queries.npy".to_owned(), 1, "not of the form"),
    ] {
        let error = failed(&place.line(&line), code);
        assert!(error.contains(says), "{line}: {error}");
        assert!(!place.path("new/CURRENT").exists(), "{line}");
    }
    let index = place.verify("masked");
    assert_eq!(index["version"], 1, "{index}");
}

/// A number out of its range is refused with the option's name, before the command reads any file.
#[test]
fn numbers_out_of_bounds_are_usage() {
    for (line, says) in [
        ("plan --n 0 --dim 0", "--n"),
        ("plan --n 10 --dim 9000", "from 1 to 8192"),
        ("plan --n 10000 --dim 8 --k 5000", "from 1 to 1024"),
        ("plan --n 10000 --dim 8 --recall 1", "--recall"),
        ("index build b i --key k --k 0", "from 1 to 1024"),
        ("index build b i --key k --recall 2", "--recall"),
        ("bench --n 0", "--n"),
        ("bench --searches 0", "--searches"),
        ("bench --threads 1000000", "--threads"),
        (
            "serve i --key k --plaintext --anyone --threads 1000000",
            "--threads",
        ),
        ("serve i --key k --plaintext --anyone --batch 0", "--batch"),
        ("serve i --key k --plaintext --anyone --rate nan", "--rate"),
        (
            "serve i --key k --plaintext --anyone --rate-per-key 0",
            "--rate-per-key",
        ),
        (
            "serve i --key k --plaintext --anyone --max-connections 0",
            "--max-connections",
        ),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let error = failed(&words, 2);
        assert!(error.contains(says), "{line}: {error}");
    }
    let error = failed(&["bench", "--n", "5", "--dim", "8", "--mode", "local"], 1);
    assert!(error.contains("expected 1 to 5"), "{error}");
}

#[test]
fn fields_are_named_with_their_file() {
    let place = Place::without_keys();
    // An error does not show a key's line that was given instead of its file. It names a missing file, and what makes
    // one.
    let secret = ["keys", "show", "sordino-owner-key-1:0a0b0c"];
    let error = failed(&secret, 1);
    assert!(
        error.contains("env:NAME") && !error.contains("0a0b0c"),
        "{error}"
    );
    let error = failed(&place.line("keys show @none.key"), 1);
    assert!(
        error.contains("none.key: there is no such file") && error.contains("keys new"),
        "{error}"
    );
    fs::write(place.path("cards.csv"), "name,card\nann,12x4\n").unwrap();
    done(&place.line("fpe keygen --output @fpe.key"));
    let again = failed(&place.line("fpe keygen --output @fpe.key"), 1);
    assert!(again.contains("never overwritten"), "{again}");
    let encrypt = "fpe encrypt --key-file @fpe.key --format digits --input";
    for (line, says) in [
        (
            format!("{encrypt} @cards.csv --column card"),
            "cards.csv: line 2, column 2: ",
        ),
        (
            format!("{encrypt} @cards.csv --column none"),
            "cards.csv: the input has no column none",
        ),
        (format!("{encrypt} @."), "is a directory"),
        (
            format!("{encrypt} @cards.csv --column card --output @no/out"),
            "no/out: No such file or directory (os error 2)\n",
        ),
    ] {
        let error = failed(&place.line(&line), 1);
        assert!(error.contains(says), "{line}: {error}");
    }
    let skip = format!("{encrypt} @cards.csv --column card --on-error skip");
    let output = command(&place.line(&skip)).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("cards.csv: line 2, column 2"), "{errors}");
}
