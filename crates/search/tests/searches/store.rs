//! Stores that change: the results of later searches, what an observer sees, and refusals.

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
