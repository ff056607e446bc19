#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod aligned;
pub mod automorphism;
pub mod choice;
pub mod gadget;
pub mod matrix;
pub mod modulus;
pub mod noise;
pub mod ntt;
pub mod pages;
pub mod products;
pub mod ring;
pub mod rounding;
pub mod sample;
mod seed;
pub mod store;
pub mod switch;
pub mod threads;

pub use modulus::Modulus;
pub use seed::Seed;
