//! Ids, hits, attributes and errors as JavaScript values.

use js_sys::{Array, BigInt, Error as JsError, Object, Reflect, Uint8Array};
use sordino_index::{Kind, Pin};
use sordino_net::Error as NetError;
use sordino_reader::{Client, Error, Found};
use sordino_vectors::column::Column;
use sordino_vectors::id::{Id, IdKind};
use wasm_bindgen::{JsCast, JsValue};

/// An object with these members.
pub(crate) fn object<const N: usize>(members: [(&str, JsValue); N]) -> Object {
    let object = Object::new();
    for (name, value) in members {
        set(&object, name, &value);
    }
    object
}

/// Sets a member of an object that this crate made. It is not frozen.
pub(crate) fn set(object: &Object, name: &str, value: &JsValue) {
    let _ = Reflect::set(object, &name.into(), value);
}

/// A JavaScript error with a code, and with a reason if there is a more specific one.
pub(crate) fn fault(code: &str, reason: &str, message: &str) -> JsValue {
    let error = JsError::new(message);
    set(&error, "code", &code.into());
    if !reason.is_empty() {
        set(&error, "reason", &reason.into());
    }
    error.into()
}

/// An error of the index, the client or the network.
pub(crate) fn told(error: &Error) -> JsValue {
    let reason = match (error.seen(), NetError::of(error)) {
        (Some(Error::Rollback { .. }), _) => "rollback",
        (Some(Error::Fork { .. }), _) => "fork",
        (Some(Error::Gap { .. }), _) => "gap",
        (Some(Error::OtherIndex { .. }), _) => "other-index",
        (Some(Error::Stale { .. }), _) => "stale",
        (Some(Error::NoReader), _) => "no-reader",
        (Some(Error::Signature), _) => "signature",
        (Some(Error::Digest { .. }), _) => "digest",
        _ if error.kind() == Kind::Restarted => "restarted",
        (_, Some(NetError::Refused(refusal))) => refusal.name(),
        (_, Some(NetError::Deadline { .. })) => "deadline",
        _ => "",
    };
    let code = match error.kind() {
        _ if error.is_bad_reply() => "bad-reply",
        Kind::Untrusted => "untrusted",
        Kind::Busy => "busy",
        Kind::Away | Kind::Restarted => "away",
        Kind::Refused => "refused",
        Kind::Stale => "stale",
        _ => "argument",
    };
    fault(code, reason, &error.to_string())
}

/// An id. A number becomes a BigInt, which JavaScript does not round.
pub(crate) fn id(id: &Id) -> JsValue {
    match id {
        Id::Number(number) => BigInt::from(*number).into(),
        other => JsValue::from(text(other)),
    }
}

fn text(id: &Id) -> String {
    match id {
        Id::Number(number) => number.to_string(),
        Id::Text(text) => text.to_string(),
        Id::Uuid(uuid) => uuid.to_string(),
    }
}

/// The id that a value stands for, in an index with ids of this kind.
pub(crate) fn id_of(value: &JsValue, kind: IdKind) -> Result<Id, JsValue> {
    let wrong = || {
        let expected = match kind {
            IdKind::Number => "a BigInt, or a number that is exact",
            _ => "a string",
        };
        fault(
            "argument",
            "id",
            &format!("an id of this index is {expected}: {value:?} is none"),
        )
    };
    match (kind, value.as_string(), value.as_f64()) {
        (IdKind::Text, Some(text), _) => Ok(Id::Text(text.into())),
        (IdKind::Uuid, Some(text), _) => kind.parse(&text).map_err(|_| wrong()),
        (IdKind::Number, None, Some(number)) if number.fract() == 0.0 && number.abs() < 9e15 => {
            let digits = format!("{number:.0}");
            kind.parse(&digits).map_err(|_| wrong())
        }
        (IdKind::Number, None, None) => {
            let number = value.clone().dyn_into::<BigInt>().map_err(|_| wrong())?;
            u64::try_from(number).map(Id::Number).map_err(|_| wrong())
        }
        _ => Err(wrong()),
    }
}

