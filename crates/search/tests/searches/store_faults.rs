//! Stores that are interrupted, run out of disk, or are damaged: the old version, the new version, or a
//! clear error; and no segment id that ever stands for two contents.

mod contents;
mod crashes;
mod damage;
mod disk;
mod owner;
mod power;
