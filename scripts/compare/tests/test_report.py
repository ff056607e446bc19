"""Tables, pictures, and the whole document from a tiny run."""

import json
import os
import re
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from compare import first, plots, preserving, report, search, signatures, table
from compare.machine import Machine
from compare.run import Measurement, Run
from compare.tests.test_run import fixture

MACHINE = Machine("a processor", 2, "8 GiB", "Linux", "rustc", "avx2")
MADE = report.Made("a revision", 1_000, 1_600, 7_000)


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
        self.assertIn("absent: not in this run", table.shown(fixture(), row))
        self.assertIn("absent: because", table.shown(fixture(), table.Row("x", 5.0, "because")))

    def test_peers_have_their_ratio_to_ours(self) -> None:
        ours = table.Key("fpe/encrypt", "ff1-batch", "6", each=True)
        row = table.Row("x", 40.0, ours, [table.Key("fpe/encrypt", "ff1-ubiq-go", "6")])
        self.assertEqual(
            table.compare(fixture(), [row]).splitlines(),
            ["|  | Sordino | ff1-ubiq-go |", "|---|---:|---:|", "| x | **20.0 ns** | 1.50 µs (75.0x) |"],
        )
        self.assertIn("| x | 40.0 ns | **20.0 ns** |", table.stated_there(fixture(), [row]))

    def test_a_peer_that_is_faster_is_named(self) -> None:
        ours, theirs = table.Key("g", "ours", "1"), table.Key("g", "theirs", "1")
        run = Run()
        run.add([Measurement("g", "ours", "1", 20.0), Measurement("g", "theirs", "1", 10.0)])
        self.assertEqual(table.faster(run, [table.Row("x", None, ours, [theirs])]), [("x", "**20.0 ns**", "theirs 10.0 ns (0.50x)")])
        self.assertEqual(table.faster(run, [table.Row("x", None, theirs, [ours])]), [])

    def test_every_row_of_the_reference_is_complete(self) -> None:
        for figures in (preserving.ENCRYPT, preserving.DECRYPT):
            for name, platforms in figures.items():
                self.assertEqual(len(platforms), len(preserving.PLATFORMS), name)
                self.assertTrue(all(len(f) == len(preserving.DIGITS) for f in platforms), name)
        self.assertEqual(set(preserving.ENCRYPT), set(preserving.DECRYPT))


def everything(run: Run) -> str:
    return "\n".join(report.pages(run, MACHINE, MADE).values())


class Faults(unittest.TestCase):
    def found(self, made: report.Made, written: int) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "estimates.json")
            path.write_text("{}")
            os.utime(path, (written, written))
            return "\n".join(report.faults(fixture(), [path], made))

    def test_a_file_of_another_run_is_a_fault(self) -> None:
        self.assertNotIn("estimates.json", self.found(MADE, 1_600))
        self.assertNotIn("estimates.json", self.found(MADE, 7_000))
        self.assertIn("estimates.json was not written in the run of 01 January 1970", self.found(MADE, 1_599))
        self.assertIn("estimates.json was not written", self.found(MADE, 7_002))

    def test_the_file_of_a_run_is_read(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"commit": "a revision", "started": 1_000, "measured": 1_600, "ended": 7_000}, file)
            file.flush()
            self.assertEqual(report.made(file.name), MADE)
        self.assertIn("| 10 minutes, 90 minutes |", report.method(fixture(), MACHINE, MADE, ""))

    def test_changes_that_are_not_committed_are_a_fault(self) -> None:
        self.assertNotIn("commit the changes", self.found(MADE, 2_000))
        self.assertIn("the run measured 1234abcd-dirty: commit the changes", self.found(replace(MADE, commit="1234abcd-dirty"), 2_000))

    def test_rows_that_are_missing_are_faults(self) -> None:
        found = "\n".join(report.faults(Run(), [], MADE))
        for missing in ("sealed mode has no row of 100,000", "routed mode has no row with 1,000,000 texts", "local mode has no row between", "no row of the first page's `FF1"):
            self.assertIn(missing, found)


class Document(unittest.TestCase):
    def test_all_pages_are_there_with_and_without_measurements(self) -> None:
        for run in (fixture(), Run()):
            pages = report.pages(run, MACHINE, MADE)
            self.assertEqual({f"{name}.md" for name, _ in first.CHAPTERS} | {"README.md"}, set(pages))
            for name, text in pages.items():
                self.assertTrue(text.startswith("# "), name)
        self.assertIn("python: python3 is not installed", everything(fixture()))

    def test_a_peer_of_its_own_lock_file_is_named_if_it_was_measured(self) -> None:
        run = fixture()
        self.assertNotIn("aws-lc-rs", report.versions(run))
        run.add([Measurement("mldsa/verify", "aws-lc-rs fresh", signatures.SET, 90.0)])
        self.assertRegex(report.versions(run), r"aws-lc-rs [0-9]+\.[0-9]+")
        self.assertIn("AWS-LC 90.0 ns", everything(run))

    def test_the_first_page_is_short_and_has_its_numbers(self) -> None:
        for run in (fixture(), Run()):
            self.assertEqual(len(first.numbers(run)), 11)
            self.assertLess(len(report.pages(run, MACHINE, MADE)["README.md"].split()), 900)

    def test_links_between_the_pages_lead_somewhere(self) -> None:
        pages = report.pages(Run(), MACHINE, MADE)
        for text in pages.values():
            for name, anchor in re.findall(r"\]\((\w+\.md)?#([\w-]+)\)", text):
                titles = re.findall(r"^#+ (.*)", pages[name] if name else text, re.M)
                self.assertIn(anchor, [re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles])

    def test_every_wanted_row_is_shown_where_it_was_measured(self) -> None:
        wanted = [
            ("ckks/column", "real/score 4 queries", "100000x128", "100000x128, real"),
            ("lsh/scan", "avx2", "100000x128bits-top50", "scan, 100000x128bits-top50"),
            ("lsh/tables", "e2lsh-8x6", "8probes", "e2lsh-8x6"),
            ("ntt/forward", "sordino", "2048", "forward, degree 2,048"),
            ("mldsa/batch", "sordino avx2 one key", "ML-DSA-87x32", "32 signatures, one key"),
        ]
        run = Run()
        run.add(Measurement(g, f, p, 4e6, 3e6, 5e6, 1000) for g, f, p, _ in wanted)
        text = everything(run)
        for *_, shown in wanted:
            row = next((line for line in text.splitlines() if shown in line), "")
            self.assertIn("|", row, shown)
        self.assertIn("| 100000x128, real | - | - | **1.00 ms** | - |", text)

    def test_ways_to_texts_have_a_row_each(self) -> None:
        text = everything(fixture())
        self.assertIn("1,000 sentences, vectors of 8 dimensions", text)
        self.assertIn("| texts by a scan | **5.00 ms** | 2.00 ms | 6.00 ms | 4.00 kB |", text)
        self.assertIn("20 of 1,024 B", text)

    def test_routings_of_sealed_mode_have_names_of_their_own(self) -> None:
        ways = ("downloaded", "encrypted")
        names = {search.label({"mode": "sealed", "centroids": way}) for way in ways}
        self.assertEqual(len(names), 2)

    def test_each_size_and_line_names_its_fastest_mode(self) -> None:
        text = everything(fixture())
        row = "| 1,000,000 | 100 Mbit/s | - | - | routed 12.9 s; local 11.4 s | - |"
        self.assertIn(row, text)

    def test_tables_have_as_many_cells_as_their_heads(self) -> None:
        width = 0
        for line in everything(fixture()).splitlines():
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
