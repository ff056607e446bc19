//! Payloads of every kind survive storing and fetching in every way.

use super::*;

/// Records with these payloads, which come back whole, by a search and by their ids, and an owner reads them all.
fn come_back(name: &str, payloads: &[Vec<u8>]) {
    let base = synthetic::uniform(payloads.len(), DIM, 3);
    for way in WAYS {
        let batch = Batch::from(base.clone()).with_payloads(payloads.to_vec());
        let (dir, store) = create(&by(way, Spec::new(Form::Local).k(K)), batch);
        let manifest = store.manifest().payloads.clone().unwrap();
        let found = manifest.fetch.kind();
        assert_eq!(found, way, "{name}");
        store.verify().unwrap();
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        let rows = [0, payloads.len() / 2, payloads.len() - 1];
        for row in rows {
            let found = client.search(&mut rng(2), &mut transport, base.row(row));
            let found = found.unwrap();
            assert_eq!(found.hits[0].id, row as u64, "{name}");
            match found.hits[0].truncated {
                false => assert_eq!(found.payloads[0], payloads[row], "{name}, {way:?}, {row}"),
                true => assert!(
                    payloads[row].starts_with(&found.payloads[0]),
                    "{name}, {way:?}"
                ),
            }
        }
        let ids = [Id::Number(rows[1] as u64)];
        let named = client.payloads(&mut rng(3), &mut transport, &ids).unwrap();
        assert!(
            named == [Some(payloads[rows[1]].clone())],
            "{name}, {way:?}"
        );
        if way == FetchKind::Scan {
            let all = store.payloads().unwrap().unwrap();
            let expected = (0..).map(Id::Number).zip(payloads);
            assert!(
                expected
                    .into_iter()
                    .all(|(id, payload)| all[&id] == *payload),
                "{name}"
            );
        }
    }
}

/// Bytes that do not compress.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut noise = vec![0; len];
    rng(seed).fill_bytes(&mut noise);
    noise
}

#[test]
fn empty_and_short_payloads_come_back_in_every_way() {
    come_back("empty", &vec![Vec::new(); 50]);
    let some = |row: usize| vec![b'a'; row % 3];
    come_back("empty or short", &(0..50).map(some).collect::<Vec<_>>());
    come_back("of one record", &[b"alone".to_vec()]);
}

#[test]
fn a_megabyte_among_ten_bytes_comes_back_in_every_way() {
    let mut payloads: Vec<Vec<u8>> = (0..60).map(|row| noise(row, 10)).collect();
    payloads[30] = noise(99, MOST_PAYLOAD);
    come_back("a megabyte of noise", &payloads);
    payloads[30] = vec![b'x'; MOST_PAYLOAD];
    come_back("a megabyte that compresses", &payloads);
}

#[test]
fn a_hundred_thousand_equal_payloads_come_back_in_every_way() {
    come_back("equal", &vec![b"the same for all".to_vec(); 100_000]);
}

#[test]
fn payloads_that_are_no_text_come_back_in_every_way() {
    let incompressible = (0..200).map(|row| noise(row, 300));
    come_back("noise", &incompressible.collect::<Vec<_>>());
    // The head of a frame of zstd, and of gzip, before noise.
    let compressed = (0..200).map(|row| {
        let head: &[u8] = match row % 2 {
            0 => &[0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58],
            _ => &[0x1f, 0x8b, 8, 0],
        };
        [head, &noise(row, 100)].concat()
    });
    come_back("compressed", &compressed.collect::<Vec<_>>());
    let not_utf8 = (0..200).map(|row: usize| {
        let text = "half a character \u{e4}".repeat(1 + row % 5).into_bytes();
        [&text[..text.len() - 1], &[0xff, 0xfe, 0]].concat()
    });
    come_back("not UTF-8", &not_utf8.collect::<Vec<_>>());
}
