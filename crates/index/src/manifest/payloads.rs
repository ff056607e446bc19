//! The payloads and exact vectors of a version, and the conditions on them.

use super::check::{RUN_LEN, require};
use super::{MAX_K, Manifest, Mode};
use crate::digest::MIN_CODED;
use crate::look::SecondLook;
use crate::payload::{Fetch, MOST_DICTIONARY, MOST_PAGE_BYTES, MOST_RECENT, Payloads};

/// The largest number of bytes of a server's memory for pages that are scanned.
const MOST_SCAN: u64 = 1 << 36;

/// The largest number of pages of a search.
const MOST_FETCHED: u64 = MAX_K as u64;

impl Manifest {
    /// All parts of payloads, oldest first. A record is in the last one that has its place.
    #[must_use]
    pub fn all_payloads(&self) -> impl DoubleEndedIterator<Item = &Payloads> {
        self.payloads.iter().chain(&self.recent)
    }

    /// True if records carry payloads.
    #[must_use]
    pub fn has_payloads(&self) -> bool {
        self.payloads
            .as_ref()
            .is_some_and(|payloads| payloads.form.payloads)
    }

    /// The second look of searches, if they have one.
    #[must_use]
    pub fn second_look(&self) -> Option<SecondLook> {
        self.payloads.as_ref()?.form.look
    }
}

impl Manifest {
    pub(super) fn check_payloads(&self) -> Result<(), String> {
        let mut forms = self
            .payloads
            .iter()
            .map(|all| (all.form.payloads, all.form.look));
        let first = forms.next();
        let alike = |it: &Payloads| {
            let form = (it.form.payloads, it.form.look);
            it.fetch == Fetch::Download && Some(form) == first
        };
        // Parts that writers added have their own limit.
        let owners = self.recent.iter();
        let owners = owners.filter(|it| it.version <= self.deleted.version);
        require(
            owners.count() <= MOST_RECENT && self.recent.iter().all(alike),
            "payloads of changes that are too many, not downloaded, or of another form",
        )?;
        self.all_payloads().try_for_each(|it| self.check_pages(it))
    }

    fn check_pages(&self, payloads: &Payloads) -> Result<(), String> {
        require(
            (1..=self.version).contains(&payloads.version),
            "payloads of a version outside 1 to the manifest's",
        )?;
        require(
            (1..=self.n).contains(&payloads.records),
            "payloads of more records than there are",
        )?;
        let form = payloads.form;
        require(form.exists(), "pages of a length that none has")?;
        self.check_look(form.look)?;
        // A record has at least one byte, and the position of its first byte has 32 bits, in steps of at
        // most 16 bytes.
        let bytes = u64::from(payloads.pages) * u64::from(form.page_len);
        require(
            u64::from(payloads.records) <= bytes && bytes <= MOST_PAGE_BYTES,
            "pages of fewer bytes than records, or of more than 2^36",
        )?;
        require(
            (1..=payloads.pages).contains(&payloads.longest),
            "a record of more pages than there are",
        )?;
        let records = form.records(self.k as usize);
        let possible = records as u64..=MOST_FETCHED;
        require(
            possible.contains(&u64::from(payloads.fetched)),
            "fewer pages of a search than records, or too many",
        )?;
        self.check_places(payloads)?;
        let fetched = payloads.pir_params().is_ok();
        let hintless = payloads.hintless_params().is_ok();
        let scan = payloads.scan();
        let memory = scan
            .as_ref()
            .map_or(0, |scan| scan.map_or(0, |scan| scan.memory()));
        require(
            memory <= MOST_SCAN,
            "pages whose scan needs more than 2^36 bytes",
        )?;
        let scanned = payloads
            .scan()
            .and_then(|scan| scan.map(|scan| scan.hint_len()).transpose());
        require(
            fetched && hintless && scanned.is_ok(),
            "payloads that cannot be fetched",
        )
    }

    /// Checks that the length of lists fits the numbers of records and pages.
    fn check_places(&self, payloads: &Payloads) -> Result<(), String> {
        let most = u64::from(payloads.records);
        let places = (RUN_LEN * (most + 1))
            .next_power_of_two()
            .max(MIN_CODED as u64);
        let (starts, _) = payloads.form.starts(payloads.records, payloads.pages);
        // Each key has its own list, with a dictionary.
        let keys = payloads.groups().len() as u64;
        let each = (MOST_DICTIONARY + MIN_CODED + 64) as u64;
        let all = places.saturating_add(starts.list_len() as u64);
        let most = all.saturating_add(keys.saturating_mul(each));
        require(
            payloads.places.len <= most,
            "payload places of an impossible length",
        )
    }

    fn check_look(&self, look: Option<SecondLook>) -> Result<(), String> {
        let Some(SecondLook { candidates, width }) = look else {
            return Ok(());
        };
        require(
            width == self.stored_dim(),
            "exact vectors of another dimension",
        )?;
        require(
            (self.k..=SecondLook::MOST).contains(&candidates),
            "candidates outside k to 64",
        )?;
        let scored = !matches!(self.mode, Mode::Sealed(_) | Mode::Local(_));
        require(scored, "a second look at what no server scored")
    }
}
