//! Records of several pages: a search shows where they begin, and they are fetched whole by id.

use super::*;
use sordino_search::plan::Conditions;

/// The words of a text.
const WORDS: [&str; 16] = [
    "harbour", "of", "the", "silver", "north", "a", "under", "winter", "and", "letters", "to",
    "stone", "in", "rivers", "early", "with",
];

/// A text that says whose it is: every 40th is long.
fn text(id: usize) -> Vec<u8> {
    let count = if id.is_multiple_of(40) { 30_000 } else { 8 };
    let random = &mut rng(id as u64);
    let word = |_| WORDS[random.next_u32() as usize % WORDS.len()];
    let words: Vec<&str> = (0..count).map(word).collect();
    format!("{id}: {}", words.join(" ")).into_bytes()
}

#[test]
fn a_long_text_is_shown_from_its_beginning_and_fetched_whole_in_few_requests() {
    let n = 1200;
    let base = synthetic::uniform(n, DIM, 3);
    let texts: Vec<Vec<u8>> = (0..n).map(text).collect();
    for fetch in [FetchKind::Hintless, FetchKind::Pir] {
        let conditions = Conditions::default().prefer(fetch);
        let spec = Spec::new(Form::Local).k(K).conditions(conditions);
        let batch = Batch::from(base.clone()).with_payloads(texts.clone());
        let (dir, store) = create(&spec, batch);
        let payloads = store.manifest().payloads.clone().unwrap();
        assert_eq!(payloads.fetch.kind(), fetch);
        let (longest, fetched) = (payloads.longest as usize, payloads.fetched as usize);
        let page_len = payloads.form.page_len as usize;
        assert!(longest > 1, "{payloads:?}");
        let server = serve(dir.path());
        let mut transport = InProcess::new(&server);
        let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();

        let mut shortened = 0;
        for id in (0..n).step_by(40) {
            let found = client.search(&mut rng(2), &mut transport, base.row(id));
            let found = found.unwrap();
            assert_eq!(found.hits[0].id, Id::Number(id as u64));
            assert!(texts[id].starts_with(&found.payloads[0]));
            if found.payloads[0] != texts[id] {
                shortened += 1;
                assert!(found.payloads[0].len() > page_len / 2, "{payloads:?}");
            }
        }
        assert_eq!(shortened > 0, longest > fetched - K + 1, "{payloads:?}");

        for ids in [
            &[0usize][..],
            &[40, 7, 80, 5000, 120, 160, 3, 200, 240],
            &[1, 2, 3, 4],
        ] {
            transport.take_exchanges();
            let asked: Vec<Id> = ids.iter().map(|&id| Id::Number(id as u64)).collect();
            let found = client
                .payloads(&mut rng(4), &mut transport, &asked)
                .unwrap();
            for (&id, found) in ids.iter().zip(&found) {
                assert_eq!(found.as_ref(), texts.get(id), "{id}");
            }
            // The number of messages tells how many records were asked for, but not which.
            let exchanges = transport.take_exchanges();
            assert_eq!(exchanges.len(), (ids.len() * longest).div_ceil(fetched));
            assert!(exchanges.iter().all(|it| *it == exchanges[0]));
        }
    }
}
