//! The actions that a token may allow.

use std::fmt;
use std::str::FromStr;

/// An action on an index. No action implies another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Send encrypted queries.
    Search,
    /// Fetch payloads.
    Payload,
    /// Download the parts that clients need.
    Download,
    /// Add records.
    Add,
    /// Delete records.
    Delete,
    /// Compact the index.
    Compact,
    /// Open, replace and close the index.
    Admin,
}

impl Action {
    /// All actions, in the order of their bits in a token.
    pub const ALL: [Self; 7] = [
        Self::Search,
        Self::Payload,
        Self::Download,
        Self::Add,
        Self::Delete,
        Self::Compact,
        Self::Admin,
    ];

    /// The action's name in text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Payload => "payload",
            Self::Download => "download",
            Self::Add => "add",
            Self::Delete => "delete",
            Self::Compact => "compact",
            Self::Admin => "admin",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of actions.
///
/// ```
/// use sordino_token::{Action, Actions};
///
/// let actions: Actions = "search,payload".parse()?;
/// assert!(actions.has(Action::Search) && !actions.has(Action::Add));
/// assert_eq!(actions.to_string(), "search,payload");
/// # Ok::<(), sordino_token::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Actions(u8);

impl Actions {
    /// The set of these actions.
    #[must_use]
    pub fn of(actions: &[Action]) -> Self {
        Self(actions.iter().fold(0, |bits, action| bits | action.bit()))
    }

    /// True if `action` is in the set.
    #[must_use]
    pub fn has(self, action: Action) -> bool {
        self.0 & action.bit() != 0
    }

    /// True if `other` has every action of this set.
    #[must_use]
    pub fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// True if no action is in the set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[cfg(feature = "sign")]
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// A set from its bits, or `None` if a bit does not belong to an action.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        let bits = u8::try_from(bits).ok()?;
        (bits < 1 << Action::ALL.len()).then_some(Self(bits))
    }
}

impl fmt::Display for Actions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Action::ALL.into_iter().filter(|action| self.has(*action));
        let names: Vec<&str> = names.map(Action::name).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Actions {
    type Err = crate::Error;

    /// Reads a list of names, separated by commas.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut actions = Self::default();
        for name in text.split(',') {
            let mut all = Action::ALL.into_iter();
            let action = all.find(|action| action.name() == name.trim());
            let action = action.ok_or(crate::Error::Claim {
                claim: "actions",
                expected: "names of search, payload, download, add, delete, compact, admin",
            })?;
            actions.0 |= action.bit();
        }
        Ok(actions)
    }
}
