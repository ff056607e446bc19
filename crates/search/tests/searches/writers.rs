//! Writers: what they add and who finds it, what the owner takes in, and what a stolen key does not do.

mod bed; // an owner, writers, and the folder that they share

mod added;
mod poisoned;
mod stolen;
