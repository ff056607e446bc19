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

    // The same files serve it among others.
    fs::create_dir(place.path("root")).unwrap();
    fs::rename(place.path("large"), place.path("root/large")).unwrap();
    let root = "--root @root --key @owner.pub --plaintext --anyone --keep-encoded @kept";
    let served = Served::new(&place.line(root));
    let third = place.query(&["--connect", &format!("{}/large", served.url())]);
    assert_eq!(files(), written);
    assert_eq!(nearest(&first), nearest(&third));
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
