//! Sends versions to a server, and receives versions from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pyo3::prelude::*;
use sordino_net::{ChangeSigner, Connection, Endpoint};
use sordino_search::{Error, Files, Folder, Kind, OwnerFault, Pin, Retry, SignedManifest};

use crate::compute::stoppable;
use crate::errors;
use crate::keys::{self, ClientKey, OwnerKey};

/// A pin's index, version and digest.
pub(super) type PinParts = ([u8; 16], u64, [u8; 32]);

pub(super) fn pin_of((index, version, manifest): PinParts) -> Pin {
    Pin {
        index,
        version,
        manifest,
    }
}

pub(super) fn parts_of(pin: &Pin) -> PinParts {
    (pin.index, pin.version, pin.manifest)
}

/// The settings of a connection, apart from the address.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Door {
    url: String,
    client_key: Option<Py<ClientKey>>,
    token: Option<Vec<u8>>,
    roots: Option<Vec<u8>>,
    wait: f64,
}

impl Door {
    fn endpoint(&self) -> Endpoint {
        let mut endpoint = Endpoint::new(self.url.clone());
        if let Some(key) = &self.client_key {
            endpoint = endpoint.key(Arc::clone(&key.get().0));
        }
        if let Some(token) = &self.token {
            endpoint = endpoint.token(token.clone());
        }
        match &self.roots {
            Some(roots) => endpoint.roots(roots.clone()),
            None => endpoint,
        }
    }

    fn retry(&self) -> Retry {
        Retry::all(Duration::try_from_secs_f64(self.wait).unwrap_or(Duration::MAX))
    }
}

/// Brings a directory to the server's version, or creates it. Returns the version. With a pin, versions in the directory that do
/// not follow from the pin are given up. The version must also follow from the version that an owner knows, unless there is a pin,
/// and from the version `seen` that another program with this key has read.
#[pyfunction]
pub(crate) fn pull(
    py: Python<'_>,
    path: PathBuf,
    key: &Bound<'_, PyAny>,
    door: Door,
    pin: Option<PinParts>,
    seen: Option<PinParts>,
) -> PyResult<u64> {
    let keys = keys::reader_of(key)?;
    let owner = key.cast::<OwnerKey>().ok();
    let owner = owner.map(|key| (key.get().0.clone(), Arc::clone(&key.get().1)));
    let owns = owner.is_some();
    let (pin, seen) = (pin.map(pin_of), seen.map(pin_of));
    let (endpoint, retry) = (door.endpoint(), door.retry());
    let pulled = stoppable(py, move |stop| {
        let folder = Folder::new(&path, Files);
        let known = |found: &SignedManifest| {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::transport(Kind::Local, "the call was stopped"));
            }
            let mut known: Vec<Pin> = seen.into_iter().collect();
            if let Some((_, pins)) = &owner {
                known.extend(pins.before_pull(&path, found, pin.as_ref())?);
            }
            Ok(known)
        };
        let pulled = retry.call(|| {
            let mut connection = Connection::open(endpoint.clone())?;
            sordino_search::pull(&mut connection, &keys, &folder, pin.as_ref(), known)
        })?;
        // The owner's key knows the version from here on, also if Ctrl-C came meanwhile.
        if let Some((keys, pins)) = &owner {
            pins.after_pull(Files, &path, keys)?;
        }
        Ok(pulled)
    })?;
    let pulled = pulled.map_err(|error: Error| match error {
        // This key is not the owner's: it has read the version.
        Error::Owner(OwnerFault::Undone(fault)) if !owns => errors::search(py, &fault),
        error => errors::search(py, &error),
    })?;
    Ok(pulled.version)
}

/// Brings a server's index to the newest version of a directory. Returns the version.
pub(super) fn push(
    py: Python<'_>,
    path: &Path,
    keys: impl ChangeSigner + Send + 'static,
    door: &Door,
) -> PyResult<u64> {
    let (endpoint, retry, path) = (door.endpoint(), door.retry(), path.to_owned());
    let pushed = stoppable(py, move |_| {
        retry.call(|| Connection::open(endpoint.clone())?.push(&path, &keys))
    })?;
    Ok(pushed.map_err(|error| errors::search(py, &error))?.version)
}
