//! Names and lengths that both ends of a connection must use.

/// The number of bytes in each piece of a reply, except the last.
pub(crate) const CHUNK: usize = 64 << 10;

/// The largest number of bytes of a part in one step of a change.
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) const PIECE: usize = 1 << 20;

/// The metadata key of a refusal's name.
pub(crate) const REFUSAL: &str = "sordino-refusal";

/// The metadata key of the name of the index that a request is for, at a server that has several.
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) const INDEX: &str = "sordino-index";

/// The metadata key of the two versions that a server names when it refuses a stale request.
pub(crate) const STALE: &str = "sordino-stale";

/// The protocol that TLS negotiates (RFC 7301): HTTP/2.
#[cfg(feature = "tls")]
pub(crate) const ALPN: &[u8] = b"h2";

/// The protocol that a server also speaks, for gRPC-Web: HTTP/1.1.
#[cfg(all(feature = "server", feature = "tls"))]
pub(crate) const ALPN_WEB: &[u8] = b"http/1.1";
