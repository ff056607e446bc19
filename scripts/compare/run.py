"""What one run measured: Criterion's files, the peers' lines, the example's lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path


# The sets that `sordino bench` generates. Other sets have the name of their file.
GENERATED = ("uniform", "clustered")


@dataclass(frozen=True)
class Measurement:
    """One benchmark. `median_ns` is the time of one iteration. Sizes and recall may be given without a time."""

    group: str
    function: str
    parameter: str
    median_ns: float | None = None
    low_ns: float | None = None
    high_ns: float | None = None
    elements: int | None = None
    throughput_bytes: int | None = None
    wire_bytes: int | None = None
    recall: float | None = None
    #: The other values of a peer's line: bytes, configuration, commit.
    more: dict = field(default_factory=dict)

    @property
    def bytes_per_second(self) -> float:
        """Throughput of a bench that declares bytes."""
        if not self.throughput_bytes or not self.median_ns:
            return 0.0
        return self.throughput_bytes / self.median_ns * 1e9


@dataclass
class Run:
    """All measurements of a run, by (group, function, parameter)."""

    measurements: dict[tuple[str, str, str], Measurement] = field(default_factory=dict)
    searches: list[dict] = field(default_factory=list)
    loads: list[dict] = field(default_factory=list)
    modes: list[dict] = field(default_factory=list)
    served: list[dict] = field(default_factory=list)
    plans: list[dict] = field(default_factory=list)
    texts: list[dict] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)

    def add(self, measurements: Iterable[Measurement]) -> None:
        for m in measurements:
            self.measurements[m.group, m.function, m.parameter] = m

    def get(self, group: str, function: str, parameter: object) -> Measurement | None:
        return self.measurements.get((group, function, str(parameter)))

    def group(self, group: str, parameter: object = None) -> list[Measurement]:
        """The measurements of a group, for one parameter if it is given."""
        return [
            m
            for m in self.measurements.values()
            if m.group == group and parameter in (None, m.parameter)
        ]


def criterion(root: Path) -> Iterator[Measurement]:
    """Reads every `new/benchmark.json` and `new/estimates.json` below Criterion's folder."""
    for path in sorted(root.glob("**/new/benchmark.json")):
        estimates = path.with_name("estimates.json")
        if estimates.is_file():
            yield criterion_one(json.loads(path.read_text()), json.loads(estimates.read_text()))


def criterion_one(benchmark: dict, estimates: dict) -> Measurement:
    """One benchmark, from its two files in Criterion's folder."""
    median = estimates["median"]
    interval = median["confidence_interval"]
    throughput = benchmark.get("throughput") or {}
    if isinstance(throughput, list):  # newer versions of the file may have several values
        throughput = throughput[0] if throughput else {}
    return Measurement(
        group=benchmark["group_id"],
        function=benchmark.get("function_id") or "",
        parameter=benchmark.get("value_str") or "",
        median_ns=median["point_estimate"],
        low_ns=interval["lower_bound"],
        high_ns=interval["upper_bound"],
        elements=throughput.get("Elements"),
        throughput_bytes=throughput.get("Bytes"),
    )


def lines(text: str) -> Iterator[dict]:
    """The JSON objects of a file with one object per line. Other lines and incomplete ones are skipped."""
    for line in text.splitlines():
        if line.strip().startswith("{"):
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue  # a program stopped in the middle of a line


def peer(line: dict) -> Measurement:
    """A measurement of `scripts/peers`, or a size of the `wire_sizes` example."""
    return Measurement(
        group=line["group"],
        function=line["function"],
        parameter=str(line["parameter"]),
        median_ns=line.get("median_ns"),
        wire_bytes=line.get("bytes"),
        recall=line.get("recall"),
        more=line,
    )


def modes(folder: Path) -> Iterator[dict]:
    """The rows of `sordino bench --json`, one for each mode and form. Each file has the name of its set and one line."""
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        for line in lines(path.read_text()):
            name, words = line["set"], path.with_name(path.name.split(".")[0] + ".txt")
            if name not in GENERATED:
                name = words.stem
            about = words.read_text().strip() if words.is_file() else ""
            for row in line["measured"]:
                common = {"set": name, "about": about, "file": path.stem, "bytes_download_all": line["bytes_download_all"]}
                yield common | row | {"centroids": row["form"], "total_ms": row["search_ms"]}


def at_level(group: str, level: str) -> str:
    """The name of a group that was measured again with `SORDINO_CPU` at a lower level."""
    return f"{group} at {level}"


def read(
    criterion_root: Path,
    peers: Iterable[Path],
    searches: Iterable[Path],
    loads: Iterable[Path] = (),
    levels: Iterable[tuple[str, Path]] = (),
    plans: Iterable[Path] = (),
    texts: Iterable[Path] = (),
    bench: Iterable[Path] = (),
    served: Iterable[Path] = (),
) -> Run:
    """Reads a run. A missing file counts as an empty one. A peer that could not run has a line in the group
    `missing`."""
    run = Run()
    run.add(criterion(criterion_root))
    for level, root in levels:
        run.add(replace(m, group=at_level(m.group, level)) for m in criterion(root))
    for line in all_lines(peers):
        if line["group"] == "missing":
            run.missing.append((line["function"], line["reason"]))
            continue
        found, before = peer(line), run.get(line["group"], line["function"], line["parameter"])
        # If a whole system ran several times, the fastest run counts.
        if not (before and before.more.get("cpu_ns", 0) < line.get("cpu_ns", 0)):
            run.add([found])
    run.searches.extend(all_lines(searches))
    run.loads.extend(all_lines(loads))
    run.plans.extend(all_lines(plans))
    run.texts.extend(all_lines(texts))
    run.served.extend(all_lines(served))
    for folder in bench:
        run.modes.extend(modes(folder))
    return run


def all_lines(paths: Iterable[Path]) -> Iterator[dict]:
    for path in paths:
        if path.is_file():
            yield from lines(path.read_text())
