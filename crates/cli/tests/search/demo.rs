//! The command `demo`, which runs a private search.

use crate::binary::{done, failed, run};
use serde_json::Value;

#[test]
fn one_command_makes_an_index_and_answers_a_question() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let kept = kept.to_str().unwrap();
    let text = done(&["demo", "--keep", kept]);
    for part in [
        "$ sordino keys new owner owner.key",
        "$ sordino index build texts.jsonl texts.index --key owner.key",
        "$ sordino serve texts.index --key owner.pub --listen 127.0.0.1:",
        "$ sordino query --connect http://127.0.0.1:",
        "bytes up",
        "The same number of messages, of the same sizes",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let hits: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("question\t"))
        .collect();
    assert_eq!(hits.len(), 5, "{text}");
    assert!(
        hits[0].contains("dish-") && hits[0].contains("warm"),
        "{text}"
    );
    // Other commands read the index that the command made.
    let index = format!("{kept}/texts.index");
    let key = format!("{kept}/owner.key");
    assert!(done(&["index", "info", &index, "--key", &key]).contains("text"));
    let error = failed(&["demo", "--keep", kept], 1);
    assert!(
        error.contains("exists already: name a folder that does not exist yet")
            && !error.contains("os error"),
        "{error}"
    );
}

#[test]
fn its_questions_are_words_and_its_json_is_lines() {
    let error = failed(&["demo", "?"], 1);
    assert!(error.contains("expected English words"), "{error}");
    let output = run(&["demo", "a town by the sea", "--json"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seen = lines.last().unwrap();
    assert_eq!(seen["same_sizes"], true);
    let ends = |at: usize| seen["seen"][at]["messages"][0]["request_ends"].clone();
    assert_ne!(ends(0), ends(1));
}
