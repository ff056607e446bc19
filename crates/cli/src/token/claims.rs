//! The claims of a token, as arguments.

use std::path::PathBuf;

use clap::Args;
use sordino_token::{Action, Actions, Claims};

use crate::{Error, keys};

/// Seconds in a year, ten of which are the longest that a token may be issued for here.
const YEAR: u64 = 365 * 86_400;

/// The claims of a new token.
#[derive(Args, Debug)]
pub(super) struct Wanted {
    /// The public key of the client that the token is for.
    #[arg(long, value_name = "CLIENT_PUB")]
    holder: PathBuf,
    /// The service that the token is for: any name, which the service knows.
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

/// The claims that a narrowed token has instead of the one before it.
#[derive(Args, Debug)]
pub(super) struct Changed {
    /// The public key of the client that the narrowed token is for; the same if it is not given.
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
    /// The time from its first second on: a number and s, m, h or d. As before if it is not given.
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    lifetime: Option<u64>,
    /// The first second, since 1970, in the place of now or, if that is later, the one before.
    #[arg(long, value_name = "SECONDS")]
    not_before: Option<u64>,
}

#[derive(Args, Debug)]
struct Time {
    /// The time from its first second on: a number and s, m, h or d.
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = lifetime)]
    lifetime: u64,
    /// The first second, since 1970, in the place of now.
    #[arg(long, value_name = "SECONDS")]
    not_before: Option<u64>,
}

impl Wanted {
    pub(super) fn claims(&self, now: u64) -> Result<Claims, Error> {
        let not_before = self.time.not_before.unwrap_or(now);
        Ok(Claims {
            audience: self.audience.clone(),
            holder: keys::client_public(&self.holder)?.for_tokens(),
            indexes: self.index.clone(),
            actions: self.allow,
            rate: self.rate,
            not_before,
            expiry: not_before.saturating_add(self.time.lifetime),
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
        claims.not_before = self.not_before.unwrap_or(now.max(before.not_before));
        if let Some(lifetime) = self.lifetime {
            claims.expiry = claims.not_before.saturating_add(lifetime);
        }
        Ok(claims)
    }
}

/// The id of an index.
pub(super) fn index(text: &str) -> Result<[u8; 16], String> {
    let mut index = [0; 16];
    let read = hex::decode_to_slice(text, &mut index);
    read.map_err(|_| "expected 32 hex digits, as `sordino index info` prints them".to_owned())?;
    Ok(index)
}

/// An action.
pub(super) fn action(text: &str) -> Result<Action, String> {
    let mut all = Action::ALL.into_iter();
    let names = || Action::ALL.map(Action::name).join(", ");
    let found = all.find(|action| action.name() == text);
    found.ok_or_else(|| format!("expected one of {}", names()))
}

/// Seconds of a time such as `30d`.
fn lifetime(text: &str) -> Result<u64, String> {
    let expected = || "expected a number from 1 and s, m, h or d, ten years at most".to_owned();
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        _ => return Err(expected()),
    };
    let number: Option<u64> = text[..text.len() - 1].parse().ok();
    let seconds = number.and_then(|number| number.checked_mul(unit));
    let seconds = seconds.filter(|seconds| (1..=10 * YEAR).contains(seconds));
    seconds.ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_bounds() {
        assert_eq!(lifetime("90s"), Ok(90));
        assert_eq!(lifetime("30d"), Ok(30 * 86_400));
        assert_eq!(lifetime("3650d"), Ok(10 * YEAR));
        for wrong in [
            "",
            "d",
            "0h",
            "1",
            "1w",
            "3651d",
            "-1h",
            "1é",
            "18446744073709551615d",
        ] {
            assert!(lifetime(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_id_has_32_digits() {
        assert_eq!(index(&"0f".repeat(16)), Ok([15; 16]));
        for wrong in ["", "0f", &"0g".repeat(16), &"0f".repeat(17)] {
            assert!(index(wrong).is_err(), "{wrong}");
        }
    }
}
