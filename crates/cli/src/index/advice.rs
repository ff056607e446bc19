//! The advice that a build ends with.

use sordino_search::plan::Bytes;
use sordino_search::{Instead, Measured};

/// The sense of what a build measured, and what to do. `norm` is the one that was given.
pub(super) fn advice(measured: &Measured, norm: Option<f32>) -> String {
    let Measured {
        reached,
        cost,
        queries,
        instead,
        ..
    } = *measured;
    let mut text = match reached {
        true => String::new(),
        false => "; new queries get up to .01 less, which is less than was asked for: these vectors have too \
                  little structure to be searched in parts"
            .to_owned(),
    };
    if let (false, Some(norm)) = (reached, norm) {
        text += &format!(
            ", or --norm {norm} is far above their lengths, which leaves few bits for what they differ by"
        );
    }
    match instead {
        Some(Instead { mode, cost: other }) => {
            text += &format!(
                "\n{mode} mode finds more, and a client moves {} in {queries} searches instead of {}: build it with --mode {mode}",
                Bytes(other.total(queries)),
                Bytes(cost.total(queries)),
            );
        }
        None if !reached => text += ". `sordino plan` shows the other modes",
        None => (),
    }
    text
}
