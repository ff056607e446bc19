//! The functions that JavaScript calls.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use js_sys::Array;
use rand::SeedableRng;
use rand::rngs::{StdRng, SysRng};
use sordino_index::Pin;
use sordino_net::{IndexName, KeyFile, WebConnection};
use sordino_reader::{Client, ConnectOptions, Error, Filter, Question, ReaderKeys};
use sordino_token::Token;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use zeroize::{Zeroize, Zeroizing};

use crate::desk::{Carrier, Desk};
use crate::operation::Operation;
use crate::values::{Shown, fault, hits, id_of, object, payloads, pin_line, pin_of, told};

/// A reader of one index. It performs one call at a time, and refuses a second one meanwhile.
#[wasm_bindgen]
pub struct Reader {
    desk: Desk,
    inner: Rc<RefCell<Inner>>,
}

struct Inner {
    keys: ReaderKeys,
    client: Option<Client>,
    carrier: Carrier,
    rng: StdRng,
}

impl Inner {
    fn parts(&mut self) -> Result<(&mut Client, &mut Carrier, &mut StdRng), JsValue> {
        let closed = || {
            fault(
                "argument",
                "closed",
                "this client is not connected, or closed",
            )
        };
        let client = self.client.as_mut().ok_or_else(closed)?;
        Ok((client, &mut self.carrier, &mut self.rng))
    }
}

#[wasm_bindgen]
impl Reader {
    /// A reader with these keys, which are files of `sordino keys`, and this token.
    ///
    /// # Errors
    /// An error if a key is not valid, or of another kind, or if the platform has no randomness.
    #[wasm_bindgen(constructor)]
    pub fn new(
        reader_key: Vec<u8>,
        client_key: Option<Vec<u8>>,
        token: Option<Vec<u8>>,
        index: Option<String>,
        keeps: bool,
    ) -> Result<Self, JsValue> {
        let wrong = |which: &str, why: &str| fault("key", which, &format!("{which}: {why}"));
        let parsed = |which: &str, text: Vec<u8>| {
            KeyFile::parse(&Zeroizing::new(text)).map_err(|why| wrong(which, why))
        };
        let keys = parsed("readerKey", reader_key)?.reader();
        let keys = keys.map_err(|error| wrong("readerKey", &error.to_string()))?;
        let index = index.map(|name| IndexName::new(&name)).transpose();
        let index = index.map_err(|error| fault("argument", "index", &error.to_string()))?;
        let desk = Desk::default();
        let mut web = WebConnection::new(desk.clone(), index);
        if let Some(text) = client_key {
            let key = parsed("clientKey", text)?.client();
            web = web.key(key.map_err(|error| wrong("clientKey", &error.to_string()))?);
        }
        let token = token.unwrap_or_default();
        if !token.is_empty() {
            let wrong = |error: sordino_token::Error| {
                fault("argument", "token", &format!("token: {error}"))
            };
            Token::from_bytes(&token).map_err(wrong)?;
        }
        let rng = StdRng::try_from_rng(&mut SysRng).map_err(|error| {
            fault(
                "argument",
                "randomness",
                &format!("no randomness of the platform: {error}"),
            )
        })?;
        let carrier = Carrier {
            web: web.token(token),
            desk: desk.clone(),
            keeps,
        };
        let inner = Inner {
            keys,
            client: None,
            carrier,
            rng,
        };
        Ok(Self {
            desk,
            inner: Rc::new(RefCell::new(inner)),
        })
    }

