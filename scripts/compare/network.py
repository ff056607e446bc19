"""Searches over a network: one server under one client and under eight, over loopback."""

from __future__ import annotations

import os

from compare.run import Run
from compare.table import digits, markdown, notes, time

WHAT = {"requests": "the server alone", "searches": "whole searches"}
HEAD = ("a second", "median", "99th percentile", "requests in a scan", "one scan", "processor time, server and client")


# The share of a bound from which the bound counts as the reason of a throughput.
LIMITS = 0.8


def section(run: Run) -> str:
    parts = ["# Over a network"]
    if run.loads:
        sizes = sorted({load["n"] for load in run.loads if "n" in load})
        vectors = ", ".join(f"{n:,}" for n in sizes) + " vectors" if sizes else ""
        rows = [served(load, len(sizes) > 1) for load in sorted(run.loads, key=order)]
        parts.append(
            "Each row is a mode and a number of clients. Rows `the server alone` measure requests, and rows `whole searches` measure searches. `a second` counts them; median, 99th percentile and processor time are for one. A *scan* is a pass over the index, and "
            "`requests in a scan` is the mean number of requests that share it. `processor time` is that of the server's process, and then that of the clients' process. The server "
            f"can use all {os.cpu_count() or 1} cores, so its processor time may exceed the median. The vectors are generated and form clusters, which is the good case of routed mode."
        )
        parts.append(markdown([vectors, *HEAD], rows))
        parts.extend(bound(run))
    else:
        parts.append("Absent: this run did not measure searches over a network.")
    parts.append(
        notes(
            "Clients and server are two processes on one machine, and share its cores. They communicate over loopback with TLS, and each request has an "
            "authentication tag. In the rows `the server alone`, clients encrypt all queries before the measurement.",
            "The server answers up to 16 waiting requests with [one scan](../../crates/net/README.md#speed). Additional clients raise the throughput if they use idle cores, or "
            "if a shared scan takes less processor time than separate scans.",
        )
    )
    return "\n\n".join(parts)


def bound(run: Run) -> list[str]:
    """The largest rate that eight clients could reach, computed from the processor time of a request."""
    found = {load["clients"]: load for load in run.loads if (load["mode"], load["what"]) == ("masked", "requests") and "server_processor_ms" in load}
    if 1 not in found or 8 not in found:
        return []
    one, eight, cores = found[1], found[8], os.cpu_count() or 1
    spent = {load["clients"]: load["server_processor_ms"] + load["client_processor_ms"] for load in (one, eight)}
    most, used = cores * 1e3 / spent[8], one["per_second"] * spent[1] / 1e3
    share = eight["per_second"] / most
    limit = f"The machine's {cores} processors limit the throughput of eight masked clients (rows `the server alone`). " if share > LIMITS else "The next figures are of masked mode, rows `the server alone`. "
    return [
        f"{limit}One client alone keeps {digits(used)} processors busy. With eight clients, a request takes "
        f"{time(spent[8] * 1e6)} of processor time, so {cores} processors answer at most {digits(most)} a second. The run reached {share:.0%} "
        f"of this bound, and {digits(eight['per_second'] / one['per_second'])} times the requests of one client."
    ]


def order(load: dict) -> tuple:
    return (load.get("n", 0), load["mode"], load["what"], load["clients"])


def served(load: dict, sized: bool) -> list[str]:
    """One line of the example, with its size if other lines have another size."""
    vectors = f"{load['n']:,} vectors, " if sized and "n" in load else ""
    clients = "1 client" if load["clients"] == 1 else f"{load['clients']} clients"
    return [
        f"{vectors}{load['mode']}, {clients}, {WHAT.get(load['what'], load['what'])}",
        f"**{digits(load['per_second'])}**",
        f"**{time(load['p50_ms'] * 1e6)}**",
        f"**{time(load['p99_ms'] * 1e6)}**",
        digits(load["requests_per_scan"]),
        time(load["scan_ms"] * 1e6),
        processor(load),
    ]


def processor(load: dict) -> str:
    """The processor time of one request. Older runs did not measure it."""
    parts = [load.get(f"{side}_processor_ms") for side in ("server", "client")]
    return " and ".join(time(part * 1e6) for part in parts if part is not None) or "-"
