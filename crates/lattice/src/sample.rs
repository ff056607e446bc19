//! Samplers: what each draws, from what, and in what time.

pub mod gaussian;
pub mod uniform;
