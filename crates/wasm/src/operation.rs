//! One call in progress.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use js_sys::{Array, Object, Uint8Array};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use crate::desk::{Answer, Desk, Step, reply};
use crate::values::{fault, object};

type Work = Pin<Box<dyn Future<Output = Result<JsValue, JsValue>>>>;

/// One call in progress: JavaScript performs its steps one after the other, and then takes its outcome. Freeing it abandons the
/// call.
#[wasm_bindgen]
pub struct Operation {
    desk: Desk,
    work: Option<Work>,
    outcome: Option<Result<JsValue, JsValue>>,
}

impl Operation {
    pub(crate) fn new(
        desk: &Desk,
        work: impl Future<Output = Result<JsValue, JsValue>> + 'static,
    ) -> Self {
        desk.clear();
        Self {
            desk: desk.clone(),
            work: Some(Box::pin(work)),
            outcome: None,
        }
    }
}

#[wasm_bindgen]
impl Operation {
    /// Continues to the next step. Returns `undefined` if no step is left.
    ///
    /// # Errors
    /// An error if nothing was answered, or nothing is left to do.
    #[wasm_bindgen(js_name = next)]
    pub fn resume(&mut self) -> Result<JsValue, JsValue> {
        let Some(work) = &mut self.work else {
            return Err(fault("local", "", "this call is over"));
        };
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                self.work = None;
                self.outcome = Some(outcome);
                Ok(JsValue::UNDEFINED)
            }
            Poll::Pending => match self.desk.take() {
                Some(step) => Ok(described(step)),
                None => Err(fault("local", "", "the step before was not answered")),
            },
        }
    }

    /// Answers a step with an HTTP answer. Headers are pairs of a name and a value.
    pub fn reply(&self, status: u16, headers: &Array, body: Vec<u8>) {
        let headers = headers.iter().filter_map(|pair| {
            let pair: Array = pair.dyn_into().ok()?;
            Some((pair.get(0).as_string()?, pair.get(1).as_string()?))
        });
        self.desk.answer(reply(status, headers.collect(), body));
    }

    /// Answers a step that failed: `unreachable`, `broken`, `long`, or `deadline` with its milliseconds.
    pub fn failed(&self, name: String, why: String) {
        self.desk.answer(Answer::Failed { name, why });
    }

    /// Answers a step about a part.
    pub fn part(&self, part: Option<Vec<u8>>) {
        self.desk.answer(Answer::Part(part));
    }

    /// Answers a step about a keystream, in little-endian words.
    pub fn words(&self, words: Option<Vec<u32>>) {
        self.desk.answer(Answer::Words(words));
    }

    /// The outcome, after the last step.
    ///
    /// # Errors
    /// The error of the call, with a `code`.
    pub fn outcome(&mut self) -> Result<JsValue, JsValue> {
        let none = || Err(fault("local", "", "this call has no outcome yet"));
        self.outcome.take().unwrap_or_else(none)
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation").finish_non_exhaustive()
    }
}

/// A step in the form that JavaScript sees.
fn described(step: Step) -> JsValue {
    let step: Object = match step {
        Step::Post { stage, request } => object([
            ("kind", "post".into()),
            ("stage", stage.into()),
            ("call", request.call.into()),
            (
                "index",
                request
                    .index
                    .map_or(JsValue::UNDEFINED, |it| it.as_str().into()),
            ),
            ("body", Uint8Array::from(&request.body[..]).into()),
            ("limit", JsValue::from_f64(request.limit as f64)),
        ]),
        Step::Kept(digest, len) => object([
            ("kind", "kept".into()),
            ("digest", Uint8Array::from(&digest[..]).into()),
            ("length", JsValue::from_f64(len as f64)),
        ]),
        Step::Keep(digest, part) => object([
            ("kind", "keep".into()),
            ("digest", Uint8Array::from(&digest[..]).into()),
            ("body", Uint8Array::from(&part[..]).into()),
        ]),
        Step::Encrypt(asked) => object([
            ("kind", "encrypt".into()),
            ("key", Uint8Array::from(&asked.key[..]).into()),
            ("counter", Uint8Array::from(&asked.counter[..]).into()),
            ("length", JsValue::from_f64(asked.len as f64)),
        ]),
    };
    step.into()
}
