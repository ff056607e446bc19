//! Bounds the replies of a store that the client library reads as a whole: errors and lists.
//!
//! A store is not trusted: it could send without end, or announce a length for which there is no memory. Bodies of objects are
//! requested by range, and [counted](crate::reading) as they arrive.

use async_trait::async_trait;
use http_body_util::{BodyExt, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService, ReqwestConnector,
};

/// The largest number of bytes of a reply that is read as a whole. A list has up to 1,000 names at a time, of at most 1,024
/// bytes.
const MOST: usize = 8 << 20;

/// Makes clients whose replies are bounded.
#[derive(Debug)]
pub(crate) struct BoundedBody;

impl HttpConnector for BoundedBody {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Client(client)))
    }
}

#[derive(Debug)]
struct Client(HttpClient);

#[async_trait]
impl HttpService for Client {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let of_range = request.headers().contains_key("range");
        let (head, body) = self.0.execute(request).await?.into_parts();
        let body = match of_range && head.status.is_success() {
            true => body,
            false => {
                let long = |error| HttpError::new_boxed(HttpErrorKind::Decode, error);
                HttpResponseBody::new(Limited::new(body, MOST).map_err(long))
            }
        };
        Ok(HttpResponse::from_parts(head, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::aws::AmazonS3Builder;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt, RetryConfig};
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use tokio_stream::StreamExt;

    /// A store whose replies all have this head and an endless body. The thread returns the number of MiB of the body
    /// that were read.
    fn endless(head: &'static str) -> (String, std::thread::JoinHandle<usize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            assert!(socket.read(&mut request).unwrap() > 0);
            socket.write_all(head.as_bytes()).unwrap();
            let chunk = vec![b' '; 1 << 20];
            let sent = (0..200).take_while(|_| {
                let head = format!("{:x}\r\n", chunk.len());
                let chunked = head.as_bytes();
                let whole = [chunked, &chunk, b"\r\n"].concat();
                socket.write_all(&whole).is_ok()
            });
            sent.count()
        });
        (url, server)
    }

    #[test]
    fn replies_without_an_end_are_read_no_further_than_they_can_be() {
        drop(rustls::crypto::ring::default_provider().install_default());
        for head in [
            "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 403 Forbidden\r\nContent-Length: 70368744177664\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 70368744177664\r\n\r\n",
        ] {
            let (url, server) = endless(head);
            let store = AmazonS3Builder::new()
                .with_bucket_name("bucket")
                .with_region("us-east-1")
                .with_endpoint(url)
                .with_allow_http(true)
                .with_access_key_id("AKIDEXAMPLE")
                .with_secret_access_key("secret")
                .with_retry(RetryConfig {
                    max_retries: 0,
                    ..RetryConfig::default()
                })
                .with_http_connector(BoundedBody)
                .build()
                .unwrap();
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            let failed = runtime.block_on(async {
                match head.contains("403") {
                    true => store.get(&Path::from("CURRENT")).await.is_err(),
                    false => store.list(None).next().await.unwrap().is_err(),
                }
            });
            assert!(failed, "{head}");
            // Dropping them closes their sockets, so that no one reads on.
            drop((store, runtime));
            // Unread bytes wait in buffers.
            let taken = server.join().unwrap();
            assert!(taken < 64, "{head}: {taken} MiB");
        }
    }
}
