//! Indexes with each way to check scores, during changes. Following readers find the model's results, the owner's check
//! passes, and all queries have the same messages.

use sordino_search::manifest::{Checking, Manifest, Mode, Packing, PartKind};
use sordino_search::{Error, Files, Folder, Form, InProcess, SignedManifest, Spec, Store};
use sordino_testkit::{ROUTED, connect, keys, rng};
use sordino_vault::purpose::Purpose;

use super::bed::bed;
use super::owner::{DIM, spec};

const WAYS: [(Form, Checking); 5] = [
    (Form::Masked(Packing::T4), Checking::Exact),
    (Form::Masked(Packing::T8), Checking::Exact),
    (Form::Open(Packing::T8), Checking::Exact),
    (Form::Open(Packing::T4), Checking::Sums),
    (Form::Open(Packing::T4), Checking::None),
];

fn with((form, checking): (Form, Checking)) -> Spec {
    spec(form).checking(checking)
}

#[test]
fn readers_follow_and_find_what_is_there() {
    for way in WAYS {
        let mut bed = bed(&with(way), 1.0);
        let exact = way.1 == Checking::Exact;
        let server = bed.server();
        let mut client = connect(&server);
        assert!(bed.recall(&server, &client) > 0.99, "{way:?}");
        let mut combined = Vec::new();
        for step in 0..5 {
            match step {
                0 => bed.upsert(21, &[3, 4, 70_000], 1.0),
                1 => bed.delete(&[5, 6, 700]),
                2 => bed.upsert(22, &[80_000, 9], 1.0),
                3 => drop(bed.store.compact(&mut rng(3), &mut |_| ()).unwrap()),
                _ => bed.upsert(23, &[90_000], 1.0),
            }
            bed.store.verify().unwrap();
            let manifest = bed.store.manifest();
            combined.push(manifest.combined().copied());
            assert_eq!(manifest.combined().is_some(), exact);
            let server = bed.server();
            let before = client.bytes_once();
            assert!(client.refresh(&mut InProcess::new(&server)).unwrap());
            let received = client.bytes_once() - before;
            assert!(bed.recall(&server, &client) > 0.99, "{way:?}, {step}");
            // A new reader gets the same results.
            let again = connect(&server);
            assert!(bed.recall(&server, &again) > 0.99, "{way:?}, {step}");
            if exact {
                // Deletions alone do not change the combinations, so clients do not download them
                // again.
                let part = manifest.part(PartKind::Combination, None).unwrap();
                assert_eq!(received < usize::try_from(part.len).unwrap(), step == 1);
            }
        }
        if exact {
            assert_eq!(combined[0], combined[1]);
            combined.dedup();
            assert_eq!(combined.len(), 4);
        }
    }
}

#[test]
fn messages_are_the_same_for_all_queries() {
    for way in WAYS {
        let bed = bed(&with(way), 1.0);
        let server = bed.server();
        let client = connect(&server);
        let mut seen = Vec::new();
        let axis: Vec<f32> = (0..DIM)
            .map(|at| if at == 0 { 1e20 } else { 0.0 })
            .collect();
        let tiny: Vec<f32> = (0..DIM).map(|_| 1e-20).collect();
        for query in bed.queries.rows().take(4).chain([&axis[..], &tiny]) {
            let mut transport = InProcess::new(&server);
            client.search(&mut rng(5), &mut transport, query).unwrap();
            seen.push(transport.take_exchanges());
        }
        seen.dedup();
        assert_eq!(seen.len(), 1, "{way:?}");
    }
}

#[test]
fn checks_that_a_mode_has_not_are_refused_by_name() {
    let sealed = Form::Sealed {
        recall: 0.9,
        queries: 10,
        routing: None,
    };
    for way in [
        (Form::Masked(Packing::T4), Checking::None),
        (ROUTED, Checking::None),
        (ROUTED, Checking::Exact),
        (sealed, Checking::Exact),
        (Form::Local, Checking::Exact),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let vectors = sordino_search::synthetic::uniform(20, DIM, 1);
        let batches = [Ok(vectors.into())];
        let spec = with(way);
        let made = Store::create(
            dir.path(),
            &mut rng(1),
            &keys(),
            &spec,
            batches,
            &mut |_| (),
        );
        assert!(matches!(made, Err(Error::Mode { .. })), "{way:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// The owner's check finds sums and combinations that are sealed and signed, but belong to other rows.
#[test]
fn the_owners_check_finds_sums_of_other_rows() {
    for way in &WAYS[..4] {
        let bed = bed(&with(*way), 1.0);
        let verify = || Store::verify_dir(bed.dir.path(), &keys().reader());
        verify().unwrap();
        let folder = Folder::new(bed.dir.path(), Files);
        let mut manifest = Manifest::clone(bed.store.manifest());
        let (kind, at, purpose, id, version) = match manifest.combined() {
            Some(all) => {
                let purpose = Purpose::Combination;
                (PartKind::Combination, None, purpose, all.id, all.version)
            }
            None => {
                let segment = manifest.segments()[0];
                let (id, version) = (segment.id, segment.version);
                (PartKind::Sums, Some(0), Purpose::Sums, id, version)
            }
        };
        let part = folder.part(&manifest.part(kind, at).unwrap()).unwrap();
        let seal = keys().shared().seal(purpose, &id, version);
        let mut plain = seal.open(0, &[], &part).unwrap();
        plain[40] ^= 1;
        let digest = folder.put(&seal.seal(0, &[], &plain)).unwrap();
        let (Mode::Masked(mode) | Mode::Open(mode)) = &mut manifest.mode else {
            panic!("rows in columns");
        };
        match &mut mode.combined {
            Some(combined) => combined.part = digest,
            None => mode.segments[0].sums = Some(digest),
        }
        let signed = SignedManifest::sign(manifest, &keys());
        folder.put_manifest(&signed).unwrap();
        folder.prepare(&signed).unwrap();
        folder.switch().unwrap();
        let error = verify().unwrap_err().to_string();
        assert!(error.contains("not of the rows"), "{way:?}: {error}");
    }
}
