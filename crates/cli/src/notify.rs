//! Messages to the service manager that started this process. They use systemd's `sd_notify`
//! protocol: one datagram to the socket that `NOTIFY_SOCKET` names.

/// Reports to the service manager, if there is one, that the service is ready.
pub(crate) fn ready() {
    say("READY=1");
}

/// Reports that the service is stopping.
pub(crate) fn stopping() {
    say("STOPPING=1");
}

/// If nothing listens there, the service continues.
#[cfg(target_os = "linux")]
fn say(state: &str) {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let address = match path.as_bytes() {
        // An abstract socket name, which has no file.
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&path),
    };
    let sent = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
    if let Err(error) = sent {
        tracing::debug!(%error, "the manager of services was not told");
    }
}

#[cfg(not(target_os = "linux"))]
fn say(_: &str) {}
