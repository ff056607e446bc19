#![doc = include_str!("../README.md")]

pub mod aligned;
pub mod matrix;
pub mod modulus;
pub mod noise;
pub mod ntt;
pub mod pages;
pub mod ring;
pub mod sample;

pub use modulus::Modulus;
