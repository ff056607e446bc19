//! Stores that change: what later searches find, what an observer sees, and what is refused.

mod bed;
mod changes;
mod checked;
mod clusters;
mod encodings;
mod folders;
mod nonces;
mod observer;
mod owner;
mod pins;
mod refusals;
mod shards;
mod tasks;
mod versions;
