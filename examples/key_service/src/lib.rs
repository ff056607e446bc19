//! A key service for owners and readers: [`KeyWrap`] by a key that never leaves a token behind PKCS #11. Services in a cloud
//! have the same two calls.
//!
//! The test runs against SoftHSM, where it is installed (Debian's `softhsm2`).

use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;
use sordino_vault::{KeyWrap, KeyWrapError};
use zeroize::Zeroizing;

/// A key in a token that wraps other keys.
#[derive(Debug)]
pub struct TokenKey {
    session: Session,
    key: ObjectHandle,
}

impl TokenKey {
    /// Finds the token's wrapping key with this label, in a session that is logged in.
    ///
    /// # Errors
    /// Fails if there is no such key, or the token does not answer.
    pub fn find(session: Session, label: &str) -> Result<Self, KeyWrapError> {
        let wanted = [
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::Label(label.into()),
            Attribute::Wrap(true),
            Attribute::Unwrap(true),
        ];
        let found = session.find_objects(&wanted).map_err(failed)?;
        let key = found.first().copied();
        let none = || KeyWrapError(format!("the token has no wrapping key {label}").into());
        Ok(Self {
            key: key.ok_or_else(none)?,
            session,
        })
    }

    /// Generates a new 256-bit wrapping key in the token, which it never leaves.
    ///
    /// # Errors
    /// Fails if the token cannot generate a key.
    pub fn generate(session: Session, label: &str) -> Result<Self, KeyWrapError> {
        let template = [
            Attribute::Token(true),
            Attribute::Private(true),
            Attribute::Sensitive(true),
            Attribute::Extractable(false),
            Attribute::Wrap(true),
            Attribute::Unwrap(true),
            Attribute::ValueLen(32.into()),
            Attribute::Label(label.into()),
        ];
        let key = session.generate_key(&Mechanism::AesKeyGen, &template);
        Ok(Self {
            key: key.map_err(failed)?,
            session,
        })
    }

    /// The attributes of a key that stays in the token only during one call.
    fn passing() -> [Attribute; 6] {
        [
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::KeyType(KeyType::GENERIC_SECRET),
            Attribute::Token(false),
            Attribute::Private(true),
            Attribute::Sensitive(false),
            Attribute::Extractable(true),
        ]
    }
}

impl KeyWrap for TokenKey {
    fn wrap(&self, secret: &[u8]) -> Result<Vec<u8>, KeyWrapError> {
        let mut template = Self::passing().to_vec();
        template.push(Attribute::Value(secret.to_vec()));
        let passing = self.session.create_object(&template).map_err(failed)?;
        if let Some(Attribute::Value(copy)) = template.last_mut() {
            zeroize::Zeroize::zeroize(copy);
        }
        let wrapped = self
            .session
            .wrap_key(&Mechanism::AesKeyWrap, self.key, passing);
        self.session.destroy_object(passing).map_err(failed)?;
        wrapped.map_err(failed)
    }

    fn unwrap(&self, wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyWrapError> {
        let (template, mechanism) = (Self::passing(), Mechanism::AesKeyWrap);
        let passing = self
            .session
            .unwrap_key(&mechanism, self.key, wrapped, &template);
        let passing = passing.map_err(failed)?;
        let read = self
            .session
            .get_attributes(passing, &[AttributeType::Value]);
        self.session.destroy_object(passing).map_err(failed)?;
        let value = read.map_err(failed)?.into_iter().find_map(|it| match it {
            Attribute::Value(value) => Some(Zeroizing::new(value)),
            _ => None,
        });
        value.ok_or_else(|| KeyWrapError("the token does not give what was wrapped".into()))
    }
}

fn failed(error: cryptoki::error::Error) -> KeyWrapError {
    KeyWrapError(Box::new(error))
}
