//! The ways to fetch payloads, and the way that a build takes.

use super::ms;
use crate::delivery::FetchName;
use serde::Serialize;
use sordino_search::Error;
use sordino_search::plan::{Bytes, Obstacle, Offer, Plan, Retrieval, Speed, Wish};
use std::fmt::Write;

/// A way to fetch payloads: the cost with pages that are laid for it, or the reason why it cannot
/// be used.
#[derive(Serialize)]
pub(super) struct PlannedWay {
    /// The value of `--fetch`.
    fetch: &'static str,
    /// True for the way that a build takes without `--fetch`.
    chosen: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Costs>,
    /// The reason why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_possible: Option<String>,
    /// The memory that a server needs for it, if that is more than the server may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_bytes: Option<u64>,
}

#[derive(Serialize)]
struct Costs {
    pages: usize,
    page_bytes: u32,
    fetched: usize,
    bytes_once: u64,
    bytes_up: u64,
    bytes_down: u64,
    /// The memory of the server.
    server_bytes: u64,
    /// The times on one thread.
    server_ms: f64,
    client_ms: f64,
    /// The time of the download on the line.
    once_ms: f64,
    /// The time that a search waits for its pages: their bytes on the line, and computing.
    wait_ms: f64,
}

impl PlannedWay {
    /// The ways of a plan. There are none if records have no payloads and no second look.
    pub(super) fn all(plan: &Plan, speed: &Speed) -> Result<Vec<Self>, Error> {
        let wish = plan.wish();
        let chosen = plan.second_look().or(plan.payloads());
        let chosen = chosen.map(|planned| planned.way.kind());
        let ways = plan.offers()?.into_iter().map(|offer| {
            let Offer { kind, planned } = offer;
            let (needs_bytes, not_possible) = match planned {
                Ok(_) => (None, None),
                Err(Obstacle::Memory(needs)) => {
                    let (needed, most) = (Bytes(needs), Bytes(wish.memory));
                    let why = format!(
                        "takes {needed} of the server's memory, and --max-memory is {most}"
                    );
                    (Some(needs), Some(why))
                }
                Err(Obstacle::Layout) => {
                    let why = "no layout for this number of pages of this length";
                    (None, Some(why.to_owned()))
                }
            };
            Self {
                fetch: FetchName::word(kind),
                chosen: chosen == Some(kind),
                cost: planned.ok().map(|planned| costs(&planned, wish, speed)),
                not_possible,
                needs_bytes,
            }
        });
        Ok(ways.collect())
    }
}

fn costs(planned: &Retrieval, wish: &Wish, speed: &Speed) -> Costs {
    let (conditions, (server, client)) = (wish.conditions(), planned.times(speed));
    Costs {
        pages: planned.pages,
        page_bytes: planned.form.page_len,
        fetched: planned.fetched,
        bytes_once: planned.cost.once,
        bytes_up: planned.cost.up,
        bytes_down: planned.cost.down,
        server_bytes: planned.way.memory(),
        server_ms: ms(server),
        client_ms: ms(client),
        once_ms: 1e3 * conditions.seconds(planned.cost.once),
        wait_ms: ms(planned.wait(&conditions, speed)),
    }
}

pub(super) fn table(ways: &[PlannedWay], wish: &Wish) -> String {
    if ways.is_empty() {
        return String::new();
    }
    let conditions = wish.conditions();
    let carried = if wish.second_look.is_some() {
        "the second look, with payloads if there are any"
    } else {
        "payloads"
    };
    let mut text = format!(
        "\nways to {carried}, on a line of {} Mbit/s, with {} cores of the server\n",
        conditions.line / 1e6,
        conditions.cores
    );
    text += &format!(
        "    {:<8} {:>10} {:>8} {:>10} {:>10} {:>10} {:>9} {:>13}",
        "--fetch",
        "once",
        "of it s",
        "a search",
        "server ms",
        "client ms",
        "wait ms",
        "server memory"
    );
    for way in ways {
        let mark = if way.chosen { '>' } else { ' ' };
        // Writing to a text does not fail.
        let _ = match (&way.cost, &way.not_possible) {
            (Some(cost), _) => write!(
                text,
                "\n  {mark} {:<8} {:>10} {:>8.2} {:>10} {:>10.2} {:>10.2} {:>9.2} {:>13}",
                way.fetch,
                Bytes(cost.bytes_once),
                cost.once_ms / 1e3,
                Bytes(cost.bytes_up + cost.bytes_down),
                cost.server_ms,
                cost.client_ms,
                cost.wait_ms,
                Bytes(cost.server_bytes),
            ),
            (None, why) => {
                let why = why.as_deref().unwrap_or_default();
                write!(text, "\n  {mark} {:<8} not possible: {why}", way.fetch)
            }
        };
    }
    text + "\n  >: without --fetch, by the wait of all searches, where what comes once counts five times and takes at most 3 s"
}
