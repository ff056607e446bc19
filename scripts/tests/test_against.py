"""Ratios of two revisions."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import against


class Ratios(unittest.TestCase):
    def test_rounds_are_paired_one_by_one(self):
        old = [{"a": 100.0, "b": 1.0}, {"a": 200.0, "b": 1.0}, {"a": 100.0, "b": 1.0}]
        new = [{"a": 50.0, "b": 1.0}, {"a": 160.0, "b": 1.0}, {"a": 60.0, "b": 1.0}]
        self.assertEqual(against.ratios(old, new)["a"], (0.6, 0.5, 0.8))

    def test_rows_that_a_round_lacks_have_no_ratio(self):
        self.assertEqual(against.ratios([{"a": 1.0}, {"a": 1.0, "b": 1.0}], [{"a": 2.0, "b": 1.0}] * 2), {"a": (2.0, 2.0, 2.0)})


if __name__ == "__main__":
    unittest.main()
