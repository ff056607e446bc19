//! The reason why a request failed, in the form of its answer.

use crate::error::Error;
use hyper::StatusCode;
use serde_json::{Value, json};
use sordino_reader::{Error as Search, Kind};
use std::fmt;

/// The status for a server that cannot be trusted. Gateways and libraries repeat requests after statuses of 500 and more, and
/// some after 409. They would send a lying server the request again at once, which is what it wants.
const UNTRUSTED: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Problem {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            status,
            code,
            message,
        }
    }

    /// The body of the request is wrong. The message says where, and what was expected.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", message)
    }

    /// The request does not have a token from the file of this option.
    pub(crate) fn token(option: &str) -> Self {
        let message = format!(
            "no token, or a wrong one: expected the header \"Authorization: Bearer TOKEN\", with what the file of {option} holds"
        );
        Self::new(StatusCode::UNAUTHORIZED, "token", message)
    }

    pub(crate) fn path(path: &str) -> Self {
        let path: String = path.chars().take(100).collect();
        let message = format!(
            "{path:?} is not here: expected POST /search, GET /health, GET /healthz, GET /readyz, GET /openapi.json or, \
             with --owner-key, PUT or DELETE /records, POST /records/scroll or GET /records/count"
        );
        Self::new(StatusCode::NOT_FOUND, "path", message)
    }

    pub(crate) fn query(query: &str) -> Self {
        let query: String = query.chars().take(100).collect();
        let message = format!(
            "the query string {query:?} is not read: put its values into the body, a JSON object"
        );
        Self::request(message)
    }

    pub(crate) fn method(expected: &'static str) -> Self {
        let message = format!("expected {expected}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", message)
    }

    pub(crate) fn long(most: usize) -> Self {
        let message = format!("the body has more than {most} bytes: send fewer vectors at a time");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "long", message)
    }

    pub(crate) fn busy() -> Self {
        let message = "there are too many requests at a time: ask again later";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }

    /// Another program is changing the index.
    pub(crate) fn in_use(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }

    pub(crate) fn starting() -> Self {
        let message = "the index is not here yet: the proxy is connecting to its server; ask again later, and look at its log";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "starting", message)
    }

    /// The server behind the proxy is away.
    pub(crate) fn absent() -> Self {
        let message = "the server behind this proxy cannot be reached: the proxy keeps asking for it; look at the proxy's \
            log, and whether the server of --connect runs";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server", message)
    }

    pub(crate) fn slow(seconds: u64) -> Self {
        let message = format!("no answer after {seconds} s: ask again, or raise --timeout");
        Self::new(StatusCode::GATEWAY_TIMEOUT, "slow", message)
    }

    /// The server cannot be reached, refuses the request, or sends something that is not the owner's.
    pub(crate) fn server(error: &Error) -> Self {
        if is_of_the_question(error) {
            return Self::request(error.to_string());
        }
        // Wrong questions concern only their caller, so the log leaves them out.
        tracing::warn!(%error, "a search failed");
        if matches!(error, Error::Search(error) if error.is_bad_reply()) {
            return Self::refused();
        }
        let kind = error.kind();
        let status = match kind {
            Kind::Untrusted => UNTRUSTED,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, code(kind), error.to_string())
    }

    /// The client refused a reply, in this search or in an earlier one.
    pub(crate) fn refused() -> Self {
        let message = "stop: the server's answers do not belong to the index, so do not repeat the search. A server \
            that notices refusals can forge results, so this proxy sends it no more searches. Ask the index's owner to \
            build the index again, then start the proxy again";
        Self::new(UNTRUSTED, code(Kind::Untrusted), message)
    }

    /// The reason why the proxy cannot answer searches, if the error is of a kind that waiting does not fix. Programs
    /// can read this reason without a token, so it leaves out the texts of the server and of the error. The log has
    /// these texts.
    pub(crate) fn lasting(error: &Search) -> Option<Self> {
        // If the proxy were not ready after a bad reply, a server would see by the missing searches which search it was.
        let seen = error.seen()?;
        let message = match seen {
            Search::NoReader => {
                "this key opens nothing of the index: its reader was revoked, or never granted"
            }
            Search::Gap { .. } => {
                "stop: the server does not show that its version of the index follows from the one that is known here, \
                 and may hide another history. Look at the proxy's log, and ask the index's owner; if the version is \
                 theirs, start the proxy once with --over-gap"
            }
            Search::Rollback { .. } => {
                "stop: the server has an older version than was seen before; look at the proxy's log"
            }
            Search::OtherIndex { .. } => {
                "stop: the server does not have the index that was seen before; look at the proxy's log"
            }
            seen if seen.kind() == Kind::Untrusted => {
                "stop: what the server sends is not the owner's; look at the proxy's log"
            }
            _ => return None,
        };
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Some(Self::new(status, code(seen.kind()), message))
    }

    /// The text of a JSON error, without Rust terms.
    pub(crate) fn words(error: &serde_json::Error) -> String {
        let words = error.to_string();
        let words = words.replace("expected f32", "expected a number");
        let words = words.replace("expected u64", "expected a whole number");
        let words = words.replace("expected usize", "expected a whole number");
        match words.split_once("expected struct ") {
            // The name of a type ends the phrase.
            Some((before, name)) => {
                let after = name.find(' ').map_or("", |end| &name[end..]);
                format!("{before}expected an object{after}")
            }
            None => words,
        }
    }

    /// The index, the disk or the server failed, so the proxy could not write or list records.
    pub(crate) fn owner(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "records", message)
    }

    pub(crate) fn no_owner() -> Self {
        let message = "this proxy neither writes nor lists records: start it with --owner-key, --index and \
            --write-token-file";
        Self::new(StatusCode::NOT_FOUND, "path", message)
    }

    /// The proxy itself has failed.
    pub(crate) fn ended() -> Self {
        let message = "the searches have ended: look at the proxy's log, and start it again";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "ended", message)
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn body(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message}})
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// True if the proxy detected the error before it sent anything.
fn is_of_the_question(error: &Error) -> bool {
    matches!(
        error,
        Error::Search(
            Search::Vectors(_)
                | Search::Dimension { .. }
                | Search::Results { .. }
                | Search::Filter(_),
        ) | Error::Query { .. }
    )
}

/// The error code of this kind.
fn code(kind: Kind) -> &'static str {
    match kind {
        Kind::Untrusted => "untrusted",
        _ => "server",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_net::{Error as Net, Refusal};

    #[test]
    fn a_wrong_reply_does_not_change_what_is_lasting() {
        let net = |error: fn() -> Net| Search::from(error());
        let errors = || {
            vec![
                net(|| Net::Reply("too long".to_owned())),
                net(|| Net::Refused(Refusal::Busy)),
                net(|| Net::Broken("cut".into())),
                Search::Signature,
                Search::NoReader,
                Search::Stale {
                    found: 1,
                    serving: 2,
                },
            ]
        };
        let mut lasting = 0;
        for (right, then) in errors().into_iter().zip(errors()) {
            let right = Problem::lasting(&right);
            assert_eq!(Problem::lasting(&then.after_bad_reply()), right);
            lasting += usize::from(right.is_some());
        }
        assert_eq!(lasting, 3);
        assert_eq!(Problem::lasting(&Search::BadReply), None);
    }
}
