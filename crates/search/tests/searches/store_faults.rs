//! Stores that are interrupted, whose disk is full, or that are damaged. The result is the old version,
//! the new version, or a clear error. No segment id ever stands for two contents.

mod contents;
mod crashes;
mod damage;
mod disk;
mod owner;
mod power;
mod pulls;
