//! Values of attributes and contexts, in one canonical form.

use cedar_policy::RestrictedExpression;

use crate::Error;

/// The deepest nesting of sets and records within a value.
pub(crate) const DEPTH: usize = 32;

/// An entity's type and id, as in `Folder::"reports"`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityUid {
    type_name: Box<str>,
    id: Box<str>,
}

impl EntityUid {
    /// The entity `id` of type `type_name`, which includes namespaces: `Acme::Folder`.
    #[must_use]
    pub fn new(type_name: impl Into<Box<str>>, id: impl Into<Box<str>>) -> Self {
        let (type_name, id) = (type_name.into(), id.into());
        Self { type_name, id }
    }

    /// The name of the entity's type.
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The entity's id within its type.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Borrows the name.
    #[must_use]
    pub fn borrowed(&self) -> Uid<'_> {
        Uid::new(&self.type_name, &self.id)
    }
}

impl core::fmt::Debug for EntityUid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.borrowed().fmt(f)
    }
}

/// A borrowed [`EntityUid`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Uid<'a> {
    /// The name of the type, with its namespaces.
    pub type_name: &'a str,
    /// The id within the type.
    pub id: &'a str,
}

impl<'a> Uid<'a> {
    /// The entity `id` of type `type_name`.
    #[must_use]
    pub fn new(type_name: &'a str, id: &'a str) -> Self {
        Self { type_name, id }
    }

    /// An owned copy.
    #[must_use]
    pub fn owned(self) -> EntityUid {
        EntityUid::new(self.type_name, self.id)
    }
}

impl core::fmt::Debug for Uid<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}::{:?}", self.type_name, self.id)
    }
}

/// A value of Cedar's language.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// A 64-bit integer.
    Long(i64),
    /// A string.
    String(Box<str>),
    /// An entity.
    Entity(EntityUid),
    /// A set of values of any kinds.
    Set(Set),
    /// Named values.
    Record(Record),
    /// The call of an extension's constructor, which makes an address, a decimal, a time or a duration.
    Extension {
        /// The constructor.
        kind: Extension,
        /// The constructor's argument, as `10.0.0.0/8`.
        argument: Box<str>,
    },
}

/// The constructors of Cedar's extension types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Extension {
    /// `ip("10.0.0.0/8")`
    Ip,
    /// `decimal("1.5")`
    Decimal,
    /// `datetime("2026-11-23")`
    Datetime,
    /// `duration("1h30m")`
    Duration,
}

impl Extension {
    /// The call in Cedar's own types.
    pub(crate) fn call(self, argument: &str) -> RestrictedExpression {
        match self {
            Self::Ip => RestrictedExpression::new_ip(argument),
            Self::Decimal => RestrictedExpression::new_decimal(argument),
            Self::Datetime => RestrictedExpression::new_datetime(argument),
            Self::Duration => RestrictedExpression::new_duration(argument),
        }
    }
}

impl core::fmt::Display for Extension {
    /// Writes the constructor's name in policies.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Ip => "ip",
            Self::Decimal => "decimal",
            Self::Datetime => "datetime",
            Self::Duration => "duration",
        })
    }
}

impl Value {
    /// A string.
    #[must_use]
    pub fn string(text: impl Into<Box<str>>) -> Self {
        Self::String(text.into())
    }

    /// A set; duplicate members count once.
    ///
    /// # Errors
    /// [`Error::TooDeep`] if members are nested deeper than 31 sets and records.
    pub fn set(members: impl IntoIterator<Item = Self>) -> Result<Self, Error> {
        Set::new(members.into_iter().collect()).map(Self::Set)
    }

    /// A record.
    ///
    /// # Errors
    /// [`Error::DuplicateAttribute`] if two attributes have one name; [`Error::TooDeep`] if values are nested deeper
    /// than 31 sets and records.
    pub fn record<K: Into<Box<str>>>(
        fields: impl IntoIterator<Item = (K, Self)>,
    ) -> Result<Self, Error> {
        Record::new(fields).map(Self::Record)
    }

    fn depth(&self) -> usize {
        match self {
            Self::Set(set) => set.depth,
            Self::Record(record) => record.depth,
            _ => 0,
        }
    }

    /// True if the value contains a value of an extension type.
    pub(crate) fn has_extension(&self) -> bool {
        match self {
            Self::Set(set) => set.extension,
            Self::Record(record) => record.extension,
            Self::Extension { .. } => true,
            _ => false,
        }
    }
}

/// A set: sorted members without duplicates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Set {
    members: Box<[Value]>,
    depth: usize,
    extension: bool,
}

impl Set {
    pub(crate) fn new(mut members: Vec<Value>) -> Result<Self, Error> {
        let depth = deeper(members.iter())?;
        let extension = members.iter().any(Value::has_extension);
        members.sort_unstable();
        members.dedup();
        let members = members.into();
        Ok(Self {
            members,
            depth,
            extension,
        })
    }

    /// The members, in the order of [`Value`].
    #[must_use]
    pub fn members(&self) -> &[Value] {
        &self.members
    }

    /// True if `value` is a member.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        self.members.binary_search(value).is_ok()
    }
}

/// Named values, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    fields: Box<[(Box<str>, Value)]>,
    depth: usize,
    extension: bool,
}

impl Record {
    /// A record of these fields.
    ///
    /// # Errors
    /// [`Error::DuplicateAttribute`] if two attributes have one name; [`Error::TooDeep`] if values are nested deeper
    /// than 31 sets and records.
    pub fn new<K: Into<Box<str>>>(
        fields: impl IntoIterator<Item = (K, Value)>,
    ) -> Result<Self, Error> {
        let fields = fields.into_iter().map(|(name, value)| (name.into(), value));
        let mut fields: Vec<(Box<str>, Value)> = fields.collect();
        fields.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        if let Some(pair) = fields.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let name = pair[0].0.to_string();
            return Err(Error::DuplicateAttribute { name });
        }
        let depth = deeper(fields.iter().map(|(_, value)| value))?;
        let extension = fields.iter().any(|(_, value)| value.has_extension());
        let fields = fields.into();
        Ok(Self {
            fields,
            depth,
            extension,
        })
    }

    /// The fields, sorted by name.
    #[must_use]
    pub fn fields(&self) -> &[(Box<str>, Value)] {
        &self.fields
    }

    /// The field with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        // For short records a scan by length and bytes is faster than a binary search.
        if self.fields.len() <= 8 {
            let field = self.fields.iter().find(|(other, _)| **other == *name);
            return field.map(|(_, value)| value);
        }
        let place = self
            .fields
            .binary_search_by(|(other, _)| (**other).cmp(name));
        place.ok().map(|place| &self.fields[place].1)
    }

    pub(crate) fn has_extension(&self) -> bool {
        self.extension
    }
}

/// The depth of a set or record that contains these values.
fn deeper<'a>(values: impl Iterator<Item = &'a Value>) -> Result<usize, Error> {
    let found = 1 + values.map(Value::depth).max().unwrap_or(0);
    if found > DEPTH {
        let (what, most) = ("value", DEPTH);
        return Err(Error::TooDeep { what, found, most });
    }
    Ok(found)
}
