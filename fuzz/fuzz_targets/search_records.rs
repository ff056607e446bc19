#![no_main]
//! The parts about records that clients open: sets of numbers, ids of each kind, attributes, frames, scales and exact
//! residuals. Routed mode also has the members of clusters and the data for finding clusters. Checks also have the sums of open
//! rows and the combinations of all rows. A part that is read is written back as the same bytes.

use libfuzzer_sys::fuzz_target;
use sordino_ckks::column::Params;
use sordino_index::IdKind;
use sordino_index::checks::exact;
use sordino_index::look;
use sordino_index::manifest::{Grid, SecretPacking};
use sordino_search::Metric;
use sordino_vault::attributes::Attributes;
use sordino_vault::checks::held::{ReaderSums, Signs};
use sordino_vault::frame::{Frame, RowScale};
use sordino_vault::ids::Ids;
use sordino_vault::members::Members;
use sordino_vault::numbers::Numbers;
use sordino_vault::route::Route;

/// Six clusters of four places.
const GRID: Grid = Grid {
    groups: 2,
    clusters: 3,
    slots: 4,
    packing: SecretPacking::T64,
};

fuzz_target!(|data: &[u8]| {
    let mut code = Vec::new();
    if let Ok(numbers) = Numbers::read(&mut &data[..]) {
        numbers.write(&mut code);
        assert_eq!(Numbers::read(&mut &code[..]).ok(), Some(numbers));
    }
    let Some((&count, rest)) = data.split_first() else {
        return;
    };
    for kind in IdKind::ALL {
        if let Ok(ids) = Ids::read(kind, count.into(), rest) {
            assert_eq!(ids.len(), usize::from(count));
            code.clear();
            ids.write(&mut code);
            assert_eq!(Ids::read(kind, count.into(), &code).ok(), Some(ids));
        }
    }
    if let Ok(attributes) = Attributes::read(count.into(), rest) {
        code.clear();
        attributes.write(&mut code);
        let again = Attributes::read(count.into(), &code).expect("what was written");
        // The values are not compared, since some of them are NaN.
        assert_eq!(again.columns().count(), attributes.columns().count());
    }
    if let Ok(members) = Members::from_bytes(&GRID, count.into(), rest.to_vec()) {
        let again = Members::from_bytes(&GRID, count.into(), members.as_bytes().to_vec());
        assert_eq!(again.ok(), Some(members));
    }
    for metric in Metric::ALL {
        let dim = usize::from(count % 16 + 1);
        if let Ok(frame) = Frame::from_bytes(metric, [3; 32], dim, rest) {
            assert_eq!(frame.to_bytes(), rest);
            let asked = frame.ask(&vec![1.0; dim]).expect("a query of the frame");
            for row in RowScale::read_all(metric, 3, rest).unwrap_or_default() {
                assert!(asked.score(asked.key(&row, 0.5)).is_finite());
            }
            assert!(asked.score(asked.key_of_lifted(0.5)).is_finite());
        }
        if let Ok(rows) = RowScale::read_all(metric, count.into(), rest) {
            assert_eq!(rows.len(), usize::from(count));
            assert!(rows.iter().all(|row| row.scale.is_finite()));
        }
    }
    if let Some((_, residual)) = look::residual(rest) {
        assert!(residual.iter().all(|x| x.is_finite()));
    }
    let width = usize::from(count.max(1));
    if let Ok(held) = ReaderSums::from_bytes(Signs::new([7; 32].into()), 9, width, rest) {
        let off = held.off(&[1 << 19; 9], &vec![1 << 26; width], (1 << 40, 20));
        assert_eq!(off.len(), 1);
    }
    let params = Params::modular_26_t8().whole();
    if let Ok(combinations) = exact::read(&params, width, rest) {
        assert_eq!(combinations.len(), exact::copies(&params));
    }
    if let Ok(route) = Route::from_bytes(&GRID, width, rest) {
        let nearest = route.nearest(&GRID, &vec![1.0; width]);
        assert!(nearest.len() == 2 && nearest.iter().all(|cluster| *cluster < 3));
    }
});