    /// Connects: downloads what searching needs. `pin` is the last result of [`pin`](Self::pin).
    ///
    /// # Errors
    /// An error if the pin is not valid, or another call is in progress.
    pub fn connect(&self, pin: Option<String>, over_gap: bool) -> Result<Operation, JsValue> {
        let known = pin.map(|line| parsed_pin(&line)).transpose()?;
        self.operation(async move |inner: &mut Inner| {
            let options = ConnectOptions::default()
                .pin(known.as_ref())
                .over_gap(over_gap);
            let Inner { keys, carrier, .. } = inner;
            let client = Client::connect_async(carrier, keys, options).await;
            inner.client = Some(client.map_err(|error| told(&error))?);
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Updates the index to its newest version. Returns true if there was one.
    ///
    /// # Errors
    /// An error if another call is in progress.
    pub fn refresh(&self) -> Result<Operation, JsValue> {
        self.operation(async |inner: &mut Inner| {
            let (client, carrier, _) = inner.parts()?;
            let newer = client.refresh_async(carrier).await;
            let newer = newer.map_err(|error| match error {
                // No search failed here, so this is another error: callers would otherwise repeat a search and fail
                // again.
                Error::BadReply => Error::Malformed {
                    what: "new version",
                    why: "what is sealed in it does not open with this key".to_owned(),
                },
                error => error,
            });
            Ok(newer.map_err(|error| told(&error))?.into())
        })
    }

    /// Refuses a pin that another client of this index has stored, unless this client's version belongs to the same
    /// history.
    ///
    /// # Errors
    /// The errors of [`connect`](Self::connect).
    #[wasm_bindgen(js_name = checkPin)]
    pub fn check_pin(&self, pin: &str) -> Result<Operation, JsValue> {
        let pin = parsed_pin(pin)?;
        self.operation(async move |inner: &mut Inner| {
            let (client, carrier, _) = inner.parts()?;
            let checked = client.check_pin_async(carrier, &pin).await;
            checked.map_err(|error| told(&error))?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Expands the pads of this version and keeps them, in at most this number of bytes. Returns the bytes that are
    /// kept.
    ///
    /// # Errors
    /// An error if another call is in progress.
    #[wasm_bindgen(js_name = keepPads)]
    pub fn keep_pads(&self, limit: u32) -> Result<Operation, JsValue> {
        self.operation(async move |inner: &mut Inner| {
            let desk = inner.carrier.desk.clone();
            let (client, ..) = inner.parts()?;
            let kept = client.keep_pads(limit as usize, async |asked| desk.keystream(asked).await);
            Ok(JsValue::from_f64(kept.await as f64))
        })
    }

    /// Finds the records nearest to a vector.
    ///
    /// # Errors
    /// An error if the condition cannot be read, or another call is in progress.
    pub fn search(
        &self,
        vector: Vec<f32>,
        k: Option<u32>,
        threshold: Option<f32>,
        condition: Option<String>,
        payloads: bool,
        attributes: bool,
    ) -> Result<Operation, JsValue> {
        let vector = Zeroizing::new(vector);
        let filter = condition.map(|text| Filter::parse(&text)).transpose();
        let filter = filter.map_err(|error| told(&error))?;
        let shown = Shown {
            payloads,
            attributes,
        };
        self.operation(async move |inner: &mut Inner| {
            let (client, carrier, rng) = inner.parts()?;
            let mut question = Question::new(&vector);
            question.k = k.map(|k| k as usize);
            question.threshold = threshold;
            question.filter = filter.as_ref();
            let found = client.ask_async(rng, carrier, &question).await;
            let found = found.map_err(|error| told(&error))?;
            Ok(hits(client, &found, shown))
        })
    }

    /// The payloads of these records.
    ///
    /// # Errors
    /// An error if an id cannot belong to this index, or another call is in progress.
    pub fn payloads(&self, ids: &Array) -> Result<Operation, JsValue> {
        let kind = self.free()?.parts()?.0.manifest().ids;
        let ids: Result<Vec<_>, JsValue> = ids.iter().map(|id| id_of(&id, kind)).collect();
        let ids = ids?;
        self.operation(async move |inner: &mut Inner| {
            let (client, carrier, rng) = inner.parts()?;
            let found = client.payloads_async(rng, carrier, &ids).await;
            Ok(payloads(&found.map_err(|error| told(&error))?))
        })
    }

    /// The present state of the index.
    ///
    /// # Errors
    /// An error if the client is not connected, or a call is in progress.
    pub fn about(&self) -> Result<JsValue, JsValue> {
        let mut inner = self.free()?;
        let (client, ..) = inner.parts()?;
        let manifest = client.manifest();
        let number = |number: u32| JsValue::from_f64(number.into());
        let metric = format!("{:?}", manifest.metric).to_lowercase();
        let recall = client
            .recall()
            .map_or(JsValue::UNDEFINED, JsValue::from_f64);
        let about = object([
            ("mode", manifest.mode.kind().name().into()),
            ("metric", metric.into()),
            ("dim", number(manifest.dim)),
            ("k", number(manifest.k)),
            ("records", number(manifest.n)),
            ("version", js_sys::BigInt::from(manifest.version).into()),
            ("ids", manifest.ids.name().into()),
            ("payloads", manifest.has_payloads().into()),
            ("shortens", client.shortens().into()),
            ("recall", recall),
            ("bytesOnce", JsValue::from_f64(client.bytes_once() as f64)),
        ]);
        Ok(about.into())
    }

    /// The line with which the next connection continues from this version.
    ///
    /// # Errors
    /// The errors of [`about`](Self::about).
    pub fn pin(&self) -> Result<String, JsValue> {
        Ok(pin_line(&self.free()?.parts()?.0.pin()))
    }
}

impl Reader {
    /// The reader's state, if no call has it.
    fn free(&self) -> Result<RefMut<'_, Inner>, JsValue> {
        let taken = |_| fault("argument", "taken", "another call is on its way");
        self.inner.try_borrow_mut().map_err(taken)
    }

    /// A call that has the whole reader until it ends or is abandoned.
    fn operation(
        &self,
        work: impl AsyncFnOnce(&mut Inner) -> Result<JsValue, JsValue> + 'static,
    ) -> Result<Operation, JsValue> {
        drop(self.free()?);
        let inner = Rc::clone(&self.inner);
        #[expect(
            clippy::await_holding_refcell_ref,
            reason = "a call has all of the reader; others try, and are refused"
        )]
        Ok(Operation::new(&self.desk, async move {
            let taken = |_| fault("argument", "taken", "another call is on its way");
            let mut inner = inner.try_borrow_mut().map_err(taken)?;
            work(&mut inner).await
        }))
    }
}

/// The size in bytes of the stack that calls may have left secrets in: half of the stack.
const LEFT: usize = 512 << 10;

impl Drop for Inner {
    fn drop(&mut self) {
        erase_stack();
    }
}

/// Overwrites what earlier calls left on the stack. A module keeps its memory until its page ends.
#[inline(never)]
fn erase_stack() {
    let mut left = [0_u8; LEFT];
    left.zeroize();
    std::hint::black_box(&left);
}

fn parsed_pin(line: &str) -> Result<Pin, JsValue> {
    let why = "the pin is damaged: expected the line that a client gave";
    pin_of(line).ok_or_else(|| fault("argument", "pin", why))
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
