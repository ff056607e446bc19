"""The command `sordino-migrate`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any, get_args

from .._console import command, filled, shown
from .._errors import Error, ExistsError, IdsError, InputError, IntegrityError, MissingFileError, of_file
from .._index import Index, Metric, Mode, build
from .._index import open as open_index
from .._sordino import OwnerKey
from ._chroma import Chroma
from ._lancedb import LanceDB
from ._pgvector import PgVector
from ._qdrant import Qdrant
from ._store import Store, Wanted
from ._survey import Plan, Survey, planned, survey
from ._transfer import LeftOut, Transfer, extended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Sordino's metrics by the names that stores use. Other metrics, such as l1, manhattan or hamming, have no counterpart.
_METRICS: dict[str, Metric] = {
    "cosine": "cosine",
    "l2": "euclidean",
    "euclid": "euclidean",
    "ip": "inner-product",
    "dot": "inner-product",
}

# The largest number of names of a list that a message shows.
_TOLD = 20


@command
def main(line: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit code: 0 done, 1 not done, 2 wrong usage, 3 an index or key that is not to be trusted, 130 interrupted."""
    options = filled(_parser(), line)
    try:
        told = _migrate(options)
    except Error as error:
        if options.json:
            print(json.dumps({"error": str(error)}), file=sys.stderr)
        else:
            print(f"sordino-migrate: {shown(str(error))}", file=sys.stderr)
        return 3 if isinstance(error, IntegrityError) else 1
    except KeyboardInterrupt:
        rest = ": some records may be in the index, and the same command with --replace goes on" if options.add else ""
        print(f"sordino-migrate: interrupted{rest}", file=sys.stderr)
        return 130
    print(json.dumps(told) if options.json else "\n".join(map(shown, _lines(told))))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sordino-migrate", description="Makes an index of the records of another vector store.")
    stores = parser.add_subparsers(dest="store", required=True, metavar="chroma|qdrant|lancedb|pgvector")
    for name, place, what, names in [
        ("chroma", "FOLDER", "collection", ()),
        ("qdrant", "FOLDER|URL", "collection", ("vector", "text")),
        ("lancedb", "FOLDER", "table", ("vector", "id", "text")),
        ("pgvector", "URL", "table", ("vector", "id", "text")),
    ]:
        store = stores.add_parser(name, help=f"a {what} of {name}")
        store.add_argument("source", metavar=place)
        store.add_argument("index", metavar="INDEX", help="the folder of the index")
        store.add_argument(f"--{what}", dest="collection", metavar="NAME", help="not needed if there is one alone")
        for part in names:
            store.add_argument(f"--{part}", metavar="NAME", help=f"which one has the {part}s, if that is not clear")
        if name == "chroma":
            store.add_argument("--tenant", default="default_tenant")
            store.add_argument("--database", default="default_database")
        _shared(store)
    return parser


def _shared(store: argparse.ArgumentParser) -> None:
    """Adds the options that all stores have."""
    store.add_argument("--key", required=True, metavar="FILE", help="the owner's key")
    store.add_argument("--add", action="store_true", help="add to an index that is there; else a new one is made")
    store.add_argument("--replace", action="store_true", help="with --add: rows replace records that have their ids")
    store.add_argument("--mode", choices=get_args(Mode), help="of a new index; masked if nothing is said")
    store.add_argument("--k", type=int, help="the most results of a search in a new index; 10 if nothing is said")
    store.add_argument("--metric", choices=get_args(Metric), help="instead of the store's")
    store.add_argument(
        "--ids",
        choices=("keep", "hash", "number"),
        default="keep",
        help="ids as they are; or SHA-256 digests of them, or the rows' numbers, with the ids among the metadata as source_id",
    )
    store.add_argument(
        "--attributes",
        default="auto",
        metavar="auto|none|NAME,NAME",
        help="the metadata to filter by: numbers, truth values and texts of up to 256 bytes, or those that are named",
    )
    store.add_argument(
        "--on-error",
        type=_on_error,
        default="stop",
        metavar="stop|skip|report=FILE",
        help="a row without a vector, or with one of another dimension, stops all; is left out; is left out and written to a new file",
    )
    store.add_argument("--dry-run", action="store_true", help="say what would become of what, and write nothing")
    store.add_argument("--json", action="store_true", help="the result as a JSON object")


def _on_error(text: str) -> str:
    if text in ("stop", "skip") or (text.startswith("report=") and len(text) > len("report=")):
        return text
    raise argparse.ArgumentTypeError("expected stop, skip or report=FILE")


