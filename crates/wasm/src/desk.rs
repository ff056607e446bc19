//! The place where a call posts its next step and finds the answer to it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use sordino_index::digest::Digest;
use sordino_index::wire::Message;
use sordino_net::{Error, Post, WebConnection, WebReply, WebRequest};
use sordino_reader::{AsyncTransport, Keystream};

/// A step that JavaScript performs.
pub(crate) enum Step {
    /// Post a request. Its stage of a search is shown to an observer.
    Post {
        stage: &'static str,
        request: WebRequest,
    },
    /// Look for a kept part of this length.
    Kept(Digest, u64),
    /// Keep a part.
    Keep(Digest, Vec<u8>),
    /// Make a keystream of AES-256 in counter mode.
    Encrypt(Keystream),
}

/// The answer to a step.
pub(crate) enum Answer {
    /// An HTTP answer.
    Reply(WebReply),
    /// No answer came: the name of the failure, and a text.
    Failed { name: String, why: String },
    /// A part, if it was kept.
    Part(Option<Vec<u8>>),
    /// A keystream in little-endian words, if it can be made.
    Words(Option<Vec<u32>>),
}

/// The desk that a call shares with JavaScript.
#[derive(Clone, Default)]
pub(crate) struct Desk(Rc<RefCell<Papers>>);

#[derive(Default)]
struct Papers {
    step: Option<Step>,
    answer: Option<Answer>,
    stage: &'static str,
}

impl Desk {
    /// Posts a step, and waits for its answer.
    async fn done(&self, step: Step) -> Answer {
        {
            let mut papers = self.0.borrow_mut();
            papers.answer = None;
            papers.step = Some(step);
        }
        poll_fn(|_| match self.0.borrow_mut().answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        })
        .await
    }

    /// A keystream in little-endian words: of the platform's cipher, or of the one here.
    pub(crate) async fn keystream(&self, asked: Keystream) -> Vec<u32> {
        let own = Keystream {
            key: asked.key.clone(),
            ..asked
        };
        match self.done(Step::Encrypt(asked)).await {
            Answer::Words(Some(made)) if made.len() == own.len / 4 => made,
            _ => own.words(),
        }
    }

    /// Takes the posted step.
    pub(crate) fn take(&self) -> Option<Step> {
        self.0.borrow_mut().step.take()
    }

    /// Answers the step that was taken.
    pub(crate) fn answer(&self, answer: Answer) {
        self.0.borrow_mut().answer = Some(answer);
    }

    /// Removes the remains of an abandoned call.
    pub(crate) fn clear(&self) {
        *self.0.borrow_mut() = Papers::default();
    }
}

impl Post for Desk {
    async fn post(&mut self, request: WebRequest) -> Result<WebReply, Error> {
        let stage = match request.call {
            "Call" => self.0.borrow().stage,
            "Login" => "login",
            _ => "hello",
        };
        let limit = request.limit;
        match self.done(Step::Post { stage, request }).await {
            Answer::Reply(reply) if reply.body.len() <= limit => Ok(reply),
            Answer::Reply(_) => Err(Error::Reply(format!("more than {limit} bytes"))),
            Answer::Failed { name, why } => Err(failure(&name, why)),
            Answer::Part(_) | Answer::Words(_) => {
                Err(Error::Broken("a part is no answer to a request".to_owned()))
            }
        }
    }
}

/// The error for a failure of this name.
fn failure(name: &str, why: String) -> Error {
    match name {
        "unreachable" => Error::Unreachable(format!("to the server: {why}")),
        "long" => Error::Reply(why),
        "deadline" => Error::Deadline {
            after: Duration::from_millis(why.parse().unwrap_or_default()),
        },
        _ => Error::Broken(why),
    }
}

/// The transport of searches, which JavaScript performs.
pub(crate) struct Carrier {
    pub(crate) web: WebConnection<Desk>,
    pub(crate) desk: Desk,
    /// True if parts are kept.
    pub(crate) keeps: bool,
}

impl AsyncTransport for Carrier {
    async fn exchange(
        &mut self,
        request: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>, sordino_reader::Error> {
        self.desk.0.borrow_mut().stage = stage(request);
        Ok(self.web.exchange(request, limit).await?)
    }

    async fn kept(&mut self, digest: &Digest, len: u64) -> Option<Vec<u8>> {
        if !self.keeps {
            return None;
        }
        match self.desk.done(Step::Kept(*digest, len)).await {
            Answer::Part(part) => part,
            _ => None,
        }
    }

    async fn keep(&mut self, digest: &Digest, part: &[u8]) {
        if self.keeps {
            self.desk.done(Step::Keep(*digest, part.to_vec())).await;
        }
    }
}

/// The name of a message's stage.
fn stage(request: &[u8]) -> &'static str {
    match Message::read(request) {
        Ok((Message::GetManifest, _)) => "manifest",
        Ok((Message::GetHistory, _)) => "history",
        Ok((Message::GetParts, _)) => "parts",
        Ok((Message::Score, _)) => "score",
        Ok((Message::Fetch, _)) => "fetch",
        Ok((Message::FetchPayloads, _)) => "payloads",
        _ => "message",
    }
}

/// The body of an HTTP answer.
pub(crate) fn reply(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Answer {
    Answer::Reply(WebReply {
        status,
        headers,
        body: Bytes::from(body),
    })
}
