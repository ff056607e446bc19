//! A token, as the command prints it.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sordino_token::{Claims, Token, rfc3339};

use crate::{Error, Output};

/// The token's blocks, the issuer's first.
#[derive(Serialize)]
pub(super) struct Report {
    token: PathBuf,
    bytes: usize,
    /// `issued`, `narrowed`, `verified` or `not verified`.
    state: &'static str,
    /// The BLAKE3 digest of the stated issuer's key.
    issuer: String,
    blocks: Vec<Block>,
}

#[derive(Serialize)]
struct Block {
    audience: String,
    /// The BLAKE3 digest of the holder's public key.
    holder: String,
    algorithm: &'static str,
    indexes: Vec<String>,
    actions: String,
    requests_per_minute: u32,
    /// The start of the validity, in the form of RFC 3339.
    not_before: String,
    expiry: String,
}

impl Block {
    fn of(claims: &Claims) -> Self {
        Self {
            audience: claims.audience.clone(),
            holder: hex::encode(claims.holder.id()),
            algorithm: claims.holder.algorithm().name(),
            indexes: claims.indexes.iter().map(hex::encode).collect(),
            actions: claims.actions.to_string(),
            requests_per_minute: claims.rate,
            not_before: rfc3339(claims.not_before),
            expiry: rfc3339(claims.expiry),
        }
    }

    fn lines(&self) -> [(&'static str, String); 7] {
        [
            // A token may come from an attacker, so no control character reaches the terminal.
            ("audience", self.audience.escape_debug().to_string()),
            ("holder", self.holder.clone()),
            ("holder's algorithm", self.algorithm.to_owned()),
            ("indexes", self.indexes.join(", ")),
            ("actions", self.actions.clone()),
            ("requests a minute", self.requests_per_minute.to_string()),
            (
                "valid",
                format!("from {} to {}", self.not_before, self.expiry),
            ),
        ]
    }
}

impl Report {
    pub(super) fn new(path: &Path, token: &Token, state: &'static str) -> Self {
        Self {
            token: path.to_owned(),
            bytes: token.as_bytes().len(),
            state,
            issuer: hex::encode(token.issuer()),
            blocks: token.claims().iter().map(Block::of).collect(),
        }
    }

    pub(super) fn print(&self, output: Output) -> Result<(), Error> {
        output.report(self, || self.text())
    }

    fn text(&self) -> String {
        let mut lines = vec![format!(
            "{}: a token of {} bytes, {}",
            self.token.display(),
            self.bytes,
            self.state
        )];
        lines.push(format!("{:<20} {}", "issuer", self.issuer));
        for (number, block) in self.blocks.iter().enumerate() {
            if number > 0 {
                lines.push(format!("narrowed by its holder to, {number}:"));
            }
            let block = block
                .lines()
                .map(|(name, value)| format!("{name:<20} {value}"));
            lines.extend(block);
        }
        lines.join("\n")
    }
}
