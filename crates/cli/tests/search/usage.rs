//! Arguments, help and completions.

use crate::binary::{command, done, failed};
use serde_json::Value;

#[test]
fn usage_is_refused_with_its_own_code() {
    for args in [
        &["query", "--key", "k"][..],
        &["index", "build", "only-one"],
        &["serve", "i", "--key", "k", "--anyone"],
        &["serve", "i", "--key", "k", "--plaintext"],
        &["plan", "--n", "5"],
        &["nonsense"],
    ] {
        failed(args, 2);
    }
    let error = command(&["keys", "show", "/nowhere", "--json"])
        .output()
        .unwrap();
    let error: Value = serde_json::from_slice(&error.stderr).unwrap();
    assert_eq!(error["exit_code"], 1);
    assert!(error["error"].as_str().unwrap().contains("/nowhere"));
}

#[test]
fn help_has_examples_and_completions_are_scripts() {
    for command in [
        &["--help"][..],
        &["index", "build", "--help"],
        &["serve", "--help"],
        &["query", "--help"],
    ] {
        let help = done(command);
        assert!(
            help.contains("Examples:") && help.contains("sordino"),
            "{help}"
        );
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = done(&["completions", shell]);
        assert!(
            script.contains("sordino") && script.contains("compact"),
            "{shell}"
        );
    }
}
