//! `--pin` of a query that continues while its index changes.

use crate::binary::{command, done, failed};
use crate::place::Place;
use crate::query::{copy, line};
use crate::served::Served;
use std::{
    fs,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

/// A query that reads its vectors from a pipe, killed when dropped.
struct Piped {
    child: Child,
    input: ChildStdin,
    found: Lines<BufReader<ChildStdout>>,
}

impl Piped {
    fn new(place: &Place, served: &Served) -> Self {
        let query = "query --key @reader.key --pin @pin --connect";
        let mut command = command(&place.line(&format!("{query} {}", served.url())));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            found: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        }
    }

    fn ask(&mut self, place: &Place, row: usize) {
        writeln!(self.input, "{}", line(place, row)).unwrap();
    }

    /// The lines of one search.
    fn results(&mut self) -> usize {
        self.found.by_ref().take(10).map(Result::unwrap).count()
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Deletes a record of an index that a server has.
fn change(place: &Place, served: &Served) {
    done(&place.line("index delete @masked --ids 9 --key @owner.key"));
    assert_eq!(served.line()["event"], "following");
}

#[test]
fn a_version_is_remembered_before_its_results_are_printed() {
    let place = Place::new();
    place.build_mode("masked");
    let served = Served::plain(&place, "masked");
    let mut piped = Piped::new(&place, &served);
    for version in [1, 2] {
        piped.ask(&place, 7);
        assert_eq!(piped.results(), 10);
        let pin = fs::read_to_string(place.path("pin")).unwrap();
        assert!(pin.contains(&format!("\"version\":{version},")), "{pin}");
        if version == 1 {
            change(&place, &served);
        }
    }
}

/// Meanwhile the server showed another process a different version 2.
#[test]
fn nothing_is_printed_of_a_fork() {
    let place = Place::new();
    place.build_mode("masked");
    copy(&place.path("masked"), &place.path("other"));
    done(&place.line("index delete @other --ids 5 --key @owner.key --pins @other.pins"));
    place.query(&["--index", &place.at("other"), "--pin", &place.at("forked")]);
    let served = Served::plain(&place, "masked");
    let mut piped = Piped::new(&place, &served);
    piped.ask(&place, 7);
    assert_eq!(piped.results(), 10);
    change(&place, &served);
    let seen = fs::read(place.path("forked")).unwrap();
    fs::write(place.path("pin"), &seen).unwrap();
    piped.ask(&place, 7);
    assert_eq!(piped.results(), 0);
    assert_eq!(piped.child.wait().unwrap().code(), Some(3));
    assert_eq!(fs::read(place.path("pin")).unwrap(), seen);
}

#[test]
fn a_gap_is_gone_over_only_by_who_says_so() {
    let place = Place::new();
    let index = place.build_mode("local");
    let pinned = ["--index", &index, "--pin", &place.at("pin")];
    place.query(&pinned);
    for id in [5, 6] {
        done(&place.line(&format!("index delete @local --ids {id} --key @owner.key")));
        if id == 5 {
            copy(&place.path("local"), &place.path("old"));
        }
    }
    fs::remove_file(place.path("local/manifests").join(format!("{:020}", 2))).unwrap();
    let query = "query --key @reader.key --file @queries.npy --pin @pin";
    let gap = failed(&place.line(&format!("{query} --index @local")), 3);
    assert!(gap.contains("withholds"), "{gap}");
    let over = [&pinned[..], &["--over-gap"]].concat();
    assert_eq!(place.query(&over)["version"], 3);
    assert_eq!(place.query(&pinned)["version"], 3);
    // `--over-gap` permits only gaps.
    let back = format!("{query} --index @old --over-gap");
    let back = failed(&place.line(&back), 3);
    assert!(back.contains("already seen version 3"), "{back}");

    let served = Served::plain(&place, "local");
    let get = format!(
        "index get --ids 7 --key @reader.key --connect {}",
        served.url()
    );
    done(&place.line(&format!("{get} --pin @pin --over-gap")));
    let alone = failed(&place.line(&format!("{get} --over-gap")), 2);
    assert!(alone.contains("--pin"), "{alone}");
    failed(
        &place.line("index get @local --ids 7 --key @reader.key --pin @pin"),
        2,
    );
}
