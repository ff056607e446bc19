//! Files, each of which is there whole or not at all.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{
    ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion, WriteMultipart,
};

use crate::download::fault;
use crate::retry::{Requests, RetryPolicy};

/// Bytes from which on a file is uploaded in pieces, and bytes of such a piece: few enough for a slow line.
const PIECE: usize = 8 << 20;

/// Pieces of a file, which are longer where there would be more. S3 takes 10,000.
const PIECES: usize = 9_000;

/// Pieces that are on their way at a time.
const AHEAD: usize = 3;

/// A file that is written.
pub(crate) struct Upload<'a> {
    pub(crate) store: &'a Arc<dyn ObjectStore>,
    pub(crate) requests: &'a Requests,
    pub(crate) patience: RetryPolicy,
    pub(crate) key: Key,
}

impl Upload<'_> {
    /// Writes a small file under a condition; the version that it is then.
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

    /// Writes a file of any size, over one that is there.
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
            // Each piece has a time of its own. What was uploaded of one that fails, the bucket's rules remove.
            let sent = self.requests.run(self.patience.request, async move {
                upload.wait_for_capacity(AHEAD).await.map_err(fault)?;
                upload.put(piece);
                Ok(upload)
            });
            upload = sent?;
        }
        // The last pieces, which may all still be on their way.
        let limit = self.patience.request * 4;
        self.requests.run(limit, async move {
            upload.finish().await.map(drop).map_err(fault)
        })
    }
}
