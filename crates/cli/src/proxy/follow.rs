//! Looks for new versions of an index that is here as a whole, for whose searches no server is asked.

use super::searcher::Shared;
use std::sync::Weak;
use std::time::{Duration, Instant};

/// The pause between two looks. It does not depend on searches, so that the server learns nothing of when they are.
const LOOK: Duration = Duration::from_secs(2);

/// Looks until the searches have ended.
pub(super) fn look(shared: &Weak<Shared>) {
    loop {
        std::thread::sleep(LOOK);
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let begun = Instant::now();
        let batch = shared.session.batch();
        // A look that fails is followed by the next.
        let looked = batch.and_then(|batch| shared.session.refresh_in(&batch.until(begun)));
        if looked.is_ok() {
            shared.notice();
        }
        shared.condition.looked(begun, looked);
    }
}
