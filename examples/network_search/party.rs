//! Starts and ends a server process.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use sordino_net::{ClientKey, Connection, Endpoint};
use sordino_search::{Index, OwnerKeys};
use tempfile::TempDir;

/// The names of the files in the server's folder.
pub(crate) const INDEX: &str = "index.sordino";
pub(crate) const OWNER: &str = "owner.pub";
pub(crate) const CLIENT: &str = "client.pub";
pub(crate) const CHAIN: &str = "certificate.pem";
pub(crate) const CERTIFICATE_KEY: &str = "certificate.key";

/// A server process, and what a client needs to reach it.
pub(crate) struct Party {
    child: Child,
    _folder: TempDir,
    address: SocketAddr,
    metrics: SocketAddr,
    roots: String,
    key: ClientKey,
}

impl Party {
    /// Writes the files to serve, and starts a process that serves them.
    pub(crate) fn start(index: &Index, keys: &OwnerKeys) -> Result<Self, Box<dyn Error>> {
        let key = ClientKey::generate(&mut rand::rng());
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
        let folder = tempfile::tempdir()?;
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes);
        write(INDEX, &index.to_bytes())?;
        write(OWNER, &keys.public().to_bytes())?;
        write(CLIENT, key.public().to_bytes())?;
        write(CHAIN, made.cert.pem().as_bytes())?;
        write(CERTIFICATE_KEY, made.signing_key.serialize_pem().as_bytes())?;

        let mut child = Command::new(std::env::current_exe()?)
            .arg("--serve")
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().ok_or("the server has no output")?;
        let mut lines = BufReader::new(out).lines();
        let mut address = || -> Result<SocketAddr, Box<dyn Error>> {
            let line = lines
                .next()
                .ok_or("the server ended before it listened")??;
            Ok(line.parse()?)
        };
        let (address, metrics) = match (address(), address()) {
            (Ok(address), Ok(metrics)) => (address, metrics),
            (Err(error), _) | (_, Err(error)) => {
                child.kill()?;
                child.wait()?;
                return Err(error);
            }
        };
        Ok(Self {
            child,
            _folder: folder,
            address,
            metrics,
            roots: made.cert.pem(),
            key,
        })
    }

    pub(crate) fn connect(&self) -> Result<Connection, sordino_net::Error> {
        let endpoint = Endpoint::new(format!("https://{}", self.address))
            .roots(self.roots.as_bytes())
            .name("localhost")
            .key(ClientKey::from_seed(&self.key.seed()));
        Connection::open(endpoint)
    }

    /// The id of the server's process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// The server's metrics.
    pub(crate) fn metrics(&self) -> Result<String, std::io::Error> {
        let mut tcp = TcpStream::connect(self.metrics)?;
        tcp.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        tcp.read_to_string(&mut text)?;
        Ok(text)
    }

    /// Ends the server, which stops when its input ends.
    pub(crate) fn end(mut self) -> Result<(), Box<dyn Error>> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        status
            .success()
            .then_some(())
            .ok_or_else(|| format!("the server ended with {status}").into())
    }
}

impl Drop for Party {
    /// Ends the server process after any failure, too.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
