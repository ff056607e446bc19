"""Tests of scripts/prose.py.

  python3 -m unittest discover -s scripts/tests
"""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import prose

LONG = " ".join(["Word"] * 26)


def pages(text):
    """The numbers of words of the sentences of a page, and its findings."""
    return checked(prose.split("pages", prose.numbered(text)))


def checked(paragraphs, kind=None):
    """The numbers of words and the findings of paragraphs, of one kind or of all kinds."""
    counts, findings = [], []
    for paragraph in paragraphs:
        if kind in (None, paragraph.kind):
            more, found = prose.check(paragraph)
            counts += more
            findings += found
    return counts, findings


class Sentences(unittest.TestCase):
    def test_of_a_paragraph_over_lines_are_counted(self):
        self.assertEqual(pages("One two three.\nFour five. Six\nseven?\n\nEight")[0], [3, 2, 2, 1])

    def test_do_not_end_in_numbers_or_abbreviations(self):
        self.assertEqual(pages("A recall of 0.95, e.g. that of SIFT, is v1.2 and more. Next.")[0], [12, 1])

    def test_code_and_links_count_as_written(self):
        self.assertEqual(pages("See `a b c. D` and [the page](a/b.md#c d).")[0], [6])
        self.assertEqual(pages("Text.\n\n```sh\nnot prose at all\n```\n\n    nor this\n\nMore text.")[0], [1, 2])

    def test_items_stand_alone_and_tables_and_headings_do_not_count(self):
        self.assertEqual(pages("# A heading\n\n- one two\n- three\n  four\n\n| a | b c |\n|---|---|\n| d | e |")[0], [2, 2])

    def test_over_the_limit_are_told_by_their_line(self):
        counts, findings = pages(f"Short.\n\nShort again.\n{LONG}.\n")
        self.assertEqual(counts, [1, 2, 26])
        self.assertEqual([(finding.line, finding.kind) for finding in findings], [(4, "pages")])


class Words(unittest.TestCase):
    def found(self, text):
        return [finding.line for finding in pages(text)[1] if finding.kind is None]

    def test_are_found_in_any_case_over_lines_and_in_tables(self):
        self.assertEqual(self.found("Whoever reads\nit beside the others\n\n| as many |\n"), [1, 2, 4])
        self.assertEqual(self.found("A key in the\nplace of a word, and another\nsize than that."), [1, 2])

    def test_are_not_parts_of_other_words_nor_code(self):
        self.assertEqual(self.found("Besides `whoever` and [a link](beside.md), anewly, a beside-r."), [])

    def test_include_numbers_without_their_zero(self):
        self.assertEqual(self.found("It finds .95 of them."), [1])
        self.assertEqual(self.found("It finds 0.95 in v1.2 of a.5 and file.7z."), [])

    def test_each_of_them_is_found(self):
        examples = ("whomever", "anew", "beside", "another one", "another sort of key than", "as many", "so many", "nobody's",
                    "those of", "has not", "in the place of", "|.5")
        self.assertEqual(len(examples), len(prose.FORBIDDEN))
        self.assertEqual([self.found(f"It is {example} it.") for example in examples], [[1]] * len(examples))

    def test_each_has_a_suggestion(self):
        self.assertTrue(all(prose.INSTEAD))
        self.assertIn("say again", pages("They are made anew.")[1][0].why)


RUST = '''//! The module. It has two.

/// What `x` does,
/// over two lines.
///
/// ```
/// code();
/// ```
fn f() -> &'static str {
    let quote = '"'; // behind the code
    "a message with {placeholder:?} \\
     on two lines"
}

#[cfg(test)]
mod tests {
    // A comment of a test.
    const LITERAL: &str = "a literal that nobody reads";
}
'''


class Rust(unittest.TestCase):
    def test_comments_are_joined_without_their_code(self):
        self.assertEqual(checked(prose.rust(RUST), "comments")[0], [2, 3, 6, 3, 5])

    def test_messages_stand_outside_tests(self):
        self.assertEqual(checked(prose.rust(RUST), "messages")[0], [7])
        self.assertEqual(checked(prose.rust('fn f() { g("a b c") }', tests=True), "messages")[0], [])

    def test_examples_in_messages_are_indented(self):
        text = 'const HELP: &str = "Examples of this:\\n  sordino search --index a beside\\n";'
        self.assertEqual(checked(prose.rust(text), "messages"), ([3], []))


PYTHON = '''"""A module of two. Sentences."""


def f(x):
    """Does a thing.

    Parameters
    ----------
    x : int or str, optional
        The first thing.

    Examples
    --------
    >>> f(1) beside
    """
    # A comment
    # over lines.
    raise ValueError(f"the value {x} is not anew")
'''


class Python(unittest.TestCase):
    def test_docstrings_and_comments_are_comments(self):
        self.assertEqual(checked(prose.python(PYTHON), "comments"), ([4, 1, 3, 3, 4], []))

    def test_other_texts_are_messages(self):
        counts, findings = checked(prose.python(PYTHON), "messages")
        self.assertEqual((counts, [finding.line for finding in findings]), ([6], [18]))


class Limits(unittest.TestCase):
    TABLE = "# comment\ndocs 20.0 - 9.5 3\n"

    def test_are_read_and_written(self):
        limits = prose.table(self.TABLE)
        self.assertEqual(limits, {"docs": [20.0, None, 9.5, 3.0]})
        self.assertEqual(prose.table(prose.written(limits, self.TABLE)), limits)
        self.assertTrue(prose.written(limits, self.TABLE).startswith("# comment\n"))

    def test_only_go_down(self):
        limits = prose.table(self.TABLE)
        rows = {"docs": [21.0, 19.0, 9.0, 2], "new": [17.0, None, None, 1]}
        self.assertEqual(prose.lowered(rows, limits), {"docs": [20.0, 19.0, 18, 2], "new": [18, None, None, 1]})
        self.assertEqual(prose.lowered({"docs": [18.5, None, None, 0]}, limits), {"docs": [18.5, None, 18, 0]})

    def test_name_what_is_above_them(self):
        limits = prose.table(self.TABLE)["docs"]
        self.assertEqual(list(prose.above([20.0, 18.0, None, 3], limits)), [])
        self.assertEqual([kind for kind, _ in prose.above([20.1, 18.1, 9.5, 4], limits)], ["pages", "comments", None])


if __name__ == "__main__":
    unittest.main()
