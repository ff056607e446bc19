//! Updates a client's version to the newest.

use sordino_index::Error;

use super::Client;
use crate::download::{Download, Kept};
use crate::filter_matches::FilterMatches;
use crate::history;
use crate::kind::Kind;
use crate::local_pages::LocalPages;
use crate::payload;
use crate::records::Fresh;
use crate::transport::{AsyncTransport, Transport, at_once};
use crate::update::Update;

impl Client {
    /// True if the server now has another version. [`refresh`](Self::refresh) checks that it follows from this one.
    ///
    /// # Errors
    /// [`Error::Signature`] and others for a manifest that is not the owner's. The errors of the transport.
    pub fn is_outdated(&self, transport: &mut impl Transport) -> Result<bool, Error> {
        let (manifest, _) = at_once(history::offered(transport, &self.keys))?;
        Ok(manifest.digest() != self.manifest.digest())
    }

    /// Updates the client to the server's version. It downloads only what this client lacks: parts of new segments,
    /// payloads or their hint if they changed, and the list of deletions. Returns true if there was a newer version.
    ///
    /// The requests depend on the two versions and on the cache. So without a cache they are the same for all
    /// clients with the same old version. After an error the client is unchanged.
    ///
    /// # Errors
    /// The errors of [`connect`](Self::connect) with this client's own [`pin`](Self::pin).
    pub fn refresh(&mut self, transport: &mut impl Transport) -> Result<bool, Error> {
        at_once(self.refresh_async(transport))
    }

    /// Like [`refresh`](Self::refresh), over an asynchronous transport.
    ///
    /// # Errors
    /// The errors of [`refresh`](Self::refresh).
    pub async fn refresh_async(
        &mut self,
        transport: &mut impl AsyncTransport,
    ) -> Result<bool, Error> {
        let (manifest, received) = history::offered(transport, &self.keys).await?;
        let shown = history::follow(&self.pin(), &manifest, transport, &self.keys).await?;
        if manifest.version == self.manifest.version {
            self.bytes_once += received + shown;
            return Ok(false);
        }
        let kept = Kept::between(&self.manifest, &manifest);
        let mut download = Download::new(transport, &manifest, kept, self.cache.as_ref()).await?;
        let contents = match kept.records {
            true => self.contents.clone(),
            false => download.contents(&manifest, &self.keys)?,
        };
        let frame = match kept.frame {
            true => self.frame.clone(),
            false => download.frame(&manifest, &contents)?,
        };
        let (keys, sessions) = (&contents, &self.sessions);
        let payloads = (!kept.payloads)
            .then(|| payload::Client::new(&manifest, keys, sessions, &mut download))
            .transpose()?;
        let recent = match kept.payloads {
            true => LocalPages::recent(&manifest, keys, kept.recent, &mut download)?,
            false => Vec::new(),
        };
        let known = if kept.records { kept.segments } else { 0 };
        let records = Fresh::new(&manifest, keys, (&self.records, known), &mut download)?;
        let replaced = match kept.segments {
            0 => Some(Kind::new(&manifest, keys, &frame, sessions, &mut download)?),
            _ => None,
        };
        let update = Update {
            keys,
            kept: kept.segments,
            dead: &records.dead,
            metric: manifest.metric,
            download: &mut download,
        };
        // After an error here the client is unchanged. After this step nothing can fail.
        match replaced {
            Some(mut kind) => {
                kind.update(&manifest, update)?;
                self.kind = kind;
            }
            None => self.kind.update(&manifest, update)?,
        }
        self.records.update(known, records);
        self.chosen = FilterMatches::default();
        self.frame = frame;
        self.manifest = manifest;
        self.contents = contents;
        match payloads {
            Some(payloads) => self.payloads = payloads,
            None => {
                if let Some(payloads) = &mut self.payloads {
                    payloads.follow(kept.recent, recent);
                }
            }
        }
        self.bytes_once += received + shown + download.bytes;
        Ok(true)
    }
}
