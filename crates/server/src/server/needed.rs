//! The memory that a version needs, computed before anything of it is read.

use sordino_index::Error;
use sordino_index::manifest::{COORDINATE_LEN, ENTRY_LEN, Holder, Manifest, Mode, PartKind};
use sordino_index::payload::Payloads;
use sordino_index::shard::Shard;

/// The smallest number of bytes of an encoded coordinate. Some parameter sets take 7.
const ENCODED_LEN: u64 = 5;

/// The smallest number of bytes of memory that a shard of a version needs. What a server maps (`mapped`) does not count,
/// because the system takes it back if memory is short.
pub(super) fn least(manifest: &Manifest, shard: Shard, mapped: bool) -> Result<u64, Error> {
    let parts = manifest.parts()?;
    let each = parts.iter().map(|part| match (part.kind, part.holder) {
        (PartKind::Rows, _) if mapped => 0,
        (PartKind::Rows, _) => part.len / COORDINATE_LEN as u64 * ENCODED_LEN,
        // Four entries take nine bytes in memory.
        (PartKind::Table, _) => part.len / ENTRY_LEN as u64 * 9 / 4,
        // These bytes are counted below.
        (PartKind::Payloads, Holder::Server) | (_, Holder::Owner) => 0,
        _ => part.len,
    });
    let hint = match &manifest.mode {
        Mode::Routed(mode) if !mapped => mode.grid.encoded_hint_len(),
        _ => 0,
    };
    let shared = each.fold(hint, u64::saturating_add) / u64::from(shard.of());
    // The first shard has all payloads.
    let payloads = manifest.payloads.as_ref().filter(|_| shard.is_first());
    let payloads = payloads.map_or(Ok(0), |it| of_payloads(it, mapped))?;
    Ok(shared.saturating_add(payloads))
}

/// Bytes for payloads that are not downloaded.
fn of_payloads(payloads: &Payloads, mapped: bool) -> Result<u64, Error> {
    if let Some(scan) = payloads.scan()? {
        let hint = if mapped { scan.encoded_hint_len() } else { 0 };
        return Ok(scan.memory() - hint);
    }
    if let Some(params) = payloads.pir_params()? {
        return Ok(params.rows() as u64 * params.columns() as u64);
    }
    let units = payloads.hintless_params()?;
    Ok(units.map_or(0, |params| params.server_bytes() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_index::payload::{Fetch, PageForm};
    use sordino_index::secret_packing::SecretPacking;

    #[test]
    fn payloads_take_what_is_made_of_them() {
        let form = PageForm {
            page_len: 1104,
            payloads: true,
            look: None,
        };
        let mut payloads = Payloads::new([1; 16], 1, form, 10);
        (payloads.records, payloads.pages) = (100_000, 4805);
        assert_eq!(of_payloads(&payloads, false).unwrap(), 0);
        payloads.fetch = Fetch::Scan {
            packing: SecretPacking::T64,
            copies: 0,
            seed: [2; 32],
            hint_seed: [3; 32],
            hint: [4; 32],
        };
        let table = 1120 * 4864;
        assert_eq!(of_payloads(&payloads, true).unwrap(), table);
        let hint = 7 * 1536 * 11_200;
        assert_eq!(of_payloads(&payloads, false).unwrap(), table + hint);
        if let Fetch::Scan { copies, .. } = &mut payloads.fetch {
            *copies = 5;
        }
        // 20 slots of 1,202 places each.
        assert_eq!(of_payloads(&payloads, true).unwrap(), 20 * 1120 * 1216);
        payloads.fetch = Fetch::Hintless { seed: [2; 32] };
        assert!(of_payloads(&payloads, true).unwrap() > 7 * 1120 * 4805);
    }
}
