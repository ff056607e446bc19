//! A client that several threads search with, and that follows its index meanwhile.

use crate::Error;
use crate::patience::while_it_changes;
use sordino_search::{Client, Error as Search, Pin, Transport};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// The most attempts at a search while the index changes under it.
const ATTEMPTS: usize = 5;

/// A client, and the version that it is at.
pub(crate) struct Following {
    client: RwLock<Client>,
}

impl Following {
    pub(crate) fn new(client: Client) -> Self {
        let client = RwLock::new(client);
        Self { client }
    }

    /// The client as it is now.
    pub(crate) fn client(&self) -> RwLockReadGuard<'_, Client> {
        self.client.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client, when no thread needs it any more.
    pub(crate) fn into_client(self) -> Client {
        let client = self.client.into_inner();
        client.unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what asks the server, and does it anew, with fresh secrets, if the index has changed meanwhile.
    ///
    /// # Security
    /// It is done anew for the index's version alone, never for the query, nor for a reply that was wrong before the server said that
    /// the version is another.
    pub(crate) fn ask<T: Transport, D>(
        &self,
        transport: &mut T,
        mut work: impl FnMut(&Client, &mut T) -> Result<D, Search>,
    ) -> Result<D, Error> {
        let (mut attempt, mut wrong) = (1, false);
        loop {
            let client = self.client();
            let version = client.manifest().version;
            let error = match work(&client, transport) {
                Ok(_) if wrong => return Err(Search::Search.into()),
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            drop(client);
            wrong |= matches!(error, Search::Wrong(_));
            // A server on a network says that the version is another as it says that a message is
            // wrong, so it is asked for its manifest.
            let seen = error.seen();
            let stale = matches!(seen, Some(Search::Stale { .. }));
            let moved = stale || matches!(seen, Some(Search::Transport(_)));
            let error = Error::from(error);
            let away = error.is_passing() && !stale;
            let again = match moved && !away && attempt < ATTEMPTS {
                true => self.follow(transport, version),
                false => Ok(false),
            };
            let error = match again {
                Ok(true) => {
                    attempt += 1;
                    continue;
                }
                Ok(false) => error,
                Err(error) => error,
            };
            return Err(match wrong {
                true => error.after_wrong(),
                false => error,
            });
        }
    }

    /// Refuses a version that another process has seen, unless it is of one history with the client's.
    pub(crate) fn check_pin<T: Transport>(
        &self,
        transport: &mut T,
        other: &Pin,
    ) -> Result<(), Error> {
        let client = self.client();
        Ok(while_it_changes(|| client.check_pin(transport, other))?)
    }

    /// Asks the server for its version, and follows to it. Clients that hold all of an index ask it nothing else, so
    /// nobody else tells them.
    pub(crate) fn look<T: Transport>(&self, transport: &mut T) -> Result<(), Error> {
        let client = self.client();
        let version = client.manifest().version;
        // Searches go on while the server is asked.
        let outdated = client.is_outdated(transport)?;
        drop(client);
        if outdated {
            self.follow(transport, version)?;
        }
        Ok(())
    }

    /// Follows the index to its version now. True if that is another than `version`.
    fn follow<T: Transport>(&self, transport: &mut T, version: u64) -> Result<bool, Error> {
        let client = self.client.write();
        let mut client = client.unwrap_or_else(PoisonError::into_inner);
        // Another thread may have followed the index already.
        if client.manifest().version != version {
            return Ok(true);
        }
        let followed = while_it_changes(|| client.refresh(transport));
        Ok(followed.map_err(|error| match error {
            // It is no search that failed: others would fetch it again, and fail.
            Search::Search => Search::Malformed {
                what: "new version",
                why: "what is sealed in it does not open with this key".to_owned(),
            },
            error => error,
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patience::Patience;
    use rand::{SeedableRng, rngs::StdRng};
    use sordino_net::{Error as Net, Refusal};
    use sordino_search::{Form, InProcess, OwnerKeys, Server, Spec, build, synthetic};
    use std::time::Duration;

    /// The requests of a manifest, of scores and of a second look, as on the wire.
    const MANIFEST: u16 = 101;
    const SCORE: u16 = 105;
    const FETCH_PAYLOADS: u16 = 109;

    /// A server whose scores are wrong, or not, and that refuses the second message of the first searches, and its manifest so
    /// many times.
    struct Refusing<'a> {
        inner: InProcess<'a>,
        wrong: bool,
        refusal: fn() -> Search,
        refused: usize,
        away: usize,
        sent: Vec<u16>,
    }

    impl Transport for Refusing<'_> {
        fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Search> {
            let kind = u16::from_le_bytes([request[6], request[7]]);
            self.sent.push(kind);
            if kind == FETCH_PAYLOADS && self.refused > 0 {
                self.refused -= 1;
                return Err((self.refusal)());
            }
            if kind == MANIFEST && self.away > 0 {
                self.away -= 1;
                return Err(busy());
            }
            let mut reply = self.inner.call(request, limit)?;
            if self.wrong && kind == SCORE && self.refused > 0 {
                let last = reply.len() - 9;
                reply[last] ^= 0x55;
                reply[last - 40] ^= 0x55;
            }
            Ok(reply)
        }
    }

    fn busy() -> Search {
        Search::Transport(Box::new(Net::Refused(Refusal::Busy)))
    }

    #[test]
    fn what_is_sent_after_a_refusal_does_not_tell_of_a_wrong_reply_before_it() {
        let mut rng = StdRng::seed_from_u64(1);
        let keys = OwnerKeys::from_master([8; 32]);
        let (vectors, _) = synthetic::clustered(30_000, 1, 16, 4);
        let spec = Spec {
            k: 5,
            form: Form::Masked(sordino_search::manifest::Packing::T4),
            second_look: Some(8),
            ..Spec::default()
        };
        let index = build::in_memory(
            &mut rng,
            &keys,
            &spec,
            [Ok(vectors.clone().into())],
            &mut |_| (),
        );
        let server = Server::new(index.unwrap()).unwrap();
        let refusals: [fn() -> Search; 4] = [
            busy,
            || Search::Transport(Box::new(Net::Broken("cut".into()))),
            || Search::Transport("of no kind".into()),
            || Search::Stale {
                found: 1,
                serving: 2,
            },
        ];
        let mut succeeded = 0;
        let long = Duration::from_secs(60);
        let ways = [
            (0, long),
            (1, long),
            (3, long),
            (0, Duration::ZERO),
            (1, Duration::ZERO),
        ];
        let ways = refusals
            .iter()
            .flat_map(|refusal| ways.map(|way| (refusal, way)));
        for (&refusal, (away, wait)) in ways {
            let searched = |wrong| {
                let client =
                    Client::connect(&mut InProcess::new(&server), &keys.reader(), None).unwrap();
                let following = Following::new(client);
                let mut transport = Refusing {
                    inner: InProcess::new(&server),
                    wrong,
                    refusal,
                    refused: 2,
                    away,
                    sent: Vec::new(),
                };
                let found = Patience::new(wait).with(|| {
                    following.ask(&mut transport, |client, transport| {
                        let mut rng = StdRng::seed_from_u64(2);
                        client.search(&mut rng, transport, vectors.row(0))
                    })
                });
                (found.map(|found| found.hits), transport.sent)
            };
            let ((right, sent), (wrong, as_well)) = (searched(false), searched(true));
            assert!(sent.contains(&FETCH_PAYLOADS), "{}: {sent:?}", refusal());
            assert_eq!(sent, as_well, "{}", refusal());
            let error = wrong.expect_err("a reply was wrong");
            let text = error.to_string();
            assert!(text.contains("do not belong to this index"), "{text}");
            assert_eq!(error.exit_code(), crate::INTEGRITY, "{text}");
            if let Err(right) = &right {
                assert_eq!(error.is_passing(), right.is_passing(), "{text}");
            }
            succeeded += usize::from(right.is_ok());
        }
        // With patience busy and cut pass, and stale whatever the manifest does; what is of no kind where the manifest is refused
        // for a while.
        assert_eq!(succeeded, 10);
    }
}
