"""The whole report, and the command line."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from compare import (
    authorization,
    first,
    history,
    homomorphic,
    levels,
    modes,
    network,
    plots,
    preserving,
    reference,
    retrieval,
    scale,
    search,
    served,
    signatures,
)
from compare.machine import Machine, describe, output
from compare.run import Run, read
from compare.table import markdown, notes

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "blake3",
    "casbin",
    "cedar-policy",
    "fhe",
    "fips204",
    "fpe",
    "libcrux-ml-dsa",
    "ml-dsa",
    "simplepir",
    "tfhe-ntt",
)


def versions(run: Run) -> str:
    """The versions of the crates that were measured for comparison, from the lock files."""
    found = locked("Cargo.lock", PACKAGES)
    if any(m.function.startswith("aws-lc-rs") for m in run.group("mldsa/verify")):
        found += locked("scripts/peers/rust/Cargo.lock", ("aws-lc-rs",))
    return ", ".join(found)


def locked(file: str, packages: tuple[str, ...]) -> list[str]:
    """The packages that a lock file names, with their versions."""
    found, name = [], ""
    for line in (ROOT / file).read_text().splitlines():
        if line.startswith("name = "):
            name = line.split('"')[1]
        elif line.startswith("version = ") and name in packages:
            version = line.split('"')[1]
            found.append(f"{name} {version}")
    return found


def bandwidth(run: Run) -> str:
    """The read bandwidth for each size of the PIR bench."""
    found = [m for m in run.group("pir/answer") if m.function == "read-bandwidth"]
    found.sort(key=lambda m: retrieval.order(m.parameter))
    return (
        ", ".join(f"{retrieval.throughput(m)} over {m.parameter}" for m in found)
        or "not measured in this run"
    )


@dataclass(frozen=True)
class Made:
    """The revision that a run of bench.sh measured, and the times of its steps in seconds since 1970."""

    commit: str
    started: int
    measured: int
    ended: int

    @property
    def date(self) -> str:
        return datetime.fromtimestamp(self.started, timezone.utc).strftime("%d %B %Y")


def here() -> Made:
    """This tree now. Changes that are not committed have a mark."""
    commit = output("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*") or "unknown"
    now = int(datetime.now(timezone.utc).timestamp())
    return Made(commit, now, now, now)


def made(path: str) -> Made:
    """Reads a file of bench.sh."""
    return Made(**json.loads(Path(path).read_text()))


def faults(run: Run, files: Iterable[Path], run_made: Made) -> list[str]:
    """The reasons why the report would not describe one whole run of one revision."""
    found = []
    if run_made.commit.endswith("-dirty"):
        found.append(f"the run measured {run_made.commit}: commit the changes of the tree before a run")
    for mode in modes.MODES:
        if not modes.one(run, "clustered", modes.REFERENCE_N, mode):
            found.append(f"{mode} mode has no row of {modes.REFERENCE_N:,} clustered vectors")
    for n in (modes.REFERENCE_N, scale.MEASURED):
        found += [f"{mode} mode has no row with {n:,} texts" for mode in ("masked", "routed") if not served.of(run, n, mode)]
    for mode in modes.MODES:
        if not served.of(run, modes.REFERENCE_N, mode):
            found.append(f"{mode} mode has no row between two processes")
    found += [f"no row of the first page's `{what}`" for what, ours, *_ in first.numbers(run) if first.ABSENT in ours]
    for path in files:
        written = path.stat().st_mtime
        if not run_made.measured <= written <= run_made.ended + 1:
            found.append(f"{path} was not written in the run of {run_made.date}")
    return found


def minutes(seconds: int) -> str:
    return f"{seconds / 60:.0f} minutes"


def head(run: Run, machine: Machine, run_made: Made, load: str) -> str:
    lines = [
        ["commit", run_made.commit],
        ["date", run_made.date],
        *([["time to build, and to measure", f"{minutes(run_made.measured - run_made.started)}, {minutes(run_made.ended - run_made.measured)}"]] if run_made.ended > run_made.started else []),
        *([["other load", load]] if load else []),
        ["processor", machine.cpu],
        ["processors, memory", f"{machine.threads}, {machine.memory}"],
        ["system", machine.system],
        ["SIMD levels detected (`cpu_levels`)", machine.levels],
        ["read bandwidth, one thread", bandwidth(run)],
        ["compiler", machine.rustc],
        ["peers from Cargo.lock", versions(run)],
    ]
    if run.missing:
        lines.append(["peers not run", "; ".join(f"{name}: {why}" for name, why in run.missing)])
    return markdown(["", "this run"], lines, words=True)


def method(run: Run, machine: Machine, run_made: Made, load: str) -> str:
    return "\n\n".join(
        [
            "# Method",
            head(run, machine, run_made, load),
            "These rules apply to all chapters, unless a section says otherwise. If a section was measured on a different day, it names the day and "
            "the machine.",
            notes(
                "Times are medians. Each benchmark runs on one thread with its own core.",
                "Rows marked `all threads` share their cores with other programs, so their times mean little on a busy machine.",
                "A *peer* is a different program or crate for the same task. A ratio is the peer's time divided by Sordino's, in one run on one machine.",
                "The times of AWS-LC, of faiss, and of FPE, ML-DSA and CKKS peers in Go and Python are the least medians of five windows.",
                "A dash marks a step or measurement that does not exist.",
                "The machine is virtual, and shares its memory bandwidth. A single figure may differ by 30 % from that of another day, so do not compare two figures of different rows that differ less.",
            ),
            "The [first page](README.md) has the main numbers. The [peers' page](../../scripts/peers/README.md) has the versions of peers in Go, Python and C, and the commands that run one peer alone.",
            "These figures are not of this run: [measurements by hand](by-hand.md), [vectors of many lengths](search.md#vectors-of-many-lengths), the package for "
            "[Python](search.md#from-python), the last paragraph of [authorization](authorization.md), [agents' memory](../memory.md#measured), the systems that we [did not run](search.md#other-private-systems), and all figures "
            "of [reference documents](reference.md).",
        ]
    )


def pages(run: Run, machine: Machine, run_made: Made, load: str = "") -> dict[str, str]:
    """The text of each page, by the page's name."""
    found = {
        "README": first.section(run, machine.cpu, run_made.date),
        "method": method(run, machine, run_made, load),
        "search": search.section(run),
        "network": network.section(run),
        "retrieval": retrieval.section(run),
        "products": homomorphic.section(run),
        "fpe": preserving.section(run),
        "signatures": signatures.section(run),
        "hashing": "\n\n".join(["# Hashing", signatures.blake3(run), homomorphic.of_vectors(run)]),
        "authorization": authorization.section(run),
        "kernels": levels.section(run),
        "reference": reference.section(run),
        "history": history.section(),
    }
    return {f"{name}.md": text + "\n" for name, text in found.items()}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/compare", description=__doc__)
    parser.add_argument(
        "--criterion",
        type=Path,
        default=ROOT / "target/criterion",
        help="Criterion's output folder",
    )
    parser.add_argument(
        "--peers",
        type=Path,
        action="append",
        default=[],
        help="lines of scripts/peers or of an example; may be repeated",
    )
    parser.add_argument(
        "--search",
        type=Path,
        action="append",
        default=[],
        help="lines of private_search --json; may be repeated",
    )
    parser.add_argument(
        "--load",
        type=Path,
        action="append",
        default=[],
        help="lines of network_search --load --json; may be repeated",
    )
    parser.add_argument(
        "--plans",
        type=Path,
        action="append",
        default=[],
        help="lines of `sordino plan --json`; may be repeated",
    )
    parser.add_argument(
        "--texts",
        type=Path,
        action="append",
        default=[],
        help="lines of scripts/texts.py; may be repeated",
    )
    parser.add_argument(
        "--bench",
        type=Path,
        action="append",
        default=[],
        help="a folder of outputs of `sordino bench --json`, NAME.json each; may be repeated",
    )
    parser.add_argument(
        "--served",
        type=Path,
        action="append",
        default=[],
        help="lines of scripts/lines.py; may be repeated",
    )
    parser.add_argument(
        "--level",
        type=level,
        action="append",
        default=[],
        metavar="LEVEL=FOLDER",
        help="Criterion's output of a run with SORDINO_CPU=LEVEL; may be repeated",
    )
    parser.add_argument(
        "--levels", help="SIMD levels; by default those that the example cpu_levels prints"
    )
    parser.add_argument("--made", type=made, default=here(), metavar="FILE", help="the revision and the times of the run, a file of bench.sh; by default this tree and now")
    parser.add_argument("--load-note", default=os.environ.get("SORDINO_BENCH_LOAD", ""), help="words about what else the machine did during the run")
    parser.add_argument("--partial", action="store_true", help="write the pages even if a mode has no row, or the files are not of one run of a committed tree")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/benchmarks")
    parser.add_argument("--plots", type=Path, default=ROOT / "docs/plots")
    return parser.parse_args()


