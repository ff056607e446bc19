//! A real server of the S3 protocol on this machine. Requests are signed, conditions hold, and uploads come in
//! pieces.

use std::path::Path;

use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;

pub(crate) const ID: &str = "AKIDEXAMPLE";
pub(crate) const SECRET: &str = "wJalrXUtnFEMI-K7MDENG";

/// Starts a server over a folder that contains the bucket. Returns its URL.
pub(crate) fn serve(folder: &Path) -> String {
    std::fs::create_dir_all(folder.join("bucket")).unwrap();
    let mut service = S3ServiceBuilder::new(FileSystem::new(folder).unwrap());
    service.set_auth(SimpleAuth::from_single(ID, SECRET));
    let service = service.build();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let service = service.clone();
                tokio::spawn(async move {
                    let server = hyper_util::server::conn::auto::Builder::new(
                        hyper_util::rt::TokioExecutor::new(),
                    );
                    let socket = hyper_util::rt::TokioIo::new(socket);
                    drop(server.serve_connection(socket, service).await);
                });
            }
        });
    });
    url
}
