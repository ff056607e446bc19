//! Encoded databases in a folder. A server that maps them replies like a server that encodes, byte for byte, whatever
//! happened to the folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sordino_ckks::column::Database;
use sordino_search::manifest::{Packing, PartKind};
use sordino_search::payload::FetchKind;
use sordino_search::plan::Conditions;
use sordino_search::{
    Batch, Client, Encodings, Error, Files, Folder, Form, InProcess, OpenOptions, OwnerKeys,
    Server, Shard, Store, Transport, synthetic,
};
use sordino_testkit::{ROUTED, create, keys, rng, strange_keys};

use super::bed::{Bed, Model};
use super::owner::{DIM, spec};

const FORMS: [Form; 3] = [Form::Masked(Packing::T4), Form::Open(Packing::T4), ROUTED];

/// An index with at least eight blocks, so that its encoding is kept.
fn bed(form: Form, keys: &OwnerKeys) -> Bed {
    let (base, queries) = synthetic::clustered(10_000, 15, DIM, 11);
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(form);
    let batches = [Ok(base.into())];
    let store = Store::create(dir.path(), &mut rng(1), keys, &spec, batches, &mut |_| ());
    Bed {
        dir,
        store: store.unwrap(),
        model: Model::default(),
        queries,
        metric: spec.metric,
    }
}

/// An index whose payloads are scanned. It has few vectors, whose encoding is not kept.
fn scanned() -> Bed {
    let (base, queries) = synthetic::clustered(300, 15, DIM, 11);
    let conditions = Conditions::default().prefer(FetchKind::Scan);
    let spec = spec(FORMS[0]).conditions(conditions);
    let payload = |id: usize| (0..200).map(|at| (at * id).to_le_bytes()[0]).collect();
    let batch = Batch::from(base).with_payloads((0..300).map(payload).collect());
    let (dir, store) = create(&spec, batch);
    let payloads = store.manifest().payloads.as_ref().unwrap();
    assert_eq!(payloads.fetch.kind(), FetchKind::Scan);
    Bed {
        dir,
        store,
        model: Model::default(),
        queries,
        metric: spec.metric,
    }
}

/// A folder for encoded databases, and the number of failed writes to it.
struct Kept {
    dir: PathBuf,
    encodings: Encodings,
    faults: Arc<AtomicUsize>,
}

impl Kept {
    fn in_folder(dir: &Path) -> Self {
        let faults = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&faults);
        let fault = move |_: &Error| {
            count.fetch_add(1, Ordering::SeqCst);
        };
        Self {
            dir: dir.to_owned(),
            encodings: Encodings::new(dir, fault).unwrap(),
            faults,
        }
    }

    fn open(&self, bed: &Bed, shard: Option<Shard>) -> Server {
        let folder = Folder::new(bed.dir.path(), Files);
        let public = keys().public();
        let options = OpenOptions::new(&public).shard(shard);
        let options = options.encodings(Some(&self.encodings));
        options.open(&folder).unwrap()
    }

    /// The names of the databases' files, and the times at which they were written.
    fn files(&self) -> Vec<(PathBuf, std::time::SystemTime)> {
        let mut files: Vec<_> = fs::read_dir(&self.dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_none())
            .map(|path| (path.clone(), path.metadata().unwrap().modified().unwrap()))
            .collect();
        files.sort();
        files
    }
}

/// Damages the rows of segments. A server that still opens did not read them.
fn spoil_rows(bed: &Bed) {
    let parts = bed.store.manifest().parts().unwrap();
    let rows = parts.iter().filter(|part| part.kind == PartKind::Rows);
    for part in rows {
        let name: String = part.digest.iter().map(|b| format!("{b:02x}")).collect();
        let path = bed.dir.path().join("parts").join(name);
        let len = fs::metadata(&path).unwrap().len();
        fs::write(&path, vec![0; usize::try_from(len).unwrap()]).unwrap();
    }
}

/// Two servers that must give the same replies.
struct Same<'a>(&'a Server, &'a Server);

impl Transport for Same<'_> {
    fn call(&mut self, request: &[u8], _: usize) -> Result<Vec<u8>, Error> {
        let (one, other) = (self.0.handle(request)?, self.1.handle(request)?);
        assert!(one == other, "another reply");
        Ok(one)
    }
}

