//! Format-preserving encryption: FF1 over texts and integers, and fields with a format.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use sordino_fpe::{AesKey, AesSize, Alphabet, Error, Ff1Plan, FormatCipher, NumeralCipher, Tweaks};
use zeroize::Zeroizing;

use super::wrong;
use crate::compute::computing;

/// The key of a cipher, which must have 16, 24 or 32 bytes.
fn aes_key(py: Python<'_>, key: Vec<u8>) -> PyResult<AesKey> {
    let key = Zeroizing::new(key);
    let size = match key.len() {
        16 => AesSize::Aes128,
        24 => AesSize::Aes192,
        32 => AesSize::Aes256,
        found => {
            let text = format!("a key of {found} bytes: expected 16, 24 or 32");
            return Err(wrong(py, &text));
        }
    };
    AesKey::from_slice(size, &key).map_err(|error| wrong(py, &error))
}

/// FF1 over texts of one alphabet.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Ff1 {
    cipher: sordino_fpe::Ff1,
    alphabet: Alphabet,
}

/// FF1 over the integers of a range.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Ff1Range(sordino_fpe::Ff1Range);

/// The cipher of a field that has a format.
#[pyclass(module = "sordino._sordino", frozen)]
pub(crate) struct Format(FormatCipher);

/// An error of one record, with its number, or of the whole call.
type Failed = (Option<usize>, Error);

fn failed(py: Python<'_>, (record, error): &Failed) -> PyErr {
    match record {
        Some(record) => wrong(py, &format!("record {record}: {error}")),
        None => wrong(py, error),
    }
}

#[pymethods]
impl Ff1 {
    #[new]
    fn new(py: Python<'_>, key: Vec<u8>, alphabet: &str, small: bool) -> PyResult<Self> {
        let refused = |error: Error| wrong(py, &error);
        let alphabet = Alphabet::new(alphabet).map_err(refused)?;
        let cipher =
            sordino_fpe::Ff1::new(&aes_key(py, key)?, alphabet.radix()).map_err(refused)?;
        let cipher = if small {
            cipher.allow_small_domain()
        } else {
            cipher
        };
        Ok(Self { cipher, alphabet })
    }

    /// The smallest number of symbols that a text may have.
    #[getter]
    fn min_len(&self) -> usize {
        self.cipher.min_len()
    }

    /// Encrypts or decrypts each text. There may be one tweak for all texts.
    fn texts(
        &self,
        py: Python<'_>,
        texts: Vec<String>,
        tweaks: Vec<Vec<u8>>,
        encrypt: bool,
    ) -> PyResult<Vec<String>> {
        let done = computing(py, || {
            if self.alphabet.is_ascii() {
                self.in_step(texts, &tweaks, encrypt)
            } else {
                self.one_by_one(&texts, &tweaks, encrypt)
            }
        })?;
        done.map_err(|error| failed(py, &error))
    }

    /// The same cipher over the integers from `first` to `last`.
    fn range(&self, py: Python<'_>, first: u128, last: u128) -> PyResult<Ff1Range> {
        let range = self.cipher.range(first..=last);
        Ok(Ff1Range(range.map_err(|error| wrong(py, &error))?))
    }
}

impl Ff1 {
    fn one_by_one(
        &self,
        texts: &[String],
        tweaks: &[Vec<u8>],
        encrypt: bool,
    ) -> Result<Vec<String>, Failed> {
        let one = |(at, text): (usize, &String)| {
            let tweak = tweak(tweaks, at);
            let done = if encrypt {
                self.cipher.encrypt_str(&self.alphabet, tweak, text)
            } else {
                self.cipher.decrypt_str(&self.alphabet, tweak, text)
            };
            done.map_err(|error| (Some(at), error))
        };
        texts.iter().enumerate().map(one).collect()
    }

