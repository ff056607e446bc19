"""Tables, pictures, and the whole document from a tiny run."""

import sys
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from compare import plots, preserving, report, table
from compare.machine import Machine
from compare.run import Run
from compare.tests.test_run import fixture

MACHINE = Machine("a processor", 2, "8 GiB", "Linux", "rustc", "avx2")


class Tables(unittest.TestCase):
    def test_figures_have_three_digits(self) -> None:
        self.assertEqual(
            [table.time(x) for x in (9.5, 999.6, 12_345.0, 2.06e9)],
            ["9.50 ns", "1.00 µs", "12.3 µs", "2.06 s"],
        )
        self.assertEqual(
            [table.size(x) for x in (12, 3804, 2_097_563)], ["12 B", "3.80 kB", "2.10 MB"]
        )
        self.assertEqual(table.ratio(100.0, 8.0), "12.5x")
        self.assertEqual(table.ratio(None, 8.0), "-")

    def test_a_row_without_a_figure_says_so(self) -> None:
        row = table.Row("x", 5.0, table.Key("no", "such", "bench"))
        self.assertIn("absent: not in this run", table.cells(fixture(), row)[2])
        self.assertIn("absent: because", table.cells(fixture(), table.Row("x", 5.0, "because"))[2])

    def test_peers_have_their_ratio_to_ours(self) -> None:
        ours = table.Key("fpe/encrypt", "ff1-batch", "6", each=True)
        row = table.Row("x", 40.0, ours, [table.Key("fpe/encrypt", "ff1-ubiq-go", "6")])
        self.assertEqual(
            table.cells(fixture(), row)[1:],
            ["40.0 ns", "**20.0 ns**", "2.00x", "ff1-ubiq-go 1.50 µs (75.0x)"],
        )

    def test_every_row_of_the_reference_is_complete(self) -> None:
        for figures in (preserving.ENCRYPT, preserving.DECRYPT):
            for name, platforms in figures.items():
                self.assertEqual(len(platforms), len(preserving.PLATFORMS), name)
                self.assertTrue(all(len(f) == len(preserving.DIGITS) for f in platforms), name)
        self.assertEqual(set(preserving.ENCRYPT), set(preserving.DECRYPT))


class Document(unittest.TestCase):
    def test_all_sections_are_there_with_and_without_measurements(self) -> None:
        for run in (fixture(), Run()):
            text = report.document(run, MACHINE, "today")
            for title in (
                "Private search",
                "Core operations",
                "Private information retrieval",
                "ML-DSA",
                "BLAKE3",
                "Authorization",
            ):
                self.assertIn(f"## {title}", text)
        self.assertIn("python: python3 is not installed", report.document(fixture(), MACHINE, ""))

    def test_tables_have_as_many_cells_as_their_heads(self) -> None:
        width = 0
        for line in report.document(fixture(), MACHINE, "today").splitlines():
            cells = line.replace("\\|", "").count("|") if line.startswith("|") else 0
            if cells and width:
                self.assertEqual(cells, width, line)
            width = cells

    def test_pictures_are_well_formed(self) -> None:
        for run in (fixture(), Run()):
            for name, picture in plots.all_plots(run).items():
                self.assertTrue(name.endswith(".svg"))
                self.assertIn("svg", ElementTree.fromstring(picture).tag)


if __name__ == "__main__":
    unittest.main()
