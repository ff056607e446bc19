//! The messages after changes, to whoever watches them.

use sordino_search::Exchange;
use sordino_search::{Form, InProcess, Routing};

use crate::bed::bed;
use crate::owner::{DIM, connect, forms, rng, spec};

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
        // The manifest and one block of hints, or three vectors, against everything.
        let (delta, all) = (bytes(&seen[0]), bytes(&whole));
        assert!(
            delta < all * 9 / 10 && delta < 18_000,
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
