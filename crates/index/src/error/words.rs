//! Words of messages that are more than a field.

/// The most results that a search of so many vectors can have, and why.
pub(super) fn most_results(n: usize) -> String {
    match n {
        0..1024 => format!("{n}, the number of vectors"),
        _ => "1024, the most that a search can have".to_owned(),
    }
}

/// An index's id as it is printed.
pub(super) fn hex(id: &[u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
