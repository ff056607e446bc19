//! Two readers with different rights send the same messages.

use sordino_search::{Exchange, Form, InProcess};
use sordino_testkit::{ASKED, keys, rng};

use super::bed::{Bed, connect, masked, reader, vectors};

#[test]
fn nothing_on_the_way_says_what_a_reader_may_read() {
    let beds = [masked(), Form::Local].map(Bed::new);
    let ways = ASKED.map(|way| Bed::by(way, masked()));
    for mut bed in beds.into_iter().chain(ways) {
        bed.grant("alice", &[], &[]);
        bed.grant("bob", &["finance"], &[]);
        bed.grant("carol", &["finance", "health"], &[]);
        bed.add(100, Some("finance"));
        bed.add(200, Some("health"));
        let names = ["alice", "bob", "carol"];
        let mut readers: Vec<_> = names.iter().map(|name| reader(name)).collect();
        readers.push(keys().reader());
        let server = bed.server();
        let mut clients = Vec::new();
        let mut seen: Vec<Vec<Exchange>> = Vec::new();
        // Each reader has its own generator, and therefore its own sessions.
        for (seed, keys) in (1..).zip(&readers) {
            let mut transport = InProcess::new(&server);
            let client = sordino_search::Client::connect(&mut transport, keys, None).unwrap();
            for query in [vectors(0), vectors(100), vectors(200)] {
                client
                    .search(&mut rng(seed), &mut transport, query.row(0))
                    .unwrap();
            }
            seen.push(transport.take_exchanges());
            clients.push(client);
        }
        assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
        // A grant to one of them changes none of these messages, and both refresh with the same messages.
        for change in 1..4 {
            match change {
                1 => bed.grant("alice", &["health"], &[]),
                2 => bed.add(300, Some("health")),
                _ => drop(bed.compact()),
            }
            let server = bed.server();
            let seen = (10 * change..).zip(&mut clients).map(|(seed, client)| {
                let mut transport = InProcess::new(&server);
                assert!(client.refresh(&mut transport).unwrap());
                client
                    .search(&mut rng(seed), &mut transport, vectors(0).row(1))
                    .unwrap();
                transport.take_exchanges()
            });
            let seen: Vec<_> = seen.collect();
            assert!(
                seen.iter().all(|one| *one == seen[0]),
                "change {change}: {seen:?}"
            );
            drop(connect(&server, &reader("alice")).unwrap());
        }
    }
}
