//! A search that returns texts. The server does not learn which ones.

use std::time::Instant;

use sordino_search::manifest::Packing;
use sordino_search::plan::{Bytes, Way};
use sordino_search::{Batch, Client, Error, Form, InProcess, Server, Spec, Wish};
use sordino_search::{build, synthetic};

use crate::Set;
use crate::run::{keys, rng};

/// The number of letters of a text that are printed.
const SHOWN: usize = 72;

/// Builds a masked index in which every record has a text, and prints what one search finds, and its cost.
pub(crate) fn show(set: &Set, wish: Wish, packing: Packing) -> Result<(), Error> {
    let texts = synthetic::texts(set.base.len(), 44);
    let payloads = texts.iter().map(|text| text.clone().into_bytes());
    let batch = Batch::from(set.base.clone()).with_payloads(payloads.collect());
    let spec = Spec::new(Form::Masked(packing)).k(wish.k);
    let spec = spec.conditions(wish.conditions());
    let (keys, mut rng) = (keys(), rng());
    let index = build::in_memory(&mut rng, &keys, &spec, [batch], &mut |_| ())?;
    let server = Server::new(index)?;
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys.reader(), None)?;
    // A warm-up, which loads pages into memory and the keys of a session.
    client.search(&mut rng, &mut transport, set.queries.row(0))?;
    transport.take_exchanges();
    transport.take_server_time();
    let start = Instant::now();
    let found = client.search(&mut rng, &mut transport, set.queries.row(0))?;
    let (total, server_time) = (start.elapsed(), transport.take_server_time());
    let exchanges = transport.take_exchanges();

    println!(
        "\n{}: one search of {} x {} that brings texts, in masked mode",
        set.name,
        set.base.len(),
        set.base.dim()
    );
    let mut right = 0;
    for (hit, text) in found.hits.iter().zip(&found.payloads) {
        let row = hit.id.number().and_then(|row| usize::try_from(row).ok());
        let stored = row.and_then(|row| texts.get(row));
        right += usize::from(stored.is_some_and(|stored| stored.as_bytes() == text));
        let text = String::from_utf8_lossy(text);
        let shown: String = text.chars().take(SHOWN).collect();
        let rest = if shown.len() < text.len() { "..." } else { "" };
        println!("  {:>8} {:.4} {shown}{rest}", hit.id, hit.score);
    }
    let (up, down) = (
        exchanges.iter().map(|it| it.up),
        exchanges.iter().map(|it| it.down),
    );
    let (up, down): (usize, usize) = (up.sum(), down.sum());
    println!(
        "  {right} of {} texts are those that were stored; {:.1} ms, of it {:.1} in the server; {} up, {} down, {} once",
        found.hits.len(),
        total.as_secs_f64() * 1e3,
        server_time.as_secs_f64() * 1e3,
        Bytes(up as u64),
        Bytes(down as u64),
        Bytes(client.bytes_once() as u64)
    );
    if let Some(payloads) = &client.manifest().payloads {
        println!(
            "  of it for texts ({}): {:.1} ms, {} of the server's memory",
            payloads.fetch.kind().name(),
            found.stages.payloads.as_secs_f64() * 1e3,
            Bytes(Way::of_payloads(payloads)?.memory())
        );
    }
    Ok(())
}
