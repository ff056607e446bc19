//! The server that a command connects to.

use crate::{Error, keys, token};
use sordino_net::{ClientKey, Endpoint, Error as Net, Refusal};
use sordino_search::Error as Search;
use std::fs;
use std::path::{Path, PathBuf};

/// Arguments of the commands that connect to a server as a client, in addition to `--connect`.
#[derive(clap::Args, Debug)]
pub(crate) struct EndpointArgs {
    /// Log in with this client's key.
    #[arg(long, value_name = "CLIENT_KEY", requires = "connect")]
    client_key: Option<PathBuf>,
    /// Show the token in this file, which was issued to that client. The default is the text in the variable SORDINO_TOKEN.
    #[arg(long, value_name = "TOKEN", requires = "client_key")]
    token: Option<PathBuf>,
    /// Trust servers whose certificate is signed by one of these, in PEM. The default is what this system trusts.
    #[arg(long, value_name = "PEM", requires = "connect")]
    roots: Option<PathBuf>,
    /// The name in the server's certificate, if it differs from the URL's host.
    #[arg(long, value_name = "NAME", requires = "connect")]
    server_name: Option<String>,
    /// Connect through this proxy, http://HOST:PORT or http://USER:PASSWORD@HOST:PORT. The default for https servers
    /// on other machines is taken from HTTPS_PROXY and NO_PROXY.
    #[arg(long, value_name = "URL", requires = "connect")]
    proxy: Option<String>,
}

impl EndpointArgs {
    /// The server at this address with the settings of these arguments, and a function that adds file names
    /// to a session's errors.
    pub(crate) fn at(
        &self,
        address: &str,
    ) -> Result<(Endpoint, impl Fn(Search) -> Error + use<>), Error> {
        let roots = self.roots.as_deref();
        let key = self.client_key.as_deref().map(keys::client).transpose()?;
        let token = match &key {
            Some(key) => token::shown(self.token.as_deref(), key)?,
            None => None,
        };
        let mut endpoint = endpoint(address, key, roots, self.server_name.as_deref())?;
        endpoint = match &self.proxy {
            Some(proxy) => endpoint.proxy(proxy),
            None => endpoint.proxy_of_environment(),
        };
        if let Some(shown) = &token {
            endpoint = endpoint.token(shown.token.as_bytes());
        }
        let named = Error::session(roots.as_slice());
        let named = move |error: Search| {
            let is_refused = is_of_access(&error);
            match (named(error), &token) {
                (error, Some(shown)) if is_refused => Error::Refused {
                    source: Box::new(error),
                    token: shown.words(),
                },
                (error, _) => error,
            }
        };
        Ok((endpoint, named))
    }
}

/// True if a server refuses the requested action to this client.
fn is_of_access(error: &Search) -> bool {
    let refusals = [Refusal::Token, Refusal::Key, Refusal::Index];
    matches!(Net::of(error), Some(Net::Refused(refusal)) if refusals.contains(refusal))
}

/// A server at this address. Requests use this client's key, and the server is verified by these root
/// certificates and this name.
pub(crate) fn endpoint(
    address: &str,
    client_key: Option<ClientKey>,
    roots: Option<&Path>,
    name: Option<&str>,
) -> Result<Endpoint, Error> {
    let mut endpoint = Endpoint::new(address);
    if let Some(key) = client_key {
        endpoint = endpoint.key(key);
    }
    if let Some(path) = roots {
        endpoint = endpoint.roots(fs::read(path).map_err(Error::at(path))?);
    }
    if let Some(name) = name {
        endpoint = endpoint.name(name);
    }
    Ok(endpoint)
}
