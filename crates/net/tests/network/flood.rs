//! Clients open more connections than a server accepts, from one address or from all together.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use sordino_net::Limits;
use sordino_search::Client;
use sordino_testkit::{keys, rng};

use crate::hostile_client::{closes, still_serves};
use crate::parties::{connect, open_door, server, set, until, until_metric};

/// The number of connections that the server keeps open.
fn held(flood: &mut [TcpStream]) -> usize {
    let open = |tcp: &mut TcpStream| !closes(tcp, Duration::from_millis(20));
    flood.iter_mut().map(open).filter(|&open| open).count()
}

#[test]
fn a_flood_of_connections_is_held_to_its_number() {
    let set = set();
    let limits = Limits::default().connections(4);
    let running = open_door(server(2, &set), limits);
    let mut flood: Vec<TcpStream> = (0..40)
        .map(|_| TcpStream::connect(running.address()).unwrap())
        .collect();
    until_metric(&running, "connections_refused_total 36");
    until_metric(&running, "connections 4");
    until(|| held(&mut flood) == 4);
    drop(flood);
    // The places of the closed connections are free again.
    until_metric(&running, "connections 0");
    still_serves(&running);
}

/// Connections to `to` from an address of this machine that clients do not use by default.
#[cfg(target_os = "linux")]
fn elsewhere(to: SocketAddr, count: usize) -> Vec<TcpStream> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let from = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), 0));
    let connection = |_| {
        runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind(from).unwrap();
            let tcp = socket.connect(to).await.unwrap().into_std().unwrap();
            tcp.set_nonblocking(false).unwrap();
            tcp
        })
    };
    (0..count).map(connection).collect()
}

/// Only Linux has more than one loopback address by default.
#[cfg(target_os = "linux")]
#[test]
fn a_flood_from_one_address_leaves_the_others_their_places() {
    let set = set();
    let limits = Limits::default().connections(8).per_address(3);
    let running = open_door(server(4, &set), limits);
    let mut flood = elsewhere(running.address(), 60);
    until_metric(&running, "connections_refused_total 57");
    until(|| held(&mut flood) == 3);
    // A client searches while the flood continues.
    let mut connection = connect(&running);
    let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
    for seed in 0..3 {
        flood.extend(elsewhere(running.address(), 20));
        let query = set.queries.row(0);
        let found = client.search(&mut rng(seed), &mut connection, query);
        assert_eq!(found.unwrap().hits[0].id, set.truth.of(0)[0]);
    }
    until_metric(&running, "connections_refused_total 117");
    until(|| held(&mut flood) == 3);
    // When an address has given a place back, it may take a place again.
    drop((connection, flood));
    until_metric(&running, "connections 0");
    let mut flood = elsewhere(running.address(), 5);
    until_metric(&running, "connections_refused_total 119");
    until(|| held(&mut flood) == 3);
    drop(flood);
    still_serves(&running);
}
