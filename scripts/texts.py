#!/usr/bin/env python3
"""Whole searches that fetch texts, a line of JSON for each way of fetching, for scripts/compare.

  scripts/texts.py SORDINO VECTORS QUERIES [--column NAME] [--id-column NAME] [--rounds N] [--name TEXT] [--pin COMMAND]

SORDINO is the program, VECTORS a table with a column of texts, QUERIES a file of vectors. Builds an index without
payloads and one for each way, with all processors. Then, in rounds, serves each index with `serve` and searches it: over loopback,
and with client and server in one process on one thread. Figures are medians of the rounds. Needs Linux, for the server's memory.
"""
import argparse
import json
import re
import shlex
import socket
import statistics
import subprocess
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path

from compare.machine import cpu, virtual

WAYS = ("none", "download", "pir", "scan", "hintless")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port, process):
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if process.poll() is not None:
                raise SystemExit("the server stopped before it listened") from None
            time.sleep(0.005)


def memory(process, name):
    """A line of the process's status, in bytes: `RssAnon` is memory that no file backs, `VmHWM` the peak. Zero if the process has ended."""
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
    return 1024 * int(found[1]) if found else 0


class Bed:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.call("keys", "new", "owner", "owner.key")
        self.call("keys", "new", "reader", "reader.key", "--from", "owner.key")
        self.call("keys", "new", "public", "owner.pub", "--from", "owner.key")

    def command(self, *words):
        return [*shlex.split(self.args.pin), str(self.args.sordino.resolve()), *words]

    def call(self, *words, pinned=True):
        command = self.command(*words)
        command = command if pinned else command[len(shlex.split(self.args.pin)) :]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def build(self, way):
        args = self.args
        words = ["index", "build", str(args.vectors.resolve()), way, "--key", "owner.key", "--json"]
        if args.id_column:
            words += ["--id-column", args.id_column]
        # Without the second words, the build would take the texts that it finds.
        words += ["--payload-column", args.column, "--fetch", way] if way != "none" else ["--no-guess"]
        report = json.loads(self.call(*words, pinned=False))
        fetched = report.get("fetched") or {}
        line = {key: report[key] for key in ("mode", "n", "dim", "k")}
        line |= {"fetch": way, "build_s": report["seconds"], "disk_bytes": report["bytes"]}
        return line | {key: fetched.get(key) for key in ("pages", "page_bytes", "of_a_search")}

    def measure(self, way):
        queries = str(self.args.queries.resolve())
        port = free_port()
        start = time.monotonic()
        serve = ("serve", way, "--key", "owner.pub", "--plaintext", "--anyone", "--listen", f"127.0.0.1:{port}")
        server = subprocess.Popen(self.command(*serve), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(port, server)
            figures = {"start_s": time.monotonic() - start}
            words = ("query", "--connect", f"http://127.0.0.1:{port}", "--key", "reader.key", "--file", queries)
            report = json.loads(self.call(*words, "--json", "--no-cache"))
            figures["network_ms"] = report["search_ms_median"]
            figures["server_bytes"] = memory(server, "RssAnon")
        finally:
            server.terminate()
            server.wait()
        words = ("bench", "--index", way, "--key", "reader.key", "--queries", queries, "--json")
        row = json.loads(self.call(*words))["measured"][0]
        names = ("search_ms", "server_ms", "client_ms", "bytes_up", "bytes_down", "bytes_once")
        return figures | {name: row[name] for name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("sordino", "vectors", "queries"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--column", default="text", help="the column of texts")
    parser.add_argument("--id-column", help="the column of record ids, if the table has one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--name", default="texts", help="what the texts are")
    parser.add_argument("--pin", default="", help="a command in front of what is measured: taskset -c 1")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(args, folder)
        lines = {way: bed.build(way) for way in WAYS}
        rounds = [{way: bed.measure(way) for way in WAYS} for _ in range(args.rounds)]
    date = datetime.now(timezone.utc).strftime("%d %B %Y")
    for way in WAYS:
        taken = [one[way] for one in rounds]
        figures = {name: statistics.median(one[name] for one in taken) for name in taken[0]}
        where = {"processor": cpu() + virtual(), "rounds": args.rounds}
        print(json.dumps({"what": args.name, "date": date, **where, **lines[way], **figures}))


if __name__ == "__main__":
    main()
