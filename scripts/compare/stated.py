"""Tables that a run does not make: their vectors are not part of the project, or they time the Python package."""

DESCRIPTORS = """\
100,000 image descriptors of 128 dimensions (SIFT, which OpenCV extracted from 1,000 photographs), cosine, 500 queries, default
checks. Client and server are one process on two cores of an AMD EPYC (Zen 4) virtual machine; medians, 27 November 2026. Since then a
client downloads two bytes more for each vector, once, in masked and open mode: a base and a scale.

|  | masked | open | routed | sealed | local |
| --- | ---: | ---: | ---: | ---: | ---: |
| recall@10 | 0.998 | 0.997 | 0.956 to 0.969, by the build | 0.960 | 0.991 |
| a search | 8.1 ms | 4.4 ms | 13.4 ms | 11.3 ms | 0.4 ms |
| of it in the server | 3.9 ms | 2.4 ms | 8.4 ms | 5.2 ms | none |
| bytes a search | 0.39 MB | 0.32 MB | 0.23 MB | 0.59 MB | 0 |
| bytes once | 2.1 MB | 2.2 MB | 6.0 MB | 27 MB | 13 MB |
| index build | 0.6 s | 0.5 s | 1.9 s | 6 s | 0.7 s |

`sordino bench --data base.npy --queries queries.npy --truth neighbours.npy --searches 500 --threads 2` prints such a table for any
vectors. We may not pass these photographs on."""

PYTHON = """\
Two busy cores of an AMD EPYC virtual machine, 100,000 vectors of 128 dimensions, masked mode, 23 November 2026
(`python/benches/overhead.py` and its parts).

| what | measured | aim |
| --- | --- | --- |
| a search through the package, less one of the command line (both `dev` builds, five medians of 200) | -0.6 to 0.5 ms, median -0.1, of 12 ms | at most 0.2 ms more |
| a search through the package, less the native call in it | 0.06 ms | |
| build from an array, compared with the command line from a file (both `dev` builds) | 0.97 and 0.85 s: 1.14 times | at most 1.15 times |
| peak memory of a build, above the array's 51 MB | 199 to 254 MB | 300 MB |
| `import sordino`, release wheel | 16 to 20 ms | 50 ms |
| size of the release wheel | 5.7 MB | 15 MB |
| a batch of 100 searches on one core and on two, release wheel | best 0.73 and 0.40 s: 1.86 times; medians 0.80 and 0.49 s: 1.6 times | 1.8 times |
| the same, `dev` build at high priority | best 1.49 and 0.78 s: 1.90 times | 1.8 times |
| Ctrl-C in a build of 300,000 x 128, in a batch of searches | 0.1 to 1.1 s, 0.2 s | |

- Two processes with a core each came to 1.9 times one of them, which is the bound of that machine.
- A batch is bound by computing: a query takes 7.5 ms of processor time, of which the server takes 2.

One million vectors of 128 dimensions from 20 Parquet files, masked mode, two cores with AVX2, best of two
(`python/benches/parquet.py`):

| records are | time | compared with the first |
| --- | ---: | ---: |
| read by one process, file after file | 35.2 s | 1.00 |
| read by threads | 31.1 s | 0.88 |
| made by two processes | 28.9 s | 0.82 |
| read by Ray's tasks | 32.0 s | 0.91 |
| made by Ray's tasks | 33.2 s | 0.95 |

- In routed mode 200,000 random vectors took 18.6 s in one process, 31.4 s by two processes and 42.9 s by Ray's tasks.
- An earlier run, on a busier machine, only read in parallel: 18.9 s by one process, 21.5 s by threads, 20.5 s by Ray's tasks. Encryption took 17 s of it.
- Ray's first build took 36 s, because Ray starts its workers then. Its workers yield to other programs unless `RAY_worker_niceness=0`.
- Ray Data's `read_parquet` took 20 to 50 s for reading alone, where the package's tasks took 2 s.

`python/benches/ann` has a module for ann-benchmarks, and a script that runs it next to faiss. 100,000 SIFT descriptors, 200 queries one
at a time, the busy machine of the first table, before scores were checked:

|  | recall@10 | a query, ms | build, s | bytes a query | bytes once |
| --- | ---: | ---: | ---: | ---: | ---: |
| faiss Flat | 1.0000 | 39.9 | 0.2 | - | - |
| faiss IVF1024, 16 probes | 0.9050 | 0.07 | 13.0 | - | - |
| faiss IVF1024, 64 probes | 0.9910 | 0.25 | 10.6 | - | - |
| sordino, masked | 0.9975 | 15.7 | 1.3 | 384,220 | 1,994,738 |
| sordino, open | 0.9975 | 5.3 | 1.2 | 322,780 | 1,994,738 |
| sordino, local | 0.9925 | 0.44 | 1.6 | 0 | 13,253,535 |

- 1,750 single additions to a LangChain store (384 dimensions, 300 letters, `dev` build): a median of 196 ms for the first 250, and
  178 ms from the 1,500th on. The folder grew by 12 kB with each.
- `examples/definitions` embedded 70 definitions a second; recall of the nine nearest others was 0.9993 among 2,000."""
