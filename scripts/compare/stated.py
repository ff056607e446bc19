"""Tables that a run does not make: their vectors are not part of the project, they time the Python package, or they await a run.

When a run of `scripts/bench.sh` replaces a row, delete it here.
"""

PRECISION = """\
## Vectors of many lengths

On 28 November 2026 we measured the recall@10 of 50 queries close to stored rows. We found the true neighbours by distances in double precision. Each row is a set of vectors:

| 1,000 normally distributed vectors of 64 dimensions, with this change | metric | masked | local |
|---|---|---:|---:|
| one vector is up to 10^6 times longer | Euclidean | 0.996 | 0.998 |
| up to 1000 is added to all coordinates | Euclidean | 0.996 | 0.996 |
| 8 dimensions, vectors of lengths from 1e-20 to 1e20 | Euclidean | 0.998 | 1 |
| two clusters at -1000 and +1000, queries near one of them | Euclidean | 0.35 | 0.85 |

Each recall is the lowest of up to three measurements. For the last row, the build prints a recall of 0.63 (masked) and 0.92 (local), the
mean over both clusters. With a [second look](../scoring.md#the-second-look), a search finds the missing neighbours."""

OLDER_CHECKS = """\
On 24 November 2026, the verification of one token alone took 21.5 µs (ML-DSA-65) or 18.1 µs (ML-DSA-44). It ran on busy cores at real-time
priority, with overflow checks and without link-time optimisation."""

PYTHON = """\
## From Python

On 23 November 2026, we ran the measurements of `python/benches/overhead.py` on two busy cores of an AMD EPYC virtual machine. They used
masked mode with 100,000 vectors of 128 dimensions. The first two rows are for builds with cargo's profile `dev`, and the last row is
for a release wheel; the third row's build is not recorded.

| what we measured | result |
|---|---|
| time of a search through the package, minus time of a search by the command line | -0.6 to 0.5 ms in five runs (each: the median of 200 searches), median -0.1 ms; a search takes 12 ms |
| time of a build from an array, and by the command line from a file | 0.97 and 0.85 s |
| peak memory of a build, above the array's 51 MB | 199 to 254 MB |
| time of a batch of 100 searches on one core, and on two | best 0.73 and 0.40 s, medians 0.80 and 0.49 s |

`python/benches/parquet.py` built masked indexes of one million vectors of 128 dimensions from 20 Parquet files, on two cores with AVX2. A
build took 31.1 s in one process with threads, 28.9 s in two processes, and 32.0 to 33.2 s in Ray's tasks. In routed mode, a build of
200,000 random vectors took 18.6 s in one process, 31.4 s in two, and 42.9 s in Ray's tasks. Ray's workers yield to other programs unless
you set `RAY_worker_niceness=0`.

We added 1,750 texts of 300 letters to a LangChain store, one text at a time (384 dimensions, `dev` build). The median time of an addition
was 196 ms for the first 250 texts, and 178 ms from the 1,500th text on. Each addition made the store's folder 12 kB larger."""
