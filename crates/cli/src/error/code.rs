//! Exit codes of errors of the crates below.

use super::{FAILURE, INTEGRITY, SERVER};
use sordino_net::Error as Net;
use sordino_search::{Error as Search, LogFault, OwnerFault};

pub(super) fn search(error: &Search) -> u8 {
    match error {
        // It says nothing of the log.
        Search::Log(LogFault::ProofFrom { .. }) => FAILURE,
        Search::Malformed { .. }
        | Search::FormatVersion { .. }
        | Search::Digest { .. }
        | Search::Signature
        | Search::Log(_)
        | Search::Rollback { .. }
        | Search::NotNext(_)
        | Search::Fork { .. }
        | Search::OtherIndex { .. }
        | Search::Gap { .. }
        | Search::Owner(OwnerFault::Undone(_) | OwnerFault::Copy { .. })
        | Search::Search
        | Search::Wrong(_) => INTEGRITY,
        Search::Transport(error) => match error.downcast_ref() {
            Some(error) => net(error),
            None => SERVER,
        },
        Search::Stale { .. } | Search::Position(..) => SERVER,
        _ => FAILURE,
    }
}

pub(super) fn token(error: &sordino_token::Error) -> u8 {
    use sordino_token::Error as Token;
    match error {
        Token::Claim { .. } | Token::Depth { .. } | Token::Raised { .. } => FAILURE,
        _ => INTEGRITY,
    }
}

pub(super) fn net(error: &Net) -> u8 {
    match error {
        Net::Connect(_)
        | Net::Unreachable(_)
        | Net::Broken(_)
        | Net::Refused(_)
        | Net::Status { .. }
        | Net::Deadline { .. }
        | Net::Overtaken => SERVER,
        Net::Reply(_) => INTEGRITY,
        Net::Shard { source, .. } => search(source),
        _ => FAILURE,
    }
}