    /// Processes texts of one length together, so that many run in parallel.
    fn in_step(
        &self,
        mut texts: Vec<String>,
        tweaks: &[Vec<u8>],
        encrypt: bool,
    ) -> Result<Vec<String>, Failed> {
        let mut lengths: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, text) in texts.iter().enumerate() {
            lengths.entry(text.len()).or_default().push(at);
        }
        for (len, places) in lengths {
            let plan = self.cipher.plan(len, tweak(tweaks, places[0]).len());
            let plan = plan.map_err(|error| (Some(places[0]), error))?;
            let mut records = Zeroizing::new(Vec::with_capacity(len * places.len()));
            for &at in &places {
                records.extend_from_slice(texts[at].as_bytes());
            }
            let own: Vec<&[u8]> = places.iter().map(|&at| tweak(tweaks, at)).collect();
            let shared = match tweaks {
                [one] => Tweaks::One(one),
                _ => Tweaks::Each(&own),
            };
            if self.batch(&plan, shared, &mut records, encrypt).is_err() {
                // One of the texts has a fault. It is found by processing them one by one.
                return self.one_by_one(&texts, tweaks, encrypt);
            }
            for (&at, record) in places.iter().zip(records.chunks_exact(len)) {
                texts[at] = record.iter().map(|&symbol| char::from(symbol)).collect();
            }
        }
        Ok(texts)
    }

    fn batch(
        &self,
        plan: &Ff1Plan,
        tweaks: Tweaks<'_>,
        records: &mut [u8],
        encrypt: bool,
    ) -> Result<(), Error> {
        if encrypt {
            plan.encrypt_ascii_batch(&self.alphabet, tweaks, records)
        } else {
            plan.decrypt_ascii_batch(&self.alphabet, tweaks, records)
        }
    }
}

/// The tweak of a record: its own, or the common one.
fn tweak(tweaks: &[Vec<u8>], at: usize) -> &[u8] {
    match tweaks {
        [one] => one,
        tweaks => tweaks.get(at).map_or(&[], |tweak| tweak),
    }
}

#[pymethods]
impl Ff1Range {
    /// Encrypts or decrypts each integer under one tweak.
    fn integers(
        &self,
        py: Python<'_>,
        values: Vec<u128>,
        tweak: Vec<u8>,
        encrypt: bool,
    ) -> PyResult<Vec<u128>> {
        let one = |(at, value): (usize, u128)| {
            let done = if encrypt {
                self.0.encrypt(&tweak, value)
            } else {
                self.0.decrypt(&tweak, value)
            };
            done.map_err(|error| (Some(at), error))
        };
        let done = computing(py, || {
            let narrow: Option<Vec<u64>> = values
                .iter()
                .map(|&value| u64::try_from(value).ok())
                .collect();
            if let Some(mut narrow) = narrow {
                let all = if encrypt {
                    self.0.encrypt_batch(&tweak, &mut narrow)
                } else {
                    self.0.decrypt_batch(&tweak, &mut narrow)
                };
                if all.is_ok() {
                    return Ok(narrow.into_iter().map(u128::from).collect());
                }
            }
            values.into_iter().enumerate().map(one).collect()
        })?;
        done.map_err(|error| failed(py, &error))
    }
}

#[pymethods]
impl Format {
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        key: Vec<u8>,
        bind_spelling: bool,
        allow_small_domain: bool,
    ) -> PyResult<Self> {
        let mut format: sordino_fpe::Format =
            name.parse().map_err(|error: Error| wrong(py, &error))?;
        if bind_spelling {
            format = format.bind_spelling();
        }
        if allow_small_domain {
            format = format.allow_small_domain();
        }
        let cipher = format.cipher(&aes_key(py, key)?);
        Ok(Self(cipher.map_err(|error| wrong(py, &error))?))
    }

    /// Encrypts or decrypts each field. There may be one tweak for all fields.
    fn fields(
        &self,
        py: Python<'_>,
        fields: Vec<String>,
        tweaks: Vec<Vec<u8>>,
        encrypt: bool,
    ) -> PyResult<Vec<String>> {
        let one = |(at, field): (usize, &String)| {
            let tweak = tweak(&tweaks, at);
            let done = if encrypt {
                self.0.encrypt(tweak, field)
            } else {
                self.0.decrypt(tweak, field)
            };
            done.map_err(|error| (Some(at), error))
        };
        let done: Result<Vec<String>, Failed> =
            computing(py, || fields.iter().enumerate().map(one).collect())?;
        done.map_err(|error| match error {
            (Some(record), error @ (Error::Symbol { .. } | Error::OutOfRange)) => {
                let expected = self.0.expected();
                wrong(
                    py,
                    &format!("record {record}: {error}: expected {expected}"),
                )
            }
            error => failed(py, &error),
        })
    }
}
