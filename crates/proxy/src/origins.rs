//! The pages of browsers that may ask, by where they come from (CORS).

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, HeaderMap, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{Method, Response, StatusCode};
use std::str::FromStr;

/// The origin of pages, such as `http://localhost:3000`, compared as browsers send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl FromStr for Origin {
    type Err = &'static str;

    /// Reads an origin as browsers write it: a scheme, a host in small letters and, unless it is the scheme's own, a port.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected the origin of a page, such as http://localhost:3000 or https://app.example, without a path, \
                                in small letters; each one by its name, and no *";
        let text = text.strip_suffix('/').unwrap_or(text);
        let (scheme, host) = text.split_once("://").ok_or(EXPECTED)?;
        let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b':' | b'[' | b']' | b'_');
        let is_scheme = !scheme.is_empty()
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        if !is_scheme || host.is_empty() || !host.bytes().all(plain) {
            return Err(EXPECTED);
        }
        HeaderValue::from_str(text).map(Self).map_err(|_| EXPECTED)
    }
}

/// The headers that a page may send: of the token, and of a body of JSON.
const HEADERS: HeaderValue = HeaderValue::from_static("authorization, content-type");

/// The methods that a page may use.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, DELETE");

/// Seconds for which a browser need not ask again.
const SECONDS: HeaderValue = HeaderValue::from_static("600");

/// The answer to a browser that asks what a page may do, if it asks that.
pub(crate) fn preflight(method: &Method, headers: &HeaderMap) -> Option<Response<Full<Bytes>>> {
    let asked = HeaderName::from_static("access-control-request-method");
    if *method != Method::OPTIONS || !headers.contains_key(ORIGIN) || !headers.contains_key(asked) {
        return None;
    }
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let of_reply = reply.headers_mut();
    of_reply.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    of_reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    of_reply.insert(ACCESS_CONTROL_MAX_AGE, SECONDS);
    // A page of the web that asks an address of this machine.
    let private = HeaderName::from_static("access-control-request-private-network");
    if headers.contains_key(private) {
        let allowed = HeaderName::from_static("access-control-allow-private-network");
        of_reply.insert(allowed, HeaderValue::from_static("true"));
    }
    Some(reply)
}

/// Says that the page which asked may read the answer, if it is of one of these origins.
pub(crate) fn allow(
    origins: &[Origin],
    asked: Option<&HeaderValue>,
    reply: &mut Response<Full<Bytes>>,
) {
    if origins.is_empty() {
        return;
    }
    let headers = reply.headers_mut();
    headers.append(VARY, HeaderValue::from_name(ORIGIN));
    if let Some(Origin(origin)) = origins.iter().find(|origin| Some(&origin.0) == asked) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_named_as_browsers_do() {
        for good in [
            "http://localhost:3000",
            "https://app.example",
            "http://[::1]:8080",
            "https://app.example/",
        ] {
            assert!(good.parse::<Origin>().is_ok(), "{good}");
        }
        for wrong in [
            "*",
            "",
            "null",
            "app.example",
            "https://",
            "https://App.example",
            "https://a/b",
            "https://a b",
            "https://*.example",
        ] {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
    }
}