fn same(bed: &Bed, one: &Server, other: &Server) {
    let mut both = Same(one, other);
    let client = Client::connect(&mut both, &keys().reader(), None).unwrap();
    for query in bed.queries.rows().take(3) {
        client.search(&mut rng(2), &mut both, query).unwrap();
    }
}

#[test]
fn what_is_mapped_is_what_is_encoded() {
    for form in FORMS {
        let mut bed = bed(form, &keys());
        let dir = tempfile::tempdir().unwrap();
        let kept = Kept::in_folder(dir.path());
        let one = bed.server();
        assert_eq!(kept.files().len(), 0);
        same(&bed, &one, &kept.open(&bed, None));
        let files = kept.files();
        assert!(!files.is_empty());
        same(&bed, &one, &kept.open(&bed, None));
        assert_eq!(kept.files(), files, "written once");

        // A version uses the files of the version before. Files that no version uses any more are
        // removed.
        let before = kept.open(&bed, None);
        let more: Vec<u32> = (20_000..25_000).collect();
        bed.upsert(21, &more, 1.0);
        bed.upsert(22, &[3, 4, 70_000], 1.0);
        let public = keys().public();
        let options = OpenOptions::new(&public).after(&before);
        let after = options.open_dir(bed.dir.path()).unwrap();
        same(&bed, &bed.server(), &after);
        // A few records get no file.
        assert_eq!(kept.files().len(), files.len() + 1);
        bed.store.compact(&mut rng(7), &mut |_| ()).unwrap();
        let options = OpenOptions::new(&public).after(&after);
        let compacted = options.open_dir(bed.dir.path()).unwrap();
        same(&bed, &bed.server(), &compacted);
        assert!(kept.files().iter().all(|file| !files.contains(file)));
        // A version that is still served has its files mapped.
        same(&bed, &one, &before);
        assert_eq!(kept.faults.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn rows_that_are_mapped_are_not_read() {
    for form in [FORMS[0], FORMS[1]] {
        let bed = bed(form, &keys());
        let dir = tempfile::tempdir().unwrap();
        let kept = Kept::in_folder(dir.path());
        let one = kept.open(&bed, None);
        spoil_rows(&bed);
        same(&bed, &one, &kept.open(&bed, None));
        // Without the folder, no server opens.
        Server::open_dir(bed.dir.path(), &keys().public()).unwrap_err();
    }
}

#[test]
fn damaged_files_are_made_again() {
    for form in FORMS {
        let bed = bed(form, &keys());
        let dir = tempfile::tempdir().unwrap();
        let kept = Kept::in_folder(dir.path());
        let one = kept.open(&bed, None);
        let first = kept.files()[0].0.clone();
        let hint = first.with_extension("hint");
        let good = [&first, &hint].map(|path| fs::read(path).unwrap());
        let len = good[0].len();
        let damages: [&dyn Fn(); 9] = [
            // Damages the head, a coordinate and the end.
            &|| flip(&first, 9),
            &|| flip(&first, 4096 + 1000),
            &|| flip(&first, len - 200),
            &|| fs::write(&first, &good[0][..len - 1]).unwrap(),
            &|| fs::write(&first, b"").unwrap(),
            &|| fs::write(&first, [&good[0][..], &[0]].concat()).unwrap(),
            &|| flip(&hint, 5),
            &|| fs::write(&hint, vec![7; 100_000]).unwrap(),
            &|| fs::remove_file(&hint).unwrap(),
        ];
        for (at, damage) in damages.iter().enumerate() {
            damage();
            let other = kept.open(&bed, None);
            same(&bed, &one, &other);
            assert!(
                fs::read(&first).unwrap() == good[0],
                "damage {at} of {form:?}"
            );
            // The manifest does not name the hint of a single group of clusters, so the hint's file
            // matters.
            if form == ROUTED {
                assert!(fs::read(&hint).unwrap() == good[1], "damage {at}");
            }
        }
        assert_eq!(kept.faults.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn the_hint_of_scanned_pages_is_kept_too() {
    let mut bed = scanned();
    let dir = tempfile::tempdir().unwrap();
    let kept = Kept::in_folder(dir.path());
    let one = kept.open(&bed, None);
    let files = kept.files();
    let scan = bed.store.manifest().payloads.as_ref().unwrap().scan();
    let pieces = scan.unwrap().unwrap().pieces().count();
    assert!(pieces > 1 && files.len() == pieces, "{pieces} pieces");
    same(&bed, &bed.server(), &one);
    same(&bed, &one, &kept.open(&bed, None));
    assert_eq!(kept.files(), files, "written once");

    // A file whose hint differs from the manifest's, with a digest that fits the file.
    let [first, other] = [0, 1].map(|at| files[at].0.clone());
    let good = fs::read(&first).unwrap();
    if fs::metadata(&other).unwrap().len() == good.len() as u64 {
        for end in ["", "hint"] {
            fs::copy(other.with_extension(end), first.with_extension(end)).unwrap();
        }
        same(&bed, &one, &kept.open(&bed, None));
        assert!(fs::read(&first).unwrap() == good);
    }
    flip(&first, 5000);
    same(&bed, &one, &kept.open(&bed, None));
    assert!(fs::read(&first).unwrap() == good);

    // A version with unchanged payloads uses the same files. A version with other payloads removes
    // them.
    let public = keys().public();
    let before = kept.open(&bed, None);
    let options = OpenOptions::new(&public).after(&before);
    same(&bed, &one, &options.open_dir(bed.dir.path()).unwrap());
    let names = |files: &[(PathBuf, std::time::SystemTime)]| -> Vec<PathBuf> {
        files.iter().map(|file| file.0.clone()).collect()
    };
    assert_eq!(names(&kept.files()), names(&files));
    bed.store.delete(&mut rng(3), &[7u32]).unwrap();
    bed.store.compact(&mut rng(4), &mut |_| ()).unwrap();
    let after = options.open_dir(bed.dir.path()).unwrap();
    same(&bed, &bed.server(), &after);
    let left = names(&kept.files());
    assert!(!left.is_empty() && !names(&files).iter().any(|it| left.contains(it)));

    // If a mapped file is truncated, the server reports it and refuses the fetch.
    let file = fs::File::options().write(true).open(&left[0]);
    file.unwrap().set_len(5000).unwrap();
    let mut transport = InProcess::new(&after);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    for _ in 0..2 {
        let refused = client.search(&mut rng(2), &mut transport, bed.queries.row(0));
        refused.unwrap_err();
        assert_eq!(kept.faults.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn a_file_that_is_cut_is_told_and_searches_are_refused() {
    let bed = bed(FORMS[0], &keys());
    let dir = tempfile::tempdir().unwrap();
    let kept = Kept::in_folder(dir.path());
    let server = kept.open(&bed, None);
    let client = |server: &Server| {
        let mut server = InProcess::new(server);
        let client = Client::connect(&mut server, &keys().reader(), None).unwrap();
        let query = bed.queries.row(0);
        client.search(&mut rng(2), &mut server, query)
    };
    let found = client(&server).unwrap().hits;
    let file = fs::File::options().write(true).open(&kept.files()[0].0);
    file.unwrap().set_len(5000).unwrap();
    for _ in 0..2 {
        client(&server).unwrap_err();
        assert_eq!(kept.faults.load(Ordering::SeqCst), 1);
    }
    assert_eq!(client(&kept.open(&bed, None)).unwrap().hits, found);
}

/// Changes a byte in a copy of a file, and replaces the file by the copy, because a server may have
/// the file mapped.
fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    let copy = path.with_extension("copy");
    fs::write(&copy, bytes).unwrap();
    fs::rename(copy, path).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_told_and_not_needed() {
    let bed = bed(FORMS[0], &keys());
    let dir = tempfile::tempdir().unwrap();
    let kept = Kept::in_folder(&dir.path().join("kept"));
    fs::remove_dir(dir.path().join("kept")).unwrap();
    same(&bed, &bed.server(), &kept.open(&bed, None));
    assert_eq!(kept.faults.load(Ordering::SeqCst), 1);
    let file = dir.path().join("file");
    fs::write(&file, b"").unwrap();
    let refused = Encodings::new(&file, |_| ()).unwrap_err();
    assert!(matches!(&refused, Error::File { path, .. } if *path == file));
}

#[test]
fn files_that_were_never_finished_go_unless_somebody_writes_them() {
    let bed = bed(FORMS[0], &keys());
    let dir = tempfile::tempdir().unwrap();
    let kept = Kept::in_folder(dir.path());
    kept.open(&bed, None);
    let whole = kept.files()[0].0.clone();
    let [left, written] = ["0123456789abcdef", "fedcba9876543210"].map(|end| {
        let path = whole.with_extension(end);
        fs::copy(&whole, &path).unwrap();
        path
    });
    let writer = fs::File::open(&written).unwrap();
    writer.lock().unwrap();
    kept.open(&bed, None);
    assert!(!left.exists() && written.exists() && whole.exists());
    drop(writer);
    // Old files are removed before anything is read. So a server that fails at its start does not leave
    // more files each time.
    spoil_rows(&bed);
    fs::remove_file(&whole).unwrap();
    let folder = Folder::new(bed.dir.path(), Files);
    let public = keys().public();
    let options = OpenOptions::new(&public).encodings(Some(&kept.encodings));
    options.open(&folder).unwrap_err();
    assert!(!written.exists());
}

#[test]
fn shards_and_indexes_share_a_folder() {
    let (bed, other) = (bed(FORMS[0], &keys()), other());
    let dir = tempfile::tempdir().unwrap();
    let kept = Kept::in_folder(dir.path());
    let shards: Vec<_> = Shard::all(2).collect();
    for &shard in &shards {
        kept.open(&bed, Some(shard));
    }
    kept.open(&other, None);
    let files = kept.files();
    assert_eq!(files.len(), 3);
    for &shard in &shards {
        kept.open(&bed, Some(shard));
    }
    kept.open(&other, None);
    assert_eq!(kept.files(), files);
    // The number of shards is part of a file's name. The first of one shard and the first of two have
    // the same rows here.
    kept.open(&bed, None);
    assert_eq!(kept.files().len(), 4);
}

fn other() -> Bed {
    bed(FORMS[1], &keys())
}

#[test]
fn files_that_the_manifest_contradicts_are_made_again() {
    for form in FORMS {
        let bed = bed(form, &keys());
        let dir = tempfile::tempdir().unwrap();
        let kept = Kept::in_folder(dir.path());
        let one = kept.open(&bed, None);
        let first = kept.files()[0].0.clone();
        let good = fs::read(&first).unwrap();
        // A faulty machine may write a wrong file with a digest that fits it. The server makes the file again.
        let wrong = (4096..).step_by(1001).find_map(|at| {
            flip(&first, at);
            let wrong = Database::from_bytes(&fs::read(&first).unwrap()).ok();
            // The change made an invalid coefficient.
            if wrong.is_none() {
                flip(&first, at);
            }
            wrong
        });
        let hint = wrong.unwrap().1.to_bytes();
        let digest = sordino_search::digest::of(&hint);
        fs::write(first.with_extension("hint"), digest).unwrap();
        same(&bed, &one, &kept.open(&bed, None));
        assert!(fs::read(&first).unwrap() == good, "{form:?}");
        assert_eq!(kept.faults.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn owners_do_not_share_files() {
    let others = strange_keys();
    let (bed, other) = (bed(FORMS[0], &keys()), bed(FORMS[0], &others));
    let dir = tempfile::tempdir().unwrap();
    let kept = Kept::in_folder(dir.path());
    kept.open(&bed, None);
    let folder = Folder::new(other.dir.path(), Files);
    let public = others.public();
    let options = OpenOptions::new(&public).encodings(Some(&kept.encodings));
    options.open(&folder).unwrap();
    let files = kept.files();
    assert_eq!(files.len(), 2);
    let prefix = |at: usize| files[at].0.file_name().unwrap().to_str().unwrap()[..32].to_owned();
    assert_ne!(prefix(0), prefix(1));
}

#[cfg(unix)]
#[test]
fn a_folder_in_which_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let bed = bed(FORMS[0], &keys());
    let dir = tempfile::tempdir().unwrap();
    let kept = Kept::in_folder(&dir.path().join("kept"));
    kept.open(&bed, None);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&kept.dir), 0o700);
    assert_eq!(mode(&kept.files()[0].0), 0o600);
    fs::set_permissions(&kept.dir, fs::Permissions::from_mode(0o770)).unwrap();
    let refused = Encodings::new(&kept.dir, |_| ()).unwrap_err().to_string();
    assert!(refused.contains("chmod go-w"), "{refused}");
}
