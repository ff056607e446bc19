//! Writers: their additions, their readers, the owner's part, and the limits of a stolen key.

mod bed; // an owner, writers, and the folder that they share

mod added;
mod poisoned;
mod stolen;
