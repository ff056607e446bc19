//! A server in a process of its own.

use crate::binary::command;
use crate::place::Place;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    time::Duration,
};

const FIXED: [&str; 4] = ["serve", "--json", "--listen", "127.0.0.1:0"];

/// A server in a process of its own, killed when dropped.
pub(crate) struct Served {
    pub(crate) child: Child,
    pub(crate) address: String,
    lines: std::sync::mpsc::Receiver<Value>,
}

impl Served {
    pub(crate) fn new(args: &[String]) -> Self {
        Self::started(command(&FIXED).args(args))
    }

    /// A server over the shards of others.
    pub(crate) fn gather(place: &Place, shards: &[Self]) -> Self {
        let urls: Vec<String> = shards.iter().map(Self::url).collect();
        let fixed = ["gather", "--json", "--listen", "127.0.0.1:0", "--shards"];
        let open = place.line("--key @owner.pub --plaintext --anyone");
        Self::started(command(&fixed).arg(urls.join(",")).args(open))
    }

    /// A server whose log goes to a file.
    pub(crate) fn logged(args: &[String], log: &std::path::Path) -> Self {
        let file = std::fs::File::create(log).unwrap();
        Self::started(
            command(&FIXED)
                .args(args)
                .env_remove("RUST_LOG")
                .stderr(file),
        )
    }

    /// A server that may have no more than so many files and connections open.
    #[cfg(unix)]
    pub(crate) fn limited(args: &[String], files: u32) -> Self {
        let plain = command(&FIXED);
        let mut shell = std::process::Command::new("sh");
        let limit = format!("ulimit -n {files}; exec \"$@\"");
        shell.args(["-c", &limit, "sh"]).arg(plain.get_program());
        Self::started(shell.args(plain.get_args()).args(args))
    }

    /// A server by this command.
    pub(crate) fn started(command: &mut std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
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

    /// Makes the server read its configuration again.
    #[cfg(unix)]
    pub(crate) fn hang_up(&self) {
        let id = self.child.id().to_string();
        let kill = std::process::Command::new("kill")
            .args(["-HUP", &id])
            .status();
        assert!(kill.unwrap().success());
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
