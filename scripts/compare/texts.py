"""Whole searches that bring texts, by each way of fetching them."""

from __future__ import annotations

from compare.run import Run
from compare.stated import MILLION_TEXTS
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
    "the same over loopback",
    "bytes up",
    "bytes down",
    "bytes once",
    "server's memory",
    "server's start",
    "build",
    "pages",
)


def section(run: Run) -> str:
    parts = ["## A search that brings texts"]
    if not run.texts:
        return "\n\n".join([*parts, "Sordino: absent, the run has no lines of `scripts/texts.py`."])
    first = run.texts[0]
    parts.append(
        f"{first['n']:,} {first['what']}, vectors of {first['dim']} dimensions, {first['mode']} mode, k = {first['k']}, "
        f"{first['date']}, {first['processor']}. The server learns neither the query nor which texts were found."
    )
    parts.append(markdown(HEAD, [row(line) for line in run.texts]))
    parts.append(
        notes(
            "A search is client and server in one process, on one thread. Over loopback they are two processes on that core, without "
            f"TLS. Times are medians of {first['rounds']} rounds in turn, each of all queries; a build uses all cores.",
            "The server's memory is what no file backs, after the searches of one client. Bytes once include the vectors' part.",
            "Texts are compressed and lie in sealed pages.",
            "`sordino plan --payload-bytes` predicts this table for other numbers. A build chooses the way with the least waiting on a given link.",
        )
    )
    parts.append(MILLION_TEXTS)
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
