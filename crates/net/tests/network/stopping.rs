//! When a server stops, it still answers the requests that it accepted.

use sordino_net::Limits;
use sordino_search::Client;
use sordino_testkit::{keys, rng};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::parties::{connect, open_door, server, set, until};

#[test]
fn a_stop_loses_no_answer() {
    const CLIENTS: usize = 6;
    let set = set();
    let running = open_door(server(4, &set), Limits::default());
    let service = running.service().clone();
    let (answered, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let ready = std::sync::Barrier::new(CLIENTS + 1);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let mut connection = connect(&running);
            let (set, answered, stopped, ready) = (&set, &answered, &stopped, &ready);
            scope.spawn(move || {
                let client = Client::connect(&mut connection, &keys().reader(), None).unwrap();
                answered.fetch_add(2, Ordering::Relaxed);
                ready.wait();
                let mut rng = rng(number as u64);
                loop {
                    let early = !stopped.load(Ordering::SeqCst);
                    let query = set.queries.row(number);
                    match client.search(&mut rng, &mut connection, query) {
                        Ok(_) => answered.fetch_add(1, Ordering::Relaxed),
                        // Errors come only after the stop: a refusal with a name, or a closed port.
                        Err(error) => {
                            assert!(!early || stopped.load(Ordering::SeqCst), "{error}");
                            break;
                        }
                    };
                }
            });
        }
        ready.wait();
        // Waits until searches are under way.
        until(|| answered.load(Ordering::Relaxed) > 3 * CLIENTS);
        stopped.store(true, Ordering::SeqCst);
        running.stop().unwrap();
    });
    // Clients got every answer that the server counts.
    let metrics = service.metrics();
    let line = metrics
        .lines()
        .find(|line| line.starts_with("sordino_answered_total "))
        .unwrap();
    let counted: usize = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(counted, answered.load(Ordering::Relaxed));
}

#[test]
fn a_stopped_server_is_gone_and_a_dropped_one_too() {
    let set = set();
    let drain = Duration::from_secs(120);
    let limits = Limits::default().drain(drain);
    let running = open_door(server(2, &set), limits);
    let address = running.address();
    let mut connection = connect(&running);
    Client::connect(&mut connection, &keys().reader(), None).unwrap();
    // An idle connection does not delay the stop by the time limit of a request.
    let start = Instant::now();
    running.stop().unwrap();
    assert!(start.elapsed() < drain);
    assert!(std::net::TcpStream::connect(address).is_err());
    let late = Client::connect(&mut connection, &keys().reader(), None);
    assert!(matches!(late, Err(sordino_search::Error::Transport { .. })));

    let running = open_door(server(2, &set), Limits::default());
    let mut connection = connect(&running);
    drop(running);
    assert!(Client::connect(&mut connection, &keys().reader(), None).is_err());
}
