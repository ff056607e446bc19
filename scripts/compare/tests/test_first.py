"""What the first page compares, and which losses it names."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from compare import first, levels, modes, network, search, served, table
from compare.run import Measurement, Run


def searched(set_name: str, mode: str, recall: float, ms: float, **more: object) -> dict:
    row = {"set": set_name, "about": "", "n": 100_000, "dim": 128, "mode": mode, "recall": recall, "search_ms": ms, "payloads": None, "file": mode}
    return row | {"centroids": "", "server_ms": ms / 2, "bytes_up": 200_000, "bytes_down": 10, "bytes_once": 10, "bytes_download_all": 99, "build_s": 1.0} | more


def plain(function: str, recall: float, ns: float) -> Measurement:
    return Measurement("search/plain", f"faiss-python {function}", "clustered 100000x128", ns, recall=recall, more={"build_ns": 5e8, "memory_bytes": 1})


def texts(set_name: str, mode: str, recall: float, ms: float, way: str = "downloaded") -> dict:
    return searched(set_name, mode, recall, ms, payloads={"way": way})


def line(mode: str, recall: float, ms: float, n: int = 100_000, fetch: str = "PIR") -> dict:
    return {"mode": mode, "n": n, "rate": 0, "recall": recall, "search_ms": ms, "fetch": fetch, "build_s": 5.0, "server_bytes": 1}


class Levels(unittest.TestCase):
    def test_the_detected_level_counts_and_not_the_fastest(self) -> None:
        run = Run()
        run.add([Measurement("g", "portable", "1", 9.0), Measurement("g", "avx2", "1", 3.0), Measurement("g", "avx512", "1", 4.0)])
        every = ("portable", "avx2", "avx512", "amx", "neon")
        self.assertEqual(table.detected(run, "g", every, "1").function, "avx512")
        self.assertEqual(table.detected(run, "g", ("portable", "avx2"), "1").function, "avx2")
        self.assertIsNone(table.detected(run, "g", every, "2"))

    def test_the_chapter_of_kernels_shows_the_detected_level(self) -> None:
        self.assertIn("**4.00 ns**", levels.row("x", {"portable": 9.0, "avx2": 3.0, "avx512": 4.0, "amx": None}, None))

    def test_a_whole_answer_counts_and_not_its_product(self) -> None:
        run = Run()
        run.add([Measurement("pir/answer", "avx512", "1GiB", 47e6), Measurement("pir/answer_batch", "avx512-16-queries", "1GiB", 90e6)])
        self.assertTrue(first.scan(run)[0].startswith("47.0 ms"))
        run.add([Measurement("pir/answer_batch", "avx512-1-queries", "1GiB", 55e6)])
        self.assertTrue(first.scan(run)[0].startswith("55.0 ms"))

    def test_the_same_kernel_is_not_a_win(self) -> None:
        self.assertIsNone(table.factor("its kernel for lists", 110.0, 100.0))
        self.assertEqual(table.factor("its kernel for lists", 90.0, 100.0), 0.9)
        self.assertEqual(table.factor("crate blake3", 110.0, 100.0), 1.1)


class Peers(unittest.TestCase):
    def run_of(self, masked: float, routed: float) -> Run:
        run = Run(modes=[searched("clustered", "local", 0.995, 0.131)], served=[line("masked", masked, 13.0), line("routed", routed, 14.0)])
        run.add([plain("flat", 1.0, 2e6), plain("sq8", 0.992, 1e6)])
        run.add([plain(f"ivf, {probes} probes", recall, ns) for probes, recall, ns in ((2, 0.945, 28e3), (4, 0.978, 45e3), (8, 0.991, 74e3), (16, 0.995, 129e3))])
        run.add([plain("hnsw, efSearch 32", 0.955, 78e3), plain("hnsw, efSearch 64", 0.975, 130e3)])
        return run

    def test_the_fastest_lists_that_reach_the_recall_count(self) -> None:
        found = {short: name for short, name, _ in first.plain(self.run_of(1.0, 0.96), 100_000)}
        self.assertEqual(found["FAISS IVF"], "FAISS IVF, 4 probes, recall 0.978")
        self.assertEqual(found["FAISS HNSW"], "FAISS HNSW, efSearch 64, recall 0.975")
        self.assertEqual(search.unprotected(self.run_of(1.0, 0.96), 100_000, 1.0, 0.999)[1:], [])

    def test_eight_bits_count_if_their_recall_is_close(self) -> None:
        self.assertEqual(first.plain(self.run_of(0.997, 0.96), 100_000)[0][1], "FAISS, 8 bits, recall 0.992")
        self.assertEqual(first.plain(self.run_of(1.0, 0.96), 100_000)[0][1], "FAISS flat, recall 1.000")

    def test_local_mode_loses_to_lists_of_its_recall(self) -> None:
        self.assertIn("FAISS IVF, 16 probes, recall 0.995, 129 µs (0.98x)", first.local(self.run_of(1.0, 0.96), 100_000)[0][2])

    def test_smaller_messages_of_another_system_are_a_loss(self) -> None:
        run = Run(modes=[searched("clustered", "masked", 1.0, 13.0)])
        run.add([Measurement("systems/search", "hevec", "100000x128", 3e8, more={"bytes_up": 50_000})])
        self.assertIn("| bytes up of a search, masked mode, 100,000 x 128 | **200 kB** | HEVEC 50.0 kB (0.25x) |", first.losses(run))

    def test_each_program_for_fpe_is_compared_with_the_same_work(self) -> None:
        run = Run()
        run.add(Measurement("fpe/encrypt", f, "16", ns) for f, ns in (("ff1", 200.0), ("ff1-no-plan", 600.0), ("ff1-ubiq-go", 2000.0), ("ff1-fpe-crate", 4200.0)))
        row = first.unprepared(run)
        self.assertEqual(first.against(run, row), ("600 ns", "ubiq (Go) 2.00 µs (3.33x); crate fpe 4.20 µs (7.00x)"))
        self.assertIn("Sordino takes 200 ns", row.note)


class Searches(unittest.TestCase):
    def test_each_mode_below_the_planned_recall_is_a_loss(self) -> None:
        run = Run(modes=[searched("uniform", "masked", 0.999, 13.0), searched("uniform", "routed", 0.621, 35.0), texts("uniform", "routed", 0.949, 36.0), texts("uniform", "masked", 1.0, 14.0)])
        self.assertEqual(
            modes.below(run),
            [["Uniform vectors: 100,000 x 128", "routed", "0.621", "**35.0 ms**", "13.0 ms"], ["Uniform vectors: 100,000 x 128", "routed, ten texts", "0.949", "**36.0 ms**", "14.0 ms"]],
        )
        self.assertIn("plan a recall of 0.95", first.recalls(run)[0])
        self.assertEqual(first.recalls(Run(modes=[searched("uniform", "routed", 0.95, 35.0)])), [])

    def test_the_median_of_several_builds_counts(self) -> None:
        run = Run(modes=[searched("clustered", "routed", recall, ms, file=str(ms)) for recall, ms in ((0.96, 13.0), (0.977, 19.0), (0.97, 15.0))])
        self.assertEqual(modes.one(run, "clustered", 100_000, "routed")["recall"], 0.97)
        self.assertIn("3 times. A search takes 13.0 ms to 19.0 ms, with a recall of 0.960 to 0.977.", modes.repeated(run)[0])

    def test_routed_mode_is_slower_only_if_it_was_measured(self) -> None:
        for ms, slower in ((19.0, True), (9.0, False)):
            run = Run(modes=[searched("clustered", "masked", 1.0, 13.0), searched("clustered", "routed", 0.96, ms)])
            self.assertEqual("Routed mode is for large indexes" in first.known(run), slower)

    def test_searches_that_bring_texts_say_how(self) -> None:
        run = Run(served=[line("masked", 1.0, 19.8), line("routed", 0.964, 20.0, fetch="scan"), line("masked", 1.0, 144.0, 1_000_000)])
        self.assertEqual(first.searches(run, 100_000)[0], "masked 19.8 ms, recall 1.000; routed 20.0 ms, recall 0.964 (texts by PIR with a hint, texts by a scan)")
        self.assertEqual(first.searches(run, 10_000)[0], first.ABSENT)

    def test_a_set_of_real_vectors_has_a_row(self) -> None:
        for ms, words in ((18.5, "routed mode is slower"), (9.0, "routed mode is not slower")):
            run = Run(modes=[searched("e5", "masked", 1.0, 12.0), searched("sift", "masked", 0.996, 13.0), searched("sift", "routed", 0.968, ms)])
            what, (ours, _), means = first.real(run)[0]
            self.assertIn("(Sift vectors), 100,000 x 128", what)
            self.assertEqual(ours, f"masked 13.0 ms, recall 0.996; routed {table.time(ms * 1e6)}, recall 0.968")
            self.assertIn(words, means)
        self.assertEqual(first.real(Run()), [])

    def test_processors_limit_a_throughput_only_near_their_bound(self) -> None:
        for rate, limits in ((0.9, True), (0.5, False)):
            most = (network.os.cpu_count() or 1) * 1e3 / 4
            each = {"mode": "masked", "what": "requests", "server_processor_ms": 3.0, "client_processor_ms": 1.0}
            run = Run(loads=[each | {"clients": 1, "per_second": 1.0}, each | {"clients": 8, "per_second": most * rate}])
            self.assertEqual("processors limit" in network.bound(run)[0], limits)


if __name__ == "__main__":
    unittest.main()