def level(text: str) -> tuple[str, Path]:
    """Parses `avx2=folder`."""
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise argparse.ArgumentTypeError(f"expected LEVEL=FOLDER, found {text}")
    return name, Path(folder)


def main() -> None:
    args = arguments()
    run = read(args.criterion, args.peers, args.search, args.load, args.level, args.plans, args.texts, args.bench, args.served)
    folders = [args.criterion, *args.bench]
    files = [path for folder in folders for path in folder.rglob("*.json")]
    files += [path for path in (*args.peers, *args.search, *args.load, *args.plans, *args.texts, *args.served) if path.is_file()]
    if not args.partial:
        if found := faults(run, files, args.made):
            raise SystemExit("No page was written:\n  " + "\n  ".join(found) + "\n--partial writes them all the same.")
        history.keep(run, args.made.commit, args.made.date, describe(args.levels).cpu)
    args.out.mkdir(parents=True, exist_ok=True)
    args.plots.mkdir(parents=True, exist_ok=True)
    for name, text in pages(run, describe(args.levels), args.made, args.load_note).items():
        (args.out / name).write_text(text)
    for name, picture in plots.all_plots(run).items():
        (args.plots / name).write_text(picture)
    print(f"{len(run.measurements)} measurements, {len(run.searches)} searches: {args.out}")
