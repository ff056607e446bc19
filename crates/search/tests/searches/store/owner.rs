//! The owner, the forms of its indexes, and its clients.

use sordino_search::Exchange;
use sordino_search::manifest::Packing;
use sordino_search::{Client, Form, InProcess, Routing, Server, Spec};
use sordino_testkit::{ROUTED, keys, sealed};

pub(crate) const N: u32 = 1500;
pub(crate) const DIM: usize = 24;
pub(crate) const K: usize = 10;

/// Every mode, in each form that has different messages.
pub(crate) fn forms() -> [Form; 7] {
    [
        Form::Masked(Packing::T4),
        Form::Masked(Packing::T8),
        Form::Open(Packing::T4),
        ROUTED,
        Form::Local,
        sealed(Routing::Downloaded),
        sealed(Routing::Encrypted),
    ]
}

pub(crate) fn spec(form: Form) -> Spec {
    Spec::new(form).k(K)
}

pub(crate) fn connect(server: &Server) -> (Client, Vec<Exchange>) {
    let mut transport = InProcess::new(server);
    let client = Client::connect(&mut transport, &keys().reader(), None).unwrap();
    (client, transport.take_exchanges())
}
