"""The time of a build from Parquet files, by one process or by several.

  python python/benches/parquet.py [--records N] [--dim D] [--files N] [--times N] [--mode MODE] [--keep FOLDER]

There are three kinds of builds. One process reads the files one after the other; threads or Ray's tasks read ahead; or processes or Ray's
tasks make segments and, in routed and sealed mode, assign records to clusters. Needs pyarrow, and Ray for Ray's lines. Prints a table with
the best of --times runs, which take turns. --keep leaves the files, the last index (FOLDER/index) and the owner's keys there.
"""

import argparse
import contextlib
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sordino
from sordino.parquet import batch, batches, build

COLUMNS = {"vectors": "embedding", "ids": "id"}


def write(folder, args):
    """Files of random vectors with ids."""
    generator = np.random.default_rng(1)
    each = args.records // args.files
    for part in range(args.files):
        values = generator.standard_normal((each, args.dim), dtype=np.float32)
        column = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), args.dim)
        table = pa.table({"embedding": column, "id": np.arange(part * each, (part + 1) * each)})
        pq.write_table(table, folder / f"part-{part:03}.parquet", compression="none")


def one_after_the_other(lake):
    for path in sorted(lake.iterdir()):
        yield batch(pq.read_table(path), **COLUMNS)


def whole(read):
    """A build by this process of what `read` gives."""
    return lambda folder, key, mode: sordino.build(folder / "index", read(folder / "lake"), key=key, mode=mode)


def in_tasks(build):
    """A build by other processes, which read the owner's key from its file."""
    return lambda folder, _, mode: build(folder / "index", folder / "lake", key_file=folder / "owner.key", mode=mode, **COLUMNS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--mode", default="masked")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    ways = {
        "read by one process": whole(one_after_the_other),
        "read by threads": whole(lambda lake: batches(lake, **COLUMNS)),
        "made by two processes": in_tasks(lambda *places, **choices: build(*places, processes=2, **choices)),
    }
    with contextlib.suppress(ImportError):
        import ray

        import sordino.ray

        ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
        ways["read by Ray's tasks"] = whole(lambda lake: sordino.ray.batches(lake, **COLUMNS))
        ways["made by Ray's tasks"] = in_tasks(sordino.ray.build)
    folder = args.keep or Path(tempfile.mkdtemp())
    lake = folder / "lake"
    lake.mkdir(parents=True)
    write(lake, args)
    key = sordino.keygen()
    key.save(folder / "owner.key")
    took = {name: [] for name in ways}
    for _ in range(args.times):
        for name, way in ways.items():
            shutil.rmtree(folder / "index", ignore_errors=True)
            begin = time.perf_counter()
            index = way(folder, key, args.mode)
            took[name].append(time.perf_counter() - begin)
            assert len(index) == args.records // args.files * args.files
    first = min(took["read by one process"])
    print("| records | best | all, s | beside one process |\n|---|---|---|---|")
    for name, times in took.items():
        print(f"| {name} | {min(times):.1f} s | {', '.join(f'{one:.1f}' for one in times)} | {min(times) / first:.2f} |")
    if args.keep:
        key.reader().save(folder / "reader.key")
        key.public().save(folder / "owner.pub")
    else:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
