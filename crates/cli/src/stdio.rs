//! Standard input and output, which a shell closes with `<&-` and `>&-`.
//!
//! Rust's runtime opens closed streams on /dev/null before `main`. Many programs connect their children to /dev/null on
//! purpose. After `main` begins, the two cases look the same, and results would be lost without an error. So one system
//! call checks each stream before the runtime starts.

use std::io::{self, Stdin, Stdout};
use std::sync::atomic::{AtomicBool, Ordering};

static INPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

#[cfg(unix)]
ctor::declarative::ctor! {
    /// Runs before `main`. At that time, parts of the standard library that allocate or keep state must not
    /// be used.
    #[ctor(unsafe)]
    fn look() {
        use rustix::{io::fcntl_getfd, stdio};
        INPUT_CLOSED.store(fcntl_getfd(stdio::stdin()).is_err(), Ordering::Relaxed);
        OUTPUT_CLOSED.store(fcntl_getfd(stdio::stdout()).is_err(), Ordering::Relaxed);
    }
}

/// Standard input.
///
/// # Errors
/// Fails if it was closed when the process started, because reading it would return nothing.
pub(crate) fn stdin() -> io::Result<Stdin> {
    if INPUT_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other(
            "the input is closed: connect it, or name a file to read",
        ));
    }
    Ok(io::stdin())
}

/// Standard output.
///
/// # Errors
/// Fails if it was closed when the process started, because written bytes would be lost.
pub(crate) fn stdout() -> io::Result<Stdout> {
    if OUTPUT_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other(
            "the output is closed, and results would be lost: connect it, or send it to /dev/null",
        ));
    }
    Ok(io::stdout())
}
