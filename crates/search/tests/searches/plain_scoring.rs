//! Compares sealed mode with scoring of the same buckets in the clear.

use sordino_index::code;
use sordino_index::manifest::{Mode, PartKind};
use sordino_search::{Client, Id, InProcess, Plan, Routing, Server, Wish, build, synthetic};
use sordino_testkit::{keys, rng};
use sordino_vault::bucket_codec::BucketCodec;
use sordino_vault::decoded_rows::DecodedRows;
use sordino_vault::purpose::Purpose;
use sordino_vectors::recall::Scored;
use sordino_vectors::rotation::Rotation;
use sordino_vectors::u32_of;

/// The whole protocol returns what scoring the same buckets in the clear returns:
/// same rows, same order, same scores.
#[test]
fn a_private_search_ranks_as_plain_scoring_of_its_buckets_does() {
    let (base, queries) = synthetic::clustered(2000, 12, 40, 21);
    let keys = keys();
    let wish = Wish::default()
        .k(7)
        .recall(0.9)
        .queries(10)
        .routing(Some(Routing::Downloaded));
    let plan = Plan::new(2000, 40, wish).unwrap();
    let rng = &mut rng(1);
    let index = build::sealed(rng, &keys, &base, &plan, &mut |_| ())
        .unwrap()
        .index;
    let (manifest, parts) = index.clone().into_parts();
    let Mode::Sealed(mode) = &manifest.mode else {
        unreachable!("a sealed index");
    };
    let part = |kind| {
        let found = parts.iter().find(|(part, _)| part.kind == kind).unwrap();
        found.1.to_vec()
    };
    let (buckets, centroids) = (part(PartKind::Buckets), part(PartKind::Centroids));
    let contents = keys.keys_of(&manifest);
    let frame = contents
        .open_frame(&manifest, &part(PartKind::Frame))
        .unwrap();
    let reader = keys.reader();
    let server = Server::new(index).unwrap();
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &reader, None).unwrap();

    let seal = |purpose| {
        keys.shared()
            .seal(purpose, &mode.base.id, mode.base.version)
    };
    let centroids = seal(Purpose::Centroids).open(0, &[], &centroids).unwrap();
    let centroids: Vec<Vec<f32>> = centroids
        .chunks_exact(40)
        .map(code::unit_from_int8)
        .collect();
    let rotation = Rotation::new(40, manifest.rotation);
    for query in queries.rows() {
        let rotated = rotation.apply(query);
        let mut order: Vec<usize> = (0..centroids.len()).collect();
        let score = |bucket: &usize| sordino_vectors::dot(&centroids[*bucket], &rotated);
        order.sort_by(|a, b| score(b).total_cmp(&score(a)));
        let mut opened = DecodedRows::default();
        for &bucket in &order[..mode.probes as usize] {
            let len = mode.layout.sealed_len();
            let sealed = &buckets[bucket * len..][..len];
            BucketCodec(mode.layout)
                .open(
                    &seal(Purpose::Bucket),
                    u32_of(bucket),
                    sealed,
                    &frame,
                    &mut opened,
                )
                .unwrap();
        }
        let asked = frame.ask(query).unwrap();
        let mut expected: Vec<Scored> = opened.nearest(&asked, |_| true, 7);
        expected.sort_by(Scored::rank);
        asked.scored(&mut expected);
        let found = client.search(rng, &mut transport, query).unwrap();
        let expected = expected.iter().map(|hit| (Id::from(hit.id), hit.score));
        let found = found.hits.into_iter().map(|hit| (hit.id, hit.score));
        assert!(found.eq(expected));
    }
}
