"""Tables that a run does not make: their vectors are not part of the project, they time the Python package, or they await a run.

When a run of `scripts/bench.sh` replaces a row, delete it here.
"""

SENTENCES = """\
## Real sentences

Sentence embeddings lie closer together than the vectors of either generated set: nearly all cosines are between 0.71 and 0.89. The
transformer multilingual-e5-small, in four bits, embedded 39,328 definitions of Open English WordNet (384 dimensions). On 23 November 2026,
recall@10 of 200 short queries was 0.9965 in open mode, 0.9955 in masked mode and 0.9805 in local mode."""

DESCRIPTORS = """\
## Image descriptors

OpenCV extracted 100,000 SIFT descriptors of 128 dimensions from 1,000 photographs. We made 500 queries by cosine, with default checks.
Client and server were one process on two cores of an AMD EPYC (Zen 4) virtual machine, on 27 November 2026. Since that day, the one-time
download in masked and open mode grew by two bytes for each vector.

|  | masked | open | routed | sealed | local |
|---|---:|---:|---:|---:|---:|
| recall@10 | 0.998 | 0.997 | 0.956 to 0.969, by the build | 0.960 | 0.991 |
| a search | 8.1 ms | 4.4 ms | 13.4 ms | 11.3 ms | 0.4 ms |
| of it in the server | 3.9 ms | 2.4 ms | 8.4 ms | 5.2 ms | none |
| bytes a search | 0.39 MB | 0.32 MB | 0.23 MB | 0.59 MB | 0 |
| bytes once | 2.1 MB | 2.2 MB | 6.0 MB | 27 MB | 13 MB |
| index build | 0.6 s | 0.5 s | 1.9 s | 6 s | 0.7 s |

`sordino bench --data base.npy --queries queries.npy --truth neighbours.npy --searches 500 --threads 2` prints such a table for
your vectors."""

PRECISION = """\
## Vectors of many lengths

On 28 November 2026 we measured recall@10 of 50 queries close to stored rows. Distances in double precision gave the true neighbours.

| 1,000 normal rows x 64, unless the row names a set | metric | masked | local |
|---|---|---:|---:|
| one row up to 10^6 times as long | Euclidean | 0.996 | 0.998 |
| up to +1000 on all coordinates | Euclidean | 0.996 | 0.996 |
| 8 coordinates, rows of lengths from 1e-20 to 1e20 | Euclidean | 0.998 | 1 |
| two clusters at -1000 and +1000, queries near one | Euclidean | 0.35 | 0.85 |

Each recall is the lowest of up to three measurements. In the last row, the build prints a recall of 0.63 (masked) and 0.92 (local): the
mean over both clusters. A second look finds the missing neighbours."""

MILLION_TEXTS = """\
We measured the table above with overflow checks.

The next table has a million vectors of 384 dimensions, with texts fetched by a scan. On the same day, server and client ran a release build
on one core each, under a system load of 3 to 8. Scoring alone takes the server 214 ms and the client 145 ms:

| texts | for the texts | whole search | payload bytes per search | once, for texts | server memory, for texts | build |
|---|---|---|---|---|---|---|
| English of 300 bytes | 113 ms | 477 ms | 1.38 MB | 8.0 MB | 1.1 GB | 43 s in 1.03 GB |
| 1,000 bytes that do not compress | 441 ms | 841 ms | 2.87 MB | 17.8 MB | 3.3 GB | 51 s in 3.2 GB |
| none | | 359 ms | | | | 32 s in 0.67 GB |

- Together, eight clients got 2.1 times the answers of a single client with short texts, and 2.4 times with long texts.
- After the owner replaces one record, a client downloads 1.4 kB for a new text, or 13 kB for a new vector with its text.
- With 100,000 x 128, a second look at 32 candidates lengthens a search from 13.6 to 74.6 ms. The second look adds 0.88 MB to each search,
  and 7.5 MB to the one-time download."""

OLDER_SERVER = """\
On 25 November 2026 a `dev` build ran on two processors of a Zen 3 virtual machine (AVX2), in masked mode with `t = 8`. The server alone
gave one client 96 answers a second, and eight clients 123 together."""

OLDER_CHECKS = """\
We measured in three short runs on two busy cores, at real-time priority and without link-time optimisation. Tokens are of 24 November 2026,
with overflow checks. The cached check and the lookup are of 25 November, and all other rows of 23 November.

- Without other load, cedar-policy took 4.5 µs for 3 policies and 70 µs for 101, with overflow checks.
- A cached check and a lookup each include 14 ns for making the request.
- In a batch, one token took 7.9 µs (ML-DSA-65) or 6.5 µs (ML-DSA-44). A token alone took 21.5 µs (ML-DSA-65) or 18.1 µs (ML-DSA-44).
- Client and server each spent 1.4 µs on a request's tag at 1 KiB, 7.3 µs at 16 KiB and 16 µs at 64 KiB. BLAKE3 alone takes 3.0 µs
  for 16 KiB."""

PYTHON = """\
## From Python

On 23 November 2026, `python/benches/overhead.py` and its parts ran on two busy cores of an AMD EPYC virtual machine. They measured masked
mode with 100,000 vectors of 128 dimensions. The first two rows use `dev` builds, and the last row a release wheel.

| what | measured |
|---|---|
| time of a search through the package, minus time of a search by the command line | five medians of 200: -0.6 to 0.5 ms of 12 ms, median -0.1 ms |
| build from an array, and with the command line from a file | 0.97 and 0.85 s |
| peak memory of a build, above the array's 51 MB | 199 to 254 MB |
| a batch of 100 searches on one core and on two | best 0.73 and 0.40 s, medians 0.80 and 0.49 s |

`python/benches/parquet.py` built masked indexes of one million vectors of 128 dimensions from 20 Parquet files, on two cores with AVX2.
One process took 31.1 s with threads, two processes 28.9 s, and Ray's tasks 32.0 to 36 s. In routed mode, a build of 200,000 random vectors
took 18.6 s in one process, 31.4 s in two and 42.9 s in Ray's tasks. Ray's workers yield to other programs unless you set
`RAY_worker_niceness=0`.

We made 1,750 single additions to a LangChain store (384 dimensions, 300 letters, `dev` build). The median was 196 ms for the first 250
additions, and 178 ms from the 1,500th on. Each addition made the folder 12 kB larger."""
