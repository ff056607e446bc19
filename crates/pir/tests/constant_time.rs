//! The client under memcheck: everything secret is marked as undefined memory, and memcheck reports
//! every branch and every address that depends on it.
//!
//! Run by `scripts/constant_time.sh`. Outside valgrind the marks do nothing, and this is one more
//! test that records are recovered. The one comparison of an index that is allowed, whether it is in
//! range at all, is in `scripts/constant_time.supp`.

#![cfg(all(target_arch = "x86_64", not(miri)))]
#![expect(
    unsafe_code,
    reason = "valgrind's client requests are an instruction sequence"
)]

use std::arch::asm;
use std::convert::Infallible;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use sordino_lattice::sample::{gaussian::Sampler, stream::Stream};
use sordino_pir::{Database, Params, Seed, double, simple};

const RUNNING_ON_VALGRIND: usize = 0x1001;
const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
const MAKE_MEM_DEFINED: usize = 0x4d43_0002;

/// Valgrind's request sequence for x86-64: rotations that add up to none, then an exchange of a
/// register with itself.
fn request(code: usize, address: usize, len: usize) -> usize {
    let arguments = [code, address, len, 0, 0, 0];
    let mut result = 0usize;
    // SAFETY: outside valgrind these instructions change nothing; inside, the requests used here
    // read `arguments` and change no memory that the program sees.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") result,
            inout("rdi") 0usize => _,
        );
    }
    result
}

fn secret<T>(value: &[T]) {
    request(
        MAKE_MEM_UNDEFINED,
        value.as_ptr().addr(),
        size_of_val(value),
    );
}

fn public<T>(value: &[T]) {
    request(MAKE_MEM_DEFINED, value.as_ptr().addr(), size_of_val(value));
}

fn secret_index(index: usize) -> usize {
    let index = [index];
    secret(&index);
    std::hint::black_box(index[0])
}

/// A generator whose output is secret.
struct SecretRng(ChaCha20Rng);

impl TryRng for SecretRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        secret(bytes);
        Ok(())
    }
}

impl TryCryptoRng for SecretRng {}

fn rng() -> SecretRng {
    SecretRng(ChaCha20Rng::from_seed([1; 32]))
}

#[test]
fn the_marks_are_seen_when_valgrind_runs() {
    // The script asks for valgrind by this variable and must get it.
    let running = request(RUNNING_ON_VALGRIND, 0, 0);
    if std::env::var_os("SORDINO_VALGRIND").is_some() {
        assert_eq!(running, 1);
    } else {
        println!("not under valgrind: secrets are not tracked");
    }
}

#[test]
fn sampling_does_not_branch_on_randomness() {
    let mut samples = [0; 40];
    let mut seed = [0; 32];
    rng().fill_bytes(&mut seed);
    Sampler::new(32, 1).fill(&mut Stream::new(&seed, 0), &mut samples);
    public(&samples);
    assert!(samples.iter().any(|x| *x != 0));
}

#[test]
fn simple_clients_do_not_branch_on_index_or_secret() {
    let params = Params::for_database(300, 5).unwrap();
    let bytes: Vec<u8> = (0..1500u16).map(|i| i.to_le_bytes()[0]).collect();
    let database = Database::from_slice(&params, &bytes).unwrap();
    let seed = Seed([1; 32]);
    let (server, hint) = simple::Server::setup(database, &params, &seed).unwrap();
    let client = simple::Client::new(&params, &seed, &hint).unwrap();
    let mut rng = rng();
    let fresh = client.query(&mut rng, secret_index(299)).unwrap();
    let prepared = client.prepare(&mut rng, 1).pop().unwrap();
    let prepared = client.query_prepared(prepared, secret_index(17)).unwrap();
    for ((secret, query), index) in [(fresh, 299), (prepared, 17)] {
        let answer = server.answer(&query).unwrap();
        let record = client.recover(secret, &answer).unwrap();
        public(&record);
        assert_eq!(record, bytes[5 * index..5 * index + 5]);
    }
}

#[test]
fn double_clients_do_not_branch_on_index_or_secret() {
    let params = Params::for_double_with(60, 1, 5).unwrap();
    let bytes: Vec<u8> = (0..60).collect();
    let database = Database::from_slice(&params, &bytes).unwrap();
    let seed = Seed([1; 32]);
    let (server, hint) = double::Server::setup(database, &params, &seed).unwrap();
    let client = double::Client::new(&params, &seed, &hint).unwrap();
    let mut rng = rng();
    let (secret, query) = client.query(&mut rng, secret_index(41)).unwrap();
    let answer = server.answer(&query).unwrap();
    let record = client.recover(secret, &answer).unwrap();
    public(&record);
    assert_eq!(record, bytes[41..42]);
}
