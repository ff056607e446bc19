//! Searches that several threads share.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use sordino_search::Error;

use super::failed::Failed;

/// Calls `work` for each number below `count`, by one thread for each of `rooms`; the results in order, or the
/// first error that the server knows of, if there is one: a wrong reply to another call is told with it, and does not hide it. After an error that the server knows of, and when `stop` is set, each thread ends after the work that it is at:
/// that a reply was wrong ends nothing, or the server would see which.
pub(super) fn shared<S: Send, T: Send>(
    rooms: Vec<S>,
    count: usize,
    stop: &AtomicBool,
    work: impl Fn(&mut S, usize) -> Result<T, Failed> + Sync,
) -> Result<Vec<T>, Failed> {
    let next = AtomicUsize::new(0);
    let share = |mut room: S| {
        let mut done = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                break;
            }
            let result = work(&mut room, at);
            if result.as_ref().is_err_and(Failed::is_seen) {
                next.store(count, Ordering::Relaxed);
            }
            done.push((at, result));
        }
        done
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let share = &share;
        let threads: Vec<_> = rooms
            .into_iter()
            .map(|room| scope.spawn(move || share(room)))
            .collect();
        let done = threads.into_iter().map(|thread| {
            let done = thread.join();
            done.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
        });
        done.flatten().collect()
    });
    done.sort_by_key(|(at, _)| *at);
    let failed = || done.iter().filter_map(|(_, result)| result.as_ref().err());
    let seen = failed().any(Failed::is_seen);
    let wrong = failed().any(Failed::is_wrong);
    let mut all = Vec::with_capacity(count);
    for (_, result) in done {
        match result {
            Ok(found) => all.push(found),
            Err(error) if error.is_seen() == seen => {
                return Err(match wrong {
                    true => error.after_wrong(),
                    false => error,
                });
            }
            Err(_) => (),
        }
    }
    let done = all;
    if done.len() < count {
        return Err(Error::Transport("the searches were stopped".into()).into());
    }
    Ok(done)
}
