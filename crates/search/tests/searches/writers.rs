//! Writers: their additions, which readers find them, what the owner includes, and what a stolen key
//! cannot do.

mod bed; // an owner, writers, and their shared folder

mod added;
mod poisoned;
mod stolen;
