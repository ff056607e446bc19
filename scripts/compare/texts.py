"""Whole searches that fetch texts, by each way of fetching."""

from __future__ import annotations

from compare.run import Run
from compare.table import markdown, notes, size, time

WAYS = {
    "none": "ids alone",
    "download": "texts, downloaded once",
    "pir": "texts by PIR with a hint",
    "scan": "texts by a scan",
    "hintless": "texts without a hint",
}
HEAD = (
    "",
    "a search",
    "of it in the server",
    "a search over loopback",
    "bytes up",
    "bytes down",
    "bytes once",
    "server's memory",
    "server's start",
    "build",
    "pages with texts",
)


def section(run: Run) -> str:
    parts = ["## Each way to fetch texts"]
    if not run.texts:
        return "\n\n".join([*parts, "Absent: this run did not measure the ways to fetch texts."])
    first = run.texts[0]
    parts.append(
        f"We measured {first['mode']} mode with {first['n']:,} {first['what']}, vectors of {first['dim']} dimensions, and {first['k']} results a search, on "
        f"{first['date']}. The processor was {first['processor']}. Each row is a [way to fetch the texts](../protocol/payloads.md)."
    )
    parts.append(markdown(HEAD, [row(line) for line in run.texts]))
    parts.append(
        notes(
            "For `a search`, client and server run in one process on one thread. For `a search over loopback`, they are two processes on the same "
            "core, without TLS.",
            f"Times are medians of all queries, in {first['rounds']} round(s). In each round, every way answers all queries. A build uses all cores.",
            "`server's memory` excludes mapped files, and is measured after the searches of one client. `bytes once` is what a client downloads before its "
            "first search, for vectors and texts.",
        )
    )
    return "\n\n".join(parts)


def row(line: dict) -> list[str]:
    def ms(name: str) -> str:
        return time(line[name] * 1e6)

    return [
        WAYS.get(line["fetch"], line["fetch"]),
        f"**{ms('search_ms')}**",
        ms("server_ms"),
        ms("network_ms"),
        size(line["bytes_up"]),
        size(line["bytes_down"]),
        size(line["bytes_once"]),
        size(line["server_bytes"]),
        time(line["start_s"] * 1e9),
        time(line["build_s"] * 1e9),
        f"{line['pages']:,} of {line['page_bytes']:,} B" if line.get("pages") else "-",
    ]
