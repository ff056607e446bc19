//! The token that a client shows to a server.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use sordino_net::ClientKey;
use sordino_search::Bytes;
use sordino_token::{Token, rfc3339};

use super::{TEXT_LEN, parse};
use crate::times::now;
use crate::{Error, files};

/// The environment variable from which clients take a token's text.
const VARIABLE: &str = "SORDINO_TOKEN";

/// A token that a client shows.
pub(crate) struct Shown {
    pub(crate) token: Token,
    /// The name of the token's file or of the variable.
    name: String,
}

/// The token from a file, or otherwise from the variable [`VARIABLE`], if that is set. A server gives few details about a
/// token that it refuses. So this reports the faults that a client can see: another holder, and a validity that does not
/// include the present time.
pub(crate) fn shown(path: Option<&Path>, key: &ClientKey) -> Result<Option<Shown>, Error> {
    let set = std::env::var_os(VARIABLE).filter(|text| !text.is_empty());
    let (name, bytes, form) = match (path, set.map(OsString::into_encoded_bytes)) {
        (Some(path), _) => {
            if parse(path.as_os_str().as_encoded_bytes()).is_ok() {
                return Err(Error::Usage(format!(
                    "--token names a file, and this is the text of a token: put the text into the variable {VARIABLE}"
                )));
            }
            let bytes = files::read(path, TEXT_LEN).map_err(Error::at(path))?;
            (path, bytes, "a file of `sordino token issue`")
        }
        (None, Some(text)) => {
            let form = "the line that `sordino token issue --text` writes";
            (Path::new(VARIABLE), Bytes::from(text), form)
        }
        (None, None) => return Ok(None),
    };
    let name = name.display().to_string();
    let token = parse(&bytes)
        .map_err(|error| Error::Usage(format!("{name}: not a token ({error}): expected {form}")))?;
    let claims = token.granted();
    if claims.holder != key.public().for_tokens() {
        let why = format!(
            "{name}: the token was made for another key, not for the client's: show it with its holder's key, or have one \
             issued for this key"
        );
        return Err(Error::Arguments(why));
    }
    let now = now();
    if !(claims.not_before..claims.expiry).contains(&now) {
        // If standard error is closed, the warning has no reader.
        let _ = writeln!(
            io::stderr(),
            "sordino: warning: {name}: the token is valid from {} to {}, and by this clock it is {}",
            rfc3339(claims.not_before),
            rfc3339(claims.expiry),
            rfc3339(now)
        );
    }
    Ok(Some(Shown { token, name }))
}

impl Shown {
    /// The token's claims as text, for a holder whom a server refused.
    pub(crate) fn words(&self) -> String {
        let claims = self.token.granted();
        let indexes: Vec<String> = claims.indexes.iter().map(hex::encode).collect();
        format!(
            "{} allows {} on index {}, for audience {:?}, from {} to {}, by the issuer with key digest {}: compare these \
             with the server's. A search takes search and download, and payload too where records have payloads",
            self.name,
            claims.actions,
            indexes.join(", "),
            claims.audience,
            rfc3339(claims.not_before),
            rfc3339(claims.expiry),
            hex::encode(self.token.issuer())
        )
    }
}
