//! An index on a server of the S3 protocol.

use std::process::Command;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as Key;
use sordino_index::{Disk, Error};
use sordino_objects::{Address, Objects};
use sordino_search::{Files, Folder, OpenOptions, Shard, Store};
use sordino_testkit::{keys, rng};

use crate::fixture::{batch, objects, served, spec};
use crate::server::{ID, SECRET, serve};

fn store(url: &str, secret: &str) -> Arc<dyn ObjectStore> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let store = AmazonS3Builder::new()
        .with_bucket_name("bucket")
        .with_region("us-east-1")
        .with_endpoint(url)
        .with_allow_http(true)
        .with_access_key_id(ID)
        .with_secret_access_key(secret);
    Arc::new(store.build().unwrap())
}

#[test]
fn an_index_lives_on_a_server_of_the_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let url = serve(folder.path());
    let disk = objects(store(&url, SECRET));
    let keys = keys();
    let create = |seed| {
        Store::create_on(
            disk.clone(),
            disk.root(),
            &mut rng(seed),
            &keys,
            &spec(),
            [Ok(batch(0, 300))],
            &mut |_| (),
        )
    };
    drop(create(1).unwrap());
    assert!(matches!(create(2), Err(Error::Exists { .. })));
    let open = || Store::open_on(disk.clone(), disk.root(), &keys, None).unwrap();
    let (mut one, mut two) = (open(), open());
    one.add(&mut rng(3), [Ok(batch(300, 20))], &mut |_| ())
        .unwrap();
    for seed in [4, 5] {
        let late = two.add(&mut rng(seed), [Ok(batch(300, 30))], &mut |_| ());
        assert!(matches!(late, Err(Error::Overtaken { .. })), "{late:?}");
    }
    assert_eq!(served(&disk, &keys), vec![2, 320]);
    one.verify().unwrap();
    // A server of a shard follows to the next version, in the store and in a copy.
    let public = keys.public();
    let options = OpenOptions::new(&public).shard(Shard::new(2, 2));
    let server = options.open(&disk.folder()).unwrap();
    one.delete(&mut rng(6), &[1u64]).unwrap();
    let options = OpenOptions::new(&public).after(&server);
    assert_eq!(options.open(&disk.folder()).unwrap().manifest().version, 3);
    let copy = folder.path().join("copy");
    disk.folder()
        .copy_to(&Folder::new(&copy, Files), &keys.public())
        .unwrap();
    assert_eq!(
        Store::open(&copy, &keys).unwrap().verify().unwrap().records,
        319
    );
    // A wrong secret is refused, and no message contains a secret.
    let wrong = objects(store(&url, "another-secret"));
    let error = OpenOptions::new(&public).open(&wrong.folder()).unwrap_err();
    let said = format!("{error} {error:?} {wrong:?} {disk:?}");
    assert!(
        !said.contains("another-secret") && !said.contains(SECRET),
        "{said}"
    );
}

#[test]
fn a_part_of_many_pieces_is_uploaded_and_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let url = serve(folder.path());
    let disk = objects(store(&url, SECRET));
    let bytes: Vec<u8> = (0..70_000_001u32)
        .map(|at| (at ^ (at >> 13)).to_le_bytes()[0])
        .collect();
    let named = disk.folder();
    drop(disk.lock(&disk.root().join("LOCK")).unwrap());
    let digest = named.put(&bytes).unwrap();
    let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = disk.root().join("parts").join(&name);
    assert_eq!(disk.len(&path), bytes.len() as u64);
    assert!(disk.read(&path, u64::MAX).unwrap()[..] == bytes);
    assert_eq!(disk.read(&path, 9).unwrap().len(), 10);
    assert_eq!(disk.list(&disk.root().join("parts")).unwrap(), [name]);
    // A different index in the same bucket does not appear.
    let other: Address = "s3://bucket/a/base".parse().unwrap();
    let other = Objects::over(store(&url, SECRET), &other).unwrap();
    assert!(other.list(other.root()).unwrap().is_empty());
    assert!(Key::parse("a/base.index/parts").is_ok());
}

/// In a separate process, the environment says where the store is.
#[test]
fn a_store_is_opened_as_the_environment_says() {
    if std::env::var_os("SORDINO_OBJECTS_CHILD").is_some() {
        let disk = Objects::open(&"s3://bucket/a/base.index".parse().unwrap()).unwrap();
        let said = format!("{disk:?}");
        assert!(!said.contains(SECRET), "{said}");
        assert_eq!(served(&disk, &keys()), vec![1, 50]);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let url = serve(folder.path());
    let disk = objects(store(&url, SECRET));
    drop(
        Store::create_on(
            disk.clone(),
            disk.root(),
            &mut rng(1),
            &keys(),
            &spec(),
            [Ok(batch(0, 50))],
            &mut |_| (),
        )
        .unwrap(),
    );
    let child = |secret: &str| {
        Command::new(std::env::current_exe().unwrap())
            .args([
                "s3::a_store_is_opened_as_the_environment_says",
                "--exact",
                "--nocapture",
            ])
            .env("SORDINO_OBJECTS_CHILD", "1")
            .env("AWS_ENDPOINT_URL", &url)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", ID)
            .env("AWS_SECRET_ACCESS_KEY", secret)
            .output()
            .unwrap()
    };
    let good = child(SECRET);
    assert!(
        good.status.success(),
        "{}",
        String::from_utf8_lossy(&good.stderr)
    );
    let bad = child("another-secret");
    let said = [bad.stdout, bad.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        !bad.status.success() && !said.contains("another-secret"),
        "{said}"
    );
}
