//! Indexes in an object store: every command that takes an index also takes `s3://BUCKET/PREFIX`.

// The tests of two packages share this server.
#[path = "../../../objects/tests/bucket/server.rs"]
mod server;

use std::process::{Output, Stdio};

use serde_json::Value;
use server::{ID, SECRET, serve};
use sordino_search::{Vectors, synthetic};

use crate::binary::command;
use crate::place::{DIM, Place, assert_found, npy};
use crate::query::copy;
use crate::served::Served;

const INDEX: &str = "s3://bucket/teams/base.index";

/// Runs commands whose environment names the store.
struct Bucket {
    place: Place,
    url: String,
}

impl Bucket {
    fn new() -> Self {
        let place = Place::new();
        let url = serve(&place.path("store"));
        Self { place, url }
    }

    fn command(&self, line: &str, secret: &str) -> std::process::Command {
        let mut command = command(&self.place.line(line));
        command
            .env("AWS_ENDPOINT_URL", &self.url)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", ID)
            .env("AWS_SECRET_ACCESS_KEY", secret)
            .stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str, secret: &str) -> Output {
        self.command(line, secret).output().unwrap()
    }

    fn json(&self, line: &str) -> Value {
        let output = self.run(&format!("{line} --json"), SECRET);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {errors}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn failed(&self, line: &str, secret: &str) -> String {
        let output = self.run(line, secret);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{line}");
        assert!(
            !errors.contains("panicked") && !errors.contains(SECRET),
            "{errors}"
        );
        errors
    }
}

#[test]
fn an_index_is_built_changed_searched_and_served_in_a_bucket() {
    let bucket = Bucket::new();
    let run = |line: &str| bucket.json(line);
    let built = run(&format!(
        "index build @base.npy {INDEX} --key @owner.key --mode masked"
    ));
    assert_eq!(built["n"], 2000);
    let again = bucket.failed(
        &format!("index build @base.npy {INDEX} --key @owner.key"),
        SECRET,
    );
    assert!(again.contains("s3://bucket/teams/base.index"), "{again}");

    let args = bucket.place.line("--key @owner.pub --plaintext --anyone");
    let mut serve = bucket.command(
        &format!("serve {INDEX} --json --listen 127.0.0.1:0"),
        SECRET,
    );
    let server = Served::started(serve.args(args));
    let found = run(&format!(
        "query --connect {} --key @reader.key --file @queries.npy",
        server.url()
    ));
    assert_found(&found, "masked");

    let more: Vectors = synthetic::uniform(50, DIM, 3);
    std::fs::write(bucket.place.path("others.npy"), npy(&more)).unwrap();
    let added = run(&format!("index add {INDEX} @others.npy --key @owner.key"));
    assert_eq!(
        (&added["version"], &added["records"]),
        (&2.into(), &2050.into())
    );
    let deleted = run(&format!("index delete {INDEX} --ids 3,4 --key @owner.key"));
    assert_eq!(deleted["records"], 2048);
    let compact = run(&format!("index compact {INDEX} --key @owner.key"));
    assert_eq!(
        (&compact["version"], &compact["segments"]),
        (&4.into(), &1.into())
    );
    let whole = run(&format!("index verify {INDEX} --key @reader.key --deep"));
    assert_eq!(
        (&whole["records"], &whole["versions"]),
        (&2048.into(), &4.into())
    );
    assert_eq!(
        run(&format!("index info {INDEX} --key @owner.pub"))["version"],
        4
    );
    let found = run(&format!(
        "query --index {INDEX} --key @reader.key --file @others.npy"
    ));
    assert_eq!(found["queries"][7]["hits"][0]["id"], 2007);
    run(&format!("index restore {INDEX} @copy --key @owner.pub"));
    bucket.place.verify("copy");
}

#[test]
fn a_store_that_is_not_reached_or_refuses_is_named() {
    let bucket = Bucket::new();
    let none = bucket.failed(&format!("index info {INDEX} --key @owner.pub"), SECRET);
    assert!(none.contains(INDEX), "{none}");
    let refused = bucket.failed(
        &format!("index build @base.npy {INDEX} --key @owner.key"),
        "another-secret",
    );
    assert!(
        refused.contains(INDEX) && !refused.contains("another-secret"),
        "{refused}"
    );
    let push = bucket.failed(
        &format!("index push {INDEX} http://127.0.0.1:1 --key @owner.key"),
        SECRET,
    );
    assert!(push.contains("reads it where it is"), "{push}");
    let wrong = bucket.failed("index info s3:///base --key @owner.pub", SECRET);
    assert!(wrong.contains("s3://"), "{wrong}");
}

/// The store shows the objects of an older version again. The owner signed all of them.
#[test]
fn a_bucket_that_takes_a_deletion_back_is_changed_no_more() {
    let bucket = Bucket::new();
    let build = format!("index build @base.npy {INDEX} --key @owner.key --mode local");
    bucket.json(&build);
    let (objects, before) = (bucket.place.path("store"), bucket.place.path("before"));
    copy(&objects, &before);
    bucket.json(&format!("index delete {INDEX} --ids 3 --key @owner.key"));
    // The test server keeps objects as files. Newer files stay in place, as in a store that hides them.
    std::fs::copy(
        before.join("bucket/teams/base.index/CURRENT"),
        objects.join("bucket/teams/base.index/CURRENT"),
    )
    .unwrap();
    let refused = bucket.failed(
        &format!("index add {INDEX} @queries.npy --key @owner.key"),
        SECRET,
    );
    assert!(
        refused.contains("version 1") && refused.contains("--restored"),
        "{refused}"
    );
}
