"""The page of error codes, compared with the code."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import error_codes


class ErrorCodes(unittest.TestCase):
    def setUp(self):
        self.text = (error_codes.ROOT / error_codes.PAGE).read_text()

    def test_the_page_has_all_codes(self):
        self.assertEqual(list(error_codes.faults(self.text)), [])

    def test_each_section_finds_its_codes(self):
        found = {title: set(codes()) for title, codes in error_codes.SECTIONS.items()}
        for title, code in zip(found, ("130", "Stale", "shard", "untrusted", "GapError", "bad-reply")):
            self.assertIn(code, found[title])

    def test_a_missing_row_an_old_one_and_one_without_a_remedy_are_found(self):
        shard = next(line for line in self.text.splitlines() if line.startswith("| `shard` |"))
        changes = {
            "": "Refusals of a server: shard is missing",
            shard.replace("`shard`", "`gone`"): "Refusals of a server: gone is in no code",
            shard.rsplit("|", 2)[0] + "| |": "Refusals of a server: shard has no remedy",
            f"{shard}\n{shard}": "Refusals of a server: shard stands there twice",
        }
        for line, fault in changes.items():
            self.assertIn(fault, list(error_codes.faults(self.text.replace(shard, line))))


if __name__ == "__main__":
    unittest.main()
