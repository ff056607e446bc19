//! Uploads files. Each file exists completely or not at all.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{
    ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion, WriteMultipart,
};

use crate::download::fault;
use crate::retry::{Requests, RetryPolicy};

/// Files of at least this many bytes are uploaded in pieces of this size. It is small enough for a slow link.
const PIECE: usize = 8 << 20;

/// The largest number of pieces of a file. For larger files, pieces are longer. S3 accepts 10,000.
const PIECES: usize = 9_000;

/// The number of pieces that are sent at the same time.
const AHEAD: usize = 3;

/// A file that is being written.
pub(crate) struct Upload<'a> {
    pub(crate) store: &'a Arc<dyn ObjectStore>,
    pub(crate) requests: &'a Requests,
    pub(crate) patience: RetryPolicy,
    pub(crate) key: Key,
}

impl Upload<'_> {
    /// Writes a small file under a condition, and returns its version.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if the condition does not hold.
    pub(crate) fn put(&self, bytes: Vec<u8>, mode: PutMode) -> io::Result<UpdateVersion> {
        let (store, key) = (Arc::clone(self.store), self.key.clone());
        self.requests.run(self.patience.request, async move {
            let options = PutOptions::from(mode);
            let put = store.put_opts(&key, PutPayload::from(bytes), options).await;
            Ok(put.map_err(fault)?.into())
        })
    }

    /// Writes a file of any size, and replaces an existing one.
    pub(crate) fn upload(&self, bytes: Vec<u8>) -> io::Result<()> {
        if bytes.len() <= PIECE {
            return self.put(bytes, PutMode::Overwrite).map(drop);
        }
        let (store, key) = (Arc::clone(self.store), self.key.clone());
        let each = PIECE.max(bytes.len().div_ceil(PIECES));
        let begun = self.requests.run(self.patience.request, async move {
            let upload = store.put_multipart(&key).await.map_err(fault)?;
            Ok(WriteMultipart::new_with_chunk_size(upload, each))
        });
        let (mut upload, mut rest) = (begun?, Bytes::from(bytes));
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(each));
            // Each piece has its own time limit. If one fails, the bucket's rules remove the uploaded pieces.
            let sent = self.requests.run(self.patience.request, async move {
                upload.wait_for_capacity(AHEAD).await.map_err(fault)?;
                upload.put(piece);
                Ok(upload)
            });
            upload = sent?;
        }
        // All of the last pieces may still be in progress.
        let limit = self.patience.request * 4;
        self.requests.run(limit, async move {
            upload.finish().await.map(drop).map_err(fault)
        })
    }
}
