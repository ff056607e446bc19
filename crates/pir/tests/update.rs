//! Changed databases: clients follow by deltas, and every version stays apart from the others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sordino_pir::simple::{Change, Client, Server, Update};
use sordino_pir::verified::Checker;
use sordino_pir::{Database, Error, Params, Seed};

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn recover(server: &Server, client: &Client, index: usize) -> Vec<u8> {
    let (secret, query) = client.query(&mut rng(1), index).unwrap();
    client
        .recover(secret, &server.answer(&query).unwrap())
        .unwrap()
}

#[test]
fn clients_follow_every_kind_of_change_across_columns() {
    let record_len = 5;
    let params = Params::for_database(500, record_len).unwrap();
    let mut records: Vec<Vec<u8>> = (0..500usize)
        .map(|i| {
            let mut record = vec![0; record_len];
            rng(i.to_le_bytes()[0]).fill_bytes(&mut record);
            record
        })
        .collect();
    let seed = Seed([2; 32]);
    let database = Database::from_records(&params, &records).unwrap();
    let mut checker = Checker::new(&mut rng(3), &database).unwrap();
    let (mut server, hint) = Server::setup(database, &params, &seed).unwrap();
    let mut client = Client::new(&params, &seed, &hint).unwrap();
    let mut changed = Vec::new();
    for round in 0..6u8 {
        let mut changes = Vec::new();
        let index = 77 * usize::from(round);
        changes.push(Change::Replace {
            index,
            record: vec![round; 3],
        });
        records[index] = vec![round, round, round, 0, 0];
        changes.push(Change::Delete { index: index + 1 });
        records[index + 1] = vec![0; 5];
        // Enough to fill the last column, to open others, and once to outgrow the padding.
        for i in 0..=40 * round.min(3) {
            let record = vec![i, round, 255, 128, 127];
            records.push(record.clone());
            changes.push(Change::Append { record });
        }
        changed.extend([index, index + 1, records.len() - 1, 3]);
        let update = server.update(&changes).unwrap();
        let wire = update.to_bytes();
        assert_eq!(Update::from_bytes(client.params(), &wire).unwrap(), update);
        let (old_secret, old_query) = client.query(&mut rng(4), 0).unwrap();
        let old_prepared = client.prepare(&mut rng(4), 1).pop().unwrap();
        client.apply(&update).unwrap();
        checker.apply(&update).unwrap();
        assert!(matches!(
            client.apply(&update),
            Err(Error::ParamsMismatch { .. })
        ));
        assert!(server.answer(&old_query).is_err());
        assert!(client.query_prepared(old_prepared, 0).is_err());
        let (_, query) = client.query(&mut rng(5), 0).unwrap();
        let raw = server.answer_raw(&query).unwrap();
        let answer = checker.check(&query, &raw).unwrap();
        assert!(matches!(
            client.recover(old_secret, &answer),
            Err(Error::VersionMismatch { .. })
        ));
        for index in &changed {
            assert_eq!(
                recover(&server, &client, *index),
                records[*index],
                "{round} {index}"
            );
        }
    }
    assert!(client.params().columns() > params.columns().next_multiple_of(64));
    // A client that starts now finds the same.
    let params = *server.params();
    let fresh = Client::new(&params, &seed, &server.hint().unwrap()).unwrap();
    for index in (0..records.len()).step_by(41) {
        assert_eq!(recover(&server, &fresh, index), records[index]);
        assert_eq!(recover(&server, &client, index), records[index]);
    }
}

#[test]
fn a_version_that_only_differs_by_its_number_is_refused_by_name() {
    let params = Params::for_database(50, 4).unwrap();
    let seed = Seed([3; 32]);
    let database = Database::from_slice(&params, &[9; 200]).unwrap();
    let (mut server, hint) = Server::setup(database, &params, &seed).unwrap();
    let client = Client::new(&params, &seed, &hint).unwrap();
    server.update(&[Change::Delete { index: 0 }]).unwrap();
    let (_, query) = client.query(&mut rng(6), 0).unwrap();
    assert!(matches!(
        server.answer(&query),
        Err(Error::VersionMismatch {
            found: 0,
            expected: 1
        })
    ));
}

#[test]
fn a_refused_update_changes_nothing() {
    let params = Params::for_database(50, 4).unwrap();
    let seed = Seed([4; 32]);
    let database = Database::from_slice(&params, &[9; 200]).unwrap();
    let (mut server, hint) = Server::setup(database, &params, &seed).unwrap();
    let good = Change::Delete { index: 0 };
    let bad = [
        Change::Replace {
            index: 50,
            record: vec![],
        },
        Change::Replace {
            index: 5,
            record: vec![0; 5],
        },
        Change::Append { record: vec![0; 5] },
        Change::Delete { index: 51 },
    ];
    for bad in bad {
        assert!(server.update(&[good.clone(), bad]).is_err());
        assert_eq!(server.hint().unwrap(), hint);
    }
}
