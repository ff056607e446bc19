//! A client or server with another protocol or version is refused, in words that say what to do.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use sordino_net::{Connection, Endpoint, Error, Limits};
use sordino_testkit::GET_MANIFEST;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, SupportedProtocolVersion, version};

use crate::parties::{
    Certificate, certificate, connect_tls, endpoint, locked_door, message, open_door, server, set,
};
use crate::searches::http;

/// A client that has only this version of TLS and offers these protocols.
fn tls_client(
    certificate: &Certificate,
    version: &'static SupportedProtocolVersion,
    offered: &[&str],
) -> rustls::ClientConnection {
    let mut roots = RootCertStore::empty();
    let root = rustls::pki_types::CertificateDer::from_pem_slice(certificate.pem.as_bytes());
    roots.add(root.unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = offered.iter().map(|it| it.as_bytes().to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    rustls::ClientConnection::new(Arc::new(config), name).unwrap()
}

/// True if a handshake with only this version of TLS succeeds.
fn shakes(
    address: SocketAddr,
    certificate: &Certificate,
    version: &'static SupportedProtocolVersion,
) -> Result<(), rustls::Error> {
    let mut client = tls_client(certificate, version, &["h2"]);
    let mut tcp = TcpStream::connect(address).unwrap();
    while client.is_handshaking() {
        if let Err(error) = client.complete_io(&mut tcp) {
            let inner = error
                .into_inner()
                .map(|inner| inner.downcast::<rustls::Error>());
            return Err(*inner.expect("an error of TLS").expect("an error of TLS"));
        }
    }
    assert_eq!(client.protocol_version(), Some(version.version));
    Ok(())
}

#[test]
fn nothing_older_than_tls_1_3_is_spoken() {
    let set = set();
    let certificate = certificate();
    let running = locked_door(server(2, &set), &certificate);
    let address = running.address();
    assert_eq!(shakes(address, &certificate, &version::TLS13), Ok(()));
    let older = shakes(address, &certificate, &version::TLS12);
    let alert = rustls::AlertDescription::ProtocolVersion;
    assert_eq!(older, Err(rustls::Error::AlertReceived(alert)));
    let mut connection = connect_tls(&running, &certificate);
    assert!(
        connection
            .exchange(&message(GET_MANIFEST, b""), 1 << 20)
            .is_ok()
    );
}

/// HTTP/1.1 is for gRPC-Web only, so a client that offers both gets HTTP/2.
#[test]
fn http_2_is_preferred_and_http_1_1_is_there() {
    let certificate = certificate();
    let running = locked_door(server(2, &set()), &certificate);
    let chosen = |offered: &[&str]| {
        let mut client = tls_client(&certificate, &version::TLS13, offered);
        let mut tcp = TcpStream::connect(running.address()).unwrap();
        while client.is_handshaking() {
            client.complete_io(&mut tcp).unwrap();
        }
        client.alpn_protocol().map(<[u8]>::to_vec).unwrap()
    };
    assert_eq!(chosen(&["http/1.1", "h2"]), b"h2");
    assert_eq!(chosen(&["http/1.1"]), b"http/1.1");
}

/// The error of a connection that must fail.
fn why(endpoint: Endpoint) -> Error {
    let found = Connection::open(endpoint)
        .and_then(|mut connection| connection.exchange(&message(GET_MANIFEST, b""), 1 << 20));
    found.unwrap_err()
}

#[test]
fn the_wrong_scheme_is_named() {
    let set = set();
    let certificate = certificate();
    let locked = locked_door(server(2, &set), &certificate);
    let error = why(endpoint(&locked));
    // The connection may end with a reset, which discards the message.
    let text = error.to_string();
    assert!(
        text.contains("https://") || text.contains("reset"),
        "{text}"
    );

    let open = open_door(server(2, &set), Limits::default());
    let https = Endpoint::new(format!("https://{}", open.address()));
    let error = why(https.roots(certificate.pem.as_bytes()).name("localhost"));
    let text = error.to_string();
    assert!(text.contains("http://") || text.contains("reset"), "{text}");
}

/// A certificate of the kind that `openssl req -x509` makes by default.
#[test]
fn a_certificate_of_an_authority_is_refused_with_what_to_do() {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = Certificate {
        pem: params.self_signed(&key).unwrap().pem(),
        key: key.serialize_pem(),
    };
    let locked = locked_door(server(2, &set()), &certificate);
    let https = Endpoint::new(format!("https://{}", locked.address()));
    let error = why(https.roots(certificate.pem.as_bytes()).name("localhost"));
    assert!(!error.is_passing(), "{error:?}");
    assert!(error.to_string().contains("CA:FALSE"), "{error}");
}

#[test]
fn a_client_that_is_not_let_in_is_told_so() {
    let set = set();
    let limits = Limits::default().connections(1);
    let running = open_door(server(2, &set), limits);
    let _only = TcpStream::connect(running.address()).unwrap();
    crate::parties::until_metric(&running, "connections 1");
    let error = why(endpoint(&running));
    assert!(error.is_passing(), "{error}");
    assert!(
        error.to_string().contains("too many connections"),
        "{error}"
    );
}

#[test]
fn a_server_or_its_name_may_appear_later() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let error = why(Endpoint::new(format!("http://{address}")));
    assert!(error.is_passing(), "{error:?}");
    assert!(error.to_string().contains("refused"), "{error}");
    let error = why(Endpoint::new("http://nohost.invalid:7700"));
    assert!(error.is_passing(), "{error:?}");
}

#[test]
fn a_browser_gets_an_answer_that_it_can_show() {
    let running = open_door(server(2, &set()), Limits::default());
    let reply = http(running.address(), "GET", "/");
    assert!(reply.starts_with("HTTP/1.1 505"), "{reply}");
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    assert!(body.contains("gRPC over HTTP/2"), "{reply}");
    assert!(
        head.contains(&format!("Content-Length: {}", body.len())),
        "{head}"
    );
    // The server sends no reply to noise, and continues to serve.
    let mut noise = TcpStream::connect(running.address()).unwrap();
    noise.write_all(&[0xff; 100]).unwrap();
    assert!(crate::hostile_client::closes(
        &mut noise,
        std::time::Duration::from_secs(60)
    ));
    crate::hostile_client::still_serves(&running);
}
