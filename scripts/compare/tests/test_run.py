"""Tests of reading a run."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from compare.run import Run, at_level, lines, read
from compare.table import Key

FIXTURE = Path(__file__).parent / "fixture"


def fixture() -> Run:
    criterion = FIXTURE / "criterion"
    return read(
        criterion,
        [FIXTURE / "peers.jsonl"],
        [FIXTURE / "search.jsonl"],
        [FIXTURE / "load.jsonl"],
        [("avx2", criterion)],
        [FIXTURE / "plans.jsonl"],
        [FIXTURE / "texts.jsonl"],
    )


class Reading(unittest.TestCase):
    def test_criterion_gives_the_median_of_new_alone(self) -> None:
        m = fixture().get("fpe/encrypt", "ff1-batch", 6)
        self.assertIsNotNone(m)
        self.assertEqual((m.median_ns, m.low_ns, m.high_ns), (20480.0, 20000.0, 21000.0))
        self.assertEqual((m.elements, m.throughput_bytes), (1024, None))

    def test_peers_join_the_groups_of_criterion(self) -> None:
        run = fixture()
        self.assertEqual(
            sorted(m.function for m in run.group("fpe/encrypt", "6")), ["ff1-batch", "ff1-ubiq-go"]
        )
        self.assertEqual(run.get("ckks/query_bytes", "row", "64x128").wire_bytes, 12800)

    def test_missing_peers_are_named(self) -> None:
        self.assertEqual(fixture().missing, [("python", "python3 is not installed")])

    def test_searches_are_kept_whole(self) -> None:
        self.assertEqual([s["mode"] for s in fixture().searches], ["masked"])

    def test_loads_are_kept_whole_and_half_a_line_is_not(self) -> None:
        self.assertEqual([load["clients"] for load in fixture().loads], [1, 8])

    def test_a_lower_level_is_a_group_of_its_own(self) -> None:
        run = fixture()
        self.assertEqual(len(run.group("fpe/encrypt")), 2)
        lower = run.get(at_level("fpe/encrypt", "avx2"), "ff1-batch", 6)
        self.assertEqual(lower and lower.median_ns, 20480.0)

    def test_a_file_that_is_not_there_is_an_empty_one(self) -> None:
        nowhere = [FIXTURE / "nowhere"]
        run = read(FIXTURE / "nowhere", nowhere, nowhere, nowhere, [("avx2", FIXTURE / "nowhere")])
        self.assertEqual((run.measurements, run.searches, run.loads), ({}, [], []))

    def test_a_folder_without_measurements_is_an_empty_run(self) -> None:
        self.assertEqual(read(FIXTURE / "nowhere", [], []).measurements, {})

    def test_lines_that_are_no_objects_are_skipped(self) -> None:
        self.assertEqual(list(lines('Compiling\n{"a": 1}\n\n')), [{"a": 1}])

    def test_a_key_divides_a_batch_by_its_elements(self) -> None:
        run = fixture()
        self.assertEqual(Key("fpe/encrypt", "ff1-batch", "6").time(run), 20480.0)
        self.assertEqual(Key("fpe/encrypt", "ff1-batch", "6", each=True).time(run), 20.0)
        self.assertIsNone(Key("fpe/encrypt", "ff1", "6").time(run))


if __name__ == "__main__":
    unittest.main()
