//! Databases in files.
#![expect(unsafe_code, reason = "files of the tests' own are mapped")]

use chacha20::ChaCha12Rng;
use rand_core::SeedableRng;
use sordino_ckks::Error;
use sordino_ckks::column::{Database, Params};

use super::parties::{SEED, client_of, unit_vectors};

#[test]
fn a_database_survives_its_file() {
    const FIRST: usize = 4096;
    let mut rng = ChaCha12Rng::from_seed([8; 32]);
    let (params, dim) = (Params::real_t4(), 9);
    let base = unit_vectors(&mut rng, 600, dim);
    let (mut database, _) = Database::encode(&params, SEED, &base, dim).unwrap();
    database.append(&unit_vectors(&mut rng, 5, dim)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    database.write_file(&path).unwrap();
    assert_eq!(
        database.write_file(&path).unwrap_err(),
        Error::Io(std::io::ErrorKind::AlreadyExists)
    );
    let mut file = std::fs::read(&path).unwrap();
    assert_eq!(file.len(), FIRST + database.encoded_len() + 64);
    let fresh = unit_vectors(&mut rng, 1, dim);
    let delta = database.replace(604, &fresh).unwrap();
    // SAFETY: only this test writes to the file, and not while it is mapped.
    let mapped = unsafe { Database::map_file(&path).unwrap() };
    let read = [Database::from_bytes(&file).unwrap(), mapped];
    for (mut read, hint) in read {
        assert_eq!(read.hint(), hint);
        assert_eq!((read.seed(), read.version()), (&SEED, 1));
        let client = client_of(&read, &read.hint());
        let (secret, query) = client.encrypt(&mut rng, &base[..dim]).unwrap();
        let reply = read.score(&query).unwrap();
        let scores = client.decrypt(secret, &reply).unwrap();
        assert!((scores[0] - 1.0).abs() < 1e-3);
        assert_eq!(read.replace(604, &fresh).unwrap(), delta);
        assert_eq!(read.hint(), database.hint());
        assert_eq!(read.score(&query).unwrap(), database.score(&query).unwrap());
    }
    // The changes stayed in memory.
    assert_eq!(std::fs::read(&path).unwrap(), file);

    for cut in [0, 15, 16, 47, 48, 4095, 4096, file.len() - 1] {
        assert!(Database::from_bytes(&file[..cut]).is_err());
        let path = folder.path().join(cut.to_string());
        std::fs::write(&path, &file[..cut]).unwrap();
        // SAFETY: as above.
        assert!(unsafe { Database::map_file(&path) }.is_err());
    }
    for at in [7, 60, 4095, file.len() - 1] {
        file[at] ^= 1;
        assert_eq!(Database::from_bytes(&file).unwrap_err(), Error::Kind);
        file[at] ^= 1;
    }
    file[FIRST + 5 * 7..][..5].fill(0xff);
    assert_eq!(
        Database::from_bytes(&file).unwrap_err(),
        // Neighbours in a row are t = 4 values of the polynomial apart.
        Error::Coefficient { index: 7 * 4 }
    );
    // A head that claims more coordinates than the file holds, and more than a head may claim.
    for bytes in [[0xff, 0xff, 0xff, 0x0f], [0xff; 4]] {
        file[12..16].copy_from_slice(&bytes);
        assert!(Database::from_bytes(&file).is_err());
    }

    // A file that is truncated while it is mapped. SAFETY: the mapping is not read after the
    // truncation, which is what the test checks.
    let (mapped, hint) = unsafe { Database::map_file(&path).unwrap() };
    let client = client_of(&mapped, &hint);
    let (_, query) = client.encrypt(&mut rng, &base[..dim]).unwrap();
    let handle = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    handle.set_len(4096).unwrap();
    assert!(matches!(
        mapped.score(&query).unwrap_err(),
        Error::Changed { found: 4096, .. }
    ));
}