def _migrate(options: argparse.Namespace) -> dict[str, Any]:
    """Runs the migration that the options describe. Returns the report."""
    key = OwnerKey.load(options.key)
    index = _target(options, key)
    store = _opened(options)
    try:
        if store.count == 0:
            raise InputError(f"{store.name} is empty: an index has one record or more, so none is made")
        return _moved(options, key, index, store)
    finally:
        store.close()


def _target(options: argparse.Namespace, key: OwnerKey) -> Index | None:
    """The index to which records are added, or None for a new one. Errors are raised before anything is read."""
    if options.add:
        for name in ("mode", "k"):
            if getattr(options, name) is not None:
                raise InputError(f"--{name} is of a new index: with --add the one that is there keeps its own")
        if options.ids == "number":
            raise InputError("--ids number is for a new index: with --add nothing would show which rows are in the index already")
        return open_index(options.index, key=key)
    if options.replace:
        raise InputError("--replace needs --add: a new index has no records to replace")
    if os.path.lexists(options.index) and not (os.path.isdir(options.index) and not os.listdir(options.index)):
        raise of_file(ExistsError(f"{options.index} is there already: expected a new folder, or --add to add to the index in it"), options.index)
    return None


def _opened(options: argparse.Namespace) -> Store:
    wanted = Wanted(options.collection, *(getattr(options, name, None) for name in ("vector", "id", "text")))
    if wanted.id is not None and wanted.id in (wanted.text, wanted.vector) or (wanted.text is not None and wanted.text == wanted.vector):
        raise InputError("--vector, --id and --text: two of them name the same column, expected different ones")
    if options.store == "chroma":
        return Chroma(options.source, wanted, tenant=options.tenant, database=options.database)
    stores: dict[str, type[Qdrant] | type[LanceDB] | type[PgVector]] = {"qdrant": Qdrant, "lancedb": LanceDB, "pgvector": PgVector}
    return stores[options.store](options.source, wanted)


def _metric(options: argparse.Namespace, store: Store) -> Metric:
    """The metric from the options, or the store's."""
    if options.metric is not None:
        return options.metric  # type: ignore[no-any-return]
    names = ", ".join(get_args(Metric))
    if store.metric is None:
        raise InputError(f"{store.name}: {store.no_metric}: expected --metric, one of {names}")
    found = _METRICS.get(store.metric.lower())
    if found is None:
        raise InputError(f"{store.name} compares by {store.metric}, which Sordino lacks: expected --metric, one of {names}, if another will do")
    return found


def _dim(options: argparse.Namespace, store: Store, index: Index | None) -> int:
    """The dimension of the records: the index's, or the one that most rows have."""
    found = store.dims()
    if not found:
        raise InputError(f"{store.name}: none of its {store.count} rows has a vector")
    dim = max(found, key=lambda dim: (found[dim], dim))
    if len(found) > 1 and options.on_error == "stop":
        told = ", ".join(f"{dim} in {count} rows" for dim, count in sorted(found.items()))
        raise InputError(f"{store.name} has vectors of several dimensions, {told}: --on-error skip or report=FILE takes the vectors of {dim}, and leaves out the others")
    if index is not None and dim != index.info()["dim"]:
        raise InputError(f"{store.name} has vectors of {dim} dimensions, and the index of {index.info()['dim']}: expected the same")
    return dim


def _moved(options: argparse.Namespace, key: OwnerKey, index: Index | None, store: Store) -> dict[str, Any]:
    """Reads a store that has rows, and writes the index."""
    facts = None if index is None else index.info()
    metric, dim = _metric(options, store), _dim(options, store, index)
    if facts is not None and facts["metric"] != metric:
        raise InputError(f"{store.name} compares by {metric}, and the index by {facts['metric']}: expected the same")
    found = survey(store, options.ids)
    plan = planned(found, options.ids, options.attributes, None if facts is None else facts["id_kind"])
    told = _told(store, found, plan, metric, dim)
    if options.dry_run:
        return told
    left_out = LeftOut(options.on_error)
    left_out.begin()
    try:
        transfer = Transfer(store, plan, found.rows, dim, metric, left_out)
        if index is None:
            index = build(
                options.index,
                transfer.batches(),
                key=key,
                mode=options.mode or "masked",
                metric=metric,
                k=10 if options.k is None else options.k,
                progress=_progress(options, found.rows),
            )
            if len(index) != transfer.written:
                raise IdsError(f"the index has {len(index)} records, and {transfer.written} were written: this is a bug, please report it")
        else:
            told["replaced"] = extended(index, key, transfer, replace=options.replace)
    finally:
        left_out.close()
    if index.expected_recall is not None:
        told["recall"] = index.expected_recall
    told |= {"index": os.fspath(options.index), "version": index.info()["version"], "records": transfer.written, "left_out": left_out.count}
    return told | {"first_left_out": left_out.first, "report": left_out.path} if left_out.count else told


