//! The certificate of a running server: it is reloaded when its files change, and a warning is given before it expires.

use crate::Error;
use crate::door::Door;
use sordino_net::{Identity, Running};
use std::time::{Duration, Instant, SystemTime};

/// The time between two checks of the files.
const LOOK: Duration = Duration::from_secs(2);

/// The time between two warnings.
const DAY: Duration = Duration::from_secs(86_400);

/// A warning is given if a certificate expires within this time.
const SOON: Duration = Duration::from_secs(30 * 86_400);

/// Watches a server's certificate and its files.
#[derive(Debug)]
pub(crate) struct CertificateWatch {
    looked: Instant,
    /// What could not be used: the contents of the files, or the reason why they could not be read. The number counts the
    /// consecutive checks that found this.
    unusable: Option<(Result<Identity, String>, u32)>,
    warned: Option<Instant>,
}

impl CertificateWatch {
    /// Starts to watch.
    pub(crate) fn new() -> Self {
        Self {
            looked: Instant::now(),
            unusable: None,
            warned: None,
        }
    }

    /// Looks at the files, and puts a new certificate into use. Returns true if it did. The files' folder may be a link that
    /// is replaced, as in Kubernetes, so the function compares contents.
    pub(crate) fn follow<S>(&mut self, door: &Door, running: &Running<S>) -> bool {
        if self.looked.elapsed() < LOOK {
            return false;
        }
        self.looked = Instant::now();
        self.warn(running);
        match door.identity() {
            Ok(None) => return false,
            Ok(Some(identity)) if running.has_identity(&identity) => {
                self.unusable = None;
                return false;
            }
            Ok(Some(identity)) => {
                if let Err(error) = running.renew(&identity) {
                    let error = Error::certificate(&door.certificate_files())(error);
                    self.refuse(Ok(identity), &error);
                    return false;
                }
            }
            Err(error) => {
                self.refuse(Err(error.to_string()), &error);
                return false;
            }
        }
        (self.unusable, self.warned) = (None, None);
        tracing::info!("certificate renewed");
        self.warn(running);
        true
    }

    /// Reports files that cannot be used. Someone may be replacing them: one of the two is new while the other is still
    /// old, or is missing. So only the second failure in a row of the same files is reported, and once.
    fn refuse(&mut self, found: Result<Identity, String>, error: &Error) {
        let before = self.unusable.take();
        let looks = before.filter(|(before, _)| *before == found);
        let looks = looks.map_or(1, |(_, looks)| looks.saturating_add(1));
        if looks == 2 {
            match &found {
                Ok(_) => {
                    tracing::error!(%error, "the new certificate is not used; the one before stays");
                }
                Err(_) => {
                    tracing::error!(
                        %error,
                        "the certificate's files cannot be read; the one before stays, and the next start would fail"
                    );
                }
            }
        }
        self.unusable = Some((found, looks));
    }

    /// Warns once a day that the certificate has no names, is an authority's, expires soon, has expired, or is not valid
    /// yet.
    pub(crate) fn warn<S>(&mut self, running: &Running<S>) {
        if self.warned.is_some_and(|warned| warned.elapsed() < DAY) {
            return;
        }
        let Some(certificate) = running.certificate() else {
            return;
        };
        if certificate.begins > SystemTime::now() {
            let begins = humantime::format_rfc3339_seconds(certificate.begins);
            tracing::error!(%begins, "the server's certificate is not valid yet, and clients refuse it: look at this \
                machine's clock, or replace the certificate's files");
            self.warned = Some(Instant::now());
            return;
        }
        if !certificate.has_names {
            tracing::error!(
                "the server's certificate has no subjectAltName, and clients refuse it: a common name (CN) does not count; make \
                one with -addext subjectAltName=DNS:NAME"
            );
            self.warned = Some(Instant::now());
        }
        if certificate.is_authority {
            tracing::error!(
                "the server's certificate is that of an authority (CA:TRUE), and Sordino's clients refuse it: make one with \
                -addext basicConstraints=critical,CA:FALSE"
            );
            self.warned = Some(Instant::now());
        }
        let expires = humantime::format_rfc3339_seconds(certificate.expires);
        match certificate.expires.duration_since(SystemTime::now()) {
            Ok(left) if left > SOON => return,
            Ok(left) => {
                let days = left.as_secs() / DAY.as_secs();
                tracing::warn!(%expires, days, "the server's certificate expires soon: replace its files, which are followed");
            }
            Err(_) => {
                tracing::error!(%expires, "the server's certificate has expired, and clients refuse it: replace its \
                    files, which are followed");
            }
        }
        self.warned = Some(Instant::now());
    }
}
