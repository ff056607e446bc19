//! A server in a process of its own.

use crate::binary::command;
use crate::place::Place;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    time::Duration,
};

/// A server in a process of its own, killed when dropped.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) address: String,
    lines: std::sync::mpsc::Receiver<Value>,
}

impl Served {
    pub(crate) fn new(args: &[String]) -> Self {
        let fixed = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let mut child = command(&fixed)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = send.send(serde_json::from_str(&line).unwrap());
            }
        });
        let mut served = Self {
            child,
            address: String::new(),
            lines,
        };
        let first = served.line();
        served.address = first["address"].as_str().unwrap().to_owned();
        served
    }

    pub(crate) fn plain(place: &Place, index: &str) -> Self {
        let open = "--key @owner.pub --plaintext --anyone";
        Self::new(&place.line(&format!("@{index} {open}")))
    }

    /// The next line of its output.
    pub(crate) fn line(&self) -> Value {
        self.lines.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
