#!/usr/bin/env python3
"""The times of a search over a large number of shards, some of which are late at times.

  scripts/fan_out.py [--times FILE] [--searches N] [--seed N]

A search ends when its slowest shard has answered. FILE has times of one shard, in milliseconds, one per line. Without FILE,
times are 20 ms, within a few per cent. One answer in a hundred is late by the law of Pareto, by 40 ms on average. A hedged
search asks another replica of each shard that does not answer by the 95th percentile of one shard's times. The search
takes the first answer. The script prints a table in Markdown.
"""
import argparse
import random

SHARDS = (1, 8, 32, 128)


def synthetic(generator):
    time = generator.gauss(20, 0.5)
    late = generator.random() < 0.01
    return max(time, 1) + (40 * (generator.paretovariate(2) - 1) if late else 0)


def percentile(times, share):
    times = sorted(times)
    return times[min(int(share * len(times)), len(times) - 1)]


def searches(draw, shards, count, hedge):
    """The times of searches, and the number of requests beyond one per shard."""
    times, more = [], 0
    for _ in range(count):
        slowest = 0
        for _ in range(shards):
            time = draw()
            if hedge is not None and time > hedge:
                more += 1
                time = min(time, hedge + draw())
            slowest = max(slowest, time)
        times.append(slowest)
    return times, more / (count * shards)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", metavar="FILE", help="times of one shard in milliseconds, one a line")
    parser.add_argument("--searches", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    if options.times:
        with open(options.times) as file:
            times = [float(line) for line in file if line.strip()]
        if not times or min(times) < 0:
            parser.error(f"{options.times}: expected times in milliseconds, one a line")

        def draw():
            return generator.choice(times)
    else:

        def draw():
            return synthetic(generator)

    hedge = percentile([draw() for _ in range(20_000)], 0.95)
    print("| shards | p50 | p99 | p99.9 | hedged: p50 | p99 | p99.9 | requests more |")
    print("|---|---|---|---|---|---|---|---|")
    for shards in SHARDS:
        cells = [str(shards)]
        for when in (None, hedge):
            found, more = searches(draw, shards, options.searches, when)
            cells += [f"{percentile(found, share):.1f} ms" for share in (0.5, 0.99, 0.999)]
        print(f"| {' | '.join(cells)} | {100 * more:.1f} % |")


if __name__ == "__main__":
    main()
