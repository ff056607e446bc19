//! The server's view of questions: the sizes of messages, and some of their bytes.

use crate::{Error, endpoint::endpoint, random};
use serde::Serialize;
use sordino_net::Connection;
use sordino_search::{Client, Error as Search, ReaderKeys, Transport};
use std::fmt;

/// The bytes of a message that are shown.
const SHOWN: usize = 8;

/// The server's view of some questions.
#[derive(Debug, Serialize)]
pub(super) struct Sights<'a> {
    seen: Vec<Sight<'a>>,
    /// True if all questions made messages of the same number, order and sizes.
    same_sizes: bool,
}

/// The server's view of one question; its words are shown only to the user.
#[derive(Debug, Serialize)]
struct Sight<'a> {
    question: &'a str,
    messages: Vec<Message>,
}

#[derive(Debug, Serialize)]
struct Message {
    bytes_up: usize,
    bytes_down: usize,
    /// The last bytes of the request and of the reply, in hexadecimal.
    request_ends: String,
    reply_ends: String,
}

/// A connection that records its messages.
struct Noted {
    connection: Connection,
    messages: Vec<Message>,
}

impl Transport for Noted {
    fn call(&mut self, request: &[u8], limit: usize) -> Result<Vec<u8>, Search> {
        let reply = self.connection.call(request, limit)?;
        let end = |bytes: &[u8]| hex::encode(&bytes[bytes.len().saturating_sub(SHOWN)..]);
        self.messages.push(Message {
            bytes_up: request.len(),
            bytes_down: reply.len(),
            request_ends: end(request),
            reply_ends: end(&reply),
        });
        Ok(reply)
    }
}

/// Asks each question in a separate session, and records the messages of each search.
pub(super) fn of_each<'a>(
    address: &str,
    key: &ReaderKeys,
    questions: &[(&'a str, Vec<f32>)],
) -> Result<Sights<'a>, Error> {
    let mut seen = Vec::new();
    let mut rng = random()?;
    for (question, vector) in questions {
        let mut noted = Noted {
            connection: Connection::open(endpoint(address, None, None, None)?)?,
            messages: Vec::new(),
        };
        let client = Client::connect(&mut noted, key, None)?;
        noted.messages.clear();
        client.search(&mut rng, &mut noted, vector)?;
        seen.push(Sight {
            question,
            messages: noted.messages,
        });
    }
    let sizes = |sight: &Sight<'_>| -> Vec<(usize, usize)> {
        let messages = sight.messages.iter();
        messages.map(|it| (it.bytes_up, it.bytes_down)).collect()
    };
    let same_sizes = seen.iter().all(|sight| sizes(sight) == sizes(&seen[0]));
    Ok(Sights { seen, same_sizes })
}

impl fmt::Display for Sights<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\nWhat the server saw of two questions, each in a session of its own:"
        )?;
        for sight in &self.seen {
            write!(f, "\n  {}", sight.question)?;
            for Message {
                bytes_up,
                bytes_down,
                request_ends,
                reply_ends,
            } in &sight.messages
            {
                write!(
                    f,
                    "\n    {bytes_up:>8} bytes up, ending in {request_ends}, {bytes_down:>8} bytes down, ending in {reply_ends}"
                )?;
            }
        }
        let same = match self.same_sizes {
            true => {
                "The same number of messages, of the same sizes; the bytes are encrypted with fresh secrets each time."
            }
            false => "The sizes differ, which is a fault: please report it.",
        };
        write!(f, "\n{same}")
    }
}
