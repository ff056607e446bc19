//! Databases that change. Clients follow by deltas, and messages of different versions are not
//! mixed.

use rand_core::Rng;
use sordino_pir::simple::{self, Change, Client, Server, Update};
use sordino_pir::verified::Checker;
use sordino_pir::{Database, Error, Params, Security, Seed, Set, double};

use crate::rng;

fn recover(server: &Server, client: &Client, index: usize) -> Vec<u8> {
    let (secret, query) = client.query(&mut rng(1), index).unwrap();
    client
        .recover(secret, &server.answer(&query).unwrap())
        .unwrap()
}

#[test]
fn a_database_grows_from_strip_to_strip() {
    // There are 2,046 columns of one record, so the first strip is not full and has padding.
    let mut records: Vec<[u8; 2]> = (0..2046u16).map(u16::to_le_bytes).collect();
    let params = Params::for_columns(records.len(), 2).unwrap();
    let seed = Seed([2; 32]);
    let database = Database::from_records(&params, &records).unwrap();
    let mut checker = Checker::new(&mut rng(3), &database).unwrap();
    let (mut server, hint) = Server::setup(database, &params, &seed).unwrap();
    let mut client = Client::new(&params, &seed, &hint).unwrap();
    for grows_by in [1u32, 1, 1, 70, 2000] {
        let next = (0..grows_by).map(|i| [i.to_le_bytes()[0], 7]);
        let changes: Vec<_> = next
            .clone()
            .map(|record: [u8; 2]| Change::Append {
                record: record.to_vec(),
            })
            .collect();
        records.extend(next);
        let update = server.update(&changes).unwrap();
        client.apply(&update).unwrap();
        checker.apply(&update).unwrap();
        for index in [0, 1000, 2045, 2046, 2047, 2048, records.len() - 1] {
            let index = index.min(records.len() - 1);
            let (secret, query) = client.query(&mut rng(1), index).unwrap();
            let raw = server.answer_raw(&query).unwrap();
            let answer = checker.check(&query, &raw).unwrap();
            assert_eq!(
                client.recover(secret, &answer).unwrap(),
                records[index],
                "{index} of {}",
                records.len()
            );
        }
    }
}

#[test]
fn clients_follow_every_kind_of_change_across_columns() {
    let record_len = 5;
    let params = Params::for_database(500, record_len).unwrap();
    let params = params.with_room(10_000, Security::default()).unwrap();
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
        // Appends enough to fill the last column, to add columns, and once to exceed the padding.
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
    // A new client finds the same records.
    let params = *server.params();
    let fresh = Client::new(&params, &seed, &server.hint().unwrap()).unwrap();
    for index in (0..records.len()).step_by(41) {
        assert_eq!(recover(&server, &fresh, index), records[index]);
        assert_eq!(recover(&server, &client, index), records[index]);
    }
}

