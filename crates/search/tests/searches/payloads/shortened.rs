//! A record that is longer than the pages of a search: shortened, and said to be, where pages are asked for.

use super::*;

const LONG: usize = 17;

#[test]
fn a_long_payload_is_shortened_by_a_search_and_whole_by_its_id() {
    let base = synthetic::uniform(400, DIM, 3);
    let mut payloads: Vec<Vec<u8>> = (0..400).map(|id| payload(id, 60)).collect();
    payloads[LONG] = (0..60_000_u32)
        .flat_map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes())
        .collect();
    let mut shortened = 0;
    for way in WAYS {
        let batch = Batch::from(base.clone()).with_payloads(payloads.clone());
        let spec = by(way, Spec::new(Form::Masked(Packing::T4)).k(K));
        let (dir, store) = create(&spec, batch);
        let manifest = store.manifest().payloads.clone().unwrap();
        assert_eq!(manifest.fetch.kind(), way);
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
        let mut transcripts = Vec::new();
        for row in [3, LONG, 3, 200] {
            transport.take_exchanges();
            let found = client.search(&mut rng(2), &mut transport, base.row(row));
            let found = found.unwrap();
            transcripts.push(transport.take_exchanges());
            assert_eq!(found.hits[0].id, row as u64);
            let room = manifest.fetched - (u32_of(K) - 1);
            let cut = row == LONG && way != FetchKind::Download && manifest.longest > room;
            shortened += usize::from(cut);
            assert_eq!(found.hits[0].truncated, cut, "{way:?}");
            if cut {
                assert!(payloads[row].starts_with(&found.payloads[0]));
                assert!(found.payloads[0].len() < payloads[row].len());
            } else {
                assert_eq!(found.payloads[0], payloads[row]);
            }
        }
        // A long record and a short one look the same; keys went up with the first.
        assert_eq!(transcripts[1], transcripts[2], "{way:?}");
        assert_eq!(transcripts[1], transcripts[3], "{way:?}");
        let mut asked = Vec::new();
        for row in [LONG, 200] {
            transport.take_exchanges();
            let ids = [Id::Number(row as u64)];
            let named = client.payloads(&mut rng(3), &mut transport, &ids).unwrap();
            assert!(named == [Some(payloads[row].clone())], "{way:?}, {row}");
            // The keys are sent with the first request of each session.
            let down = transport.take_exchanges().into_iter().map(|it| it.down);
            asked.push(down.collect::<Vec<_>>());
        }
        // A short record takes the messages of the longest.
        assert_eq!(asked[0], asked[1], "{way:?}");
        assert_eq!(asked[0].is_empty(), way == FetchKind::Download);
    }
    assert!(shortened > 0);
}
