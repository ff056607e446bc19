//! Logins, from the request to the reply.

use std::sync::Arc;

use super::admission::Call;
use super::places::Asker;
use super::rate::Reservation;
use super::rejection::Rejection;
use super::service_state::ServiceState;
use crate::Refusal;
use crate::schema::{LoginReply, LoginRequest};

impl ServiceState {
    /// Logs a client in at this instance, once the client is identified.
    pub(crate) async fn log_in(
        self: &Arc<Self>,
        call: &Call,
        instance: [u8; 32],
        request: LoginRequest,
    ) -> Result<LoginReply, Rejection> {
        let keys = self.keys.as_ref().ok_or(Refusal::Login)?;
        let admitted = if request.token.is_empty() {
            keys.admit(&instance, &request).await?
        } else {
            let (shared, request) = (Arc::clone(self), request.clone());
            let admit = move || {
                let keys = shared.keys.as_ref().ok_or(Refusal::Login)?;
                keys.admit_bearer(&instance, &request)
            };
            let admitted = blocking(admit).await?;
            // If signatures were verified without success, the next requests count as a stranger's.
            if let Err(Refusal::Token | Refusal::Rate | Refusal::Busy) = admitted {
                call.peer.doubt();
            }
            admitted?
        };
        let asker = Asker::Key(admitted.client());
        call.peer.prove(asker);
        call.begin(asker, None, Reservation::default())?;
        let (login, lifetime) = keys.log_in(admitted, &request.ciphertext)?;
        let seconds = lifetime.as_secs();
        Ok(LoginReply { login, seconds })
    }
}

/// Runs slow or file-bound work on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Refusal::Stopping)
}
