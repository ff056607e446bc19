use super::*;

fn ip(host: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, host])
}

fn on(host: u8, connection: u64, proven: bool) -> Newcomer {
    Newcomer {
        address: ip(host),
        connection: Some(connection),
        holder: proven.then_some(Asker::Key(u32::from(host))),
    }
}

/// True if the place has been taken away.
fn gone(place: &Place) -> bool {
    !place.shares.lock().places.contains_key(&place.number)
}

#[test]
fn each_address_has_its_places_and_gets_them_back() {
    let shares = Shares::new(100, 2, false);
    let mut held: Vec<Place> = (0..2)
        .map(|_| shares.admit(Newcomer::from(ip(1))).expect("a place"))
        .collect();
    assert!(shares.admit(Newcomer::from(ip(1))).is_none());
    assert!(shares.admit(Newcomer::from(ip(2))).is_some());
    drop(held.pop());
    held.extend(shares.admit(Newcomer::from(ip(1))));
    assert_eq!(held.len(), 2);
    assert!(shares.admit(Newcomer::from(ip(1))).is_none());
}

/// Addresses whose places are given back use no memory, whatever number comes.
#[test]
fn memory_is_for_taken_places_only() {
    let shares = Shares::new(10, 1, true);
    for host in 0..10_000 {
        let address = Ipv4Addr::from_bits(host).into();
        assert!(shares.admit(Newcomer::from(address)).is_some());
    }
    let taken = shares.lock();
    assert!(taken.places.is_empty() && taken.addresses.is_empty());
}

/// A crowd on eight connections fills all places. A client with one place keeps it, however often
/// the crowd returns.
#[test]
fn a_crowd_displaces_itself() {
    let shares = Shares::new(64, 64, true);
    let crowd = |from: u64| {
        let connections = (0..64).map(move |at| from + at % 8);
        connections.filter_map(|connection| shares.admit(on(1, connection, false)))
    };
    let mut held: Vec<Place> = crowd(0).collect();
    let honest = shares.admit(on(1, 100, false)).expect("a place");
    assert_eq!(held.iter().filter(|place| gone(place)).count(), 1);
    for _ in 0..20 {
        held.extend(crowd(0));
        assert!(!gone(&honest));
        assert!(shares.lock().places.len() <= 64);
    }
    // A single connection cannot take a place from itself.
    let alone = Shares::new(8, 8, true);
    let held: Vec<_> = (0..20).map(|_| alone.admit(on(1, 1, false))).collect();
    assert_eq!(held.iter().flatten().count(), 8);
}

#[test]
fn many_addresses_each_with_one_do_not_shut_out_another() {
    let shares = Shares::new(16, 4, false);
    let held: Vec<Place> = (0..16)
        .filter_map(|host| shares.admit(Newcomer::from(ip(host))))
        .collect();
    assert_eq!(held.len(), 16);
    let late = shares.admit(Newcomer::from(ip(200))).expect("a place");
    assert!(gone(&held[0]), "the oldest makes room");
    assert!(!gone(&late));
    // This address has the same share as the others, so it gets no second place.
    assert!(shares.admit(Newcomer::from(ip(200))).is_none());
}

#[test]
fn what_is_kept_is_not_taken_away() {
    let shares = Shares::new(2, 2, true);
    let kept = shares.admit(Newcomer::from(ip(1))).expect("a place");
    kept.keep();
    let other = shares.admit(Newcomer::from(ip(1))).expect("a place");
    let newcomer = shares.admit(Newcomer::from(ip(2))).expect("a place");
    assert!(gone(&other) && !gone(&kept) && !gone(&newcomer));
    newcomer.keep();
    assert!(shares.admit(Newcomer::from(ip(3))).is_none());
    shares.keep(newcomer.number, false);
    assert!(shares.admit(Newcomer::from(ip(3))).is_some());
}

#[tokio::test]
async fn a_displaced_client_is_told() {
    let shares = Shares::new(1, 1, true);
    let first = shares.admit(on(1, 1, false)).expect("a place");
    let _second = shares.admit(on(2, 2, false)).expect("a place");
    let minute = std::time::Duration::from_secs(60);
    let told = tokio::time::timeout(minute, first.displaced.notified());
    assert!(told.await.is_ok());
}

/// A known key's request arrives slowly, while strangers take the largest allowed number of places.
#[test]
fn strangers_do_not_take_the_place_of_a_known_key() {
    let shares = Shares::new(4, 4, true);
    let known = shares.admit(on(1, 1, true)).expect("a place");
    let strangers = (2..200).map(|host| shares.admit(on(host, host.into(), false)));
    let mut strangers: Vec<_> = strangers.collect();
    assert!(strangers.iter().all(Option::is_some));
    assert!(!gone(&known));
    // Another known key may take a stranger's place first, even at its own address.
    for host in [199, 201] {
        strangers.extend([shares.admit(on(host, 300, true))]);
    }
    assert!(strangers.iter().all(Option::is_some));
    // Between known keys, equal shares decide.
    let more: Vec<_> = (0..4).map(|_| shares.admit(on(1, 1, true))).collect();
    assert_eq!(more.iter().flatten().count(), 1);
    assert!(!gone(&known));
}

