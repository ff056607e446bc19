//! A proxy in a process of its own, and what stands between it and its server.

use crate::binary::command;
use crate::place::Place;
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

/// A proxy in a process of its own, killed when dropped.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) address: String,
    pub(crate) token: String,
    /// The token of programs that write, if there is one.
    pub(crate) writing: String,
}

impl Proxy {
    pub(crate) fn new(place: &Place, url: &str, more: &str) -> Self {
        let mut child = start(place, url, &format!("--listen 127.0.0.1:0 {more}"));
        let mut said = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut said).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        Self {
            child,
            address: said["address"].as_str().unwrap().to_owned(),
            token: token(place, "token"),
            writing: token(place, "writing"),
        }
    }

    /// A proxy on this address, which may not have found its server yet.
    pub(crate) fn starting(place: &Place, url: &str, address: &str) -> Self {
        let child = start(place, url, &format!("--listen {address}"));
        while TcpStream::connect(address).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            child,
            address: address.to_owned(),
            token: token(place, "token"),
            writing: token(place, "writing"),
        }
    }

    /// Tells it to stop, and waits until it has: its exit code.
    pub(crate) fn stopped(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let told = std::process::Command::new("kill")
            .args(["-TERM", &id])
            .status();
        assert!(told.unwrap().success());
        let start = std::time::Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(start.elapsed().as_secs() < 20, "it does not stop");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The reply to these bytes.
    pub(crate) fn whole(&self, request: &[u8]) -> String {
        let mut tcp = TcpStream::connect(&self.address).unwrap();
        // The request may be refused before all of it is written.
        let _ = tcp.write_all(request);
        let mut reply = String::new();
        let _ = tcp.read_to_string(&mut reply);
        reply
    }

    /// The status and body of the reply to these bytes.
    pub(crate) fn send(&self, request: &[u8]) -> (u16, String) {
        let reply = self.whole(request);
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        (status.unwrap_or(0), body.to_owned())
    }

    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        token: &str,
        body: &[u8],
    ) -> (u16, String) {
        let len = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\nContent-Length: {len}\r\n\
             Connection: close\r\n\r\n"
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    pub(crate) fn search(&self, body: &[u8]) -> (u16, Value) {
        let (status, body) =
            self.request("POST", "/search", &format!("Bearer {}", self.token), body);
        (
            status,
            serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status} {body}")),
        )
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let (status, body) = self.request("GET", path, "", b"");
        (status, serde_json::from_str(&body).unwrap())
    }
}

fn start(place: &Place, url: &str, more: &str) -> Child {
    let key = match more.contains("--key ") {
        true => "",
        false => "--key @reader.key",
    };
    let line =
        format!("proxy --json --connect {url} {key} --token-file @token --cache @cache {more}");
    let mut command = command(&place.line(&line));
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// The token in a file, or nothing where there is none.
fn token(place: &Place, name: &str) -> String {
    let text = fs::read_to_string(place.path(name)).unwrap_or_default();
    text.trim().to_owned()
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A way to a server of which the first connection can be held up, and replies spoiled.
pub(crate) struct Relay {
    pub(crate) url: String,
    held: Arc<AtomicBool>,
    spoiled: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
}

impl Relay {
    pub(crate) fn new(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            held: Arc::default(),
            spoiled: Arc::default(),
            sent: Arc::default(),
        };
        let (first, spoiled) = (Arc::clone(&relay.held), Arc::clone(&relay.spoiled));
        let (server, sent) = (server.to_owned(), Arc::clone(&relay.sent));
        std::thread::spawn(move || {
            for (at, client) in listener.incoming().enumerate() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
                let held = match at {
                    0 => Arc::clone(&first),
                    _ => Arc::default(),
                };
                let (back, forth) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (spoiled, sent) = (Arc::clone(&spoiled), Arc::clone(&sent));
                let count = move |bytes: &mut [u8]| {
                    sent.fetch_add(bytes.len(), Ordering::Relaxed);
                    while held.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                };
                // A part of each long reply, within a frame.
                let spoil = move |bytes: &mut [u8]| {
                    if spoiled.load(Ordering::Relaxed) && bytes.len() > 1000 {
                        let third = bytes.len() / 3;
                        bytes[third..third + 16].fill(0x55);
                    }
                };
                std::thread::spawn(move || carry(client, forth, count));
                std::thread::spawn(move || carry(server, back, spoil));
            }
        });
        relay
    }

    pub(crate) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::Relaxed);
    }

    pub(crate) fn spoil(&self, spoiled: bool) {
        self.spoiled.store(spoiled, Ordering::Relaxed);
    }

    /// Bytes that the server was sent.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }
}

pub(crate) fn carry(mut from: TcpStream, mut to: TcpStream, mut each: impl FnMut(&mut [u8])) {
    let mut bytes = [0; 1 << 16];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        each(&mut bytes[..len]);
        if to.write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
