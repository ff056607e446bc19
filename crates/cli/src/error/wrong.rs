//! Errors after a reply that was wrong: a server knows of the error alone, and the user learns of both.

use super::{Error, INTEGRITY, code};
use sordino_search::Error as Search;

impl Error {
    /// The error of a search of which a reply was wrong before.
    pub(crate) fn after_wrong(self) -> Self {
        let then = match self {
            Self::Search(error @ (Search::Search | Search::Wrong(_))) => {
                return Self::Search(error);
            }
            Self::Search(error) | Self::Index { source: error, .. } => error,
            Self::File { path, source } => Search::File { path, source },
            // Its own words are for a file; they have it.
            Self::Memory { path, why } => Search::File {
                path,
                source: std::io::Error::other(why),
            },
            Self::Net(error) => Search::Transport(Box::new(error)),
            Self::Changing { version } => Search::Stale {
                found: version,
                serving: version,
            },
            error => return error,
        };
        Self::Search(Search::Wrong(Box::new(then)))
    }

    /// A search's outcome, unless following the index or remembering its version failed after that: a wrong reply does not hide that,
    /// and the server knows of it alone. Nor does another failure hide what the owner did not do, such as a fork.
    pub(crate) fn followed<T>(
        found: Result<T, Self>,
        followed: Result<(), Self>,
    ) -> Result<T, Self> {
        match (found, followed) {
            (found, Ok(())) => found,
            (Ok(_), Err(then)) => Err(then),
            (Err(error), Err(then))
                if error.is_unseen() || error.is_wrong() && then.is_of_the_index() =>
            {
                Err(then.after_wrong())
            }
            (Err(_), Err(then)) if then.is_of_the_index() => Err(then),
            (found, Err(_)) => found,
        }
    }

    /// The one of two errors that is told: before others what the owner did not do, then a wrong reply.
    pub(crate) fn or_graver(self, other: Self) -> Self {
        let rank = |error: &Self| (error.is_of_the_index(), error.is_wrong());
        match rank(&other) > rank(&self) {
            true => other,
            false => self,
        }
    }

    /// The server shows another index, or another history of it, than its owner has signed or this client knows, and knows that it does.
    fn is_of_the_index(&self) -> bool {
        self.seen().is_some_and(|(_, code)| code == INTEGRITY)
    }

    /// True if a reply was wrong, whatever came after it.
    pub(crate) fn is_wrong(&self) -> bool {
        matches!(self, Self::Search(Search::Search | Search::Wrong(_)))
    }

    /// The server knows nothing of it: a reply of its was wrong. Other searches go on, or it would see which one it was.
    pub(crate) fn is_unseen(&self) -> bool {
        match self {
            Self::Search(error) | Self::Index { source: error, .. } => error.seen().is_none(),
            _ => false,
        }
    }

    /// The part of an error of an index or a search that the server knows of, and its exit code.
    pub(crate) fn seen(&self) -> Option<(&Search, u8)> {
        match self {
            Self::Search(error) | Self::Index { source: error, .. } => {
                let seen = error.seen()?;
                Some((seen, code::search(seen)))
            }
            _ => None,
        }
    }

    /// The same work, done anew, may well succeed a little later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Changing { .. } => true,
            Self::Net(error) => error.is_passing(),
            // Without a wrong reply before it this is `Changing`.
            Self::Search(Search::Wrong(then)) if matches!(**then, Search::Stale { .. }) => true,
            Self::Search(error) | Self::Index { source: error, .. } => match error.seen() {
                Some(Search::Transport(error)) => error
                    .downcast_ref()
                    .is_some_and(sordino_net::Error::is_passing),
                _ => false,
            },
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_net::{Error as Net, Refusal};

    fn busy() -> Error {
        Net::Refused(Refusal::Busy).into()
    }

    #[test]
    fn after_a_wrong_reply_an_error_is_tried_again_as_without() {
        let errors = || {
            let transport = Search::Transport(Box::new(Net::Refused(Refusal::Busy)));
            [
                busy(),
                Error::Changing { version: 3 },
                Error::Search(transport),
                Error::Search(Search::Signature),
                Error::Search(Search::Search),
                Error::Interrupted,
            ]
        };
        for (error, wrong) in errors().into_iter().zip(errors()) {
            let wrong = wrong.after_wrong();
            assert_eq!(wrong.is_passing(), error.is_passing(), "{error}");
            assert_eq!(wrong.is_unseen(), error.is_unseen(), "{error}");
            let of_the_server = !matches!(error, Error::Interrupted);
            assert_eq!(wrong.is_wrong(), of_the_server, "{error}");
            assert_eq!(wrong.after_wrong().is_wrong(), of_the_server);
        }
    }

    #[test]
    fn a_wrong_reply_does_not_hide_that_following_failed() {
        let wrong = || Err::<(), _>(Error::Search(Search::Search));
        let both = Error::followed(wrong(), Err(busy())).unwrap_err();
        assert!(both.is_wrong() && !both.is_unseen() && both.is_passing());
        assert!(Error::followed(wrong(), Ok(())).unwrap_err().is_unseen());
        assert!(!Error::followed(Ok(()), Err(busy())).unwrap_err().is_wrong());
        let first = Error::followed(Err::<(), _>(busy()), wrong()).unwrap_err();
        assert!(!first.is_wrong());
    }

    /// A file of versions that cannot be written, or has a fork by now, hides no wrong reply: the proxy would search on.
    #[test]
    fn what_is_remembered_badly_hides_no_wrong_reply() {
        let path = || "pin".into();
        let source = || std::io::Error::other("full");
        let failures = [
            Error::File {
                path: path(),
                source: source(),
            },
            Error::Memory {
                path: path(),
                why: "damaged",
            },
            Error::index("pin".as_ref())(Search::Fork { version: 7 }),
        ];
        for failure in failures {
            let text = failure.to_string();
            let both = Error::followed(Err::<(), _>(Error::Search(Search::Search)), Err(failure));
            let both = both.unwrap_err();
            assert!(both.is_wrong() && !both.is_unseen(), "{text}: {both}");
        }
    }

    #[test]
    fn no_other_failure_hides_a_fork() {
        let forked = || Error::index("pin".as_ref())(Search::Fork { version: 7 });
        let all = || {
            let wrong = Error::Search(Search::Search);
            [busy(), busy().after_wrong(), wrong, Error::Interrupted]
        };
        for error in all() {
            let told = Error::followed(Err::<(), _>(error), Err(forked())).unwrap_err();
            assert!(told.to_string().contains("does not follow"), "{told}");
        }
        for (error, other) in all().into_iter().zip(all()) {
            assert!(error.or_graver(forked()).is_of_the_index());
            assert!(forked().or_graver(other).is_of_the_index());
        }
        // Before it is known what a version is, it is known that a reply is none of it.
        assert!(busy().or_graver(Error::Search(Search::Search)).is_wrong());
        assert!(!busy().or_graver(Error::Interrupted).is_wrong());
    }
}
