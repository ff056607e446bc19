//! Tokens that programs show.

use crate::error::Error;
use rand::{TryRng, rngs::SysRng};
use std::{
    fmt,
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};
use zeroize::Zeroizing;

/// The shortest length of a token. A shorter token could be guessed.
const SHORTEST: usize = 32;

/// No token is longer than this.
const LONGEST: u64 = 4096;

/// A token, stored as its digest.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    digest: blake3::Hash,
}

impl Token {
    /// The token of a file. If the file does not exist, it is created with 64 random digits, readable only by the user.
    ///
    /// # Errors
    /// - [`Error::File`] if the file cannot be read or created
    /// - [`Error::TokenFile`] if it does not hold a token of 32 to 4,095 visible characters, or others may read or
    ///   change it
    /// - [`Error::Random`] if the system gives no random bytes
    pub fn of_file(path: &Path) -> Result<Self, Error> {
        match make(path) {
            Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                read(path)
            }
            made => made,
        }
    }

    fn new(text: &str) -> Self {
        let digest = blake3::hash(text.as_bytes());
        Self { digest }
    }

    /// True if a header shows the token. The digests are compared in constant time.
    pub(crate) fn is_shown(&self, header: Option<&[u8]>) -> bool {
        header
            .and_then(bearer)
            .is_some_and(|shown| blake3::hash(shown) == self.digest)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").finish_non_exhaustive()
    }
}

/// The token in a header. The name of a scheme is case-insensitive (RFC 9110, 11.1).
fn bearer(header: &[u8]) -> Option<&[u8]> {
    let space = header.iter().position(|byte| *byte == b' ')?;
    let (scheme, token) = header.split_at(space);
    scheme
        .eq_ignore_ascii_case(b"bearer")
        .then(|| token.trim_ascii())
}

/// A new token in a new file that only its user can read.
fn make(path: &Path) -> Result<Token, Error> {
    let mut options = File::options();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(Error::at(path))?;
    let mut bytes = Zeroizing::new([0; 32]);
    let random = SysRng.try_fill_bytes(&mut *bytes);
    random.map_err(|error| Error::Random(error.to_string()))?;
    let text = Zeroizing::new(hex::encode(*bytes));
    let written = writeln!(file, "{}", *text).and_then(|()| file.sync_all());
    // The next start would take half a token for a whole one, so this function removes the file.
    written.map_err(|error| {
        drop(fs::remove_file(path));
        Error::at(path)(error)
    })?;
    Ok(Token::new(&text))
}

fn read(path: &Path) -> Result<Token, Error> {
    let wrong = |why| Error::TokenFile {
        path: path.to_owned(),
        why,
    };
    let file = File::open(path).map_err(Error::at(path))?;
    if !file.metadata().map_err(Error::at(path))?.is_file() {
        return Err(wrong(
            "not a file: expected one with a token, or a name under which one is made",
        ));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file
            .metadata()
            .map_err(Error::at(path))?
            .permissions()
            .mode();
        if mode & 0o077 != 0 {
            return Err(wrong(
                "others can read or change this token: run chmod 600 on it, or remove it to have a new one made",
            ));
        }
    }
    let mut text = Zeroizing::new(String::new());
    let read = file.take(LONGEST + 1).read_to_string(&mut text);
    read.map_err(Error::at(path))?;
    let token = text.trim_end();
    let plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    if !plain || token.len() < SHORTEST || text.len() as u64 > LONGEST {
        return Err(wrong(
            "not a token: expected a line of 32 to 4095 visible characters of ASCII; remove it to have one made",
        ));
    }
    Ok(Token::new(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_has_no_case() {
        let token = Token::new("secret");
        for good in ["Bearer secret", "bearer secret", "BEARER  secret "] {
            assert!(token.is_shown(Some(good.as_bytes())), "{good}");
        }
        for wrong in [
            "secret",
            "Basic secret",
            "Bearer",
            "Bearer ",
            "Bearersecret",
            "Bearer secreT",
            "",
        ] {
            assert!(!token.is_shown(Some(wrong.as_bytes())), "{wrong}");
        }
        assert!(!token.is_shown(None));
    }
}
