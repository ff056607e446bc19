#![doc = include_str!("../README.md")]

pub mod fpe; // format-preserving encryption of lines and columns
