//! The advice that a build prints at its end.

use sordino_search::manifest::{Mode, Routed, Sealed};
use sordino_search::plan::Bytes;
use sordino_search::{Alternative, AnyDisk, Measurement, Store};

/// The recall of a mode that scores all records, below which a build explains the loss and says
/// what would help.
pub(super) const ENOUGH: f64 = 0.95;

/// A change of the recall that is larger than chance.
const LOST: f64 = 0.02;

/// Explains why a mode that scores all records has a low recall, and what would help.
pub(super) fn precision(recall: f64, mode: &Mode, looked: bool) -> String {
    if recall >= ENOUGH {
        return String::new();
    }
    let (why, look) = match mode {
        Mode::Local(_) => ("the rounding of stored vectors", false),
        _ => ("the noise of encrypted scores", !looked),
    };
    let mut text = format!(
        "; below {ENOUGH}: many neighbours of a vector differ by less than {why}, which grows with the vector's distance from where most lie"
    );
    if look {
        text += ". --second-look ranks the best candidates by their exact vectors";
    } else if !matches!(mode, Mode::Local(_)) {
        text += ". --mode local has the exact order of what it stores";
    }
    text + ". Coordinates that are far larger than the others may be scaled, or --metric changed"
}

/// A warning about added records.
pub(super) fn among_added(k: u32, recall: f64) -> String {
    format!(
        "\nrecall@{k} among these records: {recall:.3}; they lie far from the records of which the index was built, and \
         are stored relative to these. To find them better, build the index again from all vectors"
    )
}

/// The effect of a change on the recall, where it was measured again.
pub(super) fn after_change(before: Option<f64>, store: &Store<AnyDisk>) -> String {
    let (manifest, Some(recall)) = (store.manifest(), store.recall()) else {
        return String::new();
    };
    if before == Some(recall) {
        return String::new();
    }
    let mut text = format!("\nrecall@{} of held-out vectors: {recall:.3}", manifest.k);
    if before.is_some_and(|before| recall < before - LOST) {
        text += &format!(
            ", where it was {:.3}: records were added that are unlike those before. An index that is built again from all vectors may find more",
            before.unwrap_or_default()
        );
    }
    text + &match &manifest.mode {
        Mode::Sealed(Sealed { recall: wanted, .. })
        | Mode::Routed(Routed { recall: wanted, .. }) => {
            let wanted = f64::from(*wanted) / 1e6;
            match recall < wanted - 1e-6 {
                true => format!(
                    "; below {wanted:.3}, for which the index is planned. `sordino plan` shows the other modes"
                ),
                false => String::new(),
            }
        }
        mode => precision(recall, mode, manifest.second_look().is_some()),
    }
}

/// The meaning of a build's measurements, and what to do.
pub(super) fn advice(measured: &Measurement) -> String {
    let Measurement {
        question_recall,
        reached,
        cost,
        queries,
        instead,
        ..
    } = *measured;
    let mut text = match reached {
        true if question_recall.is_some() => String::new(),
        true => "; queries unlike the records, such as short questions, may find less: build with --questions and a file of \
            yours, and the build looks for these, too"
            .to_owned(),
        false if question_recall.is_some() => "; at least one is below what was asked for"
            .to_owned(),
        false => "; new queries may get 0.01 less, which is below what was asked for: these vectors have too little \
            structure to be searched in parts"
            .to_owned(),
    };
    match instead {
        Some(Alternative { mode, cost: other }) => {
            text += &format!(
                "\n{mode} mode scores every vector, and a client moves {} in {queries} searches instead of {}: build it with --mode {mode}",
                Bytes(other.total(queries)),
                Bytes(cost.total(queries)),
            );
        }
        None if !reached => text += ". `sordino plan` shows the other modes",
        None => (),
    }
    text
}
