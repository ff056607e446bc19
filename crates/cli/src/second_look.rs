//! The argument that gives searches a second look.

use clap::Args;

use crate::numbers;

/// `--second-look`, with a number of candidates or without.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Rerank this number of candidates of each search by their exact vectors, which are fetched privately. The
    /// default is 32. For masked, open and routed mode.
    #[arg(
        id = "second_look",
        long = "second-look",
        value_name = "CANDIDATES",
        num_args = 0..=1,
        default_missing_value = Self::DEFAULT,
        require_equals = true,
        value_parser = numbers::candidates
    )]
    pub(crate) candidates: Option<u32>,
}

impl Look {
    const DEFAULT: &str = "32";
}

#[cfg(test)]
mod tests {
    use super::*;
    use sordino_search::SecondLook;

    #[test]
    fn without_a_number_there_are_as_many_as_everywhere() {
        assert_eq!(Look::DEFAULT.parse(), Ok(SecondLook::CANDIDATES));
    }
}
