//! The web pages that may send requests, by their origins (CORS).

use std::str::FromStr;

use tonic::codegen::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ORIGIN, VARY,
};
use tonic::codegen::http::{HeaderMap, HeaderName, HeaderValue, Method};

/// The origin of pages, such as `http://localhost:3000`, compared as browsers send it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl FromStr for Origin {
    type Err = &'static str;

    /// Reads an origin in the form that browsers write: a scheme, a host in small letters and, if it is not the default, a
    /// port.
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

/// The seconds for which a browser need not ask again.
const SECONDS: HeaderValue = HeaderValue::from_static("600");

/// The pages that may ask, what they may send, and what they may read.
#[derive(Clone, Debug)]
pub struct CrossOrigin {
    origins: Vec<Origin>,
    methods: HeaderValue,
    headers: HeaderValue,
    shown: Option<HeaderValue>,
}

impl CrossOrigin {
    /// Lets pages of these origins send requests by these methods and with these headers.
    /// Without any origin, no page may ask, and answers have no headers about origins.
    #[must_use]
    pub fn new(origins: Vec<Origin>, methods: &'static str, headers: &'static str) -> Self {
        Self {
            origins,
            methods: HeaderValue::from_static(methods),
            headers: HeaderValue::from_static(headers),
            shown: None,
        }
    }

    /// Shows these headers of answers to pages, with the few that browsers always show.
    #[must_use]
    pub fn showing(mut self, headers: &'static str) -> Self {
        self.shown = Some(HeaderValue::from_static(headers));
        self
    }

    /// True if pages of this origin may ask.
    #[must_use]
    pub fn admits(&self, asked: &HeaderValue) -> bool {
        self.origins.iter().any(|origin| origin.0 == *asked)
    }

    /// The headers of the answer to a browser that asks what a page may do. `None` if the request does not ask that, or
    /// no page may do anything.
    #[must_use]
    pub fn preflight(&self, method: &Method, headers: &HeaderMap) -> Option<HeaderMap> {
        let asked = HeaderName::from_static("access-control-request-method");
        if self.origins.is_empty()
            || *method != Method::OPTIONS
            || !headers.contains_key(ORIGIN)
            || !headers.contains_key(asked)
        {
            return None;
        }
        let mut reply = HeaderMap::new();
        reply.insert(ACCESS_CONTROL_ALLOW_METHODS, self.methods.clone());
        reply.insert(ACCESS_CONTROL_ALLOW_HEADERS, self.headers.clone());
        reply.insert(ACCESS_CONTROL_MAX_AGE, SECONDS);
        // With this header, a browser asks whether a page of another site may send requests to an address of this
        // machine.
        let private = HeaderName::from_static("access-control-request-private-network");
        if headers.contains_key(private) {
            let allowed = HeaderName::from_static("access-control-allow-private-network");
            reply.insert(allowed, HeaderValue::from_static("true"));
        }
        Some(reply)
    }

    /// Says in an answer's headers that the page which asked may read it, if it is of one of these origins.
    pub fn allow(&self, asked: Option<&HeaderValue>, reply: &mut HeaderMap) {
        if self.origins.is_empty() {
            return;
        }
        reply.append(VARY, HeaderValue::from_name(ORIGIN));
        if let Some(origin) = asked.filter(|asked| self.admits(asked)) {
            reply.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            if let Some(shown) = &self.shown {
                reply.insert(ACCESS_CONTROL_EXPOSE_HEADERS, shown.clone());
            }
        }
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
