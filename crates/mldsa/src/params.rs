//! The three parameter sets of FIPS 204, Table 1, and the lengths of Table 2.
//!
//! | symbol | field | meaning |
//! |---|---|---|
//! | k, l | `k`, `l` | rows and columns of the matrix A |
//! | tau | `tau` | number of coefficients of the challenge c that are 1 or -1 |
//! | lambda / 4 | `c_tilde_len` | bytes of the commitment hash c~ |
//! | gamma_1 | `gamma1()` | coefficients of z lie in (-gamma_1, gamma_1] |
//! | gamma_2 | `gamma2` | half of the step by which `decompose` rounds |
//! | beta | `beta` | tau eta; a signature needs every coefficient of z below gamma_1 - beta |
//! | omega | `omega` | most ones that the hint h may have |

use core::fmt::Debug;

/// The numbers of one parameter set, and the lengths that follow from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    pub(crate) k: usize,
    pub(crate) l: usize,
    pub(crate) tau: usize,
    pub(crate) c_tilde_len: usize,
    pub(crate) gamma1_bits: u32,
    pub(crate) gamma2: Gamma2,
    pub(crate) beta: i32,
    pub(crate) omega: usize,
}

/// The two values of gamma_2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gamma2 {
    /// (q - 1) / 88: w1 has 44 values, packed in 6 bits.
    Q88,
    /// (q - 1) / 32: w1 has 16 values, packed in 4 bits.
    Q32,
}

impl Gamma2 {
    /// The size in bytes of one packed polynomial of w1.
    pub(crate) const fn w1_len(self) -> usize {
        match self {
            Self::Q88 => 192,
            Self::Q32 => 128,
        }
    }
}

impl Set {
    pub(crate) const fn gamma1(&self) -> i32 {
        1 << self.gamma1_bits
    }

    /// The size in bytes of one packed polynomial of z: `1 + log2(gamma_1)` bits per coefficient.
    pub(crate) const fn z_len(&self) -> usize {
        32 * (1 + self.gamma1_bits as usize)
    }

    pub(crate) const fn public_key_len(&self) -> usize {
        32 + 320 * self.k
    }

    pub(crate) const fn signature_len(&self) -> usize {
        self.c_tilde_len + self.l * self.z_len() + self.omega + self.k
    }

    pub(crate) const fn w1_len(&self) -> usize {
        self.k * self.gamma2.w1_len()
    }
}

/// Gives the numbers of a set to this crate only, and prevents other crates from adding sets.
pub(crate) trait Sealed {
    const SET: Set;
}

/// A parameter set of FIPS 204: [`MlDsa44`], [`MlDsa65`] or [`MlDsa87`].
///
/// The trait is sealed: there are no other sets.
#[expect(private_bounds, reason = "the bound seals the trait")]
pub trait Params: Sealed + Copy + Debug + Default + Send + Sync + 'static {
    /// The standard's name of the set.
    const NAME: &'static str;
    /// The size in bytes of an encoded public key.
    const PUBLIC_KEY_LEN: usize = Self::SET.public_key_len();
    /// The size in bytes of a signature.
    const SIGNATURE_LEN: usize = Self::SET.signature_len();
    /// The algorithm's object identifier (RFC 9881, section 2).
    const OID: &'static str;
}

macro_rules! parameter_set {
    ($(#[$doc:meta])* $name:ident, $text:literal, $oid:literal, $set:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;
        impl Sealed for $name {
            const SET: Set = $set;
        }
        impl Params for $name {
            const NAME: &'static str = $text;
            const OID: &'static str = $oid;
        }
    };
}

parameter_set!(
    /// ML-DSA-44: category 2, keys of 1,312 bytes, signatures of 2,420 bytes.
    MlDsa44, "ML-DSA-44", "2.16.840.1.101.3.4.3.17",
    Set { k: 4, l: 4, tau: 39, c_tilde_len: 32, gamma1_bits: 17, gamma2: Gamma2::Q88, beta: 78, omega: 80 }
);
parameter_set!(
    /// ML-DSA-65: category 3, keys of 1,952 bytes, signatures of 3,309 bytes.
    MlDsa65, "ML-DSA-65", "2.16.840.1.101.3.4.3.18",
    Set { k: 6, l: 5, tau: 49, c_tilde_len: 48, gamma1_bits: 19, gamma2: Gamma2::Q32, beta: 196, omega: 55 }
);
parameter_set!(
    /// ML-DSA-87: category 5, keys of 2,592 bytes, signatures of 4,627 bytes.
    MlDsa87, "ML-DSA-87", "2.16.840.1.101.3.4.3.19",
    Set { k: 8, l: 7, tau: 60, c_tilde_len: 64, gamma1_bits: 19, gamma2: Gamma2::Q32, beta: 120, omega: 75 }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_table_2() {
        assert_eq!(
            (MlDsa44::PUBLIC_KEY_LEN, MlDsa44::SIGNATURE_LEN),
            (1312, 2420)
        );
        assert_eq!(
            (MlDsa65::PUBLIC_KEY_LEN, MlDsa65::SIGNATURE_LEN),
            (1952, 3309)
        );
        assert_eq!(
            (MlDsa87::PUBLIC_KEY_LEN, MlDsa87::SIGNATURE_LEN),
            (2592, 4627)
        );
    }
}
