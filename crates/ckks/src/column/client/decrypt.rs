//! Decrypts scores.

use sordino_lattice::aligned::Aligned;
use sordino_lattice::ring::Poly;
use zeroize::Zeroizing;

use super::{Client, centre, hint_plan};
use crate::Error;
use crate::column::params::Encoding;
use crate::column::query::SecretKey;
use crate::column::reply::Reply;
use crate::dot::N;

impl Client {
    /// Decrypts the scores of a real-valued query, and consumes its secret.
    ///
    /// # Errors
    /// [`Error::Encoding`] for a modular set. [`Error::Mismatch`] if the secret or the reply belongs to a different
    /// parameter set, or the reply to a different shape of database. [`Error::Epoch`] or [`Error::Version`] if the
    /// reply belongs to a different state of the database.
    ///
    /// # Security
    /// Runs in constant time. The scores carry an error that depends on the secret: they must stay with
    /// the client.
    pub fn decrypt(&self, secret: SecretKey, reply: &Reply) -> Result<Vec<f32>, Error> {
        let (bits, params) = (self.params.step_bits()?, self.params);
        self.decrypt_steps(secret, reply, bits, |step| params.score(step))
    }

    /// Decrypts the scores of a real-valued query to [steps](crate::column::Params::step_bits), and consumes its
    /// secret. [`score`](crate::column::Params::score) turns steps into real numbers.
    ///
    /// # Errors
    /// The errors of [`decrypt`](Self::decrypt).
    ///
    /// # Security
    /// The same as for [`decrypt`](Self::decrypt).
    #[expect(clippy::cast_possible_truncation, reason = "steps have 20 bits")]
    pub fn decrypt_real_steps(&self, secret: SecretKey, reply: &Reply) -> Result<Vec<i32>, Error> {
        let bits = self.params.step_bits()?;
        self.decrypt_steps(secret, reply, bits, |step| step as i32)
    }

    /// Decrypts the scores of a query of integers, as numbers mod `P` in `[-P/2, P/2)`, and consumes its secret.
    ///
    /// # Errors
    /// The errors of [`decrypt`](Self::decrypt), except that a real-valued set gives [`Error::Encoding`].
    ///
    /// # Security
    /// The same as for [`decrypt`](Self::decrypt), except that the scores of an exact set do not carry an error.
    pub fn decrypt_modular(&self, secret: SecretKey, reply: &Reply) -> Result<Vec<i64>, Error> {
        let Encoding::Modular { log_p } = self.params.encoding else {
            return Err(Error::Encoding { modular: false });
        };
        let params = &self.params;
        let bits = params.hint_bits().max(params.answer_bits).max(log_p);
        let half = (1 << (bits - log_p)) >> 1;
        self.decrypt_steps(secret, reply, bits, |step| {
            centre((step + half) >> (bits - log_p), log_p)
        })
    }

    /// The decrypted scores mod `2^bits`, centred, after `convert` was applied to each.
    fn decrypt_steps<T>(
        &self,
        secret: SecretKey,
        reply: &Reply,
        bits: u32,
        convert: impl Fn(i64) -> T,
    ) -> Result<Vec<T>, Error> {
        let (params, shape) = (&self.params, self.shape);
        secret.params.check_same(params)?;
        reply.check(params, shape, self.state)?;
        let plan = hint_plan();
        let s = Poly::from_signed(&secret.coefficients, plan).into_ntt(plan);
        let s = Zeroizing::new(s);
        let mut product = Zeroizing::new(Aligned::new(N));
        let mut answers = vec![0; shape.per];
        let mut scores = Vec::with_capacity(shape.count);
        for ((j, answer), hint) in reply.blocks().enumerate().zip(self.hint.blocks()) {
            plan.inverse_product(hint, &s, &mut product, shape.t.ilog2());
            let answers = &mut answers[..shape.in_block(j)];
            params.answer_width().read(answer, answers);
            if params.is_whole() {
                params.answer_switch().apply(answers);
            }
            scores.extend(answers.iter().zip(product.iter()).map(|(&answer, &mask)| {
                let answer = answer.cast_signed() << (bits - params.answer_bits);
                let mask = plan.modulus().centred(mask) << (bits - params.hint_bits());
                convert(centre(answer - mask, bits))
            }));
        }
        Ok(scores)
    }
}