#[test]
fn room_is_made_by_clients_that_may_be_displaced() {
    let shares = Shares::new(8, 8, true);
    let held: Vec<_> = (0..3)
        .filter_map(|host| shares.admit(Newcomer::from(ip(host))))
        .collect();
    held[0].keep();
    assert!(shares.make_room() && gone(&held[1]) && !gone(&held[2]));
    assert!(shares.make_room() && gone(&held[2]));
    assert!(!shares.make_room() && !gone(&held[0]));
}

/// Two keys on connections without numbers. The newcomer finds a place, and each key keeps its share.
#[test]
fn keys_that_keep_all_places_shut_nobody_out() {
    let shares = Shares::new(24, 24, true);
    let come = |host, key| {
        let place = shares.admit(Newcomer::from(ip(host)))?;
        shares.keep_for(place.number, Asker::Key(key));
        Some(place)
    };
    let held: Vec<Place> = (0..24)
        .filter_map(|i| come(1 + i % 2, u32::from(i % 2)))
        .collect();
    assert_eq!(held.len(), 24);
    let of = |key| {
        held.iter()
            .skip(key)
            .step_by(2)
            .filter(|&place| !gone(place))
            .count()
    };
    let strangers: Vec<_> = (10..200)
        .map(|host| shares.admit(Newcomer::from(ip(host))))
        .collect();
    assert!(strangers.iter().all(Option::is_some));
    // Strangers take each other's place, and one place of the keys.
    assert_eq!(of(0) + of(1), 23);
    assert!(gone(&held[23]), "the newest goes first");
    // A third key gets its share, and nothing more.
    let third: Vec<_> = (0..24).filter_map(|_| come(3, 3)).collect();
    let kept = third.iter().filter(|&place| !gone(place)).count();
    assert_eq!((kept, of(0), of(1)), (8, 8, 8));
    drop(strangers);
    // If each key has one place, no key loses it.
    let shares = Shares::new(4, 4, true);
    let each: Vec<_> = (0..4)
        .filter_map(|host| shares.admit(Newcomer::from(ip(host))))
        .collect();
    for (place, key) in each.iter().zip(0..) {
        shares.keep_for(place.number, Asker::Key(key));
    }
    assert!(shares.admit(Newcomer::from(ip(9))).is_none());
    // A key in doubt keeps no place.
    shares.release(each[2].number);
    assert!(shares.admit(Newcomer::from(ip(9))).is_some());
    assert!(gone(&each[2]));
}

/// At one address, a key leaves places to the address's other clients.
#[test]
fn a_key_leaves_places_to_others_of_its_address() {
    let shares = Shares::new(100, 8, true);
    let come = |key| {
        let place = shares.admit(Newcomer::from(ip(1)))?;
        shares.keep_for(place.number, Asker::Key(key));
        Some(place)
    };
    let first: Vec<_> = (0..8).filter_map(|_| come(1)).collect();
    let second: Vec<_> = (0..8).filter_map(|_| come(2)).collect();
    let held = |places: &[Place]| places.iter().filter(|&place| !gone(place)).count();
    assert_eq!((first.len(), held(&first), held(&second)), (8, 4, 4));
}

/// Incomplete requests of one key leave places to other clients, also to strangers.
#[test]
fn a_key_that_is_being_received_from_everywhere_shuts_nobody_out() {
    let shares = Shares::new(16, 16, true);
    let of = |host: u8, connection: u64, key: Option<u32>| Newcomer {
        address: ip(host),
        connection: Some(connection),
        holder: key.map(Asker::Key),
    };
    let hog = |at: u64| shares.admit(of(1, at % 4, Some(1)));
    let mut held: Vec<Place> = (0..16).filter_map(hog).collect();
    assert_eq!(held.len(), 16);
    let stranger = shares.admit(of(1, 100, None)).expect("a place");
    assert!(gone(&held[15]) && !gone(&held[14]));
    // A complete request is not displaced; the key's other requests are.
    held[14].keep();
    let known = shares.admit(of(1, 101, Some(2))).expect("a place");
    held.extend((0..16).filter_map(hog));
    assert!(!gone(&known) && !gone(&held[14]));
    // A stranger's place may be taken, and becomes free again.
    assert!(gone(&stranger) && shares.admit(of(1, 102, None)).is_some());
    assert!(!gone(&held[14]) && !gone(&known));
}
