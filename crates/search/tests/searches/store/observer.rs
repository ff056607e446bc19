//! The messages after changes, as an observer sees them.

use sordino_search::Exchange;
use sordino_search::{Form, InProcess, Routing};
use sordino_testkit::{ROUTED, rng};

use super::bed::bed;
use super::owner::{DIM, connect, forms, spec};

#[test]
fn an_observer_sees_the_same_of_every_query_after_updates() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        bed.upsert(21, &[3, 4, 70_000], 1.0);
        bed.delete(&[5, 6, 700]);
        let server = bed.server();
        let (client, _) = connect(&server);
        let mut transport = InProcess::new(&server);
        let mut one = vec![0.0; DIM];
        one[DIM - 1] = 1.0;
        let extremes = [vec![1e30; DIM], vec![-1e-30; DIM], one];
        let deleted = [bed.queries.row(0).to_vec()];
        let queries = bed.queries.rows().map(<[f32]>::to_vec);
        let mut transcripts: Vec<Vec<Exchange>> = Vec::new();
        for query in queries.chain(extremes).chain(deleted) {
            client.search(&mut rng(2), &mut transport, &query).unwrap();
            transcripts.push(transport.take_exchanges());
        }
        let messages = match form {
            Form::Local => 0,
            Form::Sealed {
                routing: Some(Routing::Encrypted),
                ..
            } => 2,
            _ => 1,
        };
        assert_eq!(transcripts[0].len(), messages, "{form:?}");
        assert!(transcripts.iter().all(|seen| *seen == transcripts[0]));
    }
}

/// Clusters are asked for with what was added next to them: so much more up and down for the first record, in every search.
#[test]
fn what_was_added_to_a_routed_index_is_asked_for_in_polynomials_of_64_coordinates() {
    let mut bed = bed(&spec(ROUTED), 1.0);
    let mut seen = Vec::new();
    for added in [&[][..], &[50_000], &[50_001]] {
        if !added.is_empty() {
            bed.upsert(21, added, 1.0);
        }
        let server = bed.server();
        let (client, _) = connect(&server);
        let mut transport = InProcess::new(&server);
        for query in bed.queries.rows() {
            client.search(&mut rng(2), &mut transport, query).unwrap();
        }
        let exchanges = transport.take_exchanges();
        assert!(exchanges.iter().all(|one| *one == exchanges[0]));
        seen.push(exchanges[0]);
    }
    // One polynomial of 2,048 numbers of 46 bits. Answers of 16 bits: a record and its 40 check rows, then again from
    // the next block of 32 on.
    let [none, one, two] = seen[..] else {
        panic!("three versions");
    };
    assert!((11_776..11_900).contains(&(one.up - none.up)), "{seen:?}");
    assert_eq!(two.up, one.up);
    assert!((82..182).contains(&(one.down - none.down)), "{seen:?}");
    assert_eq!(two.down - one.down, 2 * 64);
}

#[test]
fn refreshing_is_the_same_for_all_and_costs_what_is_new() {
    for form in forms() {
        let mut bed = bed(&spec(form), 1.0);
        let server = bed.server();
        let (mut idle, whole) = connect(&server);
        let (mut busy, _) = connect(&server);
        bed.recall(&server, &busy);
        bed.upsert(21, &[3, 4, 70_000], 1.0);
        bed.delete(&[8]);
        let server = bed.server();
        let seen = [&mut idle, &mut busy].map(|client| {
            let mut transport = InProcess::new(&server);
            assert!(client.refresh(&mut transport).unwrap());
            transport.take_exchanges()
        });
        assert_eq!(seen[0], seen[1], "{form:?}");
        let bytes = |seen: &[Exchange]| seen.iter().map(|e| e.up + e.down).sum::<usize>();
        // The manifest and a block of hints, two where 64 coordinates share a polynomial, or three vectors, against
        // everything.
        let (delta, all) = (bytes(&seen[0]), bytes(&whole));
        assert!(
            delta < all * 9 / 10 && delta < 22_000,
            "{form:?}: {delta} of {all}"
        );
        let (new, _) = connect(&server);
        for query in bed.queries.rows() {
            let [a, b] = [&idle, &new].map(|client| {
                let mut transport = InProcess::new(&server);
                client
                    .search(&mut rng(3), &mut transport, query)
                    .unwrap()
                    .hits
            });
            assert_eq!(a, b, "{form:?}");
        }
    }
}
