//! Pads of masked mode that a client expands once and keeps, for clients whose cipher is slow.

use sordino_vault::pad::{KeptPads, Keystream};
use sordino_vectors::u32_of;

use super::Client;

/// The bytes of the keystream that are made in one piece.
const PIECE: usize = 4 << 20;

impl Client {
    /// Expands the pads of masked mode and keeps them while this version has them. It takes every segment whose pads still fit
    /// into `limit` bytes. Searches then multiply and need not encrypt. Returns the total of kept bytes.
    ///
    /// `keystream` makes [what it is asked for](Keystream), in little-endian words, as [`Keystream::words`] does. Other
    /// words make all replies wrong.
    pub async fn keep_pads(
        &mut self,
        limit: usize,
        mut keystream: impl AsyncFnMut(Keystream) -> Vec<u32>,
    ) -> usize {
        let Some(scorer) = self.kind.masked() else {
            return 0;
        };
        let (width, pads) = scorer.pads();
        let mut bytes = 0;
        for (pad, rows) in pads {
            let more = KeptPads::bytes(rows, width);
            if more > limit.saturating_sub(bytes) {
                continue;
            }
            bytes += more;
            if pad.kept().is_some_and(|kept| kept.rows() == rows) {
                continue;
            }
            let mut kept = KeptPads::new(rows, width);
            let piece = (PIECE / pad.keystream(0, 1, width).len).max(1);
            while kept.rows() < rows {
                let more = piece.min(rows - kept.rows());
                let asked = pad.keystream(u32_of(kept.rows()), more, width);
                let expected = asked.len / 4;
                let made = zeroize::Zeroizing::new(keystream(asked).await);
                if made.len() != expected {
                    return bytes;
                }
                kept.append(&made);
            }
            pad.keep(kept);
        }
        bytes
    }
}
