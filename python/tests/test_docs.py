"""The code of the pages in docs, block after block, in one namespace for each page."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

# The smallest number of blocks of each page.
PAGES = {"../README.md": 1, "../python/README.md": 1, "python.md": 8, "guide/text.md": 5, "guide/coming-from.md": 1}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs(page, tmp_path, monkeypatch):
    path = DOCS / page
    if not path.exists():
        pytest.skip(f"{path} is not there")
    monkeypatch.chdir(tmp_path)
    text = path.read_text()
    names = {}
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) >= PAGES[page]
    for block in blocks:
        # Keeps the page's line numbers.
        above = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(above + block.group(1), str(path), "exec"), names)
