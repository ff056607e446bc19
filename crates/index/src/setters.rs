//! Methods that set one field of a value.

/// For each field of a struct, defines a method of the field's name. It takes the struct, and returns it with the
/// field changed.
///
/// ```
/// #[derive(Default)]
/// struct Choices<'a> {
///     count: usize,
///     name: Option<&'a str>,
/// }
///
/// sordino_index::setters! {
///     Choices<'a> {
///         count: usize,
///         name: Option<&'a str>,
///     }
/// }
///
/// let choices = Choices::default().count(3).name(Some("three"));
/// assert_eq!((choices.count, choices.name), (3, Some("three")));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($choices:ident $(<$lifetime:lifetime>)? { $($field:ident: $kind:ty,)* }) => {
        impl $(<$lifetime>)? $choices $(<$lifetime>)? {
            $(
                #[doc = concat!("The same choices with another `", stringify!($field), "`.")]
                #[must_use]
                pub fn $field(self, $field: $kind) -> Self {
                    Self { $field, ..self }
                }
            )*
        }
    };
}