#[test]
fn a_database_does_not_outgrow_its_set() {
    let params = Params::for_columns(81, 1).unwrap();
    let seed = Seed([3; 32]);
    let grown = |params: &simple::Params| {
        let database = Database::from_slice(params, &[9; 81]).unwrap();
        let (mut server, _) = Server::setup(database, params, &seed).unwrap();
        let update = server.update(&[Change::Append { record: vec![1] }]);
        update.map(|_| server.params().columns())
    };
    let refused = grown(&params).unwrap_err();
    assert!(matches!(refused, Error::NoRoom { records: 82 }));
    assert!(refused.to_string().contains("Params::with_room"));
    let roomy = params.with_room(82, Security::default()).unwrap();
    assert_eq!(grown(&roomy).unwrap(), 82);
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

fn recover_double(server: &double::Server, client: &double::Client, index: usize) -> Vec<u8> {
    let (secret, query) = client.query(&mut rng(1), index).unwrap();
    let answer = server.answer(&query).unwrap();
    client.recover(secret, &answer).unwrap()
}

#[test]
fn clients_of_double_follow_every_kind_of_change_across_columns() {
    let params = Params::for_double_with(60, 2, 7).unwrap();
    let room = |records| params.with_room(records, Security::default()).unwrap();
    for (params, set) in [(room(1000), Set::N128U), (room(10_000), Set::N1024S32)] {
        assert_eq!(params.set(), set);
        clients_of_double_follow(&params);
    }
}

fn clients_of_double_follow(params: &double::Params) {
    let mut records: Vec<Vec<u8>> = (0..60).map(|i| vec![i, 200 - i]).collect();
    let seed = Seed([5; 32]);
    let database = Database::from_records(params, &records).unwrap();
    let (mut server, hint) = double::Server::setup(database, params, &seed).unwrap();
    let mut client = double::Client::new(params, &seed, &hint).unwrap();
    for round in 0..4u8 {
        let index = 15 * usize::from(round);
        let mut changes = vec![
            Change::Replace {
                index,
                record: vec![255 - round],
            },
            // Changes the same slot in another column, and then the first record again.
            Change::Delete { index: index + 7 },
            Change::Replace {
                index,
                record: vec![round, 128],
            },
        ];
        records[index] = vec![round, 128];
        records[index + 7] = vec![0; 2];
        // Appends nothing, some records in the last column, more columns, and once more than the
        // padding holds.
        for i in 0..2 * usize::from(round).pow(5) {
            let record = vec![i.to_le_bytes()[0], round];
            records.push(record.clone());
            changes.push(Change::Append { record });
        }
        let update = server.update(&changes).unwrap();
        let wire = update.to_bytes();
        // For both bytes of a record, a slot takes nine bits for each of 4 n digits.
        let slots = [1, 3, 7, 7][usize::from(round)];
        assert_eq!(wire.len(), 56 + slots * (8 + 2 * 4 * params.n() * 9 / 8));
        let update = double::Update::from_bytes(client.params(), &wire).unwrap();
        let (old_secret, old_query) = client.query(&mut rng(4), 0).unwrap();
        let old_prepared = client.prepare(&mut rng(4), 1).pop().unwrap();
        client.apply(&update).unwrap();
        assert_eq!(client.params(), server.params());
        assert!(client.apply(&update).is_err());
        assert!(server.answer(&old_query).is_err());
        assert!(client.query_prepared(old_prepared, 0).is_err());
        let (_, query) = client.query(&mut rng(5), 0).unwrap();
        let answer = server.answer(&query).unwrap();
        assert!(matches!(
            client.recover(old_secret, &answer),
            Err(Error::VersionMismatch { .. })
        ));
        for index in [index, index + 7, 3, records.len() - 1] {
            assert_eq!(recover_double(&server, &client, index), records[index]);
        }
    }
    assert!(client.params().columns() > params.columns().next_multiple_of(64));
    // A new client finds the same records, and so does a new server.
    let params = *server.params();
    let fresh = double::Client::new(&params, &seed, &server.hint()).unwrap();
    for index in (0..records.len()).step_by(19) {
        assert_eq!(recover_double(&server, &fresh, index), records[index]);
        assert_eq!(recover_double(&server, &client, index), records[index]);
    }
}

#[test]
fn an_updated_double_server_is_the_one_that_is_set_up_with_the_new_records() {
    let params = Params::for_double_with(60, 1, 5).unwrap();
    let seed = Seed([6; 32]);
    let database = Database::from_slice(&params, &[7; 60]).unwrap();
    let (mut server, hint) = double::Server::setup(database, &params, &seed).unwrap();
    let bad = Change::Delete { index: 60 };
    assert!(server.update(&[Change::Delete { index: 0 }, bad]).is_err());
    assert_eq!(server.hint(), hint);
    let changes: Vec<_> = (0..60)
        .map(|index| Change::Replace {
            index: usize::from(index),
            record: vec![index],
        })
        .collect();
    server.update(&changes).unwrap();
    let database = Database::from_records(&params, (0..60).map(|i| [i])).unwrap();
    let (_, expected) = double::Server::setup(database, &params, &seed).unwrap();
    // Compares everything except the version, which is in bytes 32 to 40.
    let (found, expected) = (server.hint().to_bytes(), expected.to_bytes());
    assert_eq!(found[..32], expected[..32]);
    assert_eq!(found[40..], expected[40..]);
    assert_eq!(found[32], 1);
}

#[test]
fn an_update_of_double_that_no_server_writes_is_refused() {
    let params = Params::for_double_with(60, 1, 5).unwrap();
    let database = Database::from_slice(&params, &[7; 60]).unwrap();
    let (mut server, _) = double::Server::setup(database, &params, &Seed([7; 32])).unwrap();
    let changes = [Change::Delete { index: 0 }, Change::Delete { index: 1 }];
    let wire = server.update(&changes).unwrap().to_bytes();
    let entry = (wire.len() - 56) / 2;
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut wire = wire.clone();
        change(&mut wire);
        let result = double::Update::from_bytes(&params, &wire);
        assert!(matches!(result, Err(Error::Header(_))), "{result:?}");
    };
    // Slots out of order, a repeated slot, a slot after the last; a growth by 256 records; fewer
    // records than before.
    refused(&|wire| wire[56..].rotate_left(entry));
    refused(&|wire| wire[56 + entry] = 0);
    refused(&|wire| wire[56 + entry] = 5);
    refused(&|wire| wire[64..66].fill(0xff));
    refused(&|wire| wire[48] = 59);
}
