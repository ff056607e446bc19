//! The server's process: it has the index, its certificate, and the public keys. No secret of the
//! owner or of a client is here.

use std::error::Error;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;

use sordino_net::{Access, ClientPublicKey, Identity, Limits, Listen, Service};
use sordino_search::OwnerPublicKey;
use sordino_search::{Index, Server};

use crate::party::{CERTIFICATE_KEY, CHAIN, CLIENT, INDEX, OWNER};

/// Serves until the input ends, then answers what is in flight and stops.
pub(crate) fn serve(folder: &Path) -> Result<(), Box<dyn Error>> {
    let read = |name: &str| std::fs::read(folder.join(name));
    let owner = OwnerPublicKey::from_bytes(&read(OWNER)?)?;
    let index = Index::from_bytes(&read(INDEX)?, &owner)?;
    let access = Access::Keys(vec![ClientPublicKey::from_bytes(&read(CLIENT)?)?]);
    let limits = Limits::default().rate_per_key(1000.0);
    let service = Service::new(Server::new(index)?, &access, limits)?;
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let identity = Identity::from_pem(read(CHAIN)?, read(CERTIFICATE_KEY)?);
    let running = service.listen(&Listen::on(loopback).metrics(loopback).tls(identity))?;
    println!("{}", running.address());
    if let Some(metrics) = running.metrics_address() {
        println!("{metrics}");
    }
    std::io::stdin().read_to_end(&mut Vec::new())?;
    running.stop()?;
    Ok(())
}
