#!/usr/bin/env python3
"""Runs clients in separate processes against one server, while its index changes, for a chosen time.

  scripts/soak.py [--records N] [--dim D] [--mode M] [--clients N] [--minutes M] [--every S] [--sordino PATH] [--folder DIR] [--keep-encoded]

Makes random vectors and an index of them, and serves it. A number of loops (`--clients`) run `sordino query --cache` on vectors of the
index. They share one cache. Every `--every` seconds the script adds a record, or deletes an added one, and the index compacts itself. The
script samples the memory and the open files of the server. It fails if a query fails or does not find its vector, if a change fails, or if
memory or open files grow. For this, it compares their medians in the last third of the time with the medians in the second third: memory may
be 2 % larger, and files 4 more. The first third is for warming up.

Prints a line of JSON every ten seconds, and one at the end. Needs Linux and a build of the command, preferably a release.
"""
import argparse
import json
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

QUERIES = 4


class Soak:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.end = None
        self.lock = threading.Lock()
        self.count = {"queries": 0, "changes": 0}
        self.times, self.failures, self.samples = [], [], []

    def path(self, name):
        return os.path.join(self.folder, name)

    def sordino(self, *words, **more):
        line = [self.args.sordino, *(self.path(word[1:]) if word[:1] == "@" else word for word in words)]
        return subprocess.run(line, capture_output=True, text=True, **more)

    def must(self, *words):
        done = self.sordino(*words)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stderr.strip()}")

    def vectors(self, name, rows, count=None):
        count = count or len(rows) // self.args.dim
        with open(self.path(name), "wb") as file:
            file.write(struct.pack("<II", count, self.args.dim))
            file.write(rows)

    def prepare(self):
        n, dim = self.args.records, self.args.dim
        rows = os.urandom(n * dim)
        self.vectors("base.i8bin", rows)
        # Each client has its own queries, which come from the whole index.
        self.asked = [[(client * QUERIES + at) * 7919 % n for at in range(QUERIES)] for client in range(self.args.clients)]
        for client, ids in enumerate(self.asked):
            self.vectors(f"q{client}.i8bin", b"".join(rows[row * dim : (row + 1) * dim] for row in ids))
        self.must("keys", "new", "owner", "@owner.key")
        self.must("keys", "new", "reader", "@reader.key", "--from", "@owner.key")
        self.must("keys", "new", "public", "@owner.pub", "--from", "@owner.key")
        self.must("index", "build", "@base.i8bin", "@index", "--key", "@owner.key", "--mode", self.args.mode)

    def serve(self):
        words = "serve --json --plaintext --anyone --listen 127.0.0.1:0 --key".split()
        line = [self.args.sordino, *words, self.path("owner.pub"), self.path("index")]
        if self.args.keep_encoded:
            line += ["--keep-encoded", self.path("kept")]
        log = open(self.path("server.log"), "w")
        self.server = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=log, text=True)
        self.url = "http://" + json.loads(self.server.stdout.readline())["address"]
        # Reads the server's lines about each version, so that the server never waits for a reader.
        threading.Thread(target=lambda: [None for _ in self.server.stdout], daemon=True).start()

    def going(self):
        return time.time() < self.end

    def fail(self, what):
        with self.lock:
            self.failures.append(what)
        print(json.dumps({"failed": what}), flush=True)

    def ask(self, client):
        while self.going():
            start = time.time()
            words = ["--key", "@reader.key", "--file", f"@q{client}.i8bin", "--cache", "@cache", "--k", "1", "--jsonl"]
            done = self.sordino("query", "--connect", self.url, *words)
            if done.returncode:
                self.fail(f"query: {done.returncode}: {done.stderr.strip()}")
                continue
            hits = [json.loads(line)["hits"] for line in done.stdout.splitlines()]
            found = [hit[0]["id"] if hit else None for hit in hits]
            if found != self.asked[client]:
                self.fail(f"query: found {found}, expected {self.asked[client]}")
            with self.lock:
                self.count["queries"] += QUERIES
                self.times.append(time.time() - start)

    def change(self):
        there, number, due = [], self.args.records, time.time()
        while self.going():
            due = max(due + self.args.every, time.time())
            time.sleep(max(0.0, due - time.time()))
            policy = ["--key", "@owner.key", "--compact-after", "32"]
            if len(there) < 50:
                self.vectors("one.i8bin", os.urandom(self.args.dim))
                with open(self.path("ids.txt"), "w") as file:
                    file.write(f"{number}\n")
                there.append(number)
                number += 1
                done = self.sordino("index", "add", "@index", "@one.i8bin", "--ids", "@ids.txt", *policy)
            else:
                some = ",".join(str(id_) for id_ in there[:25])
                there = there[25:]
                done = self.sordino("index", "delete", "@index", "--ids", some, *policy)
            if done.returncode:
                self.fail(f"change: {done.returncode}: {done.stderr.strip()}")
            self.count["changes"] += 1

    def sample(self):
        last = 0
        while self.going():
            pid = self.server.pid
            if self.server.poll() is not None:
                self.fail(f"the server ended: {self.server.returncode}")
                return
            with open(f"/proc/{pid}/status") as file:
                resident = int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) * 1024
            files = len(os.listdir(f"/proc/{pid}/fd"))
            self.samples.append((time.time(), resident, files))
            if time.time() - last >= 10:
                last = time.time()
                line = {"left": round(self.end - last), **self.count, "resident": resident, "files": files}
                print(json.dumps(line), flush=True)
            time.sleep(1)

    def run(self):
        self.prepare()
        self.serve()
        start = time.time()
        self.end = start + 60 * self.args.minutes
        work = [threading.Thread(target=self.ask, args=(client,)) for client in range(self.args.clients)]
        work += [threading.Thread(target=self.change), threading.Thread(target=self.sample)]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
        self.server.terminate()
        if self.server.wait(60):
            self.fail(f"the server's exit code: {self.server.returncode}")
        return self.report(start)

    def report(self, start):
        third = (self.end - start) / 3

        def median(of, number):
            mine = [sample[of] for sample in self.samples if int((sample[0] - start) // third) == number]
            return statistics.median(mine or [0])

        (memory, files), (later, later_files) = ((median(1, at), median(2, at)) for at in (1, 2))
        if later > 1.02 * memory:
            self.fail(f"memory grew from {memory} to {later} bytes")
        if later_files > files + 4:
            self.fail(f"open files grew from {files} to {later_files}")
        times = sorted(self.times) or [0]
        print(
            json.dumps(
                {
                    "records": self.args.records,
                    "minutes": self.args.minutes,
                    **self.count,
                    "query_process_seconds_median": round(statistics.median(times), 3),
                    "query_process_seconds_worst": round(times[-1], 3),
                    "resident_median_thirds": [median(1, at) for at in range(3)],
                    "resident_most": max((sample[1] for sample in self.samples), default=0),
                    "files_median_thirds": [median(2, at) for at in range(3)],
                    "failures": len(self.failures),
                }
            ),
            flush=True,
        )
        return 1 if self.failures else 0


def main():
    parser = argparse.ArgumentParser(description="clients against a server whose index changes")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--mode", default="masked", choices=["masked", "open", "local"])
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two changes")
    parser.add_argument("--sordino", default="target/release/sordino")
    parser.add_argument("--keep-encoded", action="store_true", help="the server keeps what it encodes, and maps it")
    parser.add_argument("--folder", help="an empty folder to work in; else one that is removed at the end")
    args = parser.parse_args()
    args.sordino = os.path.abspath(args.sordino)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or temporary
        os.makedirs(folder, exist_ok=True)
        sys.exit(Soak(args, folder).run())


if __name__ == "__main__":
    main()
