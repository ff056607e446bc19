//! `sordino serve --keep-encoded`.

use crate::binary::{done, failed};
use crate::place::{DIM, Place, nearest, npy};
use crate::served::Served;
use sordino_search::synthetic;
use std::fs;

/// An index of enough vectors that what is encoded of them is kept.
fn built() -> Place {
    let place = Place::new();
    let (large, _) = synthetic::clustered(6000, 1, DIM, 7);
    fs::write(place.path("large.npy"), npy(&large)).unwrap();
    done(&place.line("index build @large.npy @large --mode masked --key @owner.key"));
    place
}

#[test]
fn the_next_start_maps_what_this_one_has_encoded() {
    let place = built();
    let files = || {
        let kept = fs::read_dir(place.path("kept")).unwrap();
        let mut files: Vec<_> = kept
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (
                    entry.file_name(),
                    entry.metadata().unwrap().modified().unwrap(),
                )
            })
            .collect();
        files.sort();
        files
    };
    let line = "@large --key @owner.pub --plaintext --anyone --keep-encoded @kept";
    let found = || {
        let served = Served::new(&place.line(line));
        place.query(&["--connect", &served.url()])
    };
    let (first, written) = (found(), files());
    assert_eq!(written.len(), 2, "a database, and the digest of its hint");
    let second = found();
    assert_eq!(files(), written);
    assert_eq!(nearest(&first), nearest(&second));

    // The same files also serve it as one of several indexes.
    fs::create_dir(place.path("root")).unwrap();
    fs::rename(place.path("large"), place.path("root/large")).unwrap();
    let root = "--root @root --key @owner.pub --plaintext --anyone --keep-encoded @kept";
    let served = Served::new(&place.line(root));
    let third = place.query(&["--connect", &format!("{}/large", served.url())]);
    assert_eq!(files(), written);
    assert_eq!(nearest(&first), nearest(&third));
}

/// One that is cut while a pass reads it ends the server by a signal; this one it finds before it reads.
#[test]
fn a_file_that_is_cut_between_searches_ends_the_server() {
    let place = built();
    let line = place.line("@large --key @owner.pub --plaintext --anyone --keep-encoded @kept");
    let mut served = Served::logged(&line, &place.path("log"));
    let database = fs::read_dir(place.path("kept")).unwrap();
    let mut paths = database.map(|entry| entry.unwrap().path());
    let database = paths.find(|path| path.extension().is_none()).unwrap();
    let file = fs::File::options().write(true).open(database).unwrap();
    file.set_len(5000).unwrap();
    let url = served.url();
    let queries = "query --file @queries.npy --key @reader.key --wait 0 --connect";
    let mut query = place.line(queries);
    query.push(url);
    failed(&query, 4);
    assert_eq!(served.child.wait().unwrap().code(), Some(1));
    let log = fs::read_to_string(place.path("log")).unwrap();
    assert!(log.contains("were cut") && log.contains("kept"), "{log}");
    let again = Served::new(&line);
    place.query(&["--connect", &again.url()]);
}

#[test]
fn a_folder_that_is_none_is_named_with_its_use() {
    let place = built();
    fs::write(place.path("kept"), "").unwrap();
    let line = "serve @large --key @owner.pub --listen 127.0.0.1:0 --plaintext --anyone --keep-encoded @kept";
    let why = failed(&place.line(line), 1);
    assert!(
        why.contains("kept: it cannot be the folder of encoded vectors"),
        "{why}"
    );
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = built();
    fs::create_dir(place.path("kept")).unwrap();
    fs::set_permissions(place.path("kept"), fs::Permissions::from_mode(0o777)).unwrap();
    for what in ["@large --key @owner.pub", "--root @root --key @owner.pub"] {
        let line =
            format!("serve {what} --listen 127.0.0.1:0 --plaintext --anyone --keep-encoded @kept");
        let why = failed(&place.line(&line), 1);
        assert!(why.contains("chmod go-w"), "{why}");
    }
}
