//! The server that a command connects to.

use crate::{Error, keys};
use sordino_net::Endpoint;
use std::{fs, path::Path};

/// A server at this address, asked with this client's key, known by these root certificates and this name.
pub(crate) fn endpoint(
    address: &str,
    client_key: Option<&Path>,
    roots: Option<&Path>,
    name: Option<&str>,
) -> Result<Endpoint, Error> {
    let mut endpoint = Endpoint::new(address);
    if let Some(path) = client_key {
        endpoint = endpoint.key(keys::client(path)?);
    }
    if let Some(path) = roots {
        endpoint = endpoint.roots(fs::read(path).map_err(Error::at(path))?);
    }
    if let Some(name) = name {
        endpoint = endpoint.name(name);
    }
    Ok(endpoint)
}
