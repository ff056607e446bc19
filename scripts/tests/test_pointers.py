"""Anchors, links and the summary of the book."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pointers


class Pointers(unittest.TestCase):
    def page(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        page = Path(folder.name) / "page.md"
        page.write_text(text)
        return page

    def test_headings_and_tags_are_anchors(self):
        page = self.page('# A `b` of C\n\n## The protocol\n\n## The protocol\n\n<a id="old"></a>\n\n```sh\n# no heading\n```\n')
        self.assertEqual(pointers.anchors(page), {"a-b-of-c", "the-protocol", "the-protocol-1", "old"})

    def test_links_that_lead_nowhere_are_found(self):
        page = self.page("# One\n\n[a](#one) [b](#two) [c](page.md#one) [d](gone.md)\n[e](https://example.org/x#y)\n\n```sh\n[f](gone.md)\n```\n")
        self.assertEqual(list(pointers.lost(page)), [(3, "#two does not exist"), (3, "gone.md does not exist")])

    def test_pages_that_the_summary_lacks_are_found(self):
        listed = [*pointers.pages(), "docs/new.md", "crates/new/README.md"]
        self.assertEqual(list(pointers.unlisted(listed)), ["docs/new.md is not in the summary"])

    def test_the_book_has_its_pages_and_no_link_out_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            pointers.book(Path(folder))
            for name in pointers.pages():
                for line, path, _ in pointers.links(Path(folder) / name):
                    target = (Path(folder) / name).parent / path.replace("index.html", "README.md")
                    self.assertTrue(target.is_file() or not path, f"{name}:{line}: {path}")


if __name__ == "__main__":
    unittest.main()
