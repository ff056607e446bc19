//! Private retrieval: always the same number of items, in one message.

use std::sync::Arc;

use rand_core::CryptoRng;
use sordino_index::Error;
use sordino_index::wire::{Message, fetch};
use sordino_pir::{hintless, simple};

use crate::pir_session::{Sessions, Turn};
use crate::round::Round;
use crate::transport::Transport;
use crate::verdict::{Verdict, Wrong};

/// A way to fetch items from the server without telling which.
pub(crate) enum Retrieval {
    /// By a query for each item, with a hint.
    Simple(Box<simple::Client>),
    /// By one query for all, without one.
    Hintless(Box<hintless::Client>, Arc<Sessions>),
}

impl Retrieval {
    /// The items, in this order, by a request of this kind. The server sees the same message whichever they are.
    ///
    /// # Errors
    /// The transport's. A reply that does not belong to the request is [`Wrong`].
    pub(crate) fn fetch<R: CryptoRng + ?Sized>(
        &self,
        round: &mut Round<'_, R, impl Transport>,
        request: Message,
        items: &[usize],
    ) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
        match self {
            Self::Simple(pir) => with_hint(pir, round, request, items),
            Self::Hintless(pir, sessions) => {
                let turn = sessions.next(round.rng);
                match without_hint(pir, &turn, round, request, items) {
                    Err(Error::Session) if turn.keys.is_none() => {
                        let again = sessions.again(round.rng);
                        without_hint(pir, &again, round, request, items)
                            .inspect(|_| sessions.learn(again.session.digest()))
                    }
                    reply => reply.inspect(|_| sessions.learn(turn.session.digest())),
                }
            }
        }
    }
}

fn with_hint<R: CryptoRng + ?Sized>(
    pir: &simple::Client,
    round: &mut Round<'_, R, impl Transport>,
    request: Message,
    items: &[usize],
) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
    let (secrets, queries) = pir.query_batch(round.rng, items)?;
    let (params, count) = (pir.params(), items.len());
    let len = count * params.answer_len();
    round.ask(request, &fetch::queries(&queries), len, |body| {
        let answers = fetch::read_answers(request, params, count, body)?;
        Ok(pir.recover_batch(secrets, &answers)?)
    })
}

fn without_hint<R: CryptoRng + ?Sized>(
    pir: &hintless::Client,
    turn: &Turn,
    round: &mut Round<'_, R, impl Transport>,
    request: Message,
    items: &[usize],
) -> Result<Verdict<Vec<Vec<u8>>>, Error> {
    let (asked, query) = pir.query(round.rng, &turn.session, items)?;
    let body = fetch::query(turn.keys.as_deref(), &query);
    let params = pir.params();
    let items = round.ask(request, &body, params.answer_len(), |body| {
        let answer = hintless::Answer::from_bytes(params, body)?;
        Ok(pir.recover(&turn.session, asked, &answer)?)
    })?;
    // One that found no slot, in a request of 2^40, is as good as a wrong one.
    let items = items.map(|items| items.into_iter().collect::<Option<_>>());
    Ok(items.and_then(|items| items.ok_or(Wrong)))
}
