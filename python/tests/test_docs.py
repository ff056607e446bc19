"""The code of docs/python.md, block after block, in one namespace."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_page_runs(tmp_path, monkeypatch):
    if not PAGE.exists():
        pytest.skip(f"{PAGE} is not there")
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    names = {}
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) >= 8
    for block in blocks:
        # Line numbers are those of the page.
        above = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(above + block.group(1), str(PAGE), "exec"), names)
