#![doc = include_str!("../README.md")]

pub mod matrix;
pub mod noise;
pub mod pages;
pub mod sample;
