"""A page that searches WordNet's definitions by meaning, on this machine: the command `sordino-web`.

    pip install 'sordino[web]'
    sordino-web

The first run makes the index of all definitions, in some minutes. The command then serves the index and the page, each on a port of its own. The
question is embedded and encrypted in the browser.
"""

from ._command import main
from ._table import write_table
from ._wordnet import Definition, WordNet

__all__ = ["Definition", "WordNet", "main", "write_table"]
