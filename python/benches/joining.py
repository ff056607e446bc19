"""The time that joining adds to a search: one server, a gathering server over it as the only shard, and over two shards.

  python python/benches/joining.py INDEX OWNER_KEY [--sordino PATH] [--searches N] [--ray]

Make INDEX and OWNER_KEY with python/benches/parquet.py, which keeps them. Each server is a process of the command, and each shard has one
replica. Searches take turns among the servers. --ray adds two shards under Ray Serve. Times are from a request to its whole reply, without
the client's work. Processor time is per search, of the gathering server alone, and does not depend on what else the machine does.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import sordino


def start(*words):
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    return process, "http://" + re.search(r"127\.0\.0\.1:\d+", process.stdout.readline()).group()


def processor(process):
    """Seconds that a process has computed."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index")
    parser.add_argument("key")
    parser.add_argument("--sordino", default="target/debug/sordino")
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--ray", action="store_true")
    args = parser.parse_args()
    key = sordino.OwnerKey.load(args.key)
    public = Path(tempfile.mkdtemp()) / "owner.pub"
    key.public().save(public)
    common = ["--key", public, "--listen", "127.0.0.1:0", "--plaintext", "--anyone"]
    processes = {}

    def serve(name, *words):
        processes[name] = start(args.sordino, "serve", args.index, *words, *common)
        return processes[name][1]

    def gather(name, *urls):
        processes[name] = start(args.sordino, "gather", "--shards", ",".join(urls), *common)

    serve("one server")
    gather("gather, one shard", serve("shard 1/1", "--shard", "1/1"))
    gather("gather, two shards", *(serve(f"shard {shard}", "--shard", shard) for shard in ("1/2", "2/2")))
    urls = {name: url for name, (_, url) in processes.items() if not name.startswith("shard")}
    if args.ray:
        import ray
        from ray import serve as ray_serve

        from sordino.ray import Options, app

        ray.init(num_cpus=4, include_dashboard=False, logging_level="error", log_to_driver=False)
        options = Options(
            index=args.index, public_key=str(public), shards=2, listen="127.0.0.1:0", cpus=1
        )
        urls["Ray Serve, two shards"] = ray_serve.run(app(options), route_prefix=None).url.remote().result()
    clients = {name: sordino.Client(url, key=key.reader()) for name, url in urls.items()}
    times = {name: [] for name in clients}
    dim = sordino.open(args.index, key=key).info()["dim"]
    queries = np.random.default_rng(3).standard_normal((args.searches + 3, dim), dtype=np.float32)
    used = {}
    for at, query in enumerate(queries):
        if at == 3:
            used = {name: processor(processes[name][0]) for name in urls if name in processes}
        for name, client in clients.items():
            found = client.search(query)
            if at >= 3:
                times[name].append(found.server_ms)
    used = {name: processor(processes[name][0]) - before for name, before in used.items()}
    print("| | least | first quartile | median | processor time |\n|---|---|---|---|---|")
    for name, some in times.items():
        own = f"{1000 * used[name] / args.searches:.1f} ms" if name in used else ""
        quartile, median, _ = statistics.quantiles(some, n=4)
        print(f"| {name} | {min(some):.1f} ms | {quartile:.1f} ms | {median:.1f} ms | {own} |", flush=True)
    for process, _ in processes.values():
        process.terminate()
        process.wait()
    if args.ray:
        ray_serve.shutdown()


if __name__ == "__main__":
    main()
