//! Payloads, fetched in the way for which a client waits the least.

use std::time::Duration;

use sordino_search::build;
use sordino_search::plan::Bytes;
use sordino_search::{Batch, Client, Error, InProcess, Server, Spec};

use crate::Set;
use crate::run::{keys, rng};

/// A masked index in which every record carries `len` bytes, and a search that brings them.
pub(crate) fn show(set: &Set, k: usize, len: usize) -> Result<(), Error> {
    let payload = |row: usize| -> Vec<u8> {
        let bytes = (0..len).map(|at| (31 * row + at).to_le_bytes()[0]);
        bytes.collect()
    };
    let payloads = (0..set.base.len()).map(payload).collect();
    let batch = Batch::from(set.base.clone()).with_payloads(payloads)?;
    let spec = Spec::default().k(k);
    let (keys, mut rng) = (keys(), rng());
    let index = build::in_memory(&mut rng, &keys, &spec, [Ok(batch)], &mut |_| ())?;
    let server = Server::new(index)?;
    let mut transport = InProcess::new(&server);
    let client = Client::connect(&mut transport, &keys.reader(), None)?;
    transport.take_exchanges();
    let found = client.search(&mut rng, &mut transport, set.queries.row(0))?;
    let exchanges = transport.take_exchanges();
    let mut right = 0;
    for (hit, found) in found.hits.iter().zip(&found.payloads) {
        let row = hit.id.number().and_then(|row| usize::try_from(row).ok());
        right += usize::from(row.map(payload).as_ref() == Some(found));
    }
    let (up, down) = exchanges.last().map_or((0, 0), |it| (it.up, it.down));
    let parts = client.manifest().parts()?;
    let given = parts.iter().filter(|part| part.holder.is_given());
    let of_payloads = given.filter(|part| part.kind.name().starts_with("payload"));
    let once: u64 = of_payloads.map(|part| part.len).sum();
    println!(
        "{}: payloads of {len} B for {} records ({}): {right} of {} right; downloaded \
         before {}, then {} up and {} down in the last message, {:.3} s",
        set.name,
        set.base.len(),
        client
            .manifest()
            .payloads
            .as_ref()
            .map_or("none", |payloads| payloads.fetch.kind().name()),
        found.hits.len(),
        Bytes(once),
        Bytes(up as u64),
        Bytes(down as u64),
        Duration::as_secs_f64(&found.stages.payloads),
    );
    Ok(())
}