def _progress(options: argparse.Namespace, rows: int) -> Callable[[str, int], object] | None:
    """Shows the steps of a build on a terminal."""
    if options.json or not sys.stderr.isatty():
        return None
    return lambda step, read: print(f"\r\x1b[K{step}, {read} of {rows} rows", end="\r", file=sys.stderr, flush=True)


def _told(store: Store, found: Survey, plan: Plan, metric: Metric, dim: int) -> dict[str, Any]:
    """Describes the content of a store, and what each part becomes."""
    told: dict[str, Any] = {
        "source": store.name,
        "rows": found.rows,
        "dim": dim,
        "metric": metric,
        "ids": plan.id_kind,
        "ids_made": plan.ids,
        "source_ids": dict(found.ids),
        "texts": found.texts,
        "empty_texts": found.empty,
        "payloads": "none" if not plan.payloads else "json" if plan.objects else "text",
        "attributes": {".".join(path): word for path, word in plan.attributes.items()},
        "attribute_bytes": sum(found.columns[path].size or 8 * found.columns[path].rows for path in plan.attributes),
        "kept": dict(plan.kept),
        "crowded": found.crowded,
    }
    if store.metric is not None and _METRICS.get(store.metric.lower()) != metric:
        told["source_metric"] = store.metric
    if found.holes:
        told["not_finite"] = dict(found.holes)
    if store.left:
        told["not_read"] = list(store.left)
    return told


def _lines(told: Mapping[str, Any]) -> list[str]:
    """The lines that show the description `told` to people."""
    rows = told["rows"]
    other = f", instead of {told['source_metric']}" if "source_metric" in told else ""
    lines = [f"{told['source']}: {rows} rows of {told['dim']} dimensions, {told['metric']}{other}"]
    made = {"keep": "as they are", "hash": "digests; source_id is the store's", "number": "the rows' numbers; source_id is the store's"}[told["ids_made"]]
    if told["ids_made"] == "keep" and set(told["source_ids"]) != {told["ids"]}:
        made = "of " + ", ".join(f"{count} {kind}" for kind, count in told["source_ids"].items())
    lines.append(f"ids         {told['ids']}, {made}")
    form = {"none": "none", "text": "the texts", "json": 'JSON objects, {"text": ..., "metadata": {...}}'}[told["payloads"]]
    hint = "; --text NAME names the column of texts" if not told["texts"] else ""
    lines.append(f"payloads    {form}; {rows - told['texts']} rows have no text, {told['empty_texts']} an empty one{hint}")
    names = [f"{name} ({word})" for name, word in told["attributes"].items()]
    lines.append(f"attributes  {_some(names)}" + (f"; {told['attribute_bytes']} bytes, which each client downloads once" if names else ""))
    if told["kept"]:
        lines.append(f"in payloads {_some([f'{name} ({why})' for name, why in told['kept'].items()])}")
    if told["crowded"]:
        lines.append("            and names beyond the first 4096")
    if "not_finite" in told:
        lines.append(f"null        numbers that are NaN or infinite: {_some([f'{count} of {name}' for name, count in told['not_finite'].items()])}")
    if "not_read" in told:
        lines.append(f"not read    {_some(told['not_read'])}")
    if "index" not in told:
        return [*lines, "nothing was written: this is a dry run"]
    replaced = f", {told['replaced']} of them replaced" if "replaced" in told else ""
    recall = f"; recall {told['recall']:.3f} on held-out rows" if "recall" in told else ""
    lines.append(f"{told['index']}: version {told['version']}, {told['records']} of {rows} rows are records{replaced}{recall}")
    if told["left_out"]:
        place = f", all in {told['report']}" if told["report"] else ""
        more = told["left_out"] - len(told["first_left_out"])
        lines += [f"warning: left out: {told['left_out']} of {rows} rows{place}:", *(f"  {one}" for one in told["first_left_out"])]
        lines += [f"  and {more} more"] if more else []
    return lines


def _some(names: Sequence[str]) -> str:
    """The first items of a list, and how many more it has."""
    more = len(names) - _TOLD
    return (", ".join(names[:_TOLD]) or "none") + (f" and {more} more" if more > 0 else "")
