//! One call, whose reply must arrive in time.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::time::{timeout, timeout_at};
use tonic::Request;
use tonic::transport::Channel;

use super::chunked_reply::ChunkedReply;
use crate::protocol::CHUNK;
use crate::schema::CallRequest;
use crate::schema::search_client::SearchClient;
use crate::{Deadlines, Error};

/// The size in bytes of a chunk without its content, rounded up: its tags and lengths.
const CHUNK_HEAD: usize = 64;

/// The calls over a channel.
pub(crate) fn calls(channel: Channel) -> SearchClient<Channel> {
    SearchClient::new(channel).max_decoding_message_size(CHUNK + CHUNK_HEAD)
}

/// Runs `work` on the runtime, so that the caller may block in any thread.
pub(crate) fn wait<T: Send + 'static>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let (done, result) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        // This fails only if the waiting thread has ended.
        let _ = done.send(work.await);
    });
    let gone = || Error::Connect("since the connection's thread ended".to_owned());
    result.recv().unwrap_or_else(|_| Err(gone()))
}

/// Makes one call. The reply may not be longer than `limit`, nor slower than the deadlines.
pub(crate) async fn ask(
    mut calls: SearchClient<Channel>,
    request: Request<CallRequest>,
    limit: usize,
    deadlines: Deadlines,
) -> Result<(Vec<u8>, u64), Error> {
    let whole = deadlines.whole(limit);
    let end = Instant::now() + whole;
    let receive = async {
        let mut stream = part(deadlines.part, calls.call(request))
            .await?
            .into_inner();
        let mut reply = ChunkedReply::new(limit);
        while let Some(next) = part(deadlines.part, stream.message()).await? {
            reply.push(&next)?;
        }
        reply.finish()
    };
    timeout_at(end.into(), receive)
        .await
        .map_err(|_| Error::Deadline { after: whole })?
}

/// Waits for a part of a reply, within its time limit.
async fn part<T>(
    time: Duration,
    next: impl Future<Output = Result<T, tonic::Status>>,
) -> Result<T, Error> {
    match timeout(time, next).await {
        Ok(next) => Ok(next?),
        Err(_) => Err(Error::Deadline { after: time }),
    }
}
