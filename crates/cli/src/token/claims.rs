//! The claims of a token, as arguments.

use std::path::PathBuf;

use clap::Args;
use sordino_token::{Action, Actions, Claims};

use crate::{Error, keys, times};

/// A token is valid from this number of seconds before its issue, for servers whose clocks are behind the issuer's.
const BACK: u64 = 60;

/// The claims of a new token.
#[derive(Args, Debug)]
pub(super) struct Wanted {
    /// The public key of the client that the token is for.
    #[arg(long, value_name = "CLIENT_PUB")]
    holder: PathBuf,
    /// The service that the token is for: the name that the server has as its --audience.
    #[arg(long)]
    audience: String,
    /// An index, by its id of 32 hex digits; may be repeated.
    #[arg(long, value_name = "ID", required = true, value_parser = index)]
    index: Vec<[u8; 16]>,
    /// Names of search, payload, download, add, delete, compact, admin, with commas between them.
    #[arg(
        long,
        value_name = "ACTIONS",
        default_value = "search,payload,download"
    )]
    allow: Actions,
    /// Requests a minute.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    #[command(flatten)]
    time: Time,
}

/// The claims of a narrowed token that replace claims of the token before.
#[derive(Args, Debug)]
pub(super) struct Changed {
    /// The public key of the client that the narrowed token is for. The default is the same client.
    #[arg(long, value_name = "CLIENT_PUB")]
    holder: Option<PathBuf>,
    /// An index, by its id of 32 hex digits; may be repeated.
    #[arg(long, value_name = "ID", value_parser = index)]
    index: Vec<[u8; 16]>,
    /// Names of search, payload, download, add, delete, compact, admin, with commas between them.
    #[arg(long, value_name = "ACTIONS")]
    allow: Option<Actions>,
    /// Requests a minute.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// The time for which the token is valid, such as 90m, 24h, 30d or 2w. The default is the time of the token
    /// before.
    #[arg(long, value_name = "TIME", value_parser = times::lifetime)]
    lifetime: Option<u64>,
    /// The time from which it is valid, such as 2026-11-27T08:30:00Z. Without this, a minute ago or, if that is later, as before.
    #[arg(long, value_name = "TIME", value_parser = times::instant)]
    not_before: Option<u64>,
}

#[derive(Args, Debug)]
struct Time {
    /// The time for which it is valid, such as 90m, 24h, 30d or 2w.
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = times::lifetime)]
    lifetime: u64,
    /// The time from which the token is valid, such as 2026-11-27T08:30:00Z. The default is a minute ago, so that a
    /// server whose clock is behind accepts it; its lifetime still counts from now.
    #[arg(long, value_name = "TIME", value_parser = times::instant)]
    not_before: Option<u64>,
}

impl Wanted {
    pub(super) fn claims(&self, now: u64) -> Result<Claims, Error> {
        let begins = self.time.not_before.unwrap_or(now);
        let not_before = self.time.not_before.unwrap_or(now.saturating_sub(BACK));
        Ok(Claims {
            audience: self.audience.clone(),
            holder: keys::client_public(&self.holder)?.for_tokens(),
            indexes: self.index.clone(),
            actions: self.allow,
            rate: self.rate,
            not_before,
            expiry: begins.saturating_add(self.time.lifetime),
        })
    }
}

impl Changed {
    pub(super) fn claims(&self, before: &Claims, now: u64) -> Result<Claims, Error> {
        let mut claims = before.clone();
        if let Some(holder) = &self.holder {
            claims.holder = keys::client_public(holder)?.for_tokens();
        }
        if !self.index.is_empty() {
            claims.indexes.clone_from(&self.index);
        }
        claims.actions = self.allow.unwrap_or(claims.actions);
        claims.rate = self.rate.unwrap_or(claims.rate);
        let earliest = now.saturating_sub(BACK).max(before.not_before);
        claims.not_before = self.not_before.unwrap_or(earliest);
        if let Some(lifetime) = self.lifetime {
            let begins = self.not_before.unwrap_or(now.max(before.not_before));
            claims.expiry = begins.saturating_add(lifetime);
        }
        Ok(claims)
    }
}

/// Parses the id of an index.
pub(super) fn index(text: &str) -> Result<[u8; 16], String> {
    let mut index = [0; 16];
    // Programs that treat an id as a UUID add hyphens.
    let digits = text.replace('-', "");
    let read = hex::decode_to_slice(digits, &mut index);
    read.map_err(|_| "expected 32 hex digits, as `sordino index info` prints them".to_owned())?;
    Ok(index)
}

/// Parses an action.
pub(super) fn action(text: &str) -> Result<Action, String> {
    let mut all = Action::ALL.into_iter();
    let names = || Action::ALL.map(Action::name).join(", ");
    let found = all.find(|action| action.name() == text);
    found.ok_or_else(|| format!("expected one of {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_32_digits() {
        assert_eq!(index(&"0f".repeat(16)), Ok([15; 16]));
        let hyphens = "0f0f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f";
        assert_eq!(index(hyphens), Ok([15; 16]));
        for wrong in ["", "0f", &"0g".repeat(16), &"0f".repeat(17)] {
            assert!(index(wrong).is_err(), "{wrong}");
        }
    }
}