/// The options of the hits to return.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    pub(crate) payloads: bool,
    pub(crate) attributes: bool,
}

/// The hits of a search.
pub(crate) fn hits(client: &Client, found: &Found, shown: Shown) -> JsValue {
    let hits = found.hits.iter().enumerate().map(|(at, hit)| {
        let it = object([
            ("id", id(&hit.id)),
            ("score", JsValue::from_f64(hit.score.into())),
        ]);
        if let Some(payload) = found.payloads.get(at).filter(|_| shown.payloads) {
            set(&it, "payload", &Uint8Array::from(&payload[..]));
            if hit.truncated {
                set(&it, "truncated", &JsValue::TRUE);
            }
        }
        if shown.attributes {
            set(&it, "attributes", &attributes(client, &hit.id));
        }
        it
    });
    hits.collect::<Array>().into()
}

/// The attributes of a record that have values.
fn attributes(client: &Client, id: &Id) -> JsValue {
    let object = Object::new();
    let Some(attributes) = client.attributes(id) else {
        return object.into();
    };
    for (name, column) in attributes.columns() {
        let value = match column {
            Column::Int(values) => values.first().copied().flatten().map(integer),
            Column::Float(values) => values.first().copied().flatten().map(JsValue::from_f64),
            Column::Bool(values) => values.first().copied().flatten().map(JsValue::from_bool),
            Column::Text(values) | Column::Json(values) => values
                .first()
                .and_then(Option::as_deref)
                .map(JsValue::from_str),
            Column::Bytes(values) => {
                let bytes = values.first().and_then(Option::as_deref);
                bytes.map(|bytes| Uint8Array::from(bytes).into())
            }
        };
        if let Some(value) = value {
            set(&object, name, &value);
        }
    }
    object.into()
}

/// A whole number, as a BigInt if a JavaScript number would round it.
fn integer(value: i64) -> JsValue {
    const EXACT: i64 = (1 << 53) - 1;
    match (-EXACT..=EXACT).contains(&value) {
        true => JsValue::from_f64(value as f64),
        false => BigInt::from(value).into(),
    }
}

/// The payloads of named records, `undefined` for one that does not exist.
pub(crate) fn payloads(found: &[Option<Vec<u8>>]) -> JsValue {
    let values = found.iter().map(|payload| match payload {
        Some(payload) => Uint8Array::from(&payload[..]).into(),
        None => JsValue::UNDEFINED,
    });
    values.collect::<Array>().into()
}

/// A pin as a line that JavaScript stores: index, version, digest.
pub(crate) fn pin_line(pin: &Pin) -> String {
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    format!("{} {} {}", hex(&pin.index), pin.version, hex(&pin.manifest))
}

/// The pin in a line of [`pin_line`].
pub(crate) fn pin_of(line: &str) -> Option<Pin> {
    let mut words = line.split(' ');
    let (index, version, manifest) = (words.next()?, words.next()?, words.next()?);
    let pin = Pin {
        index: unhex(index)?,
        version: version.parse().ok()?,
        manifest: unhex(manifest)?,
    };
    words.next().is_none().then_some(pin)
}

fn unhex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let good = digits.len() == 2 * N && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    for (at, byte) in bytes.iter_mut().enumerate().filter(|_| good) {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    good.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_a_line_and_nothing_else_is() {
        let pin = Pin {
            index: [7; 16],
            version: u64::MAX,
            manifest: [0xab; 32],
        };
        let line = pin_line(&pin);
        assert_eq!(pin_of(&line), Some(pin));
        for wrong in [
            "",
            "7 7 7",
            &line[1..],
            &format!("{line} 1"),
            &line.replace('a', "+"),
        ] {
            assert_eq!(pin_of(wrong), None, "{wrong}");
        }
    }
}
